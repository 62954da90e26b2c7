//! All that one agent may do, at one look: its rules with what is left of each, what every session has, what
//! nothing lifts.

use crate::modes::Modes;
use crate::pattern::Pattern;
use crate::roles;
use crate::rules::{Point, Scope};
use crate::source::{Base, Cli, Git};
use crate::{Access, AgentPolicy, Policy};
use remit_core::{AbsPath, Digest, Effect, Place, Rule, Verb};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The remit of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// Whose.
    pub agent: String,
    /// Where the agent stands in the policy.
    pub place: Place,
    /// Which policy.
    pub digest: Digest,
    /// The workspace.
    pub workspace: AbsPath,
    /// The folder that the agent's relative patterns are relative to, as written.
    pub base_workspace: Option<String>,
    /// The program: an adapter's name, or a command; none: any.
    pub cli: Option<String>,
    /// The roles, nearest first.
    pub roles: Vec<String>,
    /// `standard`, `minimal` or `none`.
    pub base: String,
    /// What holds where nothing speaks.
    pub default: Effect,
    /// The ceiling of what rules give, if there is one.
    pub ceiling: Option<(Access, Arc<Rule>)>,
    /// The rules of people that bind the agent, by path.
    pub rules: Vec<Row>,
    /// What every session has where no rule speaks, by path.
    pub every: Vec<Row>,
    /// What the machine's settings protect, beside the names that are protected everywhere: path and what it is.
    pub protected: Vec<(AbsPath, String)>,
    /// The tools that are taken away, as written.
    pub denied_tools: Vec<String>,
    /// Lists of tools outside of which it has none, as written; a tool must be in all of them.
    pub allowed_tools: Vec<Vec<String>>,
    /// The verbs that are taken away, whatever the path.
    pub denied_verbs: Vec<Verb>,
    /// Whether it may see a `.git` at all.
    pub git: bool,
    /// How many needs the agent states.
    pub requires: usize,
    /// How many offers it makes.
    pub provides: usize,
}

/// A rule, and what is left of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The folder that all paths of the rule lie in.
    pub folder: AbsPath,
    /// The pattern from the root.
    pub path: String,
    /// The rule.
    pub rule: Arc<Rule>,
    /// Where it comes from.
    pub scope: Scope,
    /// What it says.
    pub says: Access,
    /// What may be done there, all rules together.
    pub access: Access,
}

/// The remit of an agent; none if the policy does not name it.
pub fn overview(policy: &Policy, agent: &str) -> Option<Overview> {
    let (source, rules) = (policy.source().agents.get(agent)?, policy.agent(agent)?);
    let (base, people): (Vec<&Point>, Vec<&Point>) =
        rules.points().iter().partition(|point| point.scope == Scope::Base);
    let chain = roles::chain(policy.source(), &source.roles);
    let cli = source.cli.as_ref().map(|cli| match cli {
        Cli::Adapter(name) => name.value.clone(),
        Cli::Command(words) => words.iter().map(|w| w.value.as_str()).collect::<Vec<_>>().join(" "),
    });
    let base_word = match policy.source().base {
        Base::Standard => "standard",
        Base::Minimal => "minimal",
        Base::None => "none",
    };
    let modes = policy.modes.get(agent);
    let protected = policy.world().protected.iter();
    Some(Overview {
        agent: agent.to_owned(),
        place: source.place.clone(),
        digest: policy.digest(),
        workspace: policy.world().workspace.clone(),
        base_workspace: source.base_workspace.as_ref().map(|at| at.value.clone()),
        cli,
        roles: chain.iter().map(|role| (*role).to_owned()).collect(),
        base: base_word.to_owned(),
        default: policy.source().default_policy.as_ref().map_or(Effect::Deny, |stated| stated.value),
        ceiling: rules.ceiling().map(|ceiling| (ceiling.access, Arc::clone(&ceiling.rule))),
        rules: rows(rules, &people),
        every: rows(rules, &base),
        protected: protected.map(|one| (one.path.clone(), one.words.to_string())).collect(),
        denied_tools: policy.denied_tools(agent).map(str::to_owned).collect(),
        allowed_tools: modes.into_iter().flat_map(Modes::allowed_tools).map(<[String]>::to_vec).collect(),
        denied_verbs: modes.into_iter().flat_map(Modes::denied_verbs).collect(),
        git: source.git.as_ref().is_none_or(|git| git.value != Git::None),
        requires: source.requires.len(),
        provides: source.provides.len(),
    })
}

fn rows(agent: &AgentPolicy, points: &[&Point]) -> Vec<Row> {
    let row = |point: &&Point| Row {
        folder: point.pattern.literal_prefix().clone(),
        path: point.pattern.to_string(),
        rule: Arc::clone(&point.rule),
        scope: point.scope,
        says: point.access,
        access: left(agent, &point.pattern, point.access),
    };
    let mut rows: Vec<Row> = points.iter().map(row).collect();
    rows.sort_by(|one, other| {
        one.path.split('/').cmp(other.path.split('/')).then(one.scope.cmp(&other.scope))
    });
    rows.dedup();
    rows
}

/// What may be done with a path that the rule speaks of and, as far as can be told, no narrower one.
fn left(agent: &AgentPolicy, pattern: &Pattern, says: Access) -> Access {
    if let Some(path) = pattern.literal() {
        return agent.access(path);
    }
    let samples = [pattern.sample(b"\x01", false), pattern.sample(b"~~\x02", true)];
    samples.iter().flatten().map(|path| agent.access(path)).reduce(Access::meet).unwrap_or(says)
}
