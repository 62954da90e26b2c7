//! What the ledger says and how it is chained: records, their canonical form, the lines that carry them, the
//! head, signed checkpoints, and the verifier that names the first line that is not what was written.
//!
//! A ledger is a sequence of lines, numbered from 1. Each line holds the hash of the one before it, so that
//! none can be changed, dropped, moved or slipped in without the chain showing it. Whoever can write the files
//! can write a new chain, though: that is what checkpoints, signed and kept in a second place, are for.
//!
//! Nothing here does IO, knows the time, draws random numbers or panics.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

pub mod canonical;
pub mod chain;
pub mod checkpoint;
mod compose;
pub mod hash;
pub mod head;
pub mod record;
pub mod seal;
pub mod time;
pub mod verifier;

pub use chain::{LONGEST_LINE, LineError, Parsed, genesis, link, parse_line};
pub use checkpoint::{Checkpoint, CheckpointError, Signer, Statement, Verifying};
pub use hash::Hash;
pub use head::{Head, HeadError};
pub use record::{Door, Event, Record, RecordError, VERSION, decode, encode};
pub use seal::{Damage, Lost, Seal, Torn, Unsigned};
pub use time::Time;
pub use verifier::{Bad, Fault, Step, Verifier};
