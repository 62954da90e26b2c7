//! What the gate asks of whoever judges: one ruling for one operation, in the words of the policy.

use remit_core::{AbsPath, Verb};
use std::os::fd::BorrowedFd;

/// A change of the file tree that a process of the session has asked for and that could be done, or that nothing but
/// the view stands against.
#[derive(Debug)]
pub struct Operation<'a> {
    /// What it is in the policy's words. A link of either kind is a `rename`: a second name. Opening what
    /// exists for reading and writing is a `write`, and a `read` before that where [`Authority::may`] denies it.
    pub verb: Verb,
    /// The system call by name; `renameat2 exchange` for the one that swaps two names.
    pub syscall: &'static str,
    /// The path as the caller wrote it, relative or not; empty where it gave a descriptor only.
    pub asked: &'a [u8],
    /// The path as the kernel names it. For a file without a name (`O_TMPFILE`) it is the folder.
    pub path: &'a AbsPath,
    /// The other end of a rename or hard link.
    pub to: Option<Target<'a>>,
    /// The caller's process (thread group), by its number in the session.
    pub pid: u32,
    /// Whether something has the name `path`; `false` below a cover, where nobody can tell.
    pub exists: bool,
    /// Whether what it has, or will have, is a folder.
    pub is_dir: bool,
    /// Whether it is, or will be, a regular file.
    pub is_file: bool,
    /// Whether its owner could not list or enter the folder any more.
    pub closes: bool,
    /// For the move of a folder: an entry below either end that may not change. Such a move is refused
    /// whatever the ruling says; it is put before the judge so that it is recorded with its reason.
    pub below: Option<&'a AbsPath>,
    /// How many names has what is changed; 0 if nothing is there. Folders have one for each folder in them.
    pub links: u64,
    /// Why it is refused whatever the ruling says, if it is.
    pub fixed: Option<Fixed>,
}

/// What no policy can open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// Something that the caller has a descriptor of but that is not in the session's tree; the path says so, and
    /// under which name it is known elsewhere.
    Outside,
    /// Another process, which may be the gate itself: the path is its place on `/proc`.
    Foreign,
    /// The view stands against it: the place is read-only, as a folder that only leads somewhere, or below a cover;
    /// or the name belongs to a mount, or to a placeholder.
    View,
}

/// The second path of an operation.
#[derive(Debug)]
pub struct Target<'a> {
    /// As the caller wrote it.
    pub asked: &'a [u8],
    /// As the kernel names it.
    pub path: &'a AbsPath,
    /// Whether something has that name, and so is replaced or swapped.
    pub exists: bool,
}

/// The answer to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// The gate does it.
    Allow,
    /// The caller gets `EACCES`.
    Deny,
}

/// Judges and records. Called from several threads at once.
pub trait Authority: Send + Sync {
    /// Called once in the gate's process, before serving; may start threads.
    fn start(&self) {}

    /// The file that the gates of all sessions on the same tree lock, open for reading and writing, and of no other
    /// use; none if no other session can move what this one works on.
    fn tree(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Whether opening for reading, and starting programs, are put before [`Authority::judge`] too. What is allowed
    /// then is still done by the kernel, under view and floor: a caller that exchanges names meanwhile spoils what is
    /// recorded, not what is held. Must always answer the same.
    fn records_reads(&self) -> bool {
        false
    }

    /// Decides and records. Called before the change is done, and after the errors that the kernel would have
    /// answered anyway.
    fn judge(&self, operation: &Operation<'_>) -> Ruling;

    /// Would this be allowed? Records nothing; asked for all that lies below a folder that moves, and for reading.
    fn may(&self, verb: Verb, path: &AbsPath) -> bool;

    /// A message from the holder over the control channel, and its answer.
    fn control(&self, message: &[u8]) -> Vec<u8>;

    /// The last task of the session is gone.
    fn finish(&self) {}
}
