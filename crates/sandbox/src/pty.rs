//! Terminals: size, modes, and whose turn it is.

use crate::launch::WindowSize;
use crate::raw::SignalReader;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{
    OptionalActions, Termios, Winsize, isatty, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr, tcsetwinsize,
};
use std::io;

/// The size of the terminal that `file` is; none if it is no terminal, or one that does not know its size.
pub fn window_size(file: impl AsFd) -> Option<WindowSize> {
    let size = tcgetwinsize(file).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some(WindowSize { rows: size.ws_row, columns: size.ws_col })
}

/// Sets the size of a session's terminal; its foreground programs are told.
pub fn resize(terminal: impl AsFd, size: WindowSize) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(terminal, size)?)
}

/// Whether this process may use a terminal: another process group in the foreground of its controlling terminal,
/// such as a shell that has started it with `&`, keeps it from doing so.
pub fn in_foreground(terminal: impl AsFd) -> bool {
    // One that is not its controlling terminal is kept by nobody.
    tcgetpgrp(terminal).map_or(true, |group| group == getpgrp())
}

/// Whether this process has a controlling terminal.
pub(crate) fn has_terminal() -> bool {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open("/dev/tty", flags, Mode::empty()).is_ok()
}

/// A terminal in raw mode, until this is dropped.
pub(crate) struct Raw<'a> {
    terminal: BorrowedFd<'a>,
    /// None: it is another's now, with other modes.
    before: Option<Termios>,
}

impl<'a> Raw<'a> {
    pub(crate) fn new(terminal: BorrowedFd<'a>) -> Result<Self, Errno> {
        let before = tcgetattr(terminal)?;
        let raw = Self { terminal, before: Some(before) };
        raw.apply()?;
        Ok(raw)
    }

    /// Makes it raw again, after somebody else has used it.
    pub(crate) fn apply(&self) -> Result<(), Errno> {
        let Some(mut raw) = self.before.clone() else { return Ok(()) };
        raw.make_raw();
        tcsetattr(self.terminal, OptionalActions::Drain, &raw)
    }

    /// Leaves it as it is.
    pub(crate) fn leave(mut self) {
        self.before = None;
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        if let Some(before) = &self.before
            && in_foreground(self.terminal)
        {
            // A terminal that is gone needs no mode.
            tcsetattr(self.terminal, OptionalActions::Drain, before).ok();
        }
    }
}

/// The modes of the terminal that this process's input and output are; put back when this is dropped. A program
/// that was killed leaves them as they are, and the shell that comes next without echo.
pub(crate) struct Modes {
    file: OwnedFd,
    before: Termios,
}

impl Modes {
    /// None if input or output is something else: then another program may be at the terminal, whose modes these
    /// are.
    pub(crate) fn of_terminal() -> Option<Self> {
        let (input, output) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        if !isatty(input) || !isatty(output) {
            return None;
        }
        let before = tcgetattr(input).ok()?;
        Some(Self { file: rustix::io::fcntl_dupfd_cloexec(input, 3).ok()?, before })
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        // The program may have left another process group in the foreground; then this one would be stopped.
        let _waiting = SignalReader::new(&[libc::SIGTTOU]);
        // A terminal that is gone needs no mode.
        tcsetattr(&self.file, OptionalActions::Now, &self.before).ok();
    }
}
