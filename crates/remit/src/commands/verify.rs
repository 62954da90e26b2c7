//! `remit verify`: whether the ledger is whole and untouched.

use crate::cli::VerifyArgs;
use crate::report::{self, ERROR, Failure, OK};
use remit_core::Exit;
use remit_core::path::printable;
use remit_session::environment::Environment;
use remit_session::workspace::Workspace;
use remit_store::{HeadState, Keys, LedgerError, Report, verify};
use serde_json::json;

/// Checks the ledger. Exit 0 if it is whole, 1 if not.
pub(crate) fn run(args: &VerifyArgs, environment: &Environment) -> Result<Exit, Failure> {
    let workspace = Workspace::open_state(&environment.cwd, environment)?;
    let state = workspace.state_place()?;
    let unread = |error: LedgerError| -> Result<Exit, Failure> {
        if !error.is_tampering() {
            return Err(Failure::because(Exit::Io, "the ledger cannot be checked", &error));
        }
        if args.json {
            report::say_json(&json!({"version": 1, "intact": false, "first_bad": error.to_string()}))?;
        } else {
            report::say(&format!("{ERROR}damaged{ERROR:#}  {error}\n"))?;
        }
        Ok(Exit::No)
    };
    let anchor = state.anchor();
    let key = match Keys::load_public(&state.keys()) {
        Ok(key) => key,
        Err(_) if !exists(&state.keys()) => None,
        Err(error) => return unread(error),
    };
    let report = match verify(&state.ledger(), key.as_slice(), Some(&anchor)) {
        Ok(report) => report,
        Err(LedgerError::NoLedger(_)) if !exists(&anchor) && key.is_none() => {
            report::talk("remit: nothing has been recorded here yet\n");
            return Ok(Exit::Yes);
        }
        Err(LedgerError::NoLedger(folder)) => {
            let message =
                format!("the ledger in `{}` is gone; its key or its anchor is still there", folder.display());
            return Err(Failure::new(Exit::No, message));
        }
        Err(error) => return unread(error),
    };
    if args.json {
        report::say_json(&as_json(&report))?;
    } else {
        report::say(&as_text(&report))?;
        if let Some(file) = &workspace.source.audit.value.log_file {
            let file = printable(&file.value);
            report::say(&format!("  `{file}` is a copy of the records, and not what is checked here\n"))?;
        }
    }
    Ok(if report.is_intact() { Exit::Yes } else { Exit::No })
}

fn exists(path: &std::path::Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
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
        "head": report.head.name(),
        "behind": if let HeadState::Behind { records } = report.head { records } else { 0 },
        "checkpoints": {
            "ok": checkpoints.ok,
            "torn": checkpoints.torn,
            "bad": checkpoints.bad.iter().map(|b| json!({"at": b.at.to_string(), "why": b.why.to_string()})).collect::<Vec<_>>(),
        },
        "sealed": report.sealed.iter().map(|(seq, _)| seq).collect::<Vec<_>>(),
        "damaged": report.damaged.iter().map(|(seq, _)| seq).collect::<Vec<_>>(),
        "rebuilt": report.rebuilt,
        "unsigned": report.unsigned.iter().map(|(seq, _)| seq).collect::<Vec<_>>(),
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
        line(format!("{ERROR}first bad record{ERROR:#}: {}", printable(&bad.to_string())));
    }
    for bad in &report.checkpoints.bad {
        line(format!("{ERROR}{}{ERROR:#}: {}", bad.at, printable(&bad.why.to_string())));
    }
    match report.head {
        HeadState::Fits | HeadState::Unreached => {}
        HeadState::Behind { records } => {
            line(format!(
                "{} more than the head counts: an append was cut short; the next one counts them",
                records
            ));
        }
        HeadState::Unreadable => line("the head is unreadable; the next append makes it anew".to_owned()),
        HeadState::Differs => {
            line(format!("{ERROR}the records are not those that the head counted{ERROR:#}"))
        }
    }
    for (seq, torn) in &report.sealed {
        line(format!("record {seq} seals a torn end of {} bytes: an append was cut short", torn.bytes));
    }
    for (seq, damage) in &report.damaged {
        line(format!(
            "{ERROR}record {seq} closes off a damaged place{ERROR:#}: {} lines, {} bytes, from record {} on",
            damage.lines, damage.bytes, damage.seq
        ));
    }
    for (seq, _) in &report.lost {
        line(format!("record {seq} tells of records that a power loss took, or somebody who cut the file"));
    }
    for seq in &report.rebuilt {
        line(format!(
            "record {seq} tells that the head was lost, and made anew: a disk failed, or somebody removed it"
        ));
    }
    for (seq, _) in &report.unsigned {
        line(format!("record {seq} tells of signed checkpoints that are gone"));
    }
    if report.unsealed > 0 {
        line(format!(
            "{} bytes at the end are no whole line: an append was cut short; the next one seals them",
            report.unsealed
        ));
    }
    out
}
