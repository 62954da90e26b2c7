//! A compiled policy. It never changes; another one takes its place.

use crate::agent::AgentPolicy;
use crate::modes::Modes;
use crate::pattern::Pattern;
use crate::protected::Protected;
use crate::rules::{Point, Scope};
use crate::{Access, PolicySource, World};
use remit_core::{AbsPath, Diagnostic, Digest, Rule};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A compiled policy.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(crate) source: PolicySource,
    pub(crate) world: World,
    pub(crate) protected: Protected,
    pub(crate) agents: BTreeMap<String, AgentPolicy>,
    pub(crate) modes: BTreeMap<String, Modes>,
    pub(crate) scratch: Vec<Pattern>,
    pub(crate) digest: Digest,
    pub(crate) epoch: u64,
    pub(crate) words: Words,
}

/// Sentences of answers that rest on no rule, made once.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) network: Arc<str>,
    pub(crate) mismatch: Arc<str>,
    pub(crate) tool: Arc<str>,
}

/// A policy that compiled, and what is worth knowing about it.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The policy.
    pub policy: Policy,
    /// Warnings and notes; and errors `not-held-yet`, with which nothing may run under the policy: it could be
    /// asked, and would not be held.
    pub notes: Vec<Diagnostic>,
}

impl Policy {
    /// Compiles what a document says, for one machine. Every error is found in one go; with any, there is no
    /// policy: unreadable patterns, unknown or cyclic roles, unknown names in `for`, names that no agent can
    /// have, a `default_policy` other than deny that was not confirmed.
    pub fn compile(source: &PolicySource, world: &World) -> Result<Compiled, Vec<Diagnostic>> {
        crate::compile::compile(source, world)
    }

    /// SHA-256 of what the document means (without places and comments) and of the world it was compiled for.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Which version of the policy a session has seen, from 1.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The agents by name, in order.
    pub fn agents(&self) -> impl Iterator<Item = (&str, &AgentPolicy)> {
        self.agents.iter().map(|(name, agent)| (name.as_str(), agent))
    }

    /// The compiled rules of an agent; none if the policy does not name it.
    pub fn agent(&self, name: &str) -> Option<&AgentPolicy> {
        self.agents.get(name)
    }

    /// Whether what lies at or below a folder is held by its exact path: rules of a person that name it, what is
    /// protected by this machine's settings or by way of a link, the workspace. Such a folder must stay one that a
    /// launch can look through.
    pub fn leans_on(&self, folder: &AbsPath) -> bool {
        folder.covers(&self.world.workspace)
            || self.world.protected.iter().any(|one| {
                folder.covers(&one.path) || one.link.as_ref().is_some_and(|link| folder.covers(link))
            })
            || self.agents.values().any(|agent| agent.names_below(folder))
    }

    /// Whether an agent may be refused below a folder what it may do to the folder itself; cheap, and yes where it is
    /// not known.
    pub fn speaks_below(&self, agent: &str, folder: &AbsPath) -> bool {
        self.protected.speaks_below(folder)
            || self.agent(agent).is_none_or(|agent| agent.speaks_below(folder))
    }

    /// Whether the document says of a path that it is scratch.
    pub fn is_scratch(&self, path: &AbsPath) -> bool {
        self.scratch.iter().any(|pattern| pattern.matches(path))
    }

    /// The names of the tools that an agent has taken away, as written: `*` stands for any characters.
    pub fn denied_tools(&self, agent: &str) -> impl Iterator<Item = &str> {
        self.modes.get(agent).into_iter().flat_map(Modes::denied_tools)
    }

    /// The first rule about tools that binds an agent: a program without hooks is not held to it.
    pub fn tool_rule(&self, agent: &str) -> Option<&Arc<Rule>> {
        self.modes.get(agent).and_then(Modes::about_tools)
    }

    /// What would be, if an agent had one more rule of its own.
    pub fn supposing(&self, agent: &str, pattern: &Pattern, access: Access) -> Policy {
        let rule = Arc::new(Rule { id: Arc::from("supposed"), text: Arc::from("supposed"), place: None });
        let mut policy = self.clone();
        if let Some(rules) = policy.agents.get_mut(agent) {
            let point = Point { pattern: pattern.clone(), access, rule, scope: Scope::Agent };
            *rules = rules.with(std::iter::once(point), &policy.world);
        }
        policy
    }

    /// What the document says, for settings that are not judgements: base, intents, sandbox, audit, CLIs.
    pub fn source(&self) -> &PolicySource {
        &self.source
    }

    /// The machine it was compiled for.
    pub fn world(&self) -> &World {
        &self.world
    }
}
