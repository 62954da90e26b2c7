//! What agents need and what they offer one another, held against what the rules give. Neither widens a rule: a
//! need that is not granted stops the agent, an offer that nobody was granted is only an offer.

use crate::finding::shown;
use crate::judge::{sample, told};
use crate::render::{access as word, quoted};
use remit_core::{Diagnostic, Effect, Reason, Rule, Severity};
use remit_policy::source::CapabilitySource;
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
    let Some(path) = sample(pattern) else {
        return Claim { agent: agent.to_owned(), granted: None, reasons: Vec::new(), remedy: None };
    };
    let told = told(policy, agent, &path, access);
    let refused = told.iter().find(|one| one.decision.effect != Effect::Allow);
    let mut reasons: Vec<Reason> = Vec::new();
    let counts = |one: &&Explanation| refused.is_none_or(|refused| *one == refused);
    for reason in told.iter().filter(counts).filter_map(|one| one.decision.deciding()) {
        if !reasons.contains(reason) {
            reasons.push(reason.clone());
        }
    }
    let remedy = refused.and_then(|refused| refused.remedy.clone()).map(|remedy| match remedy {
        // Not for the path that was made up, but for all of them.
        Remedy::Add { list, after, .. } => match spelled(policy, agent, pattern, own) {
            Some(text) => {
                let has = policy.agent(agent).map_or(Access::NONE, |rules| rules.access(&path));
                let line = format!("- {{path: {}, access: {}}}", quoted(&text), word(has.union(access)));
                Remedy::Add { list, lines: vec![line], after }
            }
            None => Remedy::Nothing("no rule of the agent can name it".to_owned()),
        },
        other => other,
    });
    Claim { agent: agent.to_owned(), granted: Some(refused.is_none()), reasons, remedy }
}

/// How an agent writes a pattern in its rules.
fn spelled(policy: &Policy, agent: &str, pattern: &Pattern, own: Option<&str>) -> Option<String> {
    if let Some(own) = own {
        return Some(own.to_owned());
    }
    let (source, world) = (policy.source(), policy.world());
    let anchor = Anchor::of_agent(source, world, source.agents.get(agent)?).ok()?;
    let folder = anchor.spell(pattern.literal_prefix())?;
    let (all, prefix) = (pattern.to_string(), Pattern::of(pattern.literal_prefix()).to_string());
    let rest = all.strip_prefix(&prefix)?.trim_start_matches('/').to_owned();
    Some(match (folder.as_str(), rest.as_str()) {
        (_, "") => folder,
        // In front of `**` must stand the name of a folder.
        (".", _) if rest.starts_with("**") => all,
        (".", _) => rest,
        _ => format!("{}/{rest}", folder.trim_end_matches('/')),
    })
}
