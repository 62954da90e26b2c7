//! One file per command.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod enter;
pub(crate) mod explain;
pub(crate) mod hook;
pub(crate) mod hooks;
pub(crate) mod init;
mod ladder;
pub(crate) mod log;
pub(crate) mod man;
mod mend;
mod overview;
pub(crate) mod run;
pub(crate) mod trust;
pub(crate) mod verify;
