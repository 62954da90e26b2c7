//! The tasks by name.

use super::{append, calls, hooks, timed};
use anyhow::Result;
use clap::Parser;
use std::ffi::OsString;

#[derive(Debug, Parser)]
#[command(name = "inside")]
enum Task {
    /// Append to a ledger.
    Append(append::Options),
    /// Time system calls.
    Calls(calls::Options),
    /// Time hooks.
    Hooks(hooks::Options),
    /// Time a command.
    Timed(timed::Options),
}

/// `args` begin with `inside`.
pub(crate) fn run(args: impl Iterator<Item = OsString>) -> Result<()> {
    match Task::parse_from(args) {
        Task::Append(options) => append::run(&options),
        Task::Calls(options) => calls::run(&options),
        Task::Hooks(options) => hooks::run(&options),
        Task::Timed(options) => timed::run(&options),
    }
}
