//! Making checkpoints, and the anchor: the last checkpoint once more, in a place that is not the ledger's.

use super::folder::{CHECKPOINTS, PRIVATE};
use super::{Keys, Ledger, LedgerError};
use crate::atomic;
use remit_ledger::head::FARTHEST;
use remit_ledger::{Checkpoint, CheckpointError, Hash, Seal, Time, Unsigned};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// How much of its end is read to find the last one, in bytes: many times a checkpoint.
const TAIL: u64 = 1 << 16;

/// What stands where the copy of the last checkpoint is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Anchor {
    /// There is none, or an empty file.
    Missing,
    /// What is there is no checkpoint.
    Unreadable(CheckpointError),
    /// The checkpoint.
    Found(Checkpoint),
}

/// Syncs the ledger and signs how far it reaches, in `checkpoints.jsonl` and in the file `anchor`; then the head
/// counts it. If nothing was appended since the last checkpoint, that one is answered again. If checkpoints that
/// the head or the anchor counts are gone, or the anchor is, the ledger is told so first.
pub fn checkpoint(
    ledger: &Ledger,
    keys: &Keys,
    time: Time,
    anchor: &Path,
) -> Result<Checkpoint, LedgerError> {
    let file = ledger.folder().create_file(CHECKPOINTS, OFlags::RDWR | OFlags::APPEND)?;
    // Closing the file unlocks it.
    rustix::io::retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))
        .map_err(LedgerError::io("lock", CHECKPOINTS))?;
    let mut head = ledger.settled(time)?;
    let keys_of = [keys.verifying()];
    let ours = |checkpoint: &Checkpoint| {
        checkpoint.check(&keys_of).is_ok() && checkpoint.statement.number <= FARTHEST
    };
    let (last, torn) = last(&file, |made| ours(made) && made.statement.ledger == ledger.id())?;
    let kept = read_anchor(anchor)?;
    let found = last.as_ref().map_or(0, |last| last.statement.number);
    let (anchored, honest) = match &kept {
        // As a rule it is the last one once more, whose signature has been checked.
        Anchor::Found(kept) if last.as_ref() == Some(kept) || ours(kept) => {
            let said = &kept.statement;
            (Some(said.number), said.ledger == ledger.id() && said.number <= found)
        }
        // A writer that died before it wrote the first one.
        Anchor::Missing => (None, found <= 1 && head.checkpoints == 0),
        Anchor::Unreadable(_) | Anchor::Found(_) => (None, false),
    };
    if !honest || found < head.checkpoints {
        let gone = Unsigned { anchor: anchored, found, noted: head.checkpoints };
        let seal = Seal { checkpoints: Some(gone), ..Seal::default() };
        ledger.append_record(&seal.record(time))?;
        head = ledger.settled(time)?;
    }
    let place = Place { ledger, anchor, kept, time };
    if let Some(last) = &last {
        // Whoever signed it may have died before it was kept; a second one must not be lost sight of with it.
        place.keep(last)?;
    }
    ledger.sync()?;
    let seq = head.next.saturating_sub(1);
    match last {
        // Of two sessions that end at once, the first to get here signs the last record of both, and nothing
        // is left for the second: a checkpoint vouches for records, not for sessions.
        Some(last) if (last.statement.seq, last.statement.head) == (seq, head.hash) => Ok(last),
        _ => {
            // A number is never used twice, so that those that are gone leave a gap.
            let number = found.max(head.checkpoints).max(anchored.unwrap_or(0)).saturating_add(1);
            let made =
                keys.signer().sign(ledger.id(), number, seq, head.hash, time).map_err(failed(CHECKPOINTS))?;
            append(&file, &made, torn)?;
            place.keep(&made)?;
            Ok(made)
        }
    }
}

/// Where checkpoints are kept in sight.
struct Place<'a> {
    ledger: &'a Ledger,
    anchor: &'a Path,
    kept: Anchor,
    time: Time,
}

impl Place<'_> {
    /// In this order, so that the head never counts one that is in neither place.
    fn keep(&self, checkpoint: &Checkpoint) -> Result<(), LedgerError> {
        if self.kept != Anchor::Found(checkpoint.clone()) {
            write_anchor(self.anchor, checkpoint)?;
        }
        self.ledger.note(checkpoint.statement.number, digest(checkpoint)?, self.time)
    }
}

/// What the head says of a checkpoint.
pub(super) fn digest(checkpoint: &Checkpoint) -> Result<Hash, LedgerError> {
    Ok(Hash::of(&[&checkpoint.encode().map_err(failed(CHECKPOINTS))?]))
}

fn failed(file: impl Into<String>) -> impl FnOnce(remit_ledger::CheckpointError) -> LedgerError {
    let file = file.into();
    move |source| LedgerError::Checkpoint { file, source }
}

/// Writes a line; if the one before it was not ended, that is ended first.
fn append(file: &File, checkpoint: &Checkpoint, torn: bool) -> Result<(), LedgerError> {
    let mut line = if torn { b"\n".to_vec() } else { Vec::new() };
    line.extend(checkpoint.encode().map_err(failed(CHECKPOINTS))?);
    line.push(b'\n');
    let wrote = rustix::io::write(file, &line).map_err(LedgerError::io("write", CHECKPOINTS))?;
    if wrote != line.len() {
        return Err(LedgerError::Short { file: CHECKPOINTS.to_owned(), wrote, of: line.len() });
    }
    file.sync_data().map_err(LedgerError::io("sync", CHECKPOINTS))
}

/// The last checkpoint in the file that is one of `ours`, and whether the file ends in the middle of a line.
fn last(file: &File, ours: impl Fn(&Checkpoint) -> bool) -> Result<(Option<Checkpoint>, bool), LedgerError> {
    let size = file.metadata().map_err(LedgerError::io("look at", CHECKPOINTS))?.len();
    let from = size.saturating_sub(TAIL);
    let mut tail = vec![0; usize::try_from(size.saturating_sub(from)).unwrap_or(0)];
    file.read_exact_at(&mut tail, from).map_err(LedgerError::io("read", CHECKPOINTS))?;
    let torn = !tail.is_empty() && !tail.ends_with(b"\n");
    let last =
        tail.split(|byte| *byte == b'\n').rev().find_map(|line| Checkpoint::parse(line).ok().filter(&ours));
    Ok((last, torn))
}

fn write_anchor(path: &Path, checkpoint: &Checkpoint) -> Result<(), LedgerError> {
    let shown = path.display().to_string();
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(LedgerError::io("write", shown)(Errno::INVAL));
    };
    let mut line = checkpoint.encode().map_err(failed(shown.clone()))?;
    line.push(b'\n');
    atomic::open_folder(folder)
        // Not synced: a power loss leaves an older one. If it was the first, none is left, and that is told.
        .and_then(|folder| atomic::replace_soon(&folder, name, &line, PRIVATE))
        .map_err(LedgerError::io("write", shown))
}

/// Reads an anchor's file. Fails only if the operating system does.
pub fn read_anchor(path: &Path) -> Result<Anchor, LedgerError> {
    let shown = path.display().to_string();
    let opened = atomic::open_file(rustix::fs::CWD, path, OFlags::RDONLY, Mode::empty());
    let Some(file) = opened.map_err(LedgerError::io("open", shown.clone()))? else {
        return Ok(Anchor::Missing);
    };
    let mut line = Vec::new();
    file.take(TAIL).read_to_end(&mut line).map_err(LedgerError::io("read", shown))?;
    if line.is_empty() {
        return Ok(Anchor::Missing);
    }
    let parsed = Checkpoint::parse(line.strip_suffix(b"\n").unwrap_or(&line));
    Ok(parsed.map_or_else(Anchor::Unreadable, Anchor::Found))
}
