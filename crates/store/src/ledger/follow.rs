//! Reading what is being written.

use super::LedgerError;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use std::path::Path;

/// How long to wait at most before asking whether to stop.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How long to wait before looking again where the system tells of no changes.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Something that is read while it is written.
pub trait Source {
    /// What is read.
    type Item;

    /// The ledger's folder.
    fn path(&self) -> &Path;

    /// The next piece; `None` if there is none yet.
    fn advance(&mut self) -> Result<Option<Self::Item>, LedgerError>;
}

/// The records of a ledger and those that are written while it is read. Ends when told to stop, and after an
/// error.
#[derive(Debug)]
pub struct Follow<R, S> {
    reader: R,
    /// Told by the kernel that something was written; none where the user has no watches left: then the files
    /// are looked at.
    watch: Option<OwnedFd>,
    stop: S,
    failed: bool,
}

impl<R: Source, S: FnMut() -> bool> Follow<R, S> {
    pub(super) fn new(reader: R, stop: S) -> Result<Self, LedgerError> {
        let watch = match inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC) {
            Ok(watch) => watched(&watch, reader.path())?.then_some(watch),
            Err(Errno::MFILE | Errno::NFILE | Errno::NOSYS) => None,
            Err(error) => return Err(LedgerError::io("watch", ".")(error)),
        };
        Ok(Self { reader, watch, stop, failed: false })
    }

    fn wait(&self) -> Result<(), LedgerError> {
        let (mut fds, patience) = match &self.watch {
            Some(watch) => (vec![PollFd::new(watch, PollFlags::IN)], PATIENCE),
            None => (Vec::new(), LOOK),
        };
        match rustix::event::poll(&mut fds, Some(&patience)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(LedgerError::io("watch", ".")(error)),
        }
        let Some(watch) = &self.watch else { return Ok(()) };
        // What happened does not matter, only that it did.
        let mut events = [0; 4096];
        loop {
            match rustix::io::read(watch, &mut events) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(LedgerError::io("watch", ".")(error)),
            }
        }
    }
}

/// Has the reader's folder watched; no if the user has no watches left.
fn watched(watch: &OwnedFd, path: &Path) -> Result<bool, LedgerError> {
    match inotify::add_watch(watch, path, WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::ONLYDIR) {
        Ok(_) => Ok(true),
        Err(Errno::NOSPC) => Ok(false),
        Err(error) => Err(LedgerError::io("watch", ".")(error)),
    }
}

impl<R: Source, S: FnMut() -> bool> Iterator for Follow<R, S> {
    type Item = Result<R::Item, LedgerError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed && !(self.stop)() {
            let next = match self.reader.advance() {
                Ok(None) => match self.wait() {
                    Ok(()) => continue,
                    Err(error) => Err(error),
                },
                Ok(Some(entry)) => Ok(entry),
                Err(error) => Err(error),
            };
            self.failed = next.is_err();
            return Some(next);
        }
        None
    }
}
