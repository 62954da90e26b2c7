//! What agents need and what they offer one another, held against what the rules give. Neither widens a rule: a
//! need that is not granted stops the agent, an offer that nobody was granted is only an offer.

use crate::finding::shown;
use crate::judge::{samples, told};
use crate::render::{access as word, quoted};
use remit_core::{AbsPath, Diagnostic, Effect, Place, Reason, Rule, Severity};
use remit_policy::source::{At, CapabilitySource, Root};
use remit_policy::{Access, Anchor, Explanation, Pattern, Policy, Remedy, Use};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A need, or an offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    /// Whose.
    pub agent: String,
    /// The pattern as it is written.
    pub written: String,
    /// The pattern from the root.
    pub path: String,
    /// What of it.
    pub access: Access,
    /// Why it is needed, or what it is.
    pub text: String,
    /// Where it stands.
    pub rule: Arc<Rule>,
    /// Whether the agent who asks has it by its rules; none if nobody asks.
    pub claim: Option<Claim>,
}

/// Whether an agent has something by its rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Who.
    pub agent: String,
    /// Whether; none where no path of the pattern could be made up to ask for.
    pub granted: Option<bool>,
    /// What decided: by which rules it is granted, or why not.
    pub reasons: Vec<Reason>,
    /// What would grant it.
    pub remedy: Option<Remedy>,
}

/// What an agent needs, in the order of the document, and whether its rules grant it.
pub fn requires(policy: &Policy, agent: &str) -> Vec<Capability> {
    let needs = policy.source().agents.get(agent).map_or(&[][..], |source| &source.requires);
    needs.iter().filter_map(|need| capability(policy, agent, need, Some(agent))).collect()
}

/// What all agents offer, and whether the rules of the agent who asks grant it. An agent is not told of its own.
pub fn provides(policy: &Policy, asker: Option<&str>) -> Vec<Capability> {
    let others = policy.source().agents.iter().filter(|(name, _)| asker != Some(name.as_str()));
    let offers = others.flat_map(|(name, source)| source.provides.iter().map(move |offer| (name, offer)));
    offers.filter_map(|(name, offer)| capability(policy, name, offer, asker)).collect()
}

/// Needs of an agent that its rules do not grant (`requires-not-granted`) and offers of what it may not do itself
/// (`provides-beyond-own`): errors with which the agent must not run.
pub fn unmet(policy: &Policy, agent: &str) -> Vec<Diagnostic> {
    let mut found = capabilities(policy, agent);
    found.retain(|finding| finding.severity == Severity::Error);
    found
}

/// The same, and what could not be judged.
pub(crate) fn capabilities(policy: &Policy, agent: &str) -> Vec<Diagnostic> {
    let Some(source) = policy.source().agents.get(agent) else { return Vec::new() };
    let needs = source.requires.iter().map(|need| (need, true));
    let offers = source.provides.iter().map(|offer| (offer, false));
    needs.chain(offers).filter_map(|(one, need)| finding(policy, agent, one, need)).collect()
}

fn finding(policy: &Policy, name: &str, one: &CapabilitySource, need: bool) -> Option<Diagnostic> {
    let rule = &one.rule;
    let claim = capability(policy, name, one, Some(name))?.claim?;
    let text = shown(&format!("{} {}", rule.path.value, rule.access.value));
    let place = rule.path.place.clone();
    let (code, words) = match (claim.granted, need) {
        (Some(true), _) => return None,
        (None, _) => {
            let message = format!("whether {} has {text} cannot be told from the pattern", shown(name));
            return Some(Diagnostic::new(Severity::Note, "capability-not-judged", place, message));
        }
        (Some(false), true) => ("requires-not-granted", "needs"),
        (Some(false), false) => ("provides-beyond-own", "offers"),
    };
    let reason = claim.reasons.first().map(ToString::to_string).unwrap_or_default();
    let message = format!("{} {words} {text}, and is denied it: {reason}", shown(name));
    let finding = Diagnostic::error(code, place, message);
    Some(match claim.remedy {
        Some(Remedy::Add { list, lines, .. }) => {
            finding.help(format!("add to `{list}`: `{}`", lines.join(" ")))
        }
        Some(other) => finding.help(format!("what would change it: {other}")),
        None => finding,
    })
}

fn capability(
    policy: &Policy,
    name: &str,
    one: &CapabilitySource,
    asker: Option<&str>,
) -> Option<Capability> {
    let (source, world) = (policy.source(), policy.world());
    let anchor = Anchor::of_agent(source, world, source.agents.get(name)?).ok()?;
    let pattern = Pattern::parse(&one.rule.path, &anchor, Use::Limit).ok()?;
    let written = &one.rule.path.value;
    let own = (asker == Some(name)).then_some(written.as_str());
    let text = format!("{written} {}", one.rule.access.value);
    let rule =
        Rule { id: Arc::clone(&one.rule.id), text: text.into(), place: Some(one.rule.path.place.clone()) };
    Some(Capability {
        agent: name.to_owned(),
        written: written.clone(),
        path: pattern.to_string(),
        access: one.rule.access.value,
        text: one.text.clone(),
        rule: Arc::new(rule),
        claim: asker.map(|asker| claim(policy, asker, &pattern, one.rule.access.value, own)),
    })
}

/// Whether the agent has an access to what a pattern names; `own` is how it writes the pattern itself.
fn claim(policy: &Policy, agent: &str, pattern: &Pattern, access: Access, own: Option<&str>) -> Claim {
    let paths = samples(pattern);
    if paths.is_empty() {
        return Claim { agent: agent.to_owned(), granted: None, reasons: Vec::new(), remedy: None };
    }
    let told = told_of(policy, agent, &paths, access);
    let refused = told.iter().find(|one| one.decision.effect != Effect::Allow);
    let mut reasons: Vec<Reason> = Vec::new();
    let counts = |one: &&Explanation| refused.is_none_or(|refused| *one == refused);
    for reason in told.iter().filter(counts).filter_map(|one| one.decision.deciding()) {
        if !reasons.contains(reason) {
            reasons.push(reason.clone());
        }
    }
    let remedy = refused.and_then(|refused| match (&refused.remedy, &refused.narrower) {
        // Not for the paths that were made up, but for all of them.
        (_, Some(Remedy::Add { list, after, .. })) | (Some(Remedy::Add { list, after, .. }), None) => {
            let line = granting(policy, agent, pattern, (access, &paths), own);
            let add = |line| Remedy::Add { list: list.clone(), lines: vec![line], after: after.clone() };
            let change = refused.remedy.clone().filter(|remedy| matches!(remedy, Remedy::Change(_)));
            Some(line.map_or_else(|other| change.unwrap_or(other), add))
        }
        (other, _) => other.clone(),
    });
    Claim { agent: agent.to_owned(), granted: Some(refused.is_none()), reasons, remedy }
}

fn told_of(policy: &Policy, agent: &str, paths: &[AbsPath], access: Access) -> Vec<Explanation> {
    paths.iter().flat_map(|path| told(policy, agent, path, access)).collect()
}

/// A rule that does grant an access to all that a pattern names, and takes nothing away; else what stands against it.
fn granting(
    policy: &Policy,
    agent: &str,
    pattern: &Pattern,
    (access, paths): (Access, &[AbsPath]),
    own: Option<&str>,
) -> Result<String, Remedy> {
    let nothing = || Remedy::Nothing("no rule of the agent grants all of it".to_owned());
    let (spelled, read) = spelled(policy, agent, pattern, own).ok_or_else(nothing)?;
    let has = |policy: &Policy, path: &AbsPath| {
        policy.agent(agent).map_or(Access::NONE, |rules| rules.access(path))
    };
    let beside = paths.iter().map(|path| has(policy, path)).reduce(Access::meet).unwrap_or(Access::NONE);
    let access_of_rule = beside.union(access);
    let supposed = policy.supposing(agent, &read, access_of_rule);
    let told = told_of(&supposed, agent, paths, access);
    if let Some(refused) = told.into_iter().find(|one| one.decision.effect != Effect::Allow) {
        let changed = |remedy: &Remedy| matches!(remedy, Remedy::Change(rule) if rule.place.is_some());
        return Err(refused.remedy.filter(changed).unwrap_or_else(nothing));
    }
    match paths.iter().all(|path| has(&supposed, path).has(has(policy, path))) {
        true => Ok(format!("- {{path: {}, access: {}}}", quoted(&spelled), word(access_of_rule))),
        false => Err(nothing()),
    }
}

/// How an agent writes a pattern in a rule that grants, and what that is: as it writes it itself, below its folder, or
/// from the root.
fn spelled(policy: &Policy, agent: &str, pattern: &Pattern, own: Option<&str>) -> Option<(String, Pattern)> {
    let (source, world) = (policy.source(), policy.world());
    let anchor = Anchor::of_agent(source, world, source.agents.get(agent)?).ok()?;
    let text = |pattern: &Pattern| pattern.to_string().trim_end_matches('/').to_owned();
    let (all, prefix) = (text(pattern), text(&Pattern::of(pattern.literal_prefix())));
    let rest = all.strip_prefix(&prefix)?.trim_start_matches('/').to_owned();
    let below = |folder: String| match (folder.as_str(), rest.as_str()) {
        (_, "") => folder,
        (".", _) => rest.clone(),
        _ => format!("{}/{rest}", folder.trim_end_matches('/')),
    };
    let rooted = match anchor.root {
        Root::Host => Some(all.clone()),
        Root::Workspace => all.strip_prefix(&text(&Pattern::of(&anchor.workspace))).map(str::to_owned),
    };
    let relative = anchor.spell(pattern.literal_prefix()).map(below);
    let same = |text: String| {
        let text = At { value: text, place: Place::file("rule") };
        let read = Pattern::parse(&text, &anchor, Use::Grant).ok()?;
        (read.covers(pattern) && pattern.covers(&read)).then_some((text.value, read))
    };
    [own.map(str::to_owned), relative, rooted].into_iter().flatten().find_map(same)
}
