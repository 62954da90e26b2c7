//! Lints that need no disk: rules that contradict or repeat one another, rules that can never grant, needs
//! and offers that the policy does not bear out. What is a judgement is asked of the policy.

use crate::capabilities::capabilities;
use crate::finding::shown;
use remit_core::{Diagnostic, Place, Rule, Severity};
use remit_policy::{AgentPolicy, Pattern, Point, Policy, Scope};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Checks a compiled policy. What only git can tell is [`none_but_tracked`](crate::none_but_tracked)'s.
///
/// Errors: `contradiction`, two rules of one list (or two global rules that bind the same agent) with the
/// same paths and different access; and those of [`unmet`](crate::unmet). Warnings: `dead-rule`, a rule that a
/// `none` covers for every agent that it binds. Notes: `repeated-rule`; `capability-not-judged`, where no path of
/// a pattern could be made up to ask for.
pub fn check(policy: &Policy) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut told: BTreeSet<(Arc<str>, Arc<str>)> = BTreeSet::new();
    for (_, agent) in policy.agents() {
        for (first, second) in same_paths(agent.points()) {
            if told.insert((first.rule.id.clone(), second.rule.id.clone())) {
                found.extend(twice(first, second));
            }
        }
    }
    found.extend(dead(policy));
    for (name, _) in policy.agents() {
        found.extend(capabilities(policy, name));
    }
    found.sort_by_key(|finding| (finding.place.line, finding.place.column));
    found
}

/// Whether rules are weighed against each other as equals: global rules all, others within one list. A role
/// may narrow what it extends, and an agent what its roles say.
fn list(rule: &Rule) -> &str {
    rule.id.rsplit_once('[').map_or(&*rule.id, |(list, _)| list)
}

/// Pairs of rules of one list with the same paths, in the order of the list.
fn same_paths(points: &[Point]) -> Vec<(&Point, &Point)> {
    let mut firsts: HashMap<(&str, &Pattern), &Point> = HashMap::new();
    let mut pairs = Vec::new();
    for point in points.iter().filter(|point| point.scope != Scope::Base) {
        match firsts.get(&(list(&point.rule), &point.pattern)) {
            Some(first) => pairs.push((*first, point)),
            None => {
                firsts.insert((list(&point.rule), &point.pattern), point);
            }
        }
    }
    pairs
}

fn twice(first: &Point, second: &Point) -> Option<Diagnostic> {
    let (before, place) = (first.rule.place.clone()?, second.rule.place.clone()?);
    let (severity, code, message, help) = if first.access == second.access {
        (Severity::Note, "repeated-rule", "says what another rule says", "remove one of the two")
    } else {
        (
            Severity::Error,
            "contradiction",
            "contradicts another rule for the same paths",
            "keep the one that is meant",
        )
    };
    let finding = Diagnostic::new(severity, code, place, format!("{} {message}", shown(&second.rule.text)));
    Some(finding.related(before, format!("{} stands here", shown(&first.rule.text))).help(help))
}

/// Rules that grant nothing to any agent that they bind, because a `none` covers all that they name.
fn dead(policy: &Policy) -> Vec<Diagnostic> {
    let mut rules: BTreeMap<&Place, (&Point, Option<Arc<Rule>>)> = BTreeMap::new();
    for (_, agent) in policy.agents() {
        let nones = agent.points().iter().filter(|point| point.access.is_none());
        let nones: HashSet<(&str, &Pattern)> = nones.map(|none| (list(&none.rule), &none.pattern)).collect();
        let grants = agent.points().iter().filter(|p| p.scope != Scope::Base && !p.access.is_none());
        for point in grants {
            let Some(place) = &point.rule.place else { continue };
            let cover = covering(agent, &nones, point);
            match rules.get_mut(place) {
                Some((_, known)) if cover.is_none() => *known = None,
                Some(_) => {}
                None => {
                    rules.insert(place, (point, cover));
                }
            }
        }
    }
    let dead = rules.into_iter().filter_map(|(place, (point, cover))| Some((place, point, cover?)));
    dead.filter_map(|(place, point, cover)| {
        let message = format!(
            "{} grants nothing: a `none` covers all of it, and nothing reopens that",
            shown(&point.rule.text)
        );
        let finding = Diagnostic::new(Severity::Warning, "dead-rule", place.clone(), message);
        Some(
            finding
                .related(cover.place.clone()?, format!("{} stands here", shown(&cover.text)))
                .help("remove the rule"),
        )
    })
    .collect()
}

/// The `none` that covers all of a rule's paths. One with the same paths in the same list is a contradiction,
/// and told as such.
fn covering(agent: &AgentPolicy, nones: &HashSet<(&str, &Pattern)>, point: &Point) -> Option<Arc<Rule>> {
    if nones.contains(&(list(&point.rule), &point.pattern)) {
        return None;
    }
    match point.pattern.literal() {
        Some(path) => agent.none_rule(path).cloned(),
        None => agent.none_over(&point.pattern).cloned(),
    }
}
