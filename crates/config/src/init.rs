//! The policy that a new workspace begins with.

use crate::render::quoted;
use crate::text::invisible;
use remit_core::AgentName;
use std::collections::BTreeSet;

/// The name of the agent that `remit run -- CMD` starts.
const DEFAULT: &str = "default";

/// An agent CLI that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFound {
    /// What the agent is to be called: `claude`.
    pub name: String,
    /// The adapter: `claude`.
    pub cli: String,
}

/// What was found in the workspace and on the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The agent CLIs.
    pub agents: Vec<AgentFound>,
    /// Languages of the work tree, in lower case: `rust`, `python`.
    pub languages: Vec<String>,
    /// Files and folders that exist, look secret and are not tracked by git, relative to the workspace; a folder
    /// ends with `/`.
    pub secrets: Vec<String>,
    /// The same of what git tracks; a folder is among them if git tracks something in it.
    pub tracked: Vec<String>,
    /// Whether the workspace is a git checkout.
    pub is_git: bool,
}

/// Names that hold secrets wherever they lie. `.env.*` is spelled out: it would also hide `.env.example` and
/// its like, and nothing reopens a `none`.
const SECRET_NAMES: [&str; 10] = [
    ".env",
    ".env.local",
    ".env.*.local",
    ".env.development",
    ".env.staging",
    ".env.production",
    "id_rsa",
    "id_ecdsa",
    "id_ed25519",
    ".netrc",
];

/// Whether a file of this name holds secrets wherever it lies.
pub fn is_secret_name(name: &str) -> bool {
    SECRET_NAMES.iter().any(|pattern| means(pattern, name))
}

/// Whether one of [`SECRET_NAMES`] means this name.
fn means(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((head, tail)) => name
            .strip_prefix(head)
            .and_then(|rest| rest.strip_suffix(tail))
            .is_some_and(|rest| !rest.is_empty()),
        None => pattern == name,
    }
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Writes a commented policy that fits the facts. It loads without findings and its own tests pass.
pub fn propose(facts: &Facts) -> String {
    let mut out = String::from(HEAD);
    secrets(facts, &mut out);
    agents(facts, &mut out);
    out.push_str(MORE);
    tests(facts, &mut out);
    out
}

/// Where the schema of the language lies beside a policy.
pub const SCHEMA: &str = ".orchestration/remit.schema.json";

const HEAD: &str = r#"# yaml-language-server: $schema=.orchestration/remit.schema.json
# What each coding agent may do here. People edit this file; agents cannot.
# `remit check` reads it, `remit explain AGENT VERB PATH` says what it means.
version: "1.0"
root: host              # a leading "/" is the machine's root; `workspace` would make it this folder
default_policy: deny    # what no rule covers is refused
intents: off            # `require` (no change without declared work) is not held yet

# A pattern means the path and all below it; "*" stays within a name, "**" crosses folders.
# access: none | read | write | read-write | execute (reads too) | all

"#;

/// The rules for what is out of bounds. What git tracks is left out, and said: hiding it takes nothing away, since
/// it can be read from git's records, and git inside fails on what it cannot look at.
fn secrets(facts: &Facts, out: &mut String) {
    out.push_str(
        "# Out of bounds for everybody. A `none` is final: no narrower rule and no approval reopens it.\n",
    );
    out.push_str("# `.env.example` and its like stay readable, so `.env.*` is not written as one pattern.\n");
    let rule = |path: &str| format!("- {{path: {}, access: none, for: all}}\n", quoted(path));
    let (mut rules, mut left) = (String::new(), String::new());
    let mut covering: Vec<&str> = Vec::new();
    for name in SECRET_NAMES {
        let text = rule(&format!("**/{name}"));
        let tracked: Vec<&String> =
            facts.tracked.iter().filter(|path| means(name, last_name(path))).collect();
        match tracked.split_first() {
            None => {
                covering.push(name);
                rules.push_str(&format!("  {text}"));
            }
            Some((first, others)) => {
                left.push_str(&format!("  #   {}{}\n", shown(first), and_others(others.len())));
                left.push_str(&format!("  # {text}"));
            }
        }
    }
    let covered = |path: &str| {
        let inside =
            |other: &&String| other.ends_with('/') && *other != path && path.starts_with(other.as_str());
        covering.iter().any(|name| means(name, last_name(path))) || facts.secrets.iter().any(|o| inside(&o))
    };
    let found: BTreeSet<&str> =
        facts.secrets.iter().map(String::as_str).filter(|path| !covered(path)).collect();
    if !found.is_empty() {
        rules.push_str("  # found here:\n");
    }
    for path in found {
        match pattern(path) {
            Some(pattern) => rules.push_str(&format!("  {}", rule(&pattern))),
            None => {
                rules.push_str(&format!("  # a path that no pattern can name, rename it: {}\n", shown(path)));
            }
        }
    }
    for path in facts.tracked.iter().filter(|path| !is_secret_name(last_name(path))) {
        left.push_str(&format!("  #   {}\n", shown(path)));
    }
    // Without a rule it is a list all the same.
    let empty = !rules.lines().any(|line| line.trim_start().starts_with('-'));
    out.push_str(if empty { "global_rules: []\n" } else { "global_rules:\n" });
    out.push_str(&rules);
    if !left.is_empty() {
        out.push_str("  # Left out, since git tracks it: agents can read it from git's records anyway, and git fails on\n");
        out.push_str(
            "  # what it cannot look at. `git rm --cached` it, change the secret, and write the rule.\n",
        );
        out.push_str(&left);
    }
    out.push('\n');
}

fn shown(path: &str) -> String {
    remit_core::path::escape(path.as_bytes())
}

fn and_others(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " and another".to_owned(),
        n => format!(" and {n} others"),
    }
}

/// A pattern that means exactly this path, or all below it for a folder.
fn pattern(path: &str) -> Option<String> {
    let relative = path.strip_prefix("./").unwrap_or(path);
    let plain = relative.trim_end_matches('/');
    let climbs = plain.split('/').any(|part| part == "..");
    if plain.is_empty() || relative.starts_with('/') || climbs || plain.contains(invisible) {
        return None;
    }
    let mut out = String::with_capacity(plain.len() + 3);
    for c in plain.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '$' | '!' | '~') {
            out.push('\\');
        }
        out.push(c);
    }
    if relative.ends_with('/') {
        out.push_str("/**");
    }
    Some(out)
}

fn agents(facts: &Facts, out: &mut String) {
    out.push_str(
        "# One entry per agent; `remit run NAME` starts it. `all` includes running what was built.\n",
    );
    if !facts.languages.is_empty() {
        let languages: Vec<&str> =
            facts.languages.iter().map(String::as_str).filter(|name| !name.contains(invisible)).collect();
        out.push_str(&format!("# Toolchains ({}) and system folders need no rule.\n", languages.join(", ")));
    }
    out.push_str("agents:\n");
    let mut names = BTreeSet::from([DEFAULT]);
    for agent in &facts.agents {
        if AgentName::new(&agent.name).is_err() || agent.name == "all" || !names.insert(&agent.name) {
            continue;
        }
        out.push_str(&format!("  {}:\n    cli: {}\n", quoted(&agent.name), quoted(&agent.cli)));
        out.push_str("    permissions:\n      - {path: \".\", access: all}\n");
    }
    out.push_str("  default:            # any other command: `remit run -- CMD`\n");
    out.push_str("    permissions:\n      - {path: \".\", access: all}\n\n");
}

const MORE: &str = r#"# To narrow an agent, write narrower rules:
#    permissions: [{path: "src/**", access: all}, {path: "docs/**", access: read}]

"#;

fn tests(facts: &Facts, out: &mut String) {
    out.push_str("# What must come out; where one does not, nothing runs.\ntests:\n");
    let mut test = |verb: &str, path: &str, expect: &str| {
        out.push_str(&format!(
            "  - {{agent: default, verb: {verb}, path: {}, expect: {expect}}}\n",
            quoted(path)
        ));
    };
    test("write", "README.md", "allow");
    if !facts.tracked.iter().any(|path| last_name(path) == ".env") {
        test("read", ".env", "deny");
    }
    test("write", "remit.yaml", "deny");
    if facts.is_git {
        test("write", ".git/hooks/pre-commit", "deny");
    }
}
