//! What the fuzzers promise holds for every file of their corpus, without a fuzzer.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the corpus lies in a folder")]
#![expect(unreachable_pub, reason = "the checks are a library, and the fuzzers call it")]

#[path = "../../../fuzz/src/lib.rs"]
mod promises;

use anyhow::{Context, Result};
use std::path::Path;

/// Calls the check with each file of its corpus, and with each file cut short, twice as long, and bent in one
/// place.
fn replay(target: &str, check: fn(&[u8])) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).with_context(|| format!("no corpus `{}`", folder.display()))? {
        let bytes = std::fs::read(entry?.path())?;
        check(&bytes);
        check(&bytes[..bytes.len() / 2]);
        check(&bytes.repeat(2));
        for at in [0, bytes.len() / 3, bytes.len() / 2, bytes.len().saturating_sub(2)] {
            let mut bent = bytes.clone();
            if let Some(byte) = bent.get_mut(at) {
                *byte ^= 0x11;
                check(&bent);
            }
        }
        seen += 1;
    }
    anyhow::ensure!(seen >= 4, "only {seen} files in `{}`", folder.display());
    Ok(())
}

#[test]
fn policy_documents() -> Result<()> {
    replay("policy_document", promises::policy_document)
}

#[test]
fn patterns() -> Result<()> {
    replay("pattern", promises::pattern)
}

#[test]
fn decisions() -> Result<()> {
    replay("decide", promises::decide)
}

#[test]
fn hook_inputs() -> Result<()> {
    replay("hook_input", promises::hook_input)
}

#[test]
fn ledger_lines() -> Result<()> {
    replay("ledger_line", promises::ledger_line)
}

#[test]
fn lines_of_a_sessions_socket() -> Result<()> {
    replay("session_wire", promises::session_wire)
}
