//! How long a launch takes beside a bare start of the same program: a work tree of 10,000 files, 100 rules, three
//! `none` folders and one `none` rule with wildcards. Prints medians in microseconds, and where the time goes.
//!
//! `cargo run --release -p remit-sandbox --example launch_speed [ROUNDS]`

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measuring program: it makes files and reads the clock"
)]

use remit_core::{AbsPath, Rule, Verb};
use remit_policy::Access;
use remit_sandbox::launch::{ChildExit, Spec, Stdio, launch};
use remit_sandbox::plan::{Extra, HostDisk, Plan, Point, Request, Rules, Source, Where, plan};
use remit_sandbox::{Authority, Operation, Ruling};
use std::error::Error;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct AllowAll;

impl Authority for AllowAll {
    fn judge(&self, _: &Operation<'_>) -> Ruling {
        Ruling::Allow
    }
    fn may(&self, _: Verb, _: &AbsPath) -> bool {
        true
    }
    fn control(&self, _: &[u8]) -> Vec<u8> {
        Vec::new()
    }
}

/// Rules whose most exact one decides; `none` is absolute. The last is the one with wildcards.
struct Table(Vec<Point>);

impl Table {
    fn add(&mut self, path: &AbsPath, access: Access) {
        self.push(Where::Path(path.clone()), access);
    }

    fn push(&mut self, place: Where, access: Access) {
        let rule = Rule { id: "example".into(), text: format!("{place:?} {access}").into(), place: None };
        self.0.push(Point { place, access, rule: Arc::new(rule), base: false, folder: true });
    }
}

impl Rules for Table {
    fn access(&self, path: &AbsPath) -> Access {
        if path.file_name() == Some(b".env") {
            return Access::NONE;
        }
        let mut best = (0, Access::NONE);
        for point in &self.0 {
            if let Where::Path(at) = &point.place
                && at.covers(path)
            {
                if point.access.is_none() {
                    return Access::NONE;
                }
                if at.as_bytes().len() > best.0 {
                    best = (at.as_bytes().len(), point.access);
                }
            }
        }
        best.1
    }
    fn points(&self) -> Vec<Point> {
        self.0.clone()
    }
    fn matches(&self, _: usize, path: &AbsPath) -> bool {
        path.file_name() == Some(b".env")
    }
    fn may_match(&self, _: usize, name: &[u8]) -> bool {
        name == b".env"
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn scene(folder: &std::path::Path) -> Result<(AbsPath, AbsPath, Table)> {
    let (work, home) = (folder.join("w"), folder.join("home"));
    std::fs::create_dir_all(&home)?;
    for group in 0..10 {
        for sub in 0..20 {
            let at = work.join(format!("part{group}/sub{sub}"));
            std::fs::create_dir_all(&at)?;
            for file in 0..50 {
                std::fs::write(at.join(format!("file{file}.rs")), "content")?;
            }
        }
    }
    std::fs::write(work.join("part3/.env"), "secret")?;
    for none in ["secrets", "part1/private", "part2/sub3/keys"] {
        std::fs::create_dir_all(work.join(none))?;
        std::fs::write(work.join(none).join("k"), "secret")?;
    }
    let (work, home) = (AbsPath::try_from(work.as_path())?, AbsPath::try_from(home.as_path())?);
    let mut table = Table(Vec::new());
    let run = Access::READ.union(Access::EXECUTE);
    for (path, access) in
        [("/usr", run), ("/bin", run), ("/lib", run), ("/lib64", run), ("/etc", Access::READ)]
    {
        table.add(&AbsPath::new(path)?, access);
    }
    table.add(&work, Access::ALL);
    for none in ["secrets", "part1/private", "part2/sub3/keys"] {
        table.add(&AbsPath::lexical(&work, none)?, Access::NONE);
    }
    for rule in 0..90 {
        table.add(&AbsPath::lexical(&work, format!("part{}/sub{}", rule % 10, rule / 5))?, Access::ALL);
    }
    table.push(Where::Wild { prefix: work.clone(), depth: None }, Access::NONE);
    Ok((work, home, table))
}

fn planned(home: &AbsPath, table: &Table) -> Result<Plan> {
    let extras = [
        Extra { target: AbsPath::new("/home/agent")?, source: Source::Host(home.clone()) },
        Extra { target: AbsPath::new("/tmp")?, source: Source::Memory },
        Extra { target: AbsPath::new("/var/tmp")?, source: Source::Memory },
    ];
    let request = Request {
        rules: table,
        extras: &extras,
        sealed: &[],
        requestable: &[],
        hardlinks_allowed: false,
        advisory: false,
    };
    Ok(plan(&request, &HostDisk))
}

/// Medians of `rounds` launches, each beside a bare start.
fn measure(
    name: &str,
    rounds: usize,
    folder: &std::path::Path,
    scene: &(AbsPath, AbsPath, Table),
) -> Result<()> {
    let (work, home, table) = scene;
    let (mut bare, mut plans, mut starts, mut wholes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let begun = Instant::now();
        std::process::Command::new("/usr/bin/true").env_clear().status()?;
        bare.push(begun.elapsed());

        let begun = Instant::now();
        let plan = planned(home, table)?;
        plans.push(begun.elapsed());
        let running = launch(Spec {
            plan,
            arguments: vec![OsString::from("/usr/bin/true")],
            environment: Vec::new(),
            cwd: work.clone(),
            stdio: Stdio::Inherit,
            authority: Arc::new(AllowAll),
            session_files: Vec::new(),
            placeholder_record: folder.join("placeholders"),
        })?;
        starts.push(begun.elapsed());
        if running.wait() != ChildExit::Code(0) {
            return Err("the program failed".into());
        }
        wholes.push(begun.elapsed());
    }
    let plan = planned(home, table)?;
    let (binds, masks) = (plan.binds.len(), plan.masks.len() + plan.file_masks.len());
    println!(
        "{name}: {} rules, {binds} mounts, {masks} masks, {} floor rules",
        table.0.len(),
        plan.floor.len()
    );
    let (bare, planning, start, whole) = (median(bare), median(plans), median(starts), median(wholes));
    println!("  bare start and end      {:>6} us", bare.as_micros());
    println!("  plan                    {:>6} us", planning.as_micros());
    println!("  launch                  {:>6} us", start.saturating_sub(planning).as_micros());
    println!("  plan, launch and end    {:>6} us", whole.as_micros());
    println!("  over bare               {:>6} us", whole.saturating_sub(bare).as_micros());
    Ok(())
}

fn main() -> Result<()> {
    let rounds: usize = std::env::args().nth(1).map_or(Ok(101), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let mut scene = scene(folder.path())?;
    measure("with a wildcard, which walks the tree", rounds, folder.path(), &scene)?;
    scene.2.0.pop();
    measure("without", rounds, folder.path(), &scene)
}
