//! What can go wrong with the ledger's files.

use crate::atomic::NotAFile;
use remit_ledger::{CheckpointError, RecordError};
use std::io;
use std::path::PathBuf;

/// Why the ledger could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The operating system refused.
    #[error("cannot {doing} `{file}` of the ledger: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// Which file.
        file: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// What stands in the place of a file is no file.
    #[error("`{0}` of the ledger is no file but a link, a folder or a pipe: somebody put it there")]
    NotAFile(String),
    /// Only a part of the line was written: the disk is full, or a limit was reached. The record does not count;
    /// the next append closes the part off.
    #[error("only {wrote} of {of} bytes could be written to `{file}` of the ledger; is the disk full?")]
    Short {
        /// Which file.
        file: String,
        /// How many bytes were written.
        wrote: usize,
        /// How many there were.
        of: usize,
    },
    /// The bytes cannot stand in a line.
    #[error(
        "the bytes are not a record: an object on one line, of at most {} bytes",
        remit_ledger::chain::LONGEST_RECORD
    )]
    NotARecord,
    /// The record could not be encoded or decoded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is no ledger: no folder, or nothing in it yet.
    #[error("there is no ledger in `{}`", .0.display())]
    NoLedger(PathBuf),
    /// The folder is no ledger.
    #[error(
        "`{0}` has no readable `id`: it is not a ledger, or its id was removed (each line of `checkpoints.jsonl` names it as `ledger`)"
    )]
    NoId(PathBuf),
    /// A line is not what was written there.
    #[error("segment {segment}: {bad}")]
    Bad {
        /// The segment, from 1.
        segment: u64,
        /// What is wrong.
        bad: remit_ledger::Bad,
    },
    /// A checkpoint could not be made or read.
    #[error("`{file}`: {source}")]
    Checkpoint {
        /// Which file.
        file: String,
        /// Why.
        source: CheckpointError,
    },
    /// The key's file is not as it must be.
    #[error("the key `{file}` {what}")]
    Key {
        /// Which file.
        file: PathBuf,
        /// What is wrong, and the way out.
        what: &'static str,
    },
    /// A number has reached its end.
    #[error("the ledger is full: it has no number for another record")]
    Full,
}

impl LedgerError {
    /// For `map_err`: what was tried with which file.
    pub(super) fn io<E: Into<io::Error>>(
        doing: &'static str,
        file: impl Into<String>,
    ) -> impl FnOnce(E) -> Self {
        // The name is made only when it is told: this stands on the path of every append.
        move |source| match source.into() {
            source if NotAFile::is(&source) => Self::NotAFile(file.into()),
            source => Self::Io { doing, file: file.into(), source },
        }
    }

    /// Whether no writer leaves this behind: somebody changed the files.
    pub fn is_tampering(&self) -> bool {
        matches!(self, Self::NotAFile(_) | Self::NoId(_) | Self::Key { .. })
    }
}
