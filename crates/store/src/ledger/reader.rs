//! Reading records in order, checking the chain on the way.

use super::LedgerError;
use super::folder::{Folder, Segment};
use super::follow::Follow;
use super::lines::Lines;
use remit_ledger::{Hash, Parsed, Record, RecordError, Step, Verifier, decode, genesis, parse_line};
use std::path::{Path, PathBuf};

/// One record of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
    /// Its bytes.
    pub record: Vec<u8>,
}

impl Entry {
    /// What it says.
    pub fn decode(&self) -> Result<Record, RecordError> {
        decode(&self.record)
    }
}

impl From<Parsed<'_>> for Entry {
    fn from(parsed: Parsed<'_>) -> Self {
        Self { seq: parsed.seq, hash: parsed.hash, record: parsed.record.to_vec() }
    }
}

/// The records of a ledger, one after the other. It takes no lock and disturbs no writer. It ends where the ledger
/// ends when it gets there, and after an error.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    folder: Folder,
    from: u64,
    segment: u64,
    /// None while the segment does not exist.
    lines: Option<Lines>,
    verifier: Verifier,
    failed: bool,
}

impl Reader {
    /// Reads from record `from` on; 0 and 1 are the beginning.
    pub fn open(dir: &Path, from: u64) -> Result<Self, LedgerError> {
        let folder = Folder::open(dir)?;
        let id = folder.id()?.ok_or_else(|| LedgerError::NoId(dir.to_owned()))?;
        let segment = start(&folder, from)?;
        let verifier = if segment == 1 { Verifier::new(genesis(&id)) } else { Verifier::anywhere() };
        Ok(Self { path: dir.to_owned(), folder, from, segment, lines: None, verifier, failed: false })
    }

    /// Goes on with what is written from now on, waiting for it, until `stop` says yes. That is asked before each
    /// record and at least ten times a second.
    pub fn follow<S: FnMut() -> bool>(self, stop: S) -> Result<Follow<S>, LedgerError> {
        Follow::new(self, stop)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The next record that is wanted; `None` if there is none yet.
    pub(super) fn advance(&mut self) -> Result<Option<Entry>, LedgerError> {
        // Once the next segment exists, nothing more is written to this one; but the last look at it may have
        // been before that.
        let mut last_look = false;
        loop {
            let lines = match &mut self.lines {
                Some(lines) => lines,
                none => match self.folder.segment(self.segment)? {
                    None => return Ok(None),
                    Some(file) => {
                        let lines = Lines::new(file, 0, u64::MAX);
                        none.insert(lines.map_err(LedgerError::io("read", Segment(self.segment)))?)
                    }
                },
            };
            match lines.next().map_err(LedgerError::io("read", Segment(self.segment)))? {
                Some(line) => match self.verifier.feed(line) {
                    Step::Record(parsed) | Step::Seal(parsed, _) if parsed.seq >= self.from => {
                        return Ok(Some(parsed.into()));
                    }
                    Step::Record(_) | Step::Seal(..) => {}
                    Step::Unchained if self.verifier.is_certain() => return Err(self.bad()),
                    Step::Unchained => {}
                },
                None if !last_look => {
                    if self.folder.segment(self.segment.saturating_add(1))?.is_none() {
                        return Ok(None);
                    }
                    last_look = true;
                }
                None => {
                    let partial = lines.partial();
                    if !partial.is_empty() {
                        self.verifier.feed(partial);
                        return Err(self.bad());
                    }
                    if self.verifier.held().is_some() {
                        return Err(self.bad());
                    }
                    self.verifier.restart_offset();
                    self.segment = self.segment.saturating_add(1);
                    self.lines = None;
                    last_look = false;
                }
            }
        }
    }

    /// The fault that was found.
    fn bad(&self) -> LedgerError {
        let unended = remit_ledger::Bad { seq: 0, offset: 0, fault: remit_ledger::Fault::Malformed };
        LedgerError::Bad { segment: self.segment, bad: self.verifier.held().unwrap_or(unended) }
    }
}

impl Iterator for Reader {
    type Item = Result<Entry, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = match self.advance() {
            // Whole lines that are not chained, and nobody there who seals them.
            Ok(None) if self.verifier.held().is_some() => Err(self.bad()),
            Ok(None) => return None,
            Ok(Some(entry)) => Ok(entry),
            Err(error) => Err(error),
        };
        self.failed = next.is_err();
        Some(next)
    }
}

/// The segment in which record `from` stands: the last whose first record is not later.
fn start(folder: &Folder, from: u64) -> Result<u64, LedgerError> {
    for (segment, _) in folder.segments()?.into_iter().rev() {
        let Some(file) = folder.segment(segment)? else { continue };
        let failed = || LedgerError::io::<std::io::Error>("read", Segment(segment));
        let mut lines = Lines::new(file, 0, u64::MAX).map_err(failed())?;
        let first = lines.next().map_err(failed())?.and_then(|line| line.strip_suffix(b"\n"));
        if first.and_then(|line| parse_line(line).ok()).is_some_and(|first| first.seq <= from) {
            return Ok(segment);
        }
    }
    Ok(1)
}
