//! System calls that have no safe wrapper elsewhere, each as thin as it can be.

mod seccomp;
mod task;

pub use seccomp::install;
pub(crate) use seccomp::{
    Notice, Outcome, check_sizes, inject, is_waiting, receive, send, wake_synchronously,
};
pub(crate) use task::{bind_path, change_mode, own_umask, read_memory, set_limit, write_memory};
