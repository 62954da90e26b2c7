//! The door through which agent programs ask before they act: their hooks. One dialect per host decodes what
//! the host says about a tool call into the words of the session's wire, and encodes the answer so strictly
//! that no failure lets a call through. No judgement is made here.
#![expect(
    clippy::disallowed_methods,
    reason = "resolves paths, edits settings files and talks to the session's socket"
)]

pub mod canary;
pub mod dialect;
pub mod door;
pub mod file;
pub mod host;
pub mod install;
mod json_text;
pub mod resolve;
pub mod shell;
pub mod socket;
pub mod tools;

pub use canary::{canary, is_denial};
pub use dialect::{Dialect, Event, Host, Outcome, Problem, Reply};
pub use door::{Asker, serve, within};
pub use install::{Backup, Command, InstallError};
pub use resolve::{Files, Resolver};
pub use socket::SocketAsker;
