//! The whole document: text to [`PolicySource`].

use crate::finding::{Findings, shown};
use crate::nearest::hint;
use crate::read::Fields;
use crate::tree::{self, Node};
use crate::{ground, keys, rules, team, text};
use remit_core::{Diagnostic, Effect, Severity};
use remit_policy::PolicySource;
use remit_policy::source::{At, AuditSource, Base, For, Intents, LogAccess, Root, Sandbox, TestSource};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The version of the policy language.
pub const VERSION: &str = "1.0";

pub(crate) const EFFECTS: &[(&str, Effect)] =
    &[("allow", Effect::Allow), ("ask", Effect::Ask), ("deny", Effect::Deny)];
pub(crate) const ROOTS: &[(&str, Root)] = &[("host", Root::Host), ("workspace", Root::Workspace)];
pub(crate) const BASES: &[(&str, Base)] =
    &[("standard", Base::Standard), ("minimal", Base::Minimal), ("none", Base::None)];
pub(crate) const INTENTS: &[(&str, Intents)] =
    &[("off", Intents::Off), ("advise", Intents::Advise), ("require", Intents::Require)];
pub(crate) const SANDBOXES: &[(&str, Sandbox)] =
    &[("enforce", Sandbox::Enforce), ("advisory", Sandbox::Advisory)];
pub(crate) const LOGS: &[(&str, LogAccess)] = &[
    ("all", LogAccess::All),
    ("denied", LogAccess::Denied),
    ("none", LogAccess::None),
    ("true", LogAccess::All),
    ("false", LogAccess::None),
];

/// Reads a policy from YAML or JSON. `file_name_to_show` stands in every place.
///
/// # Errors
/// All that is wrong with the text, in its order: what is no YAML, unknown keys and words, names that are
/// defined nowhere, repeated agents. Each finding is an error (the last may be a note that there are more),
/// its place lies inside the text, or is the whole file.
pub fn load(file_name_to_show: &str, text: &[u8]) -> Result<PolicySource, Vec<Diagnostic>> {
    match read(file_name_to_show, text) {
        (Some(source), found) if found.is_empty() => Ok(source),
        (_, found) => Err(found.into_list()),
    }
}

/// The same for a person who mends the file: if the text has errors, what could be read of it is looked at as
/// [`ground`](crate::ground()) and the policy's compiler would, so that all errors are told at once, by position.
/// `workspace` and `home` are absolute.
///
/// # Errors
/// Those of [`load`]; if there are any, those of the paths, patterns and roles, too.
pub fn load_in(
    file_name_to_show: &str,
    text: &[u8],
    workspace: &Path,
    home: &Path,
) -> Result<PolicySource, Vec<Diagnostic>> {
    let (source, found) = match read(file_name_to_show, text) {
        (Some(source), found) if found.is_empty() => return Ok(source),
        (source, found) => (source, found.into_list()),
    };
    let more = source.map_or_else(Vec::new, |source| ground::errors(&source, workspace, home));
    Err(merged(found, more))
}

/// Findings of two looks at one file, by position. Where both looks find an error at one spot, only that of the
/// first is told: the second comes from the same fault.
pub fn merged(mut found: Vec<Diagnostic>, more: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let spot = |finding: &Diagnostic| (finding.place.line, finding.place.column);
    let wrong = |finding: &&Diagnostic| finding.severity == Severity::Error && finding.place.line > 0;
    let told: BTreeSet<(u32, u32)> = found.iter().filter(wrong).map(spot).collect();
    found.extend(more.into_iter().filter(|finding| !wrong(&finding) || !told.contains(&spot(finding))));
    found.sort_by_key(spot);
    found
}

pub(crate) fn read(file_name_to_show: &str, text: &[u8]) -> (Option<PolicySource>, Findings) {
    let file: Arc<str> = file_name_to_show.into();
    let mut found = Findings::default();
    let source = text::decode(&file, text, &mut found)
        .and_then(|text| tree::parse(&file, text, &mut found))
        .and_then(|root| document(file, &root, &mut found));
    (source, found)
}

fn document(file: Arc<str>, root: &Node, found: &mut Findings) -> Option<PolicySource> {
    let top = found.fields(root, "a policy", keys::POLICY)?;
    version(&top, found);
    let word = |key: &str| (top.get(key), format!("`{key}`"));
    let mut source = PolicySource::empty(file);
    if let (Some(node), what) = word("root") {
        // A root that cannot be understood is none that was forgotten.
        let unclear = || At { value: Root::default(), place: node.place.clone() };
        source.root = Some(found.word(node, &what, ROOTS).unwrap_or_else(unclear));
    }
    if let (Some(node), what) = word("default_policy") {
        source.default_policy = found.word(node, &what, EFFECTS);
    }
    if let (Some(node), what) = word("allow_insecure_default") {
        source.allow_insecure_default = found.flag(node, &what).unwrap_or(false);
    }
    if let (Some(node), what) = word("base") {
        source.base = found.word(node, &what, BASES).map_or(source.base, |at| at.value);
    }
    if let (Some(node), what) = word("intents") {
        source.intents = found.word(node, &what, INTENTS).unwrap_or(source.intents);
    }
    if let (Some(node), what) = word("sandbox") {
        source.sandbox = found.word(node, &what, SANDBOXES).map_or(source.sandbox, |at| at.value);
    }
    if let (Some(node), what) = word("scratch") {
        source.scratch = found.texts(node, &what);
    }
    if let Some(node) = top.get("global_rules") {
        source.global_rules = rules::global_rules(node, found);
    }
    if let Some(node) = top.get("roles") {
        source.roles = team::roles(node, found);
    }
    for key in ["agents", "agent_permissions"] {
        if let Some(node) = top.get(key) {
            team::agents(node, key, &mut source.agents, found);
        }
    }
    if let Some(node) = top.get("approvals") {
        source.approvals = rules::approvals(node, found);
    }
    if let Some(entry) = top.entry("audit") {
        source.audit = At { value: audit(&entry.value, found), place: entry.place.clone() };
    }
    if let Some(node) = top.get("tests") {
        source.tests = tests(node, found);
    }
    default_is_confirmed(&source, found);
    names(&source, found);
    Some(source)
}

fn version(top: &Fields<'_>, found: &mut Findings) {
    let help = format!("write `version: \"{VERSION}\"`");
    let Some(node) = top.get("version") else {
        if top.is_misspelt("version") {
            return;
        }
        found.error_help("missing-key", top.place, "a policy has no `version`, and needs one", help);
        return;
    };
    if let Some(text) = found.text(node, "`version`")
        && text.value != VERSION
    {
        let message = format!("the version {} is not known", shown(&text.value));
        found.error_help("unknown-version", &text.place, message, help);
    }
}

fn audit(node: &Node, found: &mut Findings) -> AuditSource {
    let mut audit = AuditSource::default();
    let Some(fields) = found.fields(node, "`audit`", keys::AUDIT) else { return audit };
    if let Some(node) = fields.get("log_access_attempts") {
        let word = found.word(node, "`audit.log_access_attempts`", LOGS);
        audit.log_access_attempts = word.map(|at| at.value).unwrap_or_default();
    }
    if let Some(node) = fields.get("log_file") {
        audit.log_file = found.filled(node, "`audit.log_file`").filter(|file| is_of_workspace(file, found));
    }
    if let Some(node) = fields.get("alert_on_violation") {
        audit.alert_on_violation = found.flag(node, "`audit.alert_on_violation`").unwrap_or(false);
    }
    if let Some(node) = fields.get("alert")
        && let Some(alert) = found.fields(node, "`audit.alert`", keys::ALERT)
        && let Some(node) = found.needed(&alert, "command", "`audit.alert`")
    {
        audit.alert_command = found.texts(node, "`audit.alert.command`");
    }
    audit
}

/// Whether a file can be one that records are written to: below the workspace, and nothing of git's.
fn is_of_workspace(file: &At<String>, found: &mut Findings) -> bool {
    let plain = |part: &str| !["", ".", ".."].contains(&part) && !part.eq_ignore_ascii_case(".git");
    let path = file.value.strip_prefix("./").unwrap_or(&file.value);
    let fits = path.split('/').all(plain) && !path.starts_with('~') && !path.contains('\0');
    if !fits {
        let message =
            format!("{} is no file below the workspace that records can be written to", shown(&file.value));
        let help = "such as `audit.jsonl`: a path from the workspace on, outside of `.git`";
        found.error_help("log-file", &file.place, message, help);
    }
    fits
}

fn tests(node: &Node, found: &mut Findings) -> Vec<TestSource> {
    let mut tests = Vec::new();
    for (index, item) in found.items(node, "`tests`").iter().enumerate() {
        let id = format!("tests[{index}]");
        let what = format!("`{id}`");
        let Some(fields) = found.fields(item, &what, keys::TEST) else { continue };
        let agent = found
            .needed(&fields, "agent", &what)
            .and_then(|node| found.filled(node, &format!("`{id}.agent`")));
        let verb = found.needed(&fields, "verb", &what).and_then(|node| rules::verb(node, &id, found));
        let path =
            found.needed(&fields, "path", &what).and_then(|node| found.filled(node, &format!("`{id}.path`")));
        let expect = found
            .needed(&fields, "expect", &what)
            .and_then(|node| found.word(node, &format!("`{id}.expect`"), EFFECTS));
        if let (Some(agent), Some(verb), Some(path), Some(expect)) = (agent, verb, path, expect) {
            tests.push(TestSource { agent, verb, path, expect });
        }
    }
    tests
}

/// A default other than deny opens everything that nobody thought of, so it is said twice.
fn default_is_confirmed(source: &PolicySource, found: &mut Findings) {
    if let Some(default) = &source.default_policy
        && default.value != Effect::Deny
        && !source.allow_insecure_default
    {
        let (message, deny) = match default.value {
            Effect::Ask => (
                "`default_policy: ask` leaves every path that no rule covers to a person, and nobody can be asked yet: it is refused until then",
                ", which refuses the same",
            ),
            _ => ("`default_policy: allow` opens every path that no rule covers", ""),
        };
        found.error_help(
            "insecure-default",
            &default.place,
            message,
            format!("write `default_policy: deny`{deny}, or confirm with `allow_insecure_default: true`"),
        );
    }
}

/// Every name that is used must be defined.
fn names(source: &PolicySource, found: &mut Findings) {
    let agents: Vec<&str> = source.agents.keys().map(String::as_str).collect();
    let roles: Vec<&str> = source.roles.keys().map(String::as_str).collect();
    let whom: Vec<&str> = ["all"].iter().chain(&agents).chain(&roles).copied().collect();
    for (rule, bound) in &source.global_rules {
        let For::These(names) = bound else { continue };
        for name in names {
            let (agent, role) =
                (source.agents.contains_key(&name.value), source.roles.contains_key(&name.value));
            if agent && role {
                let message = format!(
                    "{} is an agent and a role, and `{}` could mean either",
                    shown(&name.value),
                    rule.id
                );
                found.error_help("ambiguous-name", &name.place, message, "rename one of the two");
            } else if !agent && !role {
                unknown(name, "agent or role", &whom, found);
            }
        }
    }
    let of_roles = source.roles.values().flat_map(|role| &role.extends);
    let of_agents = source.agents.values().flat_map(|agent| &agent.roles);
    for name in of_roles.chain(of_agents).filter(|name| !source.roles.contains_key(&name.value)) {
        unknown(name, "role", &roles, found);
    }
    for test in source.tests.iter().filter(|test| !source.agents.contains_key(&test.agent.value)) {
        unknown(&test.agent, "agent", &agents, found);
    }
}

fn unknown(name: &At<String>, what: &str, known: &[&str], found: &mut Findings) {
    let message = format!("there is no {what} {}", shown(&name.value));
    found.error_help("unknown-name", &name.place, message, hint(&name.value, known));
}
