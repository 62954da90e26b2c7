//! Git's hooks among the rules of a person: every session may start them, which a person has written nowhere.

use remit_core::{AbsPath, Rule};
use remit_policy::{Access, AgentPolicy, Point, Policy, Scope};

/// Why programs can be started round a rule's paths, where it is not for a person's rule but since git's hooks lie
/// there, and by which link.
pub(crate) fn hooks_around(policy: &Policy, rules: &AgentPolicy, rule: &Rule) -> Option<String> {
    let point = rules.points().iter().find(|point| *point.rule == *rule)?;
    let around =
        |other: &&Point| other.pattern.literal().is_some_and(|p| p.covers(point.pattern.literal_prefix()));
    let started = rules.points().iter().filter(around).filter(|other| other.access.has(Access::EXECUTE));
    let nearest =
        started.max_by_key(|other| (other.scope != Scope::Base, other.pattern.literal().map(depth)))?;
    let hooks = nearest.pattern.literal().filter(|_| &*nearest.rule.id == "base.git-hooks")?;
    let link =
        policy.world().protected.iter().find(|one| one.path == *hooks).and_then(|one| one.link.as_ref());
    let by = link.map_or_else(String::new, |link| format!(", by the link {link}"));
    Some(format!("git's hooks lie in {hooks}{by}, so programs can be started there"))
}

fn depth(path: &AbsPath) -> usize {
    path.components().count()
}
