//! The gate: every system call that changes the file tree stops here, is resolved, judged by the session's
//! authority, and done on the caller's behalf by descriptor and last name, never by the caller's string.
//!
//! `table` says what becomes of each call, `filter` makes the kernel's program from it, `serve` receives,
//! `plan` and the families (`open`, `reading`, `names`, `attributes`, `bind`, `processes`, `watch`) say what is asked and
//! do it, `waiting` does what must wait for another process, `resolve` and `proc_walk` find the place, `halt` is what they find instead,
//! `mounts` says whether it is the session's, `caller` reads what belongs to the caller.

mod attributes;
mod bind;
mod caller;
mod devices;
mod filter;
mod halt;
mod mounts;
mod names;
mod notify;
mod open;
mod place;
mod plan;
mod proc_walk;
mod processes;
mod reading;
mod resolve;
mod serve;
mod stillness;
mod table;
mod waiting;
mod watch;

pub use devices::device_rules;
pub(crate) use devices::is_pseudoterminal;
pub use filter::{Stops, program};
pub use serve::Gate;

pub use crate::sys::install;
