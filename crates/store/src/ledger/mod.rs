//! The ledger's files.
//!
//! ```text
//! id                    the ledger's id, 64 hex digits: made once, never changed
//! head                  where the ledger ends, and how many checkpoints there are (136 bytes); also what is locked
//! 000001.jsonl …        the lines; a segment that is full is never written again
//! checkpoints.jsonl     signed statements of how many lines there are
//! ```
//!
//! **Writing.** Under an exclusive lock on `head`: read the head, compare it with the size of the segment, write
//! the line by one `write`. The lock belongs to an open file, so the kernel drops it when the writer dies, at
//! whatever point. The head is written at every sync, and before it is 64 KiB behind: a writer that wrote the last
//! line itself knows the end beyond it, and any other reads on from there.
//!
//! **After a kill** the segment is longer than the head says. The next writer takes over the chained lines it
//! finds there. The beginning of a line that was never ended stays where it is, is closed off by a newline, and
//! the next line is a `ledger-sealed` record with its length and hash. A line that lacks only its newline gets it.
//!
//! **Anything else** that the head and the segment disagree about is damage: bytes that no writer leaves behind, a
//! segment shorter than the head says, a head that cannot be read. A power loss does such things, and so does
//! somebody who meddles; nothing tells the two apart. The next writer goes on from the last whole line, so that
//! nobody is stopped by it, by a `ledger-sealed` record that tells where the damage begins, what stands there, and
//! which numbers are gone. Nothing is rewritten, and [`verify()`] never calls such a ledger intact again.
//!
//! **Turning to a new segment:** the full one is synced, the new one created, its name synced, and the head,
//! synced as well, points to it before a line is written there. So the head never points to an older segment
//! than the last, and to sync the last segment is to sync the ledger.

mod checkpoints;
mod claims;
mod error;
mod folder;
mod follow;
mod keys;
mod lenient;
mod lines;
mod reader;
mod recover;
mod report;
mod verify;
mod walk;
mod writer;

pub use checkpoints::{Anchor, checkpoint, read_anchor};
pub use error::LedgerError;
pub use follow::Follow;
pub use keys::Keys;
pub use lenient::{Lenient, Piece};
pub use reader::{Entry, Reader};
pub use report::{BadCheckpoint, CheckpointAt, CheckpointFault, Checkpoints, Damaged, HeadState, Report};
pub use verify::verify;
pub use writer::{Ledger, Receipt, Reserve};
