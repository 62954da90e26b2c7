//! The canonical form of a policy, as YAML.

use crate::load::{BASES, EFFECTS, INTENTS, LOGS, ROOTS, SANDBOXES, VERSION};
use crate::modes::{spell_bytes, spell_cores};
use crate::team::GIT;
use crate::text::invisible;
use remit_core::Verb;
use remit_policy::source::{
    AgentSource, AskMode, At, AuditSource, Base, CapabilitySource, Cli, For, Intents, Limits, LogAccess,
    RoleSource, RuleSource, Sandbox,
};
use remit_policy::{Access, PolicySource};

/// Writes the policy in its canonical form: keys in a fixed order, agents and roles by name, rules as
/// `{path, access}` in their order, what equals the default left out. [`load()`](crate::load()) reads it back to
/// the same policy but for places; comments are not part of a policy and are lost.
pub fn render(source: &PolicySource) -> String {
    let mut out = Out(String::new());
    out.line(0, "version", &quoted(VERSION));
    if let Some(root) = &source.root {
        out.line(0, "root", spell(ROOTS, root.value));
    }
    if let Some(default) = &source.default_policy {
        out.line(0, "default_policy", spell(EFFECTS, default.value));
    }
    if source.allow_insecure_default {
        out.line(0, "allow_insecure_default", "true");
    }
    if source.base != Base::default() {
        out.line(0, "base", spell(BASES, source.base));
    }
    if source.intents.value != Intents::default() {
        out.line(0, "intents", spell(INTENTS, source.intents.value));
    }
    if source.sandbox != Sandbox::default() {
        out.line(0, "sandbox", spell(SANDBOXES, source.sandbox));
    }
    out.texts(0, "scratch", &source.scratch);
    out.items(0, "global_rules", &source.global_rules, |(rule, whom)| {
        let whom = match whom {
            For::All => "all".to_owned(),
            For::These(names) => flow(names),
        };
        format!("{}, for: {whom}", pair(rule))
    });
    if !source.roles.is_empty() {
        out.open(0, "roles");
        source.roles.iter().for_each(|(name, role)| out.role(name, role));
    }
    if !source.agents.is_empty() {
        out.open(0, "agents");
        source.agents.iter().for_each(|(name, agent)| out.agent(name, agent));
    }
    out.items(0, "approvals", &source.approvals, |approval| {
        format!("verb: {}, path: {}", approval.verb.value, quoted(&approval.path.value))
    });
    out.audit(&source.audit.value);
    out.items(0, "tests", &source.tests, |test| {
        format!(
            "agent: {}, verb: {}, path: {}, expect: {}",
            quoted(&test.agent.value),
            test.verb.value,
            quoted(&test.path.value),
            test.expect.value
        )
    });
    out.0
}

/// Text under construction.
struct Out(String);

impl Out {
    fn indent(&mut self, depth: usize) {
        self.0.extend(std::iter::repeat_n("  ", depth));
    }

    fn line(&mut self, depth: usize, key: &str, value: &str) {
        self.indent(depth);
        self.0.extend([key, ": ", value, "\n"]);
    }

    fn open(&mut self, depth: usize, key: &str) {
        self.indent(depth);
        self.0.extend([key, ":\n"]);
    }

    /// A list of one-line mappings; nothing if it is empty.
    fn items<T>(&mut self, depth: usize, key: &str, all: &[T], show: impl Fn(&T) -> String) {
        if all.is_empty() {
            return;
        }
        self.open(depth, key);
        for one in all {
            self.indent(depth + 1);
            self.0.extend(["- {", &show(one), "}\n"]);
        }
    }

    /// A list of texts on one line; nothing if it is empty.
    fn texts(&mut self, depth: usize, key: &str, all: &[At<String>]) {
        if !all.is_empty() {
            self.line(depth, key, &flow(all));
        }
    }

    /// `tools` and `verbs`; nothing for what is not said.
    fn modes(&mut self, depth: usize, deny: &[At<String>], allow: &[At<String>], verbs: &[At<Verb>]) {
        let lists = [("deny", deny), ("allow", allow)].into_iter().filter(|(_, list)| !list.is_empty());
        let lists: Vec<String> = lists.map(|(key, list)| format!("{key}: {}", flow(list))).collect();
        if !lists.is_empty() {
            self.line(depth, "tools", &format!("{{{}}}", lists.join(", ")));
        }
        if !verbs.is_empty() {
            let words: Vec<&str> = verbs.iter().map(|verb| verb.value.word()).collect();
            self.line(depth, "verbs", &format!("{{deny: [{}]}}", words.join(", ")));
        }
    }

    fn limits(&mut self, limits: &Limits) {
        let memory = limits.memory.map(|bytes| format!("memory: {}", quoted(&spell_bytes(bytes))));
        let processes = limits.processes.map(|count| format!("processes: {count}"));
        let cpu = limits.cpu.map(|cpu| format!("cpu: {}", spell_cores(cpu)));
        let all: Vec<String> = [memory, processes, cpu].into_iter().flatten().collect();
        self.line(2, "limits", &format!("{{{}}}", all.join(", ")));
    }

    fn role(&mut self, name: &str, role: &RoleSource) {
        if *role == RoleSource::default() {
            return self.line(1, &quoted(name), "{}");
        }
        self.open(1, &quoted(name));
        self.texts(2, "extends", &role.extends);
        self.items(2, "permissions", &role.permissions, pair);
        self.modes(2, &role.deny_tools, &role.allow_tools, &role.deny_verbs);
    }

    fn agent(&mut self, name: &str, agent: &AgentSource) {
        let before = self.0.len();
        self.open(1, &quoted(name));
        let body = self.0.len();
        match &agent.cli {
            Some(Cli::Adapter(adapter)) => self.line(2, "cli", &quoted(&adapter.value)),
            Some(Cli::Command(words)) => self.line(2, "cli", &flow(words)),
            None => {}
        }
        self.texts(2, "roles", &agent.roles);
        if let Some(base) = &agent.base_workspace {
            self.line(2, "base_workspace", &quoted(&base.value));
        }
        self.items(2, "permissions", &agent.permissions, pair);
        self.items(2, "requests", &agent.requests, |request| {
            let answer = match request.answer {
                AskMode::Ask => "ask",
                AskMode::Once => "once",
                AskMode::Never => "never",
            };
            format!("{}, answer: {answer}", pair(&request.rule))
        });
        if !agent.requires.is_empty() || !agent.provides.is_empty() {
            self.open(2, "capabilities");
            self.items(3, "requires", &agent.requires, |need| capability(need, "reason"));
            self.items(3, "provides", &agent.provides, |offer| capability(offer, "description"));
        }
        if !agent.network.is_empty() {
            self.line(2, "network", &format!("{{allow: {}}}", flow(&agent.network)));
        }
        if let Some(max) = &agent.max_access {
            self.line(2, "max_access", &access(max.value));
        }
        if let Some(message) = &agent.system_message {
            self.line(2, "system_message", &quoted(message));
        }
        self.modes(2, &agent.deny_tools, &agent.allow_tools, &agent.deny_verbs);
        if let Some(git) = &agent.git {
            self.line(2, "git", spell(GIT, git.value));
        }
        if let Some(limits) = &agent.limits {
            self.limits(&limits.value);
        }
        if self.0.len() == body {
            self.0.truncate(before);
            self.line(1, &quoted(name), "{}");
        }
    }

    fn audit(&mut self, audit: &AuditSource) {
        if *audit == AuditSource::default() {
            return;
        }
        self.open(0, "audit");
        if audit.log_access_attempts != LogAccess::default() {
            self.line(1, "log_access_attempts", spell(LOGS, audit.log_access_attempts));
        }
        if let Some(file) = &audit.log_file {
            self.line(1, "log_file", &quoted(&file.value));
        }
        if audit.alert_on_violation {
            self.line(1, "alert_on_violation", "true");
        }
        if !audit.alert_command.is_empty() {
            self.line(1, "alert", &format!("{{command: {}}}", flow(&audit.alert_command)));
        }
    }
}

fn pair(rule: &RuleSource) -> String {
    format!("path: {}, access: {}", quoted(&rule.path.value), access(rule.access.value))
}

fn capability(capability: &CapabilitySource, key: &str) -> String {
    let text = if capability.text.is_empty() {
        String::new()
    } else {
        format!(", {key}: {}", quoted(&capability.text))
    };
    format!("{}{text}", pair(&capability.rule))
}

/// One word where there is one, else a list of words.
pub(crate) fn access(access: Access) -> String {
    if access == Access::WRITE.union(Access::EXECUTE) {
        "[write, execute]".to_owned()
    } else {
        access.to_string()
    }
}

fn flow(all: &[At<String>]) -> String {
    format!("[{}]", all.iter().map(|at| quoted(&at.value)).collect::<Vec<_>>().join(", "))
}

fn spell<T: PartialEq + Copy>(table: &[(&'static str, T)], value: T) -> &'static str {
    table.iter().find(|(_, each)| *each == value).map_or("", |(word, _)| *word)
}

/// Text in double quotes, on one line, with what cannot be seen as escapes. Words that nobody can mistake for
/// anything else stand without quotes.
pub(crate) fn quoted(text: &str) -> String {
    const OTHER: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        && !OTHER.contains(&text.to_ascii_lowercase().as_str());
    if plain {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if invisible(c) => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
