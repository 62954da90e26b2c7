//! The ledger's files under many writers, kills, full disks, power loss and tampering.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "these tests write files, start children and kill them, and what fails in them fails them"
)]

mod children;
mod faults;
mod reading;
mod scene;
mod signing;
mod tamper;
