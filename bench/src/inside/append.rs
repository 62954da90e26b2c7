//! Appends one record over and over.

use anyhow::Result;
use clap::Args;
use remit_core::{AbsPath, Action, Actor, AgentName, Assurance, Decision, Digest, Effect, Layer, Object};
use remit_core::{Place, Reason, Rule, SessionId, Verb, Why};
use remit_ledger::{Door, Record, Time};
use remit_store::Ledger;
use std::path::PathBuf;
use std::time::SystemTime;

#[derive(Debug, Args)]
pub(super) struct Options {
    folder: PathBuf,
    count: u32,
}

pub(super) fn run(options: &Options) -> Result<()> {
    let ledger = Ledger::create_or_open(&options.folder)?;
    let record = denial()?;
    for _ in 0..options.count {
        ledger.append_record(&record)?;
    }
    Ok(())
}

/// A refusal as the gate records it: the longest kind that comes in numbers.
pub(crate) fn denial() -> Result<Record> {
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
    let time = Time::from(SystemTime::now());
    let mut record = Record::access(time, Door::Kernel, &action, &decision)
        .spelled(b"../backend/src/orders/service.ts", None);
    record.syscall = Some("openat".to_owned());
    record.program = Some("/usr/bin/python3.13".to_owned());
    record.pid = Some(4242);
    Ok(record)
}
