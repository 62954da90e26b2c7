//! Policies of any size and questions to them, the same in each run.

use anyhow::{Result, anyhow};
use remit_core::{AbsPath, Action, Actor, AgentName, Assurance, Object, Place, Verb};
use remit_policy::source::{AgentSource, At, For, RuleSource};
use remit_policy::{Access, BaseRule, Policy, PolicySource, World};
use std::collections::{BTreeMap, BTreeSet};

/// A sequence of numbers that looks random and is the same each time.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let at = self.next(from.len() as u64) as usize;
        from.get(at).copied().unwrap_or_default()
    }
}

const TOPS: [&str; 8] = ["apps", "crates", "docs", "infra", "packages", "services", "tools", "web"];
const NAMES: [&str; 8] = ["api", "auth", "billing", "cache", "index", "model", "queue", "search"];
const ENDS: [&str; 6] = ["rs", "ts", "md", "json", "py", "toml"];

/// A compiled policy of `rules` rules, half of them global.
pub(super) fn policy(rules: u64) -> Result<Policy> {
    compiled(&source(rules))
}

fn compiled(source: &PolicySource) -> Result<Policy> {
    let compiled = Policy::compile(source, &world()?);
    compiled.map(|it| it.policy).map_err(|found| anyhow!("the policy has errors: {found:?}"))
}

/// A thousand questions about paths that its rules speak of, and others.
pub(super) fn actions(rules: u64, verb: Verb) -> Result<Vec<Action>> {
    let mut random = Sequence(2);
    (0..1_000)
        .map(|_| {
            let folder = folder(&mut random, rules);
            let path = format!("/home/work/{folder}/{}.{}", random.pick(&NAMES), random.pick(&ENDS));
            action(&path, verb)
        })
        .collect()
}

/// A question about a path.
pub(super) fn action(path: &str, verb: Verb) -> Result<Action> {
    let actor = Actor { agent: AgentName::new("worker")?, session: None, assurance: Assurance::Kernel };
    Ok(Action { actor, verb, object: Object::Path(AbsPath::new(path)?) })
}

fn at<T>(value: T) -> At<T> {
    At { value, place: Place::file("speed.yaml") }
}

/// Below the workspace's own two components: three that rules name, and paths have one more.
fn folder(random: &mut Sequence, rules: u64) -> String {
    let module = random.next(rules.div_ceil(16));
    format!("{}/{}-{module}/{}", random.pick(&TOPS), random.pick(&NAMES), random.pick(&["src", "tests"]))
}

fn pattern(random: &mut Sequence, rules: u64, number: u64) -> (String, Access) {
    let folder = folder(random, rules);
    match number % 50 {
        0 => match random.next(3) {
            0 => (format!("**/{}.local", random.pick(&NAMES)), Access::NONE),
            1 => (format!("**/*.{}{number}", random.pick(&ENDS)), Access::NONE),
            _ => (format!("**/{}{number}*", random.pick(&NAMES)), Access::READ),
        },
        1..=4 => match random.next(2) {
            0 => (format!("{folder}/*.{}", random.pick(&ENDS)), Access::READ),
            _ => (folder.replacen('-', "-*", 1), Access::ALL),
        },
        _ => (folder, if random.next(10) == 0 { Access::NONE } else { Access::ALL }),
    }
}

fn source(rules: u64) -> PolicySource {
    let mut random = Sequence(1);
    let mut made: Vec<RuleSource> = (0..rules)
        .map(|number| {
            let (path, access) = pattern(&mut random, rules, number);
            RuleSource { path: at(path), access: at(access), id: format!("rules[{number}]").into() }
        })
        .collect();
    let global = made.split_off(made.len() / 2).into_iter().map(|rule| (rule, For::All)).collect();
    with(global, made)
}

/// Global rules, and those of the one agent.
fn with(global_rules: Vec<(RuleSource, For)>, permissions: Vec<RuleSource>) -> PolicySource {
    let agent = AgentSource { permissions, ..AgentSource::named(Place::file("speed.yaml")) };
    PolicySource {
        global_rules,
        agents: BTreeMap::from([("worker".to_owned(), agent)]),
        ..PolicySource::empty("speed.yaml".into())
    }
}

fn world() -> Result<World> {
    let base = |path: &str| -> Result<BaseRule> {
        let access = Access::READ.union(Access::EXECUTE);
        let id = format!("base.{path}").into();
        Ok(BaseRule { path: AbsPath::new(path)?, access, id, why: "system programs and libraries".into() })
    };
    Ok(World {
        workspace: AbsPath::new("/home/work")?,
        home: AbsPath::new("/home/person")?,
        base: vec![base("/usr")?, base("/lib")?, base("/etc")?],
        sealed: vec![AbsPath::new("/home/person/.local/state/remit")?, AbsPath::new("/root")?],
        protected: Vec::new(),
        git_dirs: Vec::new(),
        linked: None,
        private: Vec::new(),
        single_files: BTreeSet::new(),
    })
}

/// A rule on a folder, in the words of any engine.
#[cfg(feature = "peers")]
pub(super) struct Rule {
    /// Absolute.
    pub(super) folder: String,
    /// Or taken away.
    pub(super) granted: bool,
}

/// So many rules, one in ten on a folder inside a granted one.
#[cfg(feature = "peers")]
pub(super) fn folders(count: usize) -> Vec<Rule> {
    let of = |number: usize| match number % 10 {
        9 => Rule {
            folder: format!("/home/work/part{}/folder{}/private", number / 100, number - 1),
            granted: false,
        },
        _ => Rule { folder: format!("/home/work/part{}/folder{number}", number / 100), granted: true },
    };
    (0..count).map(of).collect()
}

/// Requests, and whether they are allowed: in the last granted folder, in what is taken away below it, and where no
/// rule speaks; and the same at the beginning.
#[cfg(feature = "peers")]
pub(super) fn asked(rules: &[Rule]) -> Vec<(String, bool)> {
    let file = |rule: &Rule| (format!("{}/sub/file.rs", rule.folder), rule.granted);
    let ends =
        [rules.first(), rules.get(9), rules.len().checked_sub(2).and_then(|at| rules.get(at)), rules.last()];
    let nowhere = ("/home/work/elsewhere/sub/file.rs".to_owned(), false);
    ends.into_iter().flatten().map(file).chain([nowhere]).collect()
}

/// Our own policy of such rules.
#[cfg(feature = "peers")]
pub(super) fn of_folders(rules: &[Rule]) -> Result<Policy> {
    let rules = rules.iter().enumerate().map(|(number, rule)| RuleSource {
        path: at(rule.folder.clone()),
        access: at(if rule.granted { Access::READ } else { Access::NONE }),
        id: format!("rules[{number}]").into(),
    });
    compiled(&with(Vec::new(), rules.collect()))
}
