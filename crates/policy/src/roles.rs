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

const CYCLE: &str = "role-cycle";

/// How many roles may extend one another in a row: more are nobody's thought, and every step costs each agent.
const DEEPEST: usize = 64;

/// Takes away roles that extend nothing that is left, from the plain ones up. What remains leads to a cycle.
fn cycles(source: &PolicySource) -> Vec<Diagnostic> {
    let mut left: BTreeMap<&str, Vec<&At<String>>> = BTreeMap::new();
    let mut above: BTreeMap<&str, Vec<(&str, &At<String>)>> = BTreeMap::new();
    for (name, role) in &source.roles {
        let known = role.extends.iter().filter(|e| source.roles.contains_key(&e.value));
        let known: Vec<&At<String>> = known.collect();
        for below in &known {
            above.entry(&below.value).or_default().push((name, below));
        }
        left.insert(name, known);
    }
    let mut found = Vec::new();
    let mut deep: BTreeMap<&str, usize> = BTreeMap::new();
    let mut plain: Vec<&str> =
        left.iter().filter(|(_, extends)| extends.is_empty()).map(|(name, _)| *name).collect();
    loop {
        while let Some(name) = plain.pop() {
            left.remove(name);
            let depth = deep.get(name).copied().unwrap_or(1);
            for (extending, entry) in above.get(name).into_iter().flatten() {
                let here = deep.entry(extending).or_insert(1);
                *here = (*here).max(depth.saturating_add(1));
                // Below a cycle nothing is counted.
                if depth == DEEPEST && found.iter().all(|f: &Diagnostic| f.code != CYCLE) {
                    found.push(too_deep(extending, entry));
                }
                if let Some(extends) = left.get_mut(extending).filter(|extends| !extends.is_empty()) {
                    extends.retain(|e| e.value != name);
                    if extends.is_empty() {
                        plain.push(extending);
                    }
                }
            }
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
            let error = Diagnostic::error(CYCLE, place, format!("roles extend themselves: {shown}"));
            found.push(error.help("remove this entry of `extends`"));
        }
        // Those of the cycle are told; what only leads to them is taken apart further.
        for name in cycle {
            left.insert(name, Vec::new());
            plain.push(name);
        }
    }
}

fn too_deep(role: &str, entry: &At<String>) -> Diagnostic {
    let message =
        format!("`{role}` is the end of a chain of more than {DEEPEST} roles that extend one another");
    Diagnostic::error("deep-roles", entry.place.clone(), message).help("extend fewer roles in a row")
}
