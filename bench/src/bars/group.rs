//! The groups by name.

use super::{calls, decision, engines, hook, launch, ledger, memory, program, workloads};
use crate::scene::Bench;
use crate::table::Table;
use anyhow::Result;
use clap::ValueEnum;

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// A decision with its reasons.
    Decision,
    /// The engine beside general ones.
    Engines,
    /// A hook, the whole process.
    Hook,
    /// A session around `true`.
    Launch,
    /// Judged system calls.
    Calls,
    /// Builds, installs, copies.
    Workloads,
    /// Appends and verifying.
    Ledger,
    /// The program itself.
    Program,
    /// Holder and gate.
    Memory,
}

/// All, in the order of the table.
pub(crate) fn all() -> impl Iterator<Item = Group> {
    Group::value_variants().iter().copied()
}

impl Group {
    /// The name, as on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Engines => "engines",
            Self::Hook => "hook",
            Self::Launch => "launch",
            Self::Calls => "calls",
            Self::Workloads => "workloads",
            Self::Ledger => "ledger",
            Self::Program => "program",
            Self::Memory => "memory",
        }
    }

    /// Measures it.
    pub(crate) fn run(self, bench: &Bench, table: &mut Table) -> Result<()> {
        let run = match self {
            Self::Decision => decision::run,
            Self::Engines => engines::run,
            Self::Hook => hook::run,
            Self::Launch => launch::run,
            Self::Calls => calls::run,
            Self::Workloads => workloads::run,
            Self::Ledger => ledger::run,
            Self::Program => program::run,
            Self::Memory => memory::run,
        };
        run(self.name(), bench, table)
    }
}
