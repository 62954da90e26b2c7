//! The file system as a session sees it.

mod build;
mod device;
mod tree;

pub(crate) use build::{SESSION, build, leave_old_root};
pub use build::{SessionFile, What};
pub(crate) use tree::layered;
