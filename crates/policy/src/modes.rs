//! Modes: tools and verbs that a role or an agent has taken away, whatever the path.

use crate::roles;
use crate::shown::shown;
use crate::source::{At, PolicySource};
use remit_core::{Effect, Layer, Place, Reason, Rule, Verb, Why};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is taken away from one agent, by its roles and itself. Every list holds: a tool must be in each list of
/// allowed ones, and in no list of denied ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Modes {
    denied: Vec<(String, Arc<Rule>)>,
    allowed: Vec<(Vec<String>, Arc<Rule>)>,
    verbs: Vec<(Verb, Arc<Rule>)>,
}

/// The lists of one role, or of the agent.
struct Lists<'a> {
    at: String,
    deny: &'a [At<String>],
    allow: &'a [At<String>],
    verbs: &'a [At<Verb>],
}

impl Modes {
    /// Of every agent that has any.
    pub(crate) fn of_all(source: &PolicySource) -> BTreeMap<String, Modes> {
        let mut all = BTreeMap::new();
        for (name, agent) in &source.agents {
            let mut modes = Modes::default();
            for role in roles::chain(source, &agent.roles) {
                let Some(lists) = source.roles.get(role) else { continue };
                let (deny, allow, verbs) = (&lists.deny_tools, &lists.allow_tools, &lists.deny_verbs);
                modes.add(Lists { at: format!("roles.{role}"), deny, allow, verbs });
            }
            let (deny, allow, verbs) = (&agent.deny_tools, &agent.allow_tools, &agent.deny_verbs);
            modes.add(Lists { at: format!("agents.{name}"), deny, allow, verbs });
            if !(modes.denied.is_empty() && modes.allowed.is_empty() && modes.verbs.is_empty()) {
                all.insert(name.clone(), modes);
            }
        }
        all
    }

    fn add(&mut self, lists: Lists<'_>) {
        let Lists { at, deny, allow, verbs } = lists;
        for (index, name) in deny.iter().enumerate() {
            let text = format!("tools.deny: {}", shown(&name.value));
            self.denied
                .push((name.value.clone(), rule(format!("{at}.tools.deny[{index}]"), text, &name.place)));
        }
        if let Some(first) = allow.first() {
            let names: Vec<String> = allow.iter().map(|name| name.value.clone()).collect();
            let text = format!("tools.allow: {}", shown(&names.join(", ")));
            self.allowed.push((names, rule(format!("{at}.tools.allow"), text, &first.place)));
        }
        for (index, verb) in verbs.iter().enumerate() {
            let text = format!("verbs.deny: {}", verb.value);
            self.verbs.push((verb.value, rule(format!("{at}.verbs.deny[{index}]"), text, &verb.place)));
        }
    }

    /// The reason to refuse a tool, if there is one. Letter case does not save a denied tool, nor does it make an
    /// allowed one.
    pub(crate) fn tool(&self, tool: &str) -> Option<Reason> {
        let folded = tool.to_ascii_lowercase();
        let denied = self.denied.iter().find(|(name, _)| is_like(&name.to_ascii_lowercase(), &folded));
        let missing = || self.allowed.iter().find(|(names, _)| !names.iter().any(|name| is_like(name, tool)));
        denied.map(|(_, rule)| rule).or_else(|| missing().map(|(_, rule)| rule)).map(taken)
    }

    /// The reason to refuse a verb, if there is one.
    pub(crate) fn verb(&self, verb: Verb) -> Option<Reason> {
        self.verbs.iter().find(|(denied, _)| *denied == verb).map(|(_, rule)| taken(rule))
    }

    /// The names of denied tools, as written.
    pub(crate) fn denied_tools(&self) -> impl Iterator<Item = &str> {
        self.denied.iter().map(|(name, _)| name.as_str())
    }

    /// Each list of allowed tools, as written; a tool must be in all of them.
    pub(crate) fn allowed_tools(&self) -> impl Iterator<Item = &[String]> {
        self.allowed.iter().map(|(names, _)| names.as_slice())
    }

    /// The verbs that are taken away.
    pub(crate) fn denied_verbs(&self) -> impl Iterator<Item = Verb> {
        self.verbs.iter().map(|(verb, _)| *verb)
    }

    /// A rule about tools, if there is one.
    pub(crate) fn about_tools(&self) -> Option<&Arc<Rule>> {
        self.denied.first().map(|(_, rule)| rule).or_else(|| self.allowed.first().map(|(_, rule)| rule))
    }
}

fn rule(id: String, text: String, place: &Place) -> Arc<Rule> {
    Arc::new(Rule { id: id.into(), text: text.into(), place: Some(place.clone()) })
}

fn taken(rule: &Arc<Rule>) -> Reason {
    Reason { layer: Layer::Agent, effect: Effect::Deny, rule: Some(Arc::clone(rule)), why: Why::Mode }
}

/// Whether a name is like a pattern, in which `*` stands for any characters.
fn is_like(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_and_for_none() {
        for (pattern, name) in [
            ("WebFetch", "WebFetch"),
            ("Web*", "WebFetch"),
            ("Web*", "Web"),
            ("*", ""),
            ("mcp__*__delete*", "mcp__a__b__delete_all"),
            ("*ab*ab", "abab"),
            ("a**b", "ab"),
        ] {
            assert!(is_like(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("WebFetch", "WebFetch2"), ("Web*", "aWeb"), ("*ab*ab", "ab"), ("a*a", "a"), ("", "a")]
        {
            assert!(!is_like(pattern, name), "{pattern} {name}");
        }
    }
}
