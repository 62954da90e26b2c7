//! The bytes between a person's terminal and a session's.

use crate::pty::{Raw, in_foreground, resize, window_size};
use crate::screen::Screen;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};
use rustix::termios::isatty;
use std::io;

/// The byte that a terminal takes for the end of input.
const END_OF_INPUT: u8 = 4;
/// How often a session's terminal is read at most to have all that a program wrote before it was stopped: more than
/// a terminal holds.
const READS: usize = 256;

pub(crate) struct Relay<'a> {
    /// None once the last program that had it open is gone.
    session: Option<&'a OwnedFd>,
    input: BorrowedFd<'a>,
    output: BorrowedFd<'a>,
    /// Input is a terminal.
    person: bool,
    /// What is typed is the program's.
    taken: bool,
    raw: Option<Raw<'a>>,
    /// Nothing more will be typed.
    ended: bool,
    /// Nobody is there any more to see the output.
    lost: bool,
    /// Read, and not yet taken by the session.
    typed: Vec<u8>,
    /// What else is shown to the person, while the program is not in the middle of something.
    notices: Option<BorrowedFd<'a>>,
    shown: Screen,
}

impl<'a> Relay<'a> {
    pub(crate) fn new(
        session: &'a OwnedFd,
        input: BorrowedFd<'a>,
        output: BorrowedFd<'a>,
        notices: Option<BorrowedFd<'a>>,
    ) -> Self {
        Self {
            session: Some(session),
            input,
            output,
            person: isatty(input),
            taken: false,
            raw: None,
            ended: false,
            lost: false,
            typed: Vec::new(),
            notices,
            shown: Screen::default(),
        }
    }

    /// Where notices come from, if they may be shown now.
    fn noticing(&self) -> Option<BorrowedFd<'a>> {
        self.notices.filter(|_| self.taken && !self.lost && self.shown.is_at_rest())
    }

    /// What to wait for.
    pub(crate) fn files(&self) -> Vec<PollFd<'_>> {
        let flags = |wanted: bool, flags: PollFlags| if wanted { flags } else { PollFlags::empty() };
        let mut files = Vec::new();
        files.extend(self.noticing().map(|notices| PollFd::from_borrowed_fd(notices, PollFlags::IN)));
        if let Some(session) = self.session {
            let out = flags(!self.typed.is_empty(), PollFlags::OUT);
            files.push(PollFd::new(session, PollFlags::IN | out));
        }
        // What is typed waits in the person's terminal while the session does not read.
        let wanted = self.taken && self.typed.is_empty() && !self.ended;
        // That a terminal is gone is told in any case.
        if if self.person { !self.lost } else { wanted } {
            files.push(PollFd::from_borrowed_fd(self.input, flags(wanted, PollFlags::IN)));
        }
        files
    }

    /// Passes on what has come, by what `files` have told.
    pub(crate) fn turn(&mut self, ready: &[PollFlags]) -> io::Result<()> {
        let mut ready = ready.iter().copied();
        if let Some(notices) = self.noticing()
            && ready.next().is_some_and(|flags| !flags.is_empty())
        {
            self.notice(notices)?;
        }
        let session = self.session.and_then(|_| ready.next()).unwrap_or(PollFlags::empty());
        let input = ready.next().unwrap_or(PollFlags::empty());
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        if self.person && input.intersects(gone) {
            self.lose();
        } else if input.intersects(PollFlags::IN | gone) {
            self.read_input()?;
        }
        if session.contains(PollFlags::OUT) && !self.typed.is_empty() {
            self.type_in()?;
        }
        if session.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            self.read_session()?;
        }
        Ok(())
    }

    /// Whether the person's terminal is this process's to use.
    pub(crate) fn in_foreground(&self) -> bool {
        in_foreground(self.input)
    }

    /// Takes the person's terminal: raw, and all that is typed is the program's. False if it was taken already.
    pub(crate) fn take(&mut self) -> io::Result<bool> {
        let raw = match &self.raw {
            Some(raw) => raw.apply(),
            None if self.person && !self.lost && self.session.is_some() => {
                Raw::new(self.input).map(|raw| self.raw = Some(raw))
            }
            None => Ok(()),
        };
        match raw {
            Err(Errno::IO) => self.lose(),
            other => other?,
        }
        self.resize()?;
        Ok(!std::mem::replace(&mut self.taken, true))
    }

    /// Gives the person's terminal back, as it was.
    pub(crate) fn give_back(&mut self) {
        self.taken = false;
        self.raw = None;
    }

    /// The person's terminal is another's now.
    pub(crate) fn leave(&mut self) {
        self.taken = false;
        if let Some(raw) = self.raw.take() {
            raw.leave();
        }
    }

    /// The person's terminal is gone.
    fn lose(&mut self) {
        self.lost = true;
        self.leave();
        self.end_input();
    }

    pub(crate) fn lost(&self) -> bool {
        self.lost
    }

    /// Tells the program that nothing more will be typed.
    pub(crate) fn end_input(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.typed.push(END_OF_INPUT);
        }
    }

    /// Gives the session's terminal the size of the person's.
    pub(crate) fn resize(&self) -> io::Result<()> {
        match (self.session, window_size(self.input)) {
            (Some(session), Some(size)) => resize(session, size),
            _ => Ok(()),
        }
    }

    /// Passes on all that the session has written by now.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        for _ in 0..READS {
            let Some(session) = self.session else { break };
            let mut files = [PollFd::new(session, PollFlags::IN)];
            if retry_on_intr(|| poll(&mut files, Some(&Timespec::default())))? == 0 {
                break;
            }
            self.read_session()?;
        }
        Ok(())
    }

    fn read_input(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        match retry_on_intr(|| rustix::io::read(self.input, &mut buffer)) {
            Ok(0) | Err(Errno::IO) if self.person => self.lose(),
            Ok(0) | Err(Errno::IO) => self.end_input(),
            Ok(length) => self.typed.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            Err(Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn type_in(&mut self) -> io::Result<()> {
        let Some(session) = self.session else { return Ok(()) };
        // A terminal takes at least one byte when it says that it is ready, and blocks for what it has no room for.
        let some = self.typed.get(..self.typed.len().min(256)).unwrap_or_default();
        match retry_on_intr(|| rustix::io::write(session, some)) {
            Ok(length) => drop(self.typed.drain(..length)),
            Err(Errno::IO | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn read_session(&mut self) -> io::Result<()> {
        let Some(session) = self.session else { return Ok(()) };
        let mut buffer = [0; 16 * 1024];
        match retry_on_intr(|| rustix::io::read(session, &mut buffer)) {
            // The last program that had it open is gone, and everything was read.
            Ok(0) | Err(Errno::IO) => {
                self.session = None;
                self.give_back();
                Ok(())
            }
            Err(Errno::AGAIN) => Ok(()),
            Ok(length) => {
                let bytes = buffer.get(..length).unwrap_or_default();
                self.shown.feed(bytes);
                self.show(bytes)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn notice(&mut self, notices: BorrowedFd<'_>) -> io::Result<()> {
        let mut packet = [0; 4096];
        match retry_on_intr(|| rustix::io::read(notices, &mut packet)) {
            // Nobody has any more.
            Ok(0) => self.notices = None,
            Ok(length) => return self.show(packet.get(..length).unwrap_or_default()),
            Err(Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn show(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() && !self.lost {
            match rustix::io::write(self.output, rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let mut files = [PollFd::from_borrowed_fd(self.output, PollFlags::OUT)];
                    retry_on_intr(|| poll(&mut files, None))?;
                }
                Err(Errno::IO | Errno::PIPE) => self.lose(),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
