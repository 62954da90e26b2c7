//! What the fuzzers promise holds for every file of their corpus, without a fuzzer.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the corpus lies in a folder")]
#![expect(unreachable_pub, reason = "the checks are a library, and the fuzzers call it")]

#[path = "../../../fuzz/src/lib.rs"]
mod promises;

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Calls the check with each file of its corpus, and with each file changed.
fn replay(target: &str, check: fn(&[u8])) -> Result<()> {
    let seen = files(&place("fuzz/corpus").join(target), check)?;
    anyhow::ensure!(seen >= 4, "only {seen} files in the corpus of `{target}`");
    Ok(())
}

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Calls the check with each file in a folder and below, and with each file cut short, twice as long, and bent in one
/// place.
fn files(folder: &Path, check: fn(&[u8])) -> Result<usize> {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).with_context(|| format!("no folder `{}`", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            seen += files(&path, check)?;
            continue;
        }
        let bytes = std::fs::read(path)?;
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
    Ok(seen)
}

#[test]
fn policy_documents() -> Result<()> {
    replay("policy_document", promises::policy_document)
}

#[test]
fn every_example_and_every_bad_document_of_the_tests() -> Result<()> {
    for (folder, least) in [("examples", 7), ("crates/config/tests/corpus", 50)] {
        let seen = files(&place(folder), promises::policy_document)?;
        anyhow::ensure!(seen >= least, "only {seen} files in `{folder}`");
    }
    Ok(())
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
