//! What lasts: the ledger's files, the keys that sign it, and the folder of a workspace's state.
//!
//! The ledger has many writers and no server. Every process that acts opens it by itself and appends under a
//! kernel lock; see [`ledger::Ledger`]. What a line says and how it is chained is `remit-ledger`'s.
#![expect(clippy::disallowed_methods, reason = "this room owns the durable files, and draws ids and keys")]

mod atomic;
pub mod ledger;
pub mod state_dir;

pub use atomic::{edit_file, read_file};
pub use ledger::{
    Anchor, BadCheckpoint, CheckpointAt, CheckpointFault, Checkpoints, Damaged, Entry, Follow, HeadState,
    Keys, Ledger, LedgerError, Lenient, Piece, Reader, Receipt, Report, Reserve, checkpoint, read_anchor,
    verify,
};
pub use state_dir::{Environment, StateDir, StateError};
