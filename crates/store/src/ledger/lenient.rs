//! Reading on behind damage.

use super::LedgerError;
use super::follow::{Follow, Source};
use super::reader::Entry;
use super::report::Damaged;
use super::walk::Walk;
use std::path::Path;

/// What stands in a ledger that may be damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A record that is chained to the one before.
    Record(Entry),
    /// A line behind damage that can be read, and which no other line before it vouches for: it may have been
    /// changed, moved, or put there. Records that follow it may be chained to it.
    Unchained(Entry),
    /// The lines from here on are not what was written. For two records that changed places it comes twice.
    Damaged(Damaged),
}

/// All that can be read of a ledger, in the order in which it stands there. It ends where the ledger ends when it
/// gets there, and after an error, which is never for damage.
#[derive(Debug)]
pub struct Lenient {
    walk: Walk,
    ended: bool,
}

impl Lenient {
    pub(super) fn open(dir: &Path, from: u64) -> Result<Self, LedgerError> {
        Ok(Self { walk: Walk::open(dir, from)?, ended: false })
    }

    /// Goes on with what is written from now on, waiting for it, until `stop` says yes. That is asked before each
    /// piece and at least ten times a second.
    pub fn follow<S: FnMut() -> bool>(self, stop: S) -> Result<Follow<Self, S>, LedgerError> {
        Follow::new(self, stop)
    }
}

impl Source for Lenient {
    type Item = Piece;

    fn path(&self) -> &Path {
        self.walk.path()
    }

    fn advance(&mut self) -> Result<Option<Piece>, LedgerError> {
        self.walk.advance()
    }
}

impl Iterator for Lenient {
    type Item = Result<Piece, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = match self.walk.advance() {
            Ok(None) => {
                let missing = self.walk.missing();
                self.ended = matches!(missing, Ok(Some(Piece::Damaged(_)) | None));
                missing
            }
            next => next,
        };
        self.ended |= next.is_err();
        next.transpose()
    }
}
