//! Why a decision is what it is, in full: every layer's verdict, every rule that speaks of the object and
//! what became of it, and what would change the answer. Made from [`decide()`]'s own answer and the same
//! weighing of rules; nothing is judged a second time.

use crate::agent::AgentPolicy;
use crate::decide::need;
use crate::pattern::{Anchor, Pattern};
use crate::rules::{Entry, Kind, Point, Scope, Standing};
use crate::trie::Hit;
use crate::{Access, Facts, Policy, decide};
use remit_core::{AbsPath, Action, Decision, Effect, Layer, Object, Place, Reason, Rule, Verb, Why};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A decision, explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The decision itself.
    pub decision: Decision,
    /// All nine layers in order; `None`: no opinion.
    pub layers: Vec<(Layer, Option<Reason>)>,
    /// For each path of the object (both ends of a move), the rules that speak of it.
    pub paths: Vec<PathRules>,
    /// What would change the answer; none where it is allow.
    pub remedy: Option<Remedy>,
    /// Where that is a rule to change: a line to add beside it, if a narrower rule would do, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrower: Option<Remedy>,
}

/// The rules that speak of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRules {
    /// The path.
    pub path: AbsPath,
    /// What the path rules together allow.
    pub access: Access,
    /// The rules: global, role, agent, base.
    pub rules: Vec<RuleFate>,
}

/// A rule and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFate {
    /// The rule.
    pub rule: Arc<Rule>,
    /// Where it comes from.
    pub scope: Scope,
    /// What it grants.
    pub access: Access,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// The answer rests on it.
    Decided,
    /// It counts, and agrees with what decided.
    Counted,
    /// A narrower rule of the same scope stands in its place.
    YieldsTo(Arc<Rule>),
    /// It grants more than is left: this rule leaves less.
    Capped(Arc<Rule>),
    /// A `none` rule makes it void.
    Dead(Arc<Rule>),
    /// A base rule where a rule of a person, or a nearer base rule, speaks.
    Unused,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Decided => f.write_str("decided"),
            Fate::Counted => f.write_str("counted"),
            Fate::YieldsTo(rule) => write!(f, "yields to the narrower {rule}"),
            Fate::Capped(rule) => write!(f, "capped by {rule}"),
            Fate::Dead(rule) => write!(f, "dead under {rule}"),
            Fate::Unused => f.write_str("not used: a rule or a nearer base path speaks"),
        }
    }
}

/// What would change an answer that is not allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Nothing in the policy; the text says why.
    Nothing(String),
    /// A line to add to the policy.
    Add {
        /// To which list: `agents.frontend.permissions`.
        list: String,
        /// One line for each path: `- {path: "docs/a", access: read}`.
        lines: Vec<String>,
        /// The last entry of that list as it is, if it has any: the lines go below it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Place>,
    },
    /// A rule to change, or to take away.
    Change(Arc<Rule>),
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Nothing(why) => write!(f, "nothing: {why}"),
            Remedy::Add { list, lines, .. } => write!(f, "add to {list}: {}", lines.join(" ")),
            Remedy::Change(rule) => write!(f, "change {rule}"),
        }
    }
}

/// Explains what [`decide()`] answers.
pub fn explain(policy: &Policy, facts: &Facts, action: &Action) -> Explanation {
    let decision = decide(policy, facts, action);
    let of = |layer| decision.reasons.iter().find(|reason| reason.layer == layer).cloned();
    let layers = Layer::ALL.into_iter().map(|layer| (layer, of(layer))).collect();
    let ends: Vec<&AbsPath> = match &action.object {
        Object::Path(path) => vec![path],
        Object::Move { from, to } => vec![from, to],
        Object::Host { .. } | Object::Tool(_) => Vec::new(),
    };
    let agent = policy.agent(action.actor.agent.as_str());
    let paths = agent.map_or_else(Vec::new, |agent| {
        ends.iter().map(|path| path_rules(agent, path, action.verb, &decision)).collect()
    });
    let remedy = remedy(policy, action, facts, &decision, &paths);
    let narrower = narrower(policy, action, facts, &decision, &paths);
    Explanation { decision, layers, paths, remedy, narrower }
}

fn path_rules(agent: &AgentPolicy, path: &AbsPath, verb: Verb, decision: &Decision) -> PathRules {
    let rules = agent.rules();
    let hits = rules.hits(path);
    let need = need(verb).unwrap_or(Access::NONE);
    let decided = |rule: &Arc<Rule>| decision.reasons.iter().any(|r| r.rule.as_ref() == Some(rule));
    let rule_of = |entry: &Entry| entry.rule(need).cloned();
    let none = rules.standings(&hits).find(|(_, entry, _)| entry.kind == Kind::None);
    let none = none.and_then(|(_, entry, _)| rule_of(entry));
    let mut fates = Vec::new();
    let mut list = |entry: &Entry, fate: &dyn Fn(Access, &Arc<Rule>) -> Fate| {
        for (access, rule) in &entry.rules {
            let fate = if decided(rule) { Fate::Decided } else { fate(*access, rule) };
            fates.push(RuleFate { rule: Arc::clone(rule), scope: entry.scope, access: *access, fate });
        }
    };
    for (_, entry, standing) in rules.standings(&hits) {
        let narrower = match standing {
            Standing::YieldsTo(number) => rules.entry(number).and_then(rule_of),
            Standing::Counts => None,
        };
        list(entry, &|access, _| match (&none, &narrower) {
            (Some(_), _) if entry.kind == Kind::None => Fate::Counted,
            (Some(none), _) => Fate::Dead(Arc::clone(none)),
            (None, Some(narrower)) => Fate::YieldsTo(Arc::clone(narrower)),
            (None, None) => capped(agent, &hits, access, need),
        });
    }
    for entry in rules.bases(&hits) {
        list(entry, &|_, _| Fate::Unused);
    }
    fates.sort_by_key(|fate| fate.scope);
    PathRules { path: path.clone(), access: agent.access(path), rules: fates }
}

/// Of a rule that counts: whether something else takes from it what is asked.
fn capped(agent: &AgentPolicy, hits: &[Hit], access: Access, need: Access) -> Fate {
    if !access.has(need) {
        return Fate::Counted;
    }
    let less = agent.rules().counting(hits).find(|entry| !entry.access.has(need));
    let ceiling = agent.ceiling().filter(|ceiling| !ceiling.access.has(need));
    match (less.and_then(|entry| entry.rule(need)), ceiling) {
        (Some(rule), _) => Fate::Capped(Arc::clone(rule)),
        (None, Some(ceiling)) => Fate::Capped(Arc::clone(&ceiling.rule)),
        (None, None) => Fate::Counted,
    }
}

fn remedy(
    policy: &Policy,
    action: &Action,
    facts: &Facts,
    decision: &Decision,
    paths: &[PathRules],
) -> Option<Remedy> {
    if decision.effect == Effect::Allow {
        return None;
    }
    let reason = decision.deciding()?;
    Some(match &reason.why {
        Why::Protected(what) => Remedy::Nothing(format!("{what} is protected")),
        Why::UnknownAgent => Remedy::Add {
            list: "agents".to_owned(),
            lines: vec![format!("{}: {{permissions: []}}", action.actor.agent)],
            after: None,
        },
        Why::Unjudged(_) if let Some(rule) = stands_against(facts, reason) => {
            Remedy::Change(Arc::clone(rule))
        }
        // Who would have to be asked cannot be yet: a rule is the way.
        Why::Unjudged(why) if reason.effect == Effect::Deny => Remedy::Nothing(why.to_string()),
        Why::None | Why::NotGranted | Why::Ceiling | Why::Mode
            if reason.rule.as_ref().is_some_and(|rule| rule.place.is_some()) =>
        {
            match &reason.rule {
                Some(rule) => Remedy::Change(Arc::clone(rule)),
                None => Remedy::Nothing(reason.to_string()),
            }
        }
        _ => {
            let lacking = || lacking(action, paths);
            against_adding(policy, action, facts, lacking()).unwrap_or_else(|| add(policy, action, lacking()))
        }
    })
}

/// The paths that the rules do not give for it.
fn lacking<'a>(action: &Action, paths: &'a [PathRules]) -> impl Iterator<Item = &'a AbsPath> + Clone {
    let need = need(action.verb).unwrap_or(Access::NONE);
    paths.iter().filter(move |end| !end.access.has(need)).map(|end| &end.path)
}

/// Where a rule does not grant it: the line for a narrower one, which it would yield to.
fn narrower(
    policy: &Policy,
    action: &Action,
    facts: &Facts,
    decision: &Decision,
    paths: &[PathRules],
) -> Option<Remedy> {
    let reason = decision.deciding().filter(|reason| reason.effect != Effect::Allow)?;
    let rule = reason.rule.as_ref().filter(|rule| rule.place.is_some());
    if reason.why != Why::NotGranted || rule.is_none() {
        return None;
    }
    let stands = against_adding(policy, action, facts, lacking(action, paths)).is_some();
    let line = (!stands).then(|| add(policy, action, lacking(action, paths)))?;
    matches!(line, Remedy::Add { .. }).then_some(line)
}

/// The remedy where rules that grant what is missing are none: they would not be enough, or would take away something
/// that the agent has where no rule speaks.
fn against_adding<'a>(
    policy: &Policy,
    action: &Action,
    facts: &Facts,
    paths: impl Iterator<Item = &'a AbsPath> + Clone,
) -> Option<Remedy> {
    let name = action.actor.agent.as_str();
    let agent = policy.agent(name)?;
    let rule = Arc::new(Rule { id: Arc::from("added"), text: Arc::from("added"), place: None });
    let point = |path: &AbsPath| Point {
        pattern: Pattern::of(path),
        access: granting(agent, path, action.verb),
        rule: Arc::clone(&rule),
        scope: Scope::Agent,
    };
    let grown = agent.with(paths.clone().map(point), policy.world());
    let mut lost = paths.filter(|path| !grown.access(path).has(agent.access(path)));
    if lost.next().is_some() {
        // The base is no grant, so that no ceiling is over it; a rule in its place is under one.
        return Some(match agent.ceiling() {
            Some(ceiling) => Remedy::Change(Arc::clone(&ceiling.rule)),
            None => Remedy::Nothing("a rule would take the place of what every session has".to_owned()),
        });
    }
    let mut trial = policy.clone();
    trial.agents.insert(name.to_owned(), grown);
    let left = decide(&trial, facts, action);
    (left.effect != Effect::Allow).then(|| standing_still(&left))
}

/// What a rule that grants would not change either.
fn standing_still(left: &Decision) -> Remedy {
    let reason = left.deciding();
    match reason.and_then(|reason| reason.rule.as_ref()).filter(|rule| rule.place.is_some()) {
        Some(rule) => Remedy::Change(Arc::clone(rule)),
        None => Remedy::Nothing(reason.map(ToString::to_string).unwrap_or_default()),
    }
}

/// A person's rule for something else by which the facts decided.
fn stands_against<'a>(facts: &Facts, reason: &'a Reason) -> Option<&'a Arc<Rule>> {
    let rule = reason.rule.as_ref().filter(|rule| rule.place.is_some())?;
    (facts.against.as_ref() == Some(reason)).then_some(rule)
}

/// The remedy where rules allow it and a path is out of reach for want of a rule that names it in particular.
pub fn naming(policy: &Policy, action: &Action, path: &AbsPath) -> Remedy {
    add(policy, action, [path].into_iter())
}

/// Rules that grant what is missing beside what there is.
fn add<'a>(policy: &Policy, action: &Action, paths: impl Iterator<Item = &'a AbsPath>) -> Remedy {
    let name = &action.actor.agent;
    let source = policy.source().agents.get(name.as_str());
    let anchor = source.and_then(|source| Anchor::of_agent(policy.source(), policy.world(), source).ok());
    let line = |path: &AbsPath| {
        let path_text = anchor.as_ref()?.spell(path)?;
        let quoted = path_text.replace('\\', "\\\\").replace('"', "\\\"");
        let access = granting(policy.agent(name.as_str())?, path, action.verb);
        Some(format!("- {{path: \"{quoted}\", access: {access}}}"))
    };
    match paths.map(line).collect() {
        Some(lines) => {
            let last = source.and_then(|source| source.permissions.last());
            let after = last.map(|last| last.path.place.clone());
            Remedy::Add { list: format!("agents.{name}.permissions"), lines, after }
        }
        None => Remedy::Nothing("no path that can be written there names it".to_owned()),
    }
}

/// What a rule has to say so that the verb may be done, beside what there is. Who may change a file can read it, too,
/// unless that is more than the agent may ever have.
fn granting(agent: &AgentPolicy, path: &AbsPath, verb: Verb) -> Access {
    let need = need(verb).unwrap_or(Access::NONE);
    let may_read = agent.ceiling().is_none_or(|ceiling| ceiling.access.has(Access::READ));
    let beside = if need.has(Access::WRITE) && may_read { Access::READ } else { Access::NONE };
    agent.access(path).union(need).union(beside)
}
