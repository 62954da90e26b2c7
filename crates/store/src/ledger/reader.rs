//! Reading records in order, checking the chain on the way.

use super::LedgerError;
use super::follow::{Follow, Source};
use super::lenient::{Lenient, Piece};
use super::report::Damaged;
use super::walk::Walk;
use remit_ledger::{Bad, Fault, Hash, Parsed, Record, RecordError, decode};
use std::path::Path;

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

/// The records of a ledger, one after the other. It takes no lock, writes nothing and disturbs no writer. It ends
/// where the ledger ends when it gets there, and after an error, such as the first damage.
#[derive(Debug)]
pub struct Reader {
    walk: Walk,
    failed: bool,
}

impl Reader {
    /// Reads from record `from` on; 0 and 1 are the beginning.
    pub fn open(dir: &Path, from: u64) -> Result<Self, LedgerError> {
        Ok(Self { walk: Walk::open(dir, from)?, failed: false })
    }

    /// The same for a ledger that may be damaged: goes on behind what is not as it was written, and tells of it.
    pub fn lenient(dir: &Path, from: u64) -> Result<Lenient, LedgerError> {
        Lenient::open(dir, from)
    }

    /// Goes on with what is written from now on, waiting for it, until `stop` says yes. That is asked before each
    /// record and at least ten times a second.
    pub fn follow<S: FnMut() -> bool>(self, stop: S) -> Result<Follow<Self, S>, LedgerError> {
        Follow::new(self, stop)
    }
}

/// A record, or the fault that ends a strict reading.
fn strict(piece: Piece) -> Result<Entry, LedgerError> {
    match piece {
        Piece::Record(entry) => Ok(entry),
        Piece::Damaged(Damaged { segment, bad }) => Err(LedgerError::Bad { segment, bad }),
        // Never the first that is told of damage.
        Piece::Unchained(entry) => {
            let bad = Bad { seq: entry.seq, offset: 0, fault: Fault::WrongPrev };
            Err(LedgerError::Bad { segment: 0, bad })
        }
    }
}

impl Source for Reader {
    type Item = Entry;

    fn path(&self) -> &Path {
        self.walk.path()
    }

    fn advance(&mut self) -> Result<Option<Entry>, LedgerError> {
        self.walk.advance()?.map(strict).transpose()
    }
}

impl Iterator for Reader {
    type Item = Result<Entry, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = match self.walk.advance() {
            Ok(None) => self.walk.missing(),
            next => next,
        };
        let next = next.and_then(|piece| piece.map(strict).transpose()).transpose();
        self.failed = next.as_ref().is_some_and(Result::is_err);
        next
    }
}
