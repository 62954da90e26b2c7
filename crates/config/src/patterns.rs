//! Every pattern of a document with what it hangs on, before anything is compiled.

use remit_core::AbsPath;
use remit_policy::source::{At, Root, RuleSource};
use remit_policy::{Access, Anchor, Pattern, PolicySource, Use, World};
use std::collections::{BTreeMap, BTreeSet};

/// A text that names paths, and what it hangs on.
pub(crate) struct Spoken<'s> {
    pub(crate) text: &'s At<String>,
    pub(crate) anchor: Anchor,
    /// The rule that it belongs to; none for a base folder, a test, a request, a need or an offer.
    pub(crate) rule: Option<&'s RuleSource>,
}

impl Spoken<'_> {
    /// The pattern, unless it is a bad one, which compiling tells.
    pub(crate) fn pattern(&self) -> Option<Pattern> {
        Pattern::parse(self.text, &self.anchor, Use::Limit).ok()
    }

    /// The same text with another meaning of a leading `/`.
    pub(crate) fn rooted(&self, root: Root) -> Option<Pattern> {
        let anchor = Anchor { root, ..self.anchor.clone() };
        Pattern::parse(self.text, &anchor, Use::Limit).ok()
    }

    /// What the rule grants.
    pub(crate) fn access(&self) -> Access {
        self.rule.map_or(Access::NONE, |rule| rule.access.value)
    }
}

/// Every text of the document that names paths, in no particular order. A role's rule comes once for each
/// folder that its agents work in.
pub(crate) fn spoken<'s>(source: &'s PolicySource, world: &World) -> Vec<Spoken<'s>> {
    let outside = Anchor::of_workspace(source, world);
    let mut all: Vec<Spoken<'s>> = Vec::new();
    let mut add = |text: &'s At<String>, anchor: &Anchor, rule: Option<&'s RuleSource>| {
        all.push(Spoken { text, anchor: anchor.clone(), rule });
    };
    for (rule, _) in &source.global_rules {
        add(&rule.path, &outside, Some(rule));
    }
    for approval in &source.approvals {
        add(&approval.path, &outside, None);
    }
    for agent in source.agents.values() {
        if let Some(base) = &agent.base_workspace {
            add(base, &outside, None);
        }
        let Ok(anchor) = Anchor::of_agent(source, world, agent) else { continue };
        for rule in &agent.permissions {
            add(&rule.path, &anchor, Some(rule));
        }
        let asked = agent.requests.iter().map(|request| &request.rule);
        let capable = agent.requires.iter().chain(&agent.provides).map(|capability| &capability.rule);
        for rule in asked.chain(capable) {
            add(&rule.path, &anchor, None);
        }
    }
    for test in &source.tests {
        if let Some(agent) = source.agents.get(&test.agent.value)
            && let Ok(anchor) = Anchor::of_agent(source, world, agent)
        {
            add(&test.path, &anchor, None);
        }
    }
    let mut bases: BTreeMap<&str, BTreeSet<AbsPath>> = BTreeMap::new();
    for agent in source.agents.values() {
        let Ok(anchor) = Anchor::of_agent(source, world, agent) else { continue };
        for role in chain(source, &agent.roles) {
            bases.entry(role).or_default().insert(anchor.base.clone());
        }
    }
    for (name, role) in &source.roles {
        let nowhere = || BTreeSet::from([world.workspace.clone()]);
        let bases = bases.remove(name.as_str()).unwrap_or_else(nowhere);
        for base in bases {
            let anchor = Anchor { base, ..outside.clone() };
            role.permissions.iter().for_each(|rule| add(&rule.path, &anchor, Some(rule)));
        }
    }
    all
}

/// The roles and all that they extend; a cycle ends where it closes.
fn chain<'s>(source: &'s PolicySource, roles: &'s [At<String>]) -> BTreeSet<&'s str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&'s At<String>> = roles.iter().collect();
    while let Some(name) = open.pop() {
        if seen.insert(name.value.as_str())
            && let Some(role) = source.roles.get(&name.value)
        {
            open.extend(&role.extends);
        }
    }
    seen
}
