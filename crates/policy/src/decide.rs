//! The one function that decides. It asks the layers in their order and keeps every answer; the most
//! restrictive one wins. The layers that are there: protected paths, and the path rules of all scopes, which
//! are one computation and answer under the layer of the rule that decided (system or agent). The others have
//! no opinion until their parts exist.

use crate::agent::AgentPolicy;
use crate::{Access, Policy};
use remit_core::{AbsPath, Action, Decision, Effect, Layer, Object, Reason, Verb, Why};
use std::sync::Arc;

/// What a decision depends on beside policy and action: what is true at the moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// What stands against it whatever the rules for its own paths say, if something does: it lies outside the
    /// session's tree, say, or is another session's.
    pub against: Option<Reason>,
}

impl Facts {
    /// This stands against it.
    pub fn against(why: impl Into<Arc<str>>) -> Self {
        let why = Why::Unjudged(why.into());
        Self { against: Some(Reason { layer: Layer::Protected, effect: Effect::Deny, rule: None, why }) }
    }

    /// The whole of a folder would go, or come, and for this path below it that is refused by a reason of its own.
    pub fn below(path: &AbsPath, reason: &Reason) -> Self {
        let why = Why::Unjudged(format!("{path} would go with it: {reason}").into());
        Self { against: Some(Reason { effect: Effect::Deny, why, ..reason.clone() }) }
    }
}

/// Decides. Total: whatever the action, there is an answer with at least one reason; what cannot be judged
/// (an agent that the policy does not name, a verb that does not go with its object) is denied. Connections
/// are not held yet: they are allowed, and the reason says so.
pub fn decide(policy: &Policy, facts: &Facts, action: &Action) -> Decision {
    let mut reasons = Vec::with_capacity(2);
    reasons.extend(match &facts.against {
        Some(reason) => Some(reason.clone()),
        None => policy.protected.judge(action.verb, &action.object),
    });
    reasons.push(by_rules(policy, action));
    reasons.sort_by_key(|reason| reason.layer);
    let effect = reasons.iter().map(|reason| reason.effect).max().unwrap_or(Effect::Deny);
    Decision { effect, reasons, digest: policy.digest(), epoch: policy.epoch() }
}

/// What a verb needs of each path; none for what is not done to paths.
pub(crate) fn need(verb: Verb) -> Option<Access> {
    match verb {
        Verb::Read => Some(Access::READ),
        Verb::Write | Verb::Create | Verb::Delete | Verb::Rename => Some(Access::WRITE),
        Verb::Execute => Some(Access::READ.union(Access::EXECUTE)),
        Verb::Connect | Verb::Call => None,
    }
}

fn by_rules(policy: &Policy, action: &Action) -> Reason {
    let Some(agent) = policy.agent(action.actor.agent.as_str()) else {
        return Reason { layer: Layer::Agent, effect: Effect::Deny, rule: None, why: Why::UnknownAgent };
    };
    let modes = policy.modes.get(action.actor.agent.as_str());
    let kept = |reason: Reason, ends: &[&AbsPath]| {
        if reason.effect == Effect::Deny {
            return reason;
        }
        let moved = || ends.iter().find_map(|path| agent.on_the_way(path));
        let moved = if action.verb == Verb::Rename { moved() } else { None };
        // What every session has is its own, and git's records are git's to keep.
        let need = need(action.verb).unwrap_or(Access::NONE);
        let offered = |path: &AbsPath| matches!(agent.judge(path, need).why, Why::Base(_));
        let own = |path: &&AbsPath| agent.is_gits(path) || offered(path);
        let mode = modes.and_then(|modes| modes.verb(action.verb));
        mode.filter(|_| !ends.iter().all(own)).or(moved).unwrap_or(reason)
    };
    match (need(action.verb), &action.object) {
        (Some(need), Object::Path(path)) => kept(on_path(agent, need, path), &[path]),
        (Some(need), Object::Move { from, to }) => kept(on_both(agent, need, from, to), &[from, to]),
        (None, Object::Tool(tool)) if action.verb == Verb::Call => modes
            .and_then(|modes| modes.tool(tool))
            .unwrap_or_else(|| unjudged(Effect::Allow, &policy.words.tool)),
        (None, Object::Host { .. }) if action.verb == Verb::Connect => {
            unjudged(Effect::Allow, &policy.words.network)
        }
        _ => unjudged(Effect::Deny, &policy.words.mismatch),
    }
}

fn unjudged(effect: Effect, why: &Arc<str>) -> Reason {
    Reason { layer: Layer::Agent, effect, rule: None, why: Why::Unjudged(Arc::clone(why)) }
}

/// The rules' answer; where it is no, a temporary sibling of a file that may be written may still be changed.
fn on_path(agent: &AgentPolicy, need: Access, path: &AbsPath) -> Reason {
    let reason = agent.judge(path, need);
    if reason.effect != Effect::Allow
        && need == Access::WRITE
        && let Some(file) = agent.sibling_of(path)
    {
        return agent.sibling(&file);
    }
    reason
}

fn on_both(agent: &AgentPolicy, need: Access, from: &AbsPath, to: &AbsPath) -> Reason {
    let (mut old, mut new) = (agent.judge(from, need), agent.judge(to, need));
    // A temporary name may become the file, or another temporary name of the same file; nothing else may
    // become, or stop being, a temporary name.
    if old.effect.max(new.effect) != Effect::Allow
        && let Some(file) = agent.sibling_of(from)
        && (file == *to || agent.sibling_of(to).as_ref() == Some(&file))
    {
        (old, new) = (on_path(agent, need, from), on_path(agent, need, to));
    }
    if new.effect > old.effect { new } else { old }
}
