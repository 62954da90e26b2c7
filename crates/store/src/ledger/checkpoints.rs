//! Making checkpoints, and the anchor: the last checkpoint once more, in a place that is not the ledger's.

use super::folder::PRIVATE;
use super::{Keys, Ledger, LedgerError};
use crate::atomic;
use remit_ledger::{Checkpoint, Time};
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// The checkpoints' file.
pub(super) const FILE: &str = "checkpoints.jsonl";

/// How much of its end is read to find the last one, in bytes: many times a checkpoint.
const TAIL: u64 = 1 << 16;

/// Syncs the ledger and signs how far it reaches, in `checkpoints.jsonl` and in the file `anchor`. If nothing was
/// appended since the last checkpoint, that one is answered again.
pub fn checkpoint(
    ledger: &Ledger,
    keys: &Keys,
    time: Time,
    anchor: &Path,
) -> Result<Checkpoint, LedgerError> {
    let file = ledger.folder().create_file(FILE, OFlags::RDWR | OFlags::APPEND)?;
    // Closing the file unlocks it.
    rustix::io::retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))
        .map_err(LedgerError::io("lock", FILE))?;
    let head = ledger.settled(time)?;
    ledger.sync()?;
    let seq = head.next.saturating_sub(1);
    let (last, torn) = last(&file)?;
    let same = |last: &Checkpoint| {
        let said = &last.statement;
        (said.seq, said.head, said.ledger) == (seq, head.hash, ledger.id())
            && last.check(&[keys.verifying()]).is_ok()
    };
    let checkpoint = match last {
        Some(last) if same(&last) => last,
        last => {
            let number = last.map_or(1, |last| last.statement.number.saturating_add(1));
            let made = keys.signer().sign(ledger.id(), number, seq, head.hash, time).map_err(failed(FILE))?;
            append(&file, &made, torn)?;
            made
        }
    };
    write_anchor(anchor, &checkpoint)?;
    Ok(checkpoint)
}

fn failed(file: impl Into<String>) -> impl FnOnce(remit_ledger::CheckpointError) -> LedgerError {
    let file = file.into();
    move |source| LedgerError::Checkpoint { file, source }
}

/// Writes a line; if the one before it was not ended, that is ended first.
fn append(file: &File, checkpoint: &Checkpoint, torn: bool) -> Result<(), LedgerError> {
    let mut line = if torn { b"\n".to_vec() } else { Vec::new() };
    line.extend(checkpoint.encode().map_err(failed(FILE))?);
    line.push(b'\n');
    let wrote = rustix::io::write(file, &line).map_err(LedgerError::io("write", FILE))?;
    if wrote != line.len() {
        return Err(LedgerError::Short { file: FILE.to_owned(), wrote, of: line.len() });
    }
    file.sync_data().map_err(LedgerError::io("sync", FILE))
}

/// The last checkpoint in the file, and whether the file ends in the middle of a line.
fn last(file: &File) -> Result<(Option<Checkpoint>, bool), LedgerError> {
    let size = file.metadata().map_err(LedgerError::io("look at", FILE))?.len();
    let from = size.saturating_sub(TAIL);
    let mut tail = vec![0; usize::try_from(size.saturating_sub(from)).unwrap_or(0)];
    file.read_exact_at(&mut tail, from).map_err(LedgerError::io("read", FILE))?;
    let torn = !tail.is_empty() && !tail.ends_with(b"\n");
    let last = tail.split(|byte| *byte == b'\n').rev().find_map(|line| Checkpoint::parse(line).ok());
    match last {
        None if from > 0 => Err(LedgerError::NoCheckpoint),
        last => Ok((last, torn)),
    }
}

fn write_anchor(path: &Path, checkpoint: &Checkpoint) -> Result<(), LedgerError> {
    let shown = path.display().to_string();
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(LedgerError::io("write", shown)(Errno::INVAL));
    };
    let mut line = checkpoint.encode().map_err(failed(shown.clone()))?;
    line.push(b'\n');
    atomic::open_folder(folder)
        // Not synced: a power loss leaves an older one, or one that says nothing, and neither is a false alarm.
        .and_then(|folder| atomic::replace_soon(&folder, name, &line, PRIVATE))
        .map_err(LedgerError::io("write", shown))
}

/// The checkpoint in an anchor's file; `None` if there is no such file, or an empty one (a power loss).
pub fn read_anchor(path: &Path) -> Result<Option<Checkpoint>, LedgerError> {
    let shown = path.display().to_string();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LedgerError::io("open", shown)(error)),
    };
    let mut line = Vec::new();
    file.take(TAIL).read_to_end(&mut line).map_err(LedgerError::io("read", shown.clone()))?;
    if line.is_empty() {
        return Ok(None);
    }
    Checkpoint::parse(line.strip_suffix(b"\n").unwrap_or(&line)).map(Some).map_err(failed(shown))
}
