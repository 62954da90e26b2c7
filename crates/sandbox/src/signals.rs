//! The signals that the holder of a session takes for the program: it stays to hand them on, to stop and go on
//! with the program, and to write down how it ended.

use crate::launch::Running;
use crate::raw::{self, Arrived, SignalReader};
use std::io;
use std::os::fd::OwnedFd;

/// Signals that a program answers, and changes of the terminal's size.
const HELD: [i32; 7] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGTSTP, libc::SIGCONT, libc::SIGWINCH];
/// What stops those who use the terminal from the background.
const USED: [i32; 2] = [libc::SIGTTIN, libc::SIGTTOU];

/// The signals of a session's holder, until this is dropped.
pub struct Signals {
    reader: SignalReader,
}

impl Signals {
    /// From now on these signals wait for [`attend`](crate::attend::attend), in this thread and all that it starts.
    /// Those that the caller ignores stay ignored, as `nohup` wants it. Call it after a launch, or a keyboard
    /// cannot end one that hangs; and before other threads start, since one that does not wait would end the
    /// process.
    ///
    /// # Errors
    /// As the system says.
    pub fn hold(running: &Running) -> io::Result<Self> {
        // A holder that shares its terminal with the program uses it for nothing, and stops when the program has.
        // One that relays is stopped like any program.
        let used = if running.shares_terminal() { USED.as_slice() } else { &[] };
        let held: Vec<i32> =
            HELD.iter().chain(used).copied().filter(|signal| !raw::is_ignored(*signal)).collect();
        Ok(Self { reader: SignalReader::new(&held)? })
    }

    /// The descriptor to poll.
    pub(crate) fn file(&self) -> &OwnedFd {
        self.reader.file()
    }

    /// The next signal that has arrived.
    pub(crate) fn next(&self) -> Option<Arrived> {
        self.reader.next()
    }
}
