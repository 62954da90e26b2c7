//! The bars, a file for each group.

mod calls;
mod decision;
mod engines;
mod group;
mod hook;
mod launch;
mod ledger;
mod materials;
mod memory;
mod peer;
mod policy;
mod program;
mod sources;
mod workloads;

pub(crate) use group::{Group, all};
