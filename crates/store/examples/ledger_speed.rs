//! How fast the ledger is on this machine: appends from one process and from eight together, syncs, verifying.
//!
//! `cargo run --release -p remit-store --example ledger_speed [FOLDER]`; the folder says which disk, and a scratch
//! folder in it is removed at the end.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement: it starts, times and tells"
)]

use remit_core::{AbsPath, Action, Actor, AgentName, Assurance, Decision, Digest, Effect, Layer, Object};
use remit_core::{Place, Reason, Rule, SessionId, Verb, Why};
use remit_ledger::{Door, Record, Time, encode};
use remit_store::{Ledger, verify};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

type Outcome<T> = Result<T, Box<dyn Error>>;

const APPENDS: u32 = 400_000;
const PROCESSES: u32 = 8;

/// A denial as the gate records it.
fn denial() -> Outcome<Record> {
    let actor = Actor {
        agent: AgentName::new("frontend")?,
        session: Some(SessionId::new("5e2f1c9a-77b0-4d2e-9c3a-0a1b2c3d4e5f")?),
        assurance: Assurance::Kernel,
    };
    let path = AbsPath::new("/home/someone/projects/shop/backend/src/orders/service.ts")?;
    let place = Place { file: "remit.yaml".into(), line: 12, column: 9, width: 16 };
    let rule = Rule {
        id: "agents.frontend.permissions[1]".into(),
        text: "backend/** none".into(),
        place: Some(place),
    };
    let reason =
        Reason { layer: Layer::Agent, effect: Effect::Deny, rule: Some(rule.into()), why: Why::None };
    let decision =
        Decision { effect: Effect::Deny, reasons: vec![reason], digest: Digest([7; 32]), epoch: 3 };
    let action = Action { actor, verb: Verb::Write, object: Object::Path(path) };
    let mut record = Record::access(Time::from(SystemTime::now()), Door::Kernel, &action, &decision)
        .spelled(b"../backend/src/orders/service.ts", None);
    record.syscall = Some("openat".to_owned());
    record.program = Some("/usr/bin/python3.13".to_owned());
    record.pid = Some(4242);
    Ok(record)
}

fn append(dir: &Path, count: u32) -> Outcome<()> {
    let ledger = Ledger::create_or_open(dir)?;
    let record = denial()?;
    for _ in 0..count {
        ledger.append_record(&record)?;
    }
    Ok(())
}

/// Appends from several processes at once, and the time from the first start to the last end.
fn together(dir: &Path, processes: u32) -> Outcome<Duration> {
    let each = (APPENDS / processes).to_string();
    let begin = Instant::now();
    let children: Result<Vec<_>, _> = (0..processes)
        .map(|_| {
            Command::new(std::env::current_exe()?)
                .arg("--child")
                .arg(dir)
                .arg(&each)
                .stdin(Stdio::null())
                .spawn()
        })
        .collect();
    for mut child in children? {
        if !child.wait()?.success() {
            return Err("a child failed".into());
        }
    }
    Ok(begin.elapsed())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, dir, count] = arguments.as_slice()
        && flag == "--child"
    {
        return append(Path::new(dir), count.parse()?);
    }
    let base = arguments.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = base.join(format!("ledger-speed-{}", std::process::id()));
    std::fs::create_dir(&dir)?;
    let measured = measure(&dir);
    std::fs::remove_dir_all(&dir)?;
    measured
}

fn measure(dir: &Path) -> Outcome<()> {
    println!("record: {} bytes", encode(&denial()?)?.len());
    let ledger = dir.join("ledger");
    for processes in [1, PROCESSES] {
        let took = together(&ledger, processes)?.as_secs_f64();
        println!("append, {processes} process(es): {:.0} /s", f64::from(APPENDS) / took);
    }
    let begin = Instant::now();
    let report = verify(&ledger, &[], None)?;
    let took = begin.elapsed().as_secs_f64();
    if !report.is_clean() || report.records != u64::from(2 * APPENDS) {
        return Err(format!("the ledger is not what was written: {report:?}").into());
    }
    let bytes = report.bytes as f64;
    println!("verify: {:.0} MB/s ({:.0} MB, {} segments)", bytes / took / 1e6, bytes / 1e6, report.segments);

    let begin = Instant::now();
    for _ in 0..1000 {
        Ledger::create_or_open(&ledger)?;
    }
    println!("open: {} µs", begin.elapsed().as_micros() / 1000);
    let ledger = Ledger::create_or_open(&ledger)?;
    let record = denial()?;
    let mut syncs = Vec::new();
    for _ in 0..200 {
        ledger.append_record(&record)?;
        let begin = Instant::now();
        ledger.sync()?;
        syncs.push(begin.elapsed().as_micros());
    }
    syncs.sort_unstable();
    println!("sync after one append: median {} µs, worst {} µs", syncs[100], syncs[199]);
    Ok(())
}
