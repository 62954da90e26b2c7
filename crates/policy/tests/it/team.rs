//! Builds policies from short texts, and asks them.

use remit_core::{
    AbsPath, Action, Actor, AgentName, Assurance, Decision, Diagnostic, Effect, Object, Place, Verb,
};
use remit_policy::source::{AgentSource, At, For, RuleSource};
use remit_policy::{
    Access, BaseRule, Compiled, Explanation, Facts, Policy, PolicySource, ProtectedPath, World, decide,
    explain,
};
use std::collections::BTreeSet;

/// An agent of every policy here.
pub(crate) const AGENT: &str = "frontend";

/// A document in the making; every value gets a line of its own.
pub(crate) struct Team {
    pub(crate) source: PolicySource,
    pub(crate) world: World,
    line: u32,
}

pub(crate) fn path(text: impl AsRef<[u8]>) -> AbsPath {
    AbsPath::new(text).unwrap()
}

impl Team {
    /// The workspace is `/w`, the home folder `/home/me`; one agent without rules; no base.
    pub(crate) fn new() -> Self {
        let source = PolicySource::empty("remit.yaml".into());
        let world = World {
            workspace: path("/w"),
            home: path("/home/me"),
            base: Vec::new(),
            sealed: Vec::new(),
            protected: Vec::new(),
            git_dirs: Vec::new(),
            linked: None,
            private: Vec::new(),
            single_files: BTreeSet::new(),
        };
        let mut team = Self { source, world, line: 0 };
        team.agent(AGENT);
        team
    }

    pub(crate) fn at<T>(&mut self, value: T, width: usize) -> At<T> {
        self.line += 1;
        let width = u32::try_from(width.max(1)).unwrap();
        At { value, place: Place { file: "remit.yaml".into(), line: self.line, column: 5, width } }
    }

    pub(crate) fn text(&mut self, text: &str) -> At<String> {
        self.at(text.to_owned(), text.chars().count())
    }

    /// `path access`.
    pub(crate) fn rule(&mut self, id: String, text: &str) -> RuleSource {
        let (path, word) = text.rsplit_once(' ').unwrap();
        let access = Access::word(word).unwrap();
        RuleSource { path: self.text(path), access: self.at(access, word.len()), id: id.into() }
    }

    pub(crate) fn agent(&mut self, name: &str) -> &mut AgentSource {
        let place = self.text(name).place;
        self.source.agents.entry(name.to_owned()).or_insert_with(|| AgentSource::named(place))
    }

    /// A rule of [`AGENT`].
    pub(crate) fn own(self, text: &str) -> Self {
        self.of(AGENT, text)
    }

    pub(crate) fn of(mut self, agent: &str, text: &str) -> Self {
        let id = format!("agents.{agent}.permissions[{}]", self.agent(agent).permissions.len());
        let rule = self.rule(id, text);
        self.agent(agent).permissions.push(rule);
        self
    }

    /// A rule for all.
    pub(crate) fn global(self, text: &str) -> Self {
        self.global_for(text, &[])
    }

    /// A rule for some; for all if none is named.
    pub(crate) fn global_for(mut self, text: &str, whom: &[&str]) -> Self {
        let rule = self.rule(format!("global_rules[{}]", self.source.global_rules.len()), text);
        let whom = match whom {
            [] => For::All,
            names => For::These(names.iter().map(|name| self.text(name)).collect()),
        };
        self.source.global_rules.push((rule, whom));
        self
    }

    /// A role of [`AGENT`] with one rule.
    pub(crate) fn role(mut self, name: &str, text: &str) -> Self {
        let named = self.text(name);
        let agent = self.agent(AGENT);
        if !agent.roles.iter().any(|role| role.value == name) {
            agent.roles.push(named);
        }
        self.role_rule(name, text)
    }

    /// A rule of a role that nobody need have.
    pub(crate) fn role_rule(mut self, name: &str, text: &str) -> Self {
        let count = self.source.roles.get(name).map_or(0, |role| role.permissions.len());
        let rule = self.rule(format!("roles.{name}.permissions[{count}]"), text);
        self.source.roles.entry(name.to_owned()).or_default().permissions.push(rule);
        self
    }

    pub(crate) fn extends(mut self, name: &str, other: &str) -> Self {
        let other = self.text(other);
        self.source.roles.entry(name.to_owned()).or_default().extends.push(other);
        self
    }

    pub(crate) fn max(mut self, word: &str) -> Self {
        let max = self.at(Access::word(word).unwrap(), word.len());
        self.agent(AGENT).max_access = Some(max);
        self
    }

    pub(crate) fn default(mut self, effect: Effect) -> Self {
        self.source.default_policy = Some(self.at(effect, 5));
        self.source.allow_insecure_default = true;
        self
    }

    pub(crate) fn base(mut self, at: &str, word: &str) -> Self {
        let access = Access::word(word).unwrap();
        let id = format!("base.{}", at.trim_start_matches('/'));
        self.world.base.push(BaseRule {
            path: path(at),
            access,
            id: id.into(),
            why: "what programs need".into(),
        });
        self
    }

    pub(crate) fn single_file(mut self, at: &str) -> Self {
        self.world.single_files.insert(path(at));
        self
    }

    pub(crate) fn sealed(mut self, at: &str) -> Self {
        self.world.sealed.push(path(at));
        self
    }

    pub(crate) fn protected(mut self, at: &str, id: &str) -> Self {
        let words = "what git runs by itself".into();
        self.world.protected.push(ProtectedPath { path: path(at), id: id.into(), words, link: None });
        self
    }

    pub(crate) fn git_dir(mut self, at: &str) -> Self {
        self.world.git_dirs.push(path(at));
        self
    }

    pub(crate) fn private(mut self, at: &str) -> Self {
        self.world.private.push(path(at));
        self
    }

    pub(crate) fn try_compile(&self) -> Result<Compiled, Vec<Diagnostic>> {
        Policy::compile(&self.source, &self.world)
    }

    pub(crate) fn compile(&self) -> Policy {
        self.try_compile().unwrap_or_else(|found| panic!("{found:#?}")).policy
    }

    /// The codes of all errors.
    pub(crate) fn errors(&self) -> Vec<&'static str> {
        self.try_compile().err().unwrap_or_default().iter().map(|found| found.code).collect()
    }

    /// The codes of all notes.
    pub(crate) fn notes(&self) -> Vec<&'static str> {
        self.try_compile().unwrap().notes.iter().map(|found| found.code).collect()
    }
}

pub(crate) fn action(agent: &str, verb: Verb, object: Object) -> Action {
    let agent = AgentName::new(agent).unwrap();
    Action { actor: Actor { agent, session: None, assurance: Assurance::Kernel }, verb, object }
}

pub(crate) fn ask(policy: &Policy, verb: Verb, at: impl AsRef<[u8]>) -> Decision {
    decide(policy, &Facts::default(), &action(AGENT, verb, Object::Path(path(at))))
}

pub(crate) fn ask_move(policy: &Policy, from: &str, to: &str) -> Decision {
    let object = Object::Move { from: path(from), to: path(to) };
    decide(policy, &Facts::default(), &action(AGENT, Verb::Rename, object))
}

pub(crate) fn why(policy: &Policy, verb: Verb, at: &str) -> Explanation {
    explain(policy, &Facts::default(), &action(AGENT, verb, Object::Path(path(at))))
}

/// What may be done with a path, as letters: `rwx`.
pub(crate) fn may(policy: &Policy, at: &str) -> String {
    let letters = [(Verb::Read, 'r'), (Verb::Write, 'w'), (Verb::Execute, 'x')];
    letters
        .iter()
        .filter(|(verb, _)| ask(policy, *verb, at).effect == Effect::Allow)
        .map(|(_, c)| *c)
        .collect()
}
