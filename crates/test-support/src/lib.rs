//! What tests stand on: a scratch machine of their own ([`TestEnv`]), a model server on loopback that plays a
//! [`Script`] ([`Model`]), and the real agent CLIs, pinned and pointed at that server ([`Claude`]). Nothing here
//! speaks to anything but loopback, and a program that is missing is an error, never a silent pass.
#![expect(clippy::disallowed_methods, reason = "a test sets up files, starts programs and waits for them")]

pub mod claude;
pub mod env;
pub mod model;
pub mod tools;

pub use claude::Claude;
pub use env::{Outcome, Repo, TestEnv};
pub use model::{Block, Exchange, Model, Part, Script, ToolResult};
