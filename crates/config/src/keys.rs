//! Every key of the language, what may stand there, and what it is for: the one table that the reader and the
//! published schema are made from.

use crate::load::{BASES, EFFECTS, INTENTS, LOGS, ROOTS, SANDBOXES};
use crate::rules::{ANSWERS, MODES};
use remit_core::Verb;

/// A key of a mapping.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Whether it must be there.
    pub(crate) needed: bool,
    /// One sentence for people.
    pub(crate) about: &'static str,
}

/// What may stand under a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// The version of the language.
    Version,
    /// Text that may be empty.
    Text,
    /// Text that is not empty.
    Filled,
    /// A list of texts, or one alone.
    Texts,
    /// `true` or `false`.
    Flag,
    /// One word.
    Word(fn() -> Vec<&'static str>),
    /// One word or a list of them.
    Words(fn() -> Vec<&'static str>),
    /// Access: a word, or a list of words.
    Access,
    /// A name, or a program and its arguments.
    Cli,
    /// Bytes, with a unit.
    Bytes,
    /// A number from 1.
    Count,
    /// Cores, with up to two digits after the point.
    Cores,
    /// A mapping with these keys.
    Map(&'static [Key]),
    /// A list of mappings with these keys.
    List(&'static [Key]),
    /// A list of rules, or a mapping of path to access.
    Permissions,
    /// A mapping of names to mappings with these keys.
    Named(&'static [Key]),
    /// A mapping of names to agents, or a list of agents with `id`.
    Agents,
}

const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, needed: false, about }
}

const fn needed(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, needed: true, about }
}

fn words<T>(table: &[(&'static str, T)]) -> Vec<&'static str> {
    table.iter().map(|(word, _)| *word).collect()
}

fn verbs() -> Vec<&'static str> {
    Verb::FILES.map(Verb::word).to_vec()
}

/// Keys of which a later version will know the meaning. Until then they are as unknown as any other.
pub(crate) const LATER: &[&str] = &["isolation", "workspace", "protocol", "team", "notify"];

const PATH: Key = needed("path", Kind::Filled, "A path or pattern.");
const ACCESS: Key = needed("access", Kind::Access, "What may be done there.");

pub(crate) const RULE: &[Key] = &[PATH, ACCESS];
pub(crate) const GLOBAL_RULE: &[Key] =
    &[PATH, ACCESS, key("for", Kind::Texts, "`all`, or names of agents and roles.")];
pub(crate) const REQUEST: &[Key] =
    &[PATH, ACCESS, key("answer", Kind::Word(|| words(ANSWERS)), "How it is answered; `ask` if not said.")];
pub(crate) const REQUIRES: &[Key] = &[PATH, ACCESS, key("reason", Kind::Text, "Why it is needed.")];
pub(crate) const PROVIDES: &[Key] = &[PATH, ACCESS, key("description", Kind::Text, "What it is.")];
pub(crate) const CAPABILITIES: &[Key] = &[
    key("requires", Kind::List(REQUIRES), "What the agent needs."),
    key("provides", Kind::List(PROVIDES), "What it has for others."),
];
pub(crate) const NETWORK: &[Key] =
    &[key("allow", Kind::Texts, "Hosts with ports, such as `api.example.org:443`.")];
pub(crate) const TOOLS: &[Key] = &[
    key(
        "deny",
        Kind::Texts,
        "Tools that may not be called, by the host's name; `*` stands for any characters.",
    ),
    key("allow", Kind::Texts, "The only tools that may be called."),
];
pub(crate) const VERBS: &[Key] =
    &[key("deny", Kind::Words(|| words(MODES)), "What may not be done, whatever the path.")];
pub(crate) const LIMITS: &[Key] = &[
    key("memory", Kind::Bytes, "Bytes with a unit, such as `2GiB`."),
    key("processes", Kind::Count, "How many processes at once."),
    key("cpu", Kind::Cores, "How many cores, such as `1.5`."),
];
pub(crate) const ROLE: &[Key] = &[
    key("extends", Kind::Texts, "Roles that it adds to."),
    key("permissions", Kind::Permissions, "Its rules."),
    key("tools", Kind::Map(TOOLS), "Tools that its agents may call."),
    key("verbs", Kind::Map(VERBS), "Verbs that its agents may not use."),
];
pub(crate) const ID: Key = needed("id", Kind::Filled, "The agent's name.");
pub(crate) const AGENT: &[Key] = &[
    key("cli", Kind::Cli, "An agent program that Remit knows, or a program and its arguments."),
    key("roles", Kind::Texts, "Its roles."),
    key("base_workspace", Kind::Filled, "What relative patterns are relative to."),
    key("permissions", Kind::Permissions, "Its rules."),
    key("requests", Kind::List(REQUEST), "What may be asked for at run time."),
    key("capabilities", Kind::Map(CAPABILITIES), "What it needs, and what it has for others."),
    key("network", Kind::Map(NETWORK), "Where it may connect to."),
    key("max_access", Kind::Access, "The ceiling, whatever rules say."),
    key("system_message", Kind::Text, "Handed to its program."),
    key("tools", Kind::Map(TOOLS), "Tools that it may call."),
    key("verbs", Kind::Map(VERBS), "Verbs that it may not use."),
    key("git", Kind::Word(|| vec!["none"]), "`none`: it sees no `.git` of the checkout."),
    key("limits", Kind::Map(LIMITS), "How much of the machine its sessions may use."),
];
pub(crate) const APPROVAL: &[Key] =
    &[needed("verb", Kind::Word(verbs), "The verb."), needed("path", Kind::Filled, "A path or pattern.")];
pub(crate) const ALERT: &[Key] = &[needed("command", Kind::Texts, "A program and its arguments.")];
pub(crate) const AUDIT: &[Key] = &[
    key("log_access_attempts", Kind::Word(|| words(LOGS)), "Which accesses are recorded one by one."),
    key("log_file", Kind::Filled, "A file that the records are written to, too."),
    key("alert_on_violation", Kind::Flag, "Whether a refusal is announced."),
    key("alert", Kind::Map(ALERT), "The program that announces it."),
];
pub(crate) const TEST: &[Key] = &[
    needed("agent", Kind::Filled, "The agent."),
    needed("verb", Kind::Word(verbs), "What it does."),
    needed("path", Kind::Filled, "To which path."),
    needed("expect", Kind::Word(|| words(EFFECTS)), "What must come out."),
];
pub(crate) const POLICY: &[Key] = &[
    needed("version", Kind::Version, "The version of the language."),
    key("root", Kind::Word(|| words(ROOTS)), "What a leading `/` means."),
    key("default_policy", Kind::Word(|| words(EFFECTS)), "What no rule covers; `deny` if not said."),
    key("allow_insecure_default", Kind::Flag, "Confirms another default than `deny`."),
    key("base", Kind::Word(|| words(BASES)), "What any program needs to run."),
    key("intents", Kind::Word(|| words(INTENTS)), "Whether work must be declared."),
    key("sandbox", Kind::Word(|| words(SANDBOXES)), "Whether what cannot be held stops a start."),
    key("scratch", Kind::Texts, "Paths whose allowed changes are only counted."),
    key("global_rules", Kind::List(GLOBAL_RULE), "Rules for many."),
    key("roles", Kind::Named(ROLE), "Roles by name."),
    key("agents", Kind::Agents, "Agents by name."),
    key("agent_permissions", Kind::Agents, "The same, as other tools spell it."),
    key("approvals", Kind::List(APPROVAL), "What a person must confirm."),
    key("audit", Kind::Map(AUDIT), "What is recorded and announced."),
    key("tests", Kind::List(TEST), "The policy's own tests."),
];
