//! Which roles an agent has: those it names, and all that they extend.

use crate::source::{At, PolicySource};
use remit_core::Diagnostic;
use std::collections::{BTreeMap, BTreeSet};

/// The names of all roles that these lead to, nearest first, each once. Unknown names are left out; cycles
/// end the walk.
pub(crate) fn chain<'a>(source: &'a PolicySource, start: &'a [At<String>]) -> Vec<&'a str> {
    let mut chain: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut level: Vec<&At<String>> = start.iter().collect();
    while !level.is_empty() {
        let mut next = Vec::new();
        for name in level {
            if let Some(role) = source.roles.get(&name.value)
                && seen.insert(name.value.as_str())
            {
                chain.push(&name.value);
                next.extend(&role.extends);
            }
        }
        level = next;
    }
    chain
}

/// Roles that do not exist, and roles that extend themselves.
pub(crate) fn check(source: &PolicySource) -> Vec<Diagnostic> {
    let named = source.agents.values().flat_map(|agent| &agent.roles);
    let extended = source.roles.values().flat_map(|role| &role.extends);
    let mut found: Vec<Diagnostic> = named.chain(extended).filter_map(|name| unknown(source, name)).collect();
    found.extend(cycles(source));
    found
}

fn unknown(source: &PolicySource, name: &At<String>) -> Option<Diagnostic> {
    if source.roles.contains_key(&name.value) {
        return None;
    }
    let error =
        Diagnostic::error("unknown-role", name.place.clone(), format!("`{}` is not a role", name.value));
    Some(error.help(match names(source.roles.keys()) {
        known if known.is_empty() => "this document has no `roles`".to_owned(),
        known => format!("the roles are {known}"),
    }))
}

pub(crate) fn names<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Takes away, again and again, roles that extend nothing that is left. What remains leads to a cycle.
fn cycles(source: &PolicySource) -> Vec<Diagnostic> {
    let mut left: BTreeMap<&str, Vec<&At<String>>> = source
        .roles
        .iter()
        .map(|(name, role)| {
            (name.as_str(), role.extends.iter().filter(|e| source.roles.contains_key(&e.value)).collect())
        })
        .collect();
    let mut found = Vec::new();
    loop {
        let before = left.len();
        let names: BTreeSet<&str> = left.keys().copied().collect();
        left.retain(|_, extends| {
            extends.retain(|e| names.contains(e.value.as_str()));
            !extends.is_empty()
        });
        if left.len() < before {
            continue;
        }
        let Some(mut at) = left.keys().next().copied() else { return found };
        let mut way: Vec<&str> = Vec::new();
        let mut place = None;
        while !way.contains(&at) {
            way.push(at);
            let Some(next) = left.get(at).and_then(|extends| extends.first()) else { break };
            place = Some(next.place.clone());
            at = &next.value;
        }
        let cycle: Vec<&str> = way.iter().copied().skip_while(|name| *name != at).collect();
        let shown =
            cycle.iter().chain([&at]).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" -> ");
        if let Some(place) = place {
            let error = Diagnostic::error("role-cycle", place, format!("roles extend themselves: {shown}"));
            found.push(error.help("remove this entry of `extends`"));
        }
        left.retain(|name, _| !cycle.contains(name));
    }
}
