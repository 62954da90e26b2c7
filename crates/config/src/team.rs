//! Agents and roles.

use crate::finding::{Findings, shown};
use crate::keys::{self, Key};
use crate::modes;
use crate::read::Fields;
use crate::rules;
use crate::tree::{Entry, Node, Value};
use remit_core::{AgentName, Diagnostic, Place};
use remit_policy::source::{AgentSource, At, Cli, Git, RoleSource};
use std::collections::BTreeMap;

pub(crate) const GIT: &[(&str, Git)] = &[("none", Git::None)];

/// Whether a string can name an agent or a role; `all` means everybody and names nobody.
fn name_is_good(name: &str, place: &Place, found: &mut Findings) -> bool {
    if name == "all" {
        found.error("reserved-name", place, "`all` means everybody and cannot be a name");
        return false;
    }
    match AgentName::new(name) {
        Ok(_) => true,
        Err(error) => {
            found.error("bad-name", place, format!("{} is no name: {error}", shown(name)));
            false
        }
    }
}

/// `agents` or `agent_permissions`: a mapping of name to agent, or a list of agents with `id`.
pub(crate) fn agents(node: &Node, key: &str, all: &mut BTreeMap<String, AgentSource>, found: &mut Findings) {
    match &node.value {
        Value::List(items) => {
            let keys: Vec<Key> = std::iter::once(keys::ID).chain(keys::AGENT.iter().copied()).collect();
            for (index, item) in items.iter().enumerate() {
                let what = format!("`{key}[{index}]`");
                let Some(fields) = found.fields(item, &what, &keys) else { continue };
                let id = found.needed(&fields, "id", &what);
                if let Some(name) = id.and_then(|node| found.text(node, &format!("`{key}[{index}].id`"))) {
                    add(&name.value, &name.place, Some(&fields), all, found);
                }
            }
        }
        Value::Map(entries) => {
            for entry in entries {
                let what = format!("`{key}.{}`", shown_name(entry));
                let fields = found.fields(&entry.value, &what, keys::AGENT);
                add(&entry.key, &entry.place, fields.as_ref(), all, found);
            }
        }
        other => {
            let message = format!("`{key}` is a mapping or a list, and here stands {}", other.kind());
            found.error("wrong-kind", &node.place, message);
        }
    }
}

/// A key within a name in backticks.
fn shown_name(entry: &Entry) -> String {
    shown(&entry.key).trim_matches('`').to_owned()
}

/// Adds an agent. One whose value could not be read is added too, so that its name is known.
fn add(
    name: &str,
    place: &Place,
    fields: Option<&Fields<'_>>,
    all: &mut BTreeMap<String, AgentSource>,
    found: &mut Findings,
) {
    if !name_is_good(name, place, found) {
        return;
    }
    let mut agent = AgentSource::named(place.clone());
    if let Some(fields) = fields {
        fill(&mut agent, &format!("agents.{name}"), fields, found);
    }
    if let Some(first) = all.get(name) {
        found.push(
            Diagnostic::error(
                "repeated-agent",
                place.clone(),
                format!("the agent {} stands here again", shown(name)),
            )
            .related(first.place.clone(), "it stands here first")
            .help("put all that it may do in one place"),
        );
        return;
    }
    all.insert(name.to_owned(), agent);
}

fn fill(agent: &mut AgentSource, at: &str, fields: &Fields<'_>, found: &mut Findings) {
    let list = |key: &str| (fields.get(key), format!("{at}.{key}"));
    agent.cli = fields.get("cli").and_then(|node| cli(node, at, found));
    (agent.deny_tools, agent.allow_tools) = modes::tools(fields, at, found);
    agent.deny_verbs = modes::verbs(fields, at, found);
    agent.git = fields.get("git").and_then(|node| found.word(node, &format!("`{at}.git`"), GIT));
    if let Some(entry) = fields.entry("limits") {
        agent.limits = modes::limits(entry, at, found);
    }
    if let (Some(node), at) = list("roles") {
        agent.roles = found.texts(node, &format!("`{at}`"));
    }
    if let (Some(node), at) = list("base_workspace") {
        agent.base_workspace = found.filled(node, &format!("`{at}`"));
    }
    if let (Some(node), at) = list("permissions") {
        agent.permissions = rules::permissions(node, &at, found);
    }
    if let (Some(node), at) = list("requests") {
        agent.requests = rules::requests(node, &at, found);
    }
    if let (Some(node), at) = list("capabilities")
        && let Some(fields) = found.fields(node, &format!("`{at}`"), keys::CAPABILITIES)
    {
        if let Some(node) = fields.get("requires") {
            agent.requires = rules::capabilities(node, &format!("{at}.requires"), "reason", found);
        }
        if let Some(node) = fields.get("provides") {
            agent.provides = rules::capabilities(node, &format!("{at}.provides"), "description", found);
        }
    }
    if let (Some(node), at) = list("network")
        && let Some(fields) = found.fields(node, &format!("`{at}`"), keys::NETWORK)
        && let Some(node) = fields.get("allow")
    {
        agent.network = found.texts(node, &format!("`{at}.allow`"));
    }
    if let Some(node) = fields.get("max_access") {
        agent.max_access = rules::access(node, found);
    }
    if let (Some(node), at) = list("system_message") {
        agent.system_message = found.text(node, &format!("`{at}`")).map(|at| at.value);
    }
}

/// An adapter's name, or a list: a program and its arguments.
fn cli(node: &Node, at: &str, found: &mut Findings) -> Option<Cli> {
    let what = format!("`{at}.cli`");
    match &node.value {
        Value::List(items) if items.is_empty() => {
            found.error("empty-list", &node.place, format!("{what} names no program"));
            None
        }
        Value::List(items) => {
            let program = found.filled(items.first()?, &what);
            let rest = items.iter().skip(1).map(|item| found.text(item, &what));
            let words: Option<Vec<At<String>>> = std::iter::once(program).chain(rest).collect();
            words.map(Cli::Command)
        }
        Value::Scalar { .. } => found.filled(node, &what).map(Cli::Adapter),
        _ => {
            found.error(
                "wrong-kind",
                &node.place,
                format!("{what} is a name or a list of words, and here stands {}", node.value.kind()),
            );
            None
        }
    }
}

/// `roles`: a mapping of name to role.
pub(crate) fn roles(node: &Node, found: &mut Findings) -> BTreeMap<String, RoleSource> {
    let mut all = BTreeMap::new();
    for entry in found.entries(node, "`roles`") {
        if !name_is_good(&entry.key, &entry.place, found) {
            continue;
        }
        let at = format!("roles.{}", entry.key);
        let Some(fields) = found.fields(&entry.value, &format!("`{at}`"), keys::ROLE) else {
            // The name is known all the same.
            all.insert(entry.key.clone(), RoleSource::default());
            continue;
        };
        let (deny_tools, allow_tools) = modes::tools(&fields, &at, found);
        let deny_verbs = modes::verbs(&fields, &at, found);
        let mut role = RoleSource { deny_tools, allow_tools, deny_verbs, ..RoleSource::default() };
        if let Some(node) = fields.get("extends") {
            role.extends = found.texts(node, &format!("`{at}.extends`"));
        }
        if let Some(node) = fields.get("permissions") {
            role.permissions = rules::permissions(node, &format!("{at}.permissions"), found);
        }
        all.insert(entry.key.clone(), role);
    }
    all
}
