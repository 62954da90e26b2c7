//! Prints nanoseconds a decision at 10, 1,000 and 10,000 rules, and how long compiling takes. The rules: 90 %
//! name a path, 8 % have a `*` in a component, 2 % are unanchored; the paths have six components. Run it with
//! `cargo run --release -p remit-policy --example decide_speed`.
#![expect(clippy::disallowed_methods, reason = "a measurement needs a clock")]
#![expect(clippy::print_stdout, reason = "a program that prints its result")]

use remit_core::{AbsPath, Action, Actor, AgentName, Assurance, Effect, Object, Place, Verb};
use remit_policy::source::{AgentSource, At, AuditSource, Base, For, Intents, RuleSource, Sandbox};
use remit_policy::{Access, BaseRule, Facts, Policy, PolicySource, World, decide};
use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::time::Instant;

/// A sequence of numbers that looks random and is the same each time.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let count = u64::try_from(from.len()).unwrap_or(1);
        usize::try_from(self.next(count)).ok().and_then(|at| from.get(at)).copied().unwrap_or("x")
    }
}

const TOPS: [&str; 8] = ["apps", "crates", "docs", "infra", "packages", "services", "tools", "web"];
const NAMES: [&str; 8] = ["api", "auth", "billing", "cache", "index", "model", "queue", "search"];
const ENDS: [&str; 6] = ["rs", "ts", "md", "json", "py", "toml"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:>8}  {:>12}  {:>8}  {:>8}  {:>8}", "rules", "compile ms", "read ns", "write ns", "allowed");
    for rules in [10, 1_000, 10_000] {
        measure(rules)?;
    }
    Ok(())
}

fn measure(rules: u64) -> Result<(), Box<dyn std::error::Error>> {
    let (source, world) = (source(rules), world()?);
    let start = Instant::now();
    let policy = Policy::compile(&source, &world).map_err(|found| format!("{found:?}"))?.policy;
    let compile = start.elapsed();
    let reads = actions(rules, Verb::Read)?;
    let writes = actions(rules, Verb::Write)?;
    let allowed =
        reads.iter().filter(|a| decide(&policy, &Facts::default(), a).effect == Effect::Allow).count();
    println!(
        "{rules:>8}  {:>12.1}  {:>8.0}  {:>8.0}  {:>7.0}%",
        compile.as_secs_f64() * 1e3,
        best(&policy, &reads),
        best(&policy, &writes),
        100.0 * allowed as f64 / reads.len() as f64,
    );
    Ok(())
}

/// Nanoseconds a decision, the best of several rounds over all actions.
fn best(policy: &Policy, actions: &[Action]) -> f64 {
    let round = || {
        let start = Instant::now();
        for action in actions {
            black_box(decide(policy, &Facts::default(), black_box(action)));
        }
        start.elapsed().as_secs_f64() * 1e9 / actions.len() as f64
    };
    (0..40).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn at<T>(value: T) -> At<T> {
    At { value, place: Place::file("speed.yaml") }
}

/// Four components below the workspace's own two: the rules name the first three, paths have all.
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
        n if n <= 4 => match random.next(2) {
            0 => (format!("{folder}/*.{}", random.pick(&ENDS)), Access::READ),
            _ => (folder.replacen("-", "-*", 1), Access::ALL),
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
    let agent = AgentSource {
        place: Place::file("speed.yaml"),
        cli: None,
        roles: Vec::new(),
        base_workspace: None,
        permissions: made,
        requests: Vec::new(),
        requires: Vec::new(),
        provides: Vec::new(),
        network: Vec::new(),
        max_access: None,
        system_message: None,
        deny_tools: Vec::new(),
    };
    PolicySource {
        file: "speed.yaml".into(),
        root: None,
        default_policy: None,
        allow_insecure_default: false,
        base: Base::Standard,
        intents: Intents::Off,
        sandbox: Sandbox::Enforce,
        global_rules: global,
        roles: BTreeMap::new(),
        agents: BTreeMap::from([("worker".to_owned(), agent)]),
        approvals: Vec::new(),
        audit: AuditSource::default(),
        tests: Vec::new(),
    }
}

fn world() -> Result<World, Box<dyn std::error::Error>> {
    let base = |path: &str| -> Result<BaseRule, Box<dyn std::error::Error>> {
        let id = format!("base.{path}").into();
        let access = Access::READ.union(Access::EXECUTE);
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
        private: vec![AbsPath::new("/home/agent")?, AbsPath::new("/tmp")?],
        single_files: BTreeSet::new(),
    })
}

fn actions(rules: u64, verb: Verb) -> Result<Vec<Action>, Box<dyn std::error::Error>> {
    let mut random = Sequence(2);
    let agent = AgentName::new("worker")?;
    (0..1_000)
        .map(|_| {
            let folder = folder(&mut random, rules);
            let path = format!("/home/work/{folder}/{}.{}", random.pick(&NAMES), random.pick(&ENDS));
            let actor = Actor { agent: agent.clone(), session: None, assurance: Assurance::Kernel };
            Ok(Action { actor, verb, object: Object::Path(AbsPath::new(path)?) })
        })
        .collect()
}
