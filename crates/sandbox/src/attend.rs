//! The holder's part in job control. A shell knows the holder as its job, and the program is in a session of its
//! own, as a job of the gate: what the shell does to the one is done to the other here. The program stops ⇒ the
//! holder gives the terminal back and stops with its process group; the holder is let go on ⇒ it takes the terminal
//! again, if it is in the foreground, and lets the program go on.
//!
//! A program whose holder is in the background is in the background of its own terminal, so that reading from it
//! stops the program as it would be without a holder in between.

use crate::launch::{News, Running};
use crate::pty;
use crate::raw::{self, Arrived};
use crate::relay::Relay;
use crate::signals::Signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::retry_on_intr;
use std::io;
use std::time::{Duration, Instant};

/// What a terminal sends by itself, to all of the process group in its foreground.
const KEYBOARD: [i32; 5] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
/// What stops a program that uses its terminal from the background.
const USED: [i32; 2] = [libc::SIGTTIN, libc::SIGTTOU];
/// How long a program may take to end when the person's terminal is gone.
const LAST_WILL: Duration = Duration::from_secs(5);

/// Attends a session until its program has ended and nothing is left of it. If the session has a terminal, relays
/// between it and `input`/`output`; if `input` is a terminal, it is in raw mode while this process is in its
/// foreground and the program is not stopped, and itself again afterwards, whether this returns, fails or panics.
/// Signals to this process become the program's. If the person's terminal goes away, so does the program: by a
/// hangup, or after five seconds for good.
///
/// # Errors
/// Waiting, or reading and writing on this side, failed. The session goes on.
pub fn attend(running: &Running, signals: &Signals, input: &impl AsFd, output: &impl AsFd) -> io::Result<()> {
    attend_noticing(running, signals, input, output, None)
}

/// The same with notices for the person: what is read from `notices`, a packet each, is shown on the session's
/// terminal where nothing that the program writes is torn by it. They must not change what is on the screen. It
/// must not block.
///
/// # Errors
/// As [`attend`].
pub fn attend_noticing(
    running: &Running,
    signals: &Signals,
    input: &impl AsFd,
    output: &impl AsFd,
    notices: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let relay = |session| Relay::new(session, input.as_fd(), output.as_fd(), notices);
    let relay = running.terminal().map(relay);
    let mut job = Job { running, signals, relay, stopped: false, ending: false, gone: false, until: None };
    job.place()?;
    while job.turn()? {}
    Ok(())
}

struct Job<'a> {
    running: &'a Running,
    signals: &'a Signals,
    relay: Option<Relay<'a>>,
    /// The program is stopped.
    stopped: bool,
    /// It was asked to end.
    ending: bool,
    /// The person's terminal is gone.
    gone: bool,
    /// When the program has to be at its end for that.
    until: Option<Instant>,
}

impl Job<'_> {
    /// Waits for something and does what it asks for; false when the session is over.
    fn turn(&mut self) -> io::Result<bool> {
        let ready = self.wait()?;
        let is = |at: usize| ready.get(at).is_some_and(|flags| !flags.is_empty());
        let (arrived, news) = (is(0), is(1));
        if let Some(relay) = &mut self.relay {
            // A signal may have changed whose turn at the terminal it is.
            if !arrived {
                relay.turn(ready.get(2..).unwrap_or_default())?;
            }
            if relay.lost() && !self.gone {
                self.hang_up();
            }
        }
        if arrived {
            self.arrived(&self.pending())?;
        }
        if self.until.is_some_and(|until| Instant::now() >= until) {
            self.until = None;
            self.tell(libc::SIGKILL);
        }
        if news {
            return self.news();
        }
        Ok(true)
    }

    fn wait(&self) -> io::Result<Vec<PollFlags>> {
        let Some(news) = self.running.news_file() else { return Ok(Vec::new()) };
        let mut files =
            vec![PollFd::new(self.signals.file(), PollFlags::IN), PollFd::new(news, PollFlags::IN)];
        files.extend(self.relay.iter().flat_map(Relay::files));
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        retry_on_intr(|| poll(&mut files, left.as_ref()))?;
        Ok(files.iter().map(PollFd::revents).collect())
    }

    fn news(&mut self) -> io::Result<bool> {
        match self.running.news() {
            News::Stopped(signal) => self.stopped(signal)?,
            News::Ended => {}
            News::Over => {
                // Whoever wrote is gone by then.
                self.running.wait();
                self.relay.as_mut().map_or(Ok(()), Relay::drain)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn pending(&self) -> Vec<Arrived> {
        std::iter::from_fn(|| self.signals.next()).collect()
    }

    fn arrived(&mut self, signals: &[Arrived]) -> io::Result<()> {
        for signal in signals {
            match signal.number {
                libc::SIGWINCH => self.relay.as_ref().map_or(Ok(()), Relay::resize)?,
                libc::SIGCONT => self.go_on()?,
                // The program has it from there, too.
                key if self.running.shares_terminal() && signal.by_kernel && KEYBOARD.contains(&key) => {}
                // It has been told.
                libc::SIGHUP if self.gone => {}
                other => self.pass_on(other),
            }
        }
        Ok(())
    }

    /// Sends the program a signal, and lets it answer if that is not one that stops.
    fn pass_on(&mut self, signal: i32) {
        self.tell(signal);
        self.ending |= [libc::SIGHUP, libc::SIGTERM].contains(&signal);
        if self.stopped && signal != libc::SIGTSTP && !USED.contains(&signal) {
            self.tell(libc::SIGCONT);
            self.stopped = false;
        }
    }

    fn tell(&self, signal: i32) {
        // A program that has ended needs no signal; that it has is told, too.
        self.running.signal(signal).ok();
    }

    fn bring(&self, front: bool) {
        // As above.
        self.running.bring(front).ok();
    }

    /// Takes the terminal if this process may, and gives the program the same place at its own.
    fn place(&mut self) -> io::Result<()> {
        let Some(relay) = &mut self.relay else { return Ok(()) };
        if relay.lost() {
            self.bring(true);
        } else if relay.in_foreground() {
            // A program that has brought another one to the front is not disturbed.
            if relay.take()? || self.stopped {
                self.bring(true);
            }
        } else {
            relay.leave();
            self.bring(false);
        }
        Ok(())
    }

    /// Lets the program go on where this process is: in the foreground or the background.
    fn go_on(&mut self) -> io::Result<()> {
        self.place()?;
        self.tell(libc::SIGCONT);
        self.stopped = false;
        Ok(())
    }

    /// Lets the program use its own terminal, wherever this process is.
    fn go_on_alone(&mut self) {
        self.bring(true);
        self.tell(libc::SIGCONT);
        self.stopped = false;
    }

    /// The person's terminal is gone.
    fn hang_up(&mut self) {
        self.gone = true;
        self.until = Some(Instant::now() + LAST_WILL);
        if !self.ending {
            self.tell(libc::SIGHUP);
        }
        self.ending = true;
        self.go_on_alone();
    }

    /// The program was stopped by this signal, and so this process is.
    fn stopped(&mut self, signal: i32) -> io::Result<()> {
        self.stopped = true;
        if let Some(relay) = &mut self.relay {
            relay.drain()?;
            // It uses its terminal, now that this process is in the foreground.
            if USED.contains(&signal) && relay.in_foreground() && !relay.lost() {
                return self.go_on();
            }
        }
        // What it was asked before it was stopped it shall answer.
        if std::mem::take(&mut self.ending) || self.gone {
            self.go_on_alone();
            return Ok(());
        }
        if let Some(relay) = &mut self.relay {
            relay.give_back();
        }
        // A shell wants all of the job to stop. Where there is none, whoever watches over this process goes on.
        raw::stop(pty::has_terminal(), if signal == libc::SIGSTOP { libc::SIGTSTP } else { signal })?;
        let arrived = self.pending();
        self.arrived(&arrived)?;
        if arrived.iter().any(|signal| signal.number == libc::SIGCONT) { Ok(()) } else { self.alone(signal) }
    }

    /// This process could not stop, since there is no shell that would let it go on.
    fn alone(&mut self, signal: i32) -> io::Result<()> {
        match &mut self.relay {
            Some(relay) if USED.contains(&signal) && !relay.in_foreground() => {
                relay.end_input();
                self.go_on_alone();
                Ok(())
            }
            // Whoever has stopped it by force may let it go on.
            None if signal == libc::SIGSTOP => Ok(()),
            _ => self.go_on(),
        }
    }
}
