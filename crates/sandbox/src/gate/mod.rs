//! The gate: every system call that changes the file tree stops here, is resolved, judged by the session's
//! authority, and done on the caller's behalf by descriptor and last name, never by the caller's string.
//!
//! `table` says what becomes of each call, `filter` makes the kernel's program from it, `serve` receives,
//! `plan` and the families (`open`, `names`, `attributes`) say what is asked and do it, `resolve` and
//! `proc_walk` find the place, `caller` reads what belongs to the caller, `subtree` looks below a moving folder.

mod attributes;
mod caller;
mod devices;
mod filter;
mod names;
mod notify;
mod open;
mod pipes;
mod place;
mod plan;
mod proc_walk;
mod resolve;
mod serve;
mod subtree;
mod table;

pub use devices::device_rules;
pub use filter::program;
pub use serve::Gate;

pub use crate::sys::install;
