//! The relay between a person's terminal and a session's.

use crate::launch::{Running, WindowSize};
use crate::raw::SignalReader;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};
use rustix::termios::{
    OptionalActions, Termios, Winsize, isatty, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};
use std::io;

/// The byte that a terminal takes for the end of input.
const END_OF_INPUT: u8 = 4;

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

/// A terminal in raw mode, until this is dropped.
struct Raw<'a, F: AsFd> {
    file: &'a F,
    before: Termios,
}

impl<'a, F: AsFd> Raw<'a, F> {
    fn new(file: &'a F) -> Result<Option<Self>, Errno> {
        if !isatty(file) {
            return Ok(None);
        }
        let before = tcgetattr(file)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(file, OptionalActions::Drain, &raw)?;
        Ok(Some(Self { file, before }))
    }
}

impl<F: AsFd> Drop for Raw<'_, F> {
    fn drop(&mut self) {
        // A terminal that is gone needs no mode.
        tcsetattr(self.file, OptionalActions::Drain, &self.before).ok();
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

/// Relays between `input`/`output` and the session's terminal until the session's side is closed and all that it
/// wrote is passed on. If `input` is a terminal it is in raw mode meanwhile, and itself again afterwards, whether
/// this returns, fails or panics. Signals that would end this process are passed to the program instead.
///
/// # Errors
/// The session has no terminal, or reading and writing failed on this side.
pub fn relay<I: AsFd, O: AsFd>(running: &Running, input: &I, output: &O) -> io::Result<()> {
    let terminal = running.terminal().ok_or_else(|| io::Error::other("the session has no terminal"))?;
    let signals =
        SignalReader::new(&[libc::SIGWINCH, libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT])?;
    let _raw = Raw::new(input)?;
    if let Some(size) = window_size(input) {
        resize(terminal, size)?;
    }
    let mut relay = Relay { running, terminal, input: Some(input), typed: Vec::new() };
    while relay.turn(output, &signals)? {}
    Ok(())
}

struct Relay<'a, I> {
    running: &'a Running,
    terminal: &'a OwnedFd,
    /// None once it has ended.
    input: Option<&'a I>,
    /// Read, and not yet taken by the session.
    typed: Vec<u8>,
}

impl<I: AsFd> Relay<'_, I> {
    /// Waits for something and passes it on; false when the session's side has ended.
    fn turn(&mut self, output: &impl AsFd, signals: &SignalReader) -> io::Result<bool> {
        let out = if self.typed.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        let mut files =
            vec![PollFd::new(self.terminal, PollFlags::IN | out), PollFd::new(signals.file(), PollFlags::IN)];
        // What is typed waits in the outer terminal while the session does not read.
        if let (Some(input), true) = (self.input, self.typed.is_empty()) {
            files.push(PollFd::new(input, PollFlags::IN));
        }
        retry_on_intr(|| poll(&mut files, None))?;
        let ready: Vec<PollFlags> = files.iter().map(PollFd::revents).collect();
        let is = |at: usize, flags: PollFlags| ready.get(at).is_some_and(|r| r.intersects(flags));
        if is(1, PollFlags::IN) {
            self.signals(signals)?;
        }
        if is(2, PollFlags::IN | PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            self.read_input()?;
        }
        if is(0, PollFlags::OUT) && !self.typed.is_empty() {
            self.type_in()?;
        }
        if is(0, PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            return self.read_session(output);
        }
        Ok(true)
    }

    fn signals(&self, signals: &SignalReader) -> io::Result<()> {
        while let Some(signal) = signals.next() {
            match (signal, self.input.and_then(window_size)) {
                (libc::SIGWINCH, Some(size)) => resize(self.terminal, size)?,
                (libc::SIGWINCH, None) => {}
                (other, _) => self.running.signal(other)?,
            }
        }
        Ok(())
    }

    fn read_input(&mut self) -> io::Result<()> {
        let Some(input) = self.input else { return Ok(()) };
        let mut buffer = [0; 4096];
        match retry_on_intr(|| rustix::io::read(input, &mut buffer)) {
            Ok(0) | Err(Errno::IO) => {
                self.input = None;
                self.typed.push(END_OF_INPUT);
            }
            Ok(length) => self.typed.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            Err(Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn type_in(&mut self) -> io::Result<()> {
        // A terminal takes at least one byte when it says that it is ready, and blocks for what it has no room for.
        let some = self.typed.get(..self.typed.len().min(256)).unwrap_or_default();
        match retry_on_intr(|| rustix::io::write(self.terminal, some)) {
            Ok(length) => drop(self.typed.drain(..length)),
            Err(Errno::IO | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn read_session(&mut self, output: &impl AsFd) -> io::Result<bool> {
        let mut buffer = [0; 16 * 1024];
        let length = match retry_on_intr(|| rustix::io::read(self.terminal, &mut buffer)) {
            // The last program that had it open is gone, and everything was read.
            Ok(0) | Err(Errno::IO) => return Ok(false),
            Err(Errno::AGAIN) => return Ok(true),
            other => other?,
        };
        let mut rest = buffer.get(..length).unwrap_or_default();
        while !rest.is_empty() {
            match rustix::io::write(output, rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    retry_on_intr(|| poll(&mut [PollFd::new(output, PollFlags::OUT)], None))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}
