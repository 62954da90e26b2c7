//! Who decides: the one interface through which the gate asks, and through which the holder speaks to what
//! decides inside the gate's process.

use remit_core::{AbsPath, Verb};

/// A change that a program in the session asks for, resolved.
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    /// What is done.
    pub verb: Verb,
    /// The system call, by name.
    pub syscall: &'static str,
    /// The caller's own spelling.
    pub asked: &'a [u8],
    /// The kernel's name for the object.
    pub path: &'a AbsPath,
    /// The other end of a rename or link.
    pub to: Option<Target<'a>>,
    /// The thread group that asks, as the session numbers it.
    pub pid: u32,
    /// Whether the object exists.
    pub exists: bool,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// Rename or exchange of a folder: an entry below it that may not move.
    pub below: Option<&'a AbsPath>,
}

/// The other end of a rename or link.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The caller's own spelling.
    pub asked: &'a [u8],
    /// The kernel's name.
    pub path: &'a AbsPath,
    /// Whether it exists.
    pub exists: bool,
}

/// The answer to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// It is done on the caller's behalf.
    Allow,
    /// The caller gets `EACCES`.
    Deny,
}

/// Decides and records. Lives in the gate's process, which is a copy of the launching process: descriptors
/// and memory that it holds are there too.
pub trait Authority: Send + Sync {
    /// Called once in the gate's process before anything is served; may start threads.
    fn start(&self) {}
    /// Decides and records. Called before the change is done, after the natural errors.
    fn judge(&self, operation: &Operation<'_>) -> Ruling;
    /// Would this entry be allowed to change? Records nothing; asked for what lies below a folder that moves.
    fn may(&self, verb: Verb, path: &AbsPath) -> bool;
    /// A message from the holder, and its answer.
    fn control(&self, message: &[u8]) -> Vec<u8>;
    /// The last task is gone.
    fn finish(&self) {}
}
