//! `remit verify`: whether the ledger is whole and untouched.

use crate::cli::VerifyArgs;
use crate::report::{self, ERROR, Failure, OK};
use remit_core::Exit;
use remit_session::environment::Environment;
use remit_session::workspace::Workspace;
use remit_store::{HeadState, Keys, Report, read_anchor, verify};
use serde_json::json;

/// Checks the ledger. Exit 0 if it is whole, 1 if not.
pub(crate) fn run(args: &VerifyArgs, environment: &Environment) -> Result<Exit, Failure> {
    let workspace = Workspace::open(&environment.cwd, environment)?;
    let state = workspace.state()?;
    drop(workspace.ledger(&state)?);
    let unread = |e: &dyn std::error::Error| Failure::because(Exit::Io, "the ledger cannot be checked", e);
    let key = Keys::load_public(&state.keys()).map_err(|e| unread(&e))?;
    let anchor = read_anchor(&state.anchor()).map_err(|e| unread(&e))?;
    let report = verify(&state.ledger(), key.as_slice(), anchor.as_ref()).map_err(|e| unread(&e))?;
    if args.json {
        report::say_json(&as_json(&report))?;
    } else {
        report::say(&as_text(&report))?;
    }
    Ok(if report.is_intact() { Exit::Yes } else { Exit::No })
}

fn as_json(report: &Report) -> serde_json::Value {
    let checkpoints = &report.checkpoints;
    json!({
        "version": 1,
        "ledger": report.ledger.to_string(),
        "intact": report.is_intact(),
        "clean": report.is_clean(),
        "records": report.records,
        "last": report.last,
        "hash": report.hash.to_string(),
        "segments": report.segments,
        "bytes": report.bytes,
        "head": format!("{:?}", report.head),
        "checkpoints": {
            "ok": checkpoints.ok,
            "torn": checkpoints.torn,
            "bad": checkpoints.bad.iter().map(|b| json!({"line": b.line, "why": b.why.to_string()})).collect::<Vec<_>>(),
        },
        "sealed": report.sealed.iter().map(|(seq, _)| seq).collect::<Vec<_>>(),
        "lost": report.lost.iter().map(|(seq, _)| seq).collect::<Vec<_>>(),
        "unsealed_bytes": report.unsealed,
        "first_bad": report.first_bad.map(|bad| bad.to_string()),
    })
}

fn as_text(report: &Report) -> String {
    let (style, word) = if report.is_intact() { (OK, "whole") } else { (ERROR, "damaged") };
    let plural = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let mut out = format!(
        "{style}{word}{style:#}  {} in one chain, {}\n",
        plural(report.records, "record", "records"),
        plural(report.checkpoints.ok, "signed checkpoint holds", "signed checkpoints hold"),
    );
    let mut line = |text: String| out.push_str(&format!("  {text}\n"));
    if let Some(bad) = &report.first_bad {
        line(format!("{ERROR}first bad record{ERROR:#}: {bad}"));
    }
    for bad in &report.checkpoints.bad {
        let place =
            if bad.line == 0 { "the anchor".to_owned() } else { format!("checkpoint line {}", bad.line) };
        line(format!("{ERROR}{place}{ERROR:#}: {}", bad.why));
    }
    match report.head {
        HeadState::Fits | HeadState::Unreached => {}
        HeadState::Behind { records } => {
            line(format!(
                "{} more than the head counts: a writer was killed; the next append counts them",
                records
            ));
        }
        HeadState::Unreadable => line("the head is unreadable; the next append makes it anew".to_owned()),
        HeadState::Differs => {
            line(format!("{ERROR}the records are not those that the head counted{ERROR:#}"))
        }
    }
    for (seq, torn) in &report.sealed {
        line(format!("record {seq} seals a torn end of {} bytes: a writer was killed", torn.bytes));
    }
    for (seq, _) in &report.lost {
        line(format!("record {seq} tells of records that a power loss took, or somebody who cut the file"));
    }
    if report.unsealed > 0 {
        line(format!(
            "{} bytes at the end are no whole line: a writer was killed; the next append seals them",
            report.unsealed
        ));
    }
    out
}
