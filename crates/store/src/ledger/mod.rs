//! The ledger's files.
//!
//! ```text
//! id                    the ledger's id, 64 hex digits: made once, never changed
//! head                  where the ledger ends (96 bytes); also the file that is locked
//! 000001.jsonl …        the lines; a segment that is full is never written again
//! checkpoints.jsonl     signed statements of how many lines there are
//! ```
//!
//! **Writing.** Under an exclusive lock on `head`: read the head, compare it with the size of the segment, write
//! the line by one `write`, write the head. The lock belongs to an open file, so the kernel drops it when the
//! writer dies, at whatever point.
//!
//! **After a kill** the segment may be longer than the head says. The next writer takes over the chained lines it
//! finds there; bytes that are no line stay where they are, are closed off by a newline, and the next line is a
//! `ledger-sealed` record with their number and hash. A line that lacks only its newline gets it.
//!
//! **After a power loss** the segment may be shorter than the head says. The next writer goes on from what is
//! there, by a `ledger-sealed` record that tells which numbers are gone. An unreadable head is made anew from
//! the segments, and a `ledger-sealed` record tells that too.
//!
//! **Turning to a new segment:** the full one is synced, the new one created, its name synced, and the head,
//! synced as well, points to it before a line is written there. So the head never points to an older segment
//! than the last, and to sync the last segment is to sync the ledger.

mod checkpoints;
mod error;
mod folder;
mod follow;
mod keys;
mod lines;
mod reader;
mod recover;
mod report;
mod verify;
mod writer;

pub use checkpoints::{checkpoint, read_anchor};
pub use error::LedgerError;
pub use follow::Follow;
pub use keys::Keys;
pub use reader::{Entry, Reader};
pub use report::{BadCheckpoint, CheckpointFault, Checkpoints, FirstBad, HeadState, Report};
pub use verify::verify;
pub use writer::{Ledger, Receipt};
