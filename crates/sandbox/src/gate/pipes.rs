//! Opening a named pipe for writing waits for a reader, so it is done by threads of their own, and not many.

use super::caller::Caller;
use super::open::{How, Opening};
use super::plan::Reply;
use super::serve::{Gate, Indispensable};
use rustix::fs::{Mode, OFlags, fcntl_setfl};
use rustix::io::Errno;
use std::sync::Arc;
use std::time::Duration;

/// How many callers may wait for readers at a time.
const MOST: usize = 64;

/// `ERESTARTSYS`: the signal's handler runs, then the call begins anew or ends with `EINTR`, as its handler says.
const RESTART: Errno = Errno::from_raw_os_error(512);

const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(20);

/// Opens a pipe for writing. If it has no reader, a thread of its own waits and answers; `EACCES` if too many wait
/// already.
pub(super) fn open(gate: &Arc<Gate>, caller: &Caller<'_>, opening: Opening) -> Reply {
    if let Some(reply) = attempt(gate, &opening) {
        return reply;
    }
    let Some(ticket) = Ticket::take(gate) else { return Reply::Error(Errno::ACCESS) };
    let notice = *caller.notice();
    let waiting = std::thread::Builder::new().name("pipe".into()).spawn(move || {
        let _guard = Indispensable;
        let gate = &ticket.0;
        let reply = match Caller::meet(gate, notice) {
            Ok(caller) => wait(&caller, &opening),
            Err(_) => Reply::Error(Errno::ACCESS),
        };
        drop(opening);
        gate.answer(notice.id, reply);
    });
    if waiting.is_ok() { Reply::Later } else { Reply::Error(Errno::ACCESS) }
}

/// One try; `None` if there is no reader.
fn attempt(gate: &Gate, opening: &Opening) -> Option<Reply> {
    let How::Pipe(pipe) = &opening.how else { return Some(Reply::Error(Errno::INVAL)) };
    let opened = pipe.reopen(gate, opening.found() | OFlags::NONBLOCK, Mode::empty()).and_then(|file| {
        fcntl_setfl(&file, opening.flags & (OFlags::APPEND | OFlags::SYNC | OFlags::NOATIME))?;
        Ok(file)
    });
    match opened {
        Ok(file) => Some(Reply::File { file, close_on_exec: opening.flags.contains(OFlags::CLOEXEC) }),
        Err(Errno::NXIO) => None,
        Err(error) => Some(Reply::Error(error)),
    }
}

/// One of the places to wait in.
struct Ticket(Arc<Gate>);

impl Ticket {
    fn take(gate: &Arc<Gate>) -> Option<Self> {
        let ticket = Self(Arc::clone(gate));
        // Given back by the drop below, whatever comes of it.
        (gate.waiting().fetch_add(1, std::sync::atomic::Ordering::Relaxed) < MOST).then_some(ticket)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.waiting().fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

fn wait(caller: &Caller<'_>, opening: &Opening) -> Reply {
    let mut pause = SHORTEST;
    loop {
        if let Some(reply) = attempt(caller.gate(), opening) {
            return reply;
        }
        if !caller.is_waiting() {
            return Reply::Gone;
        }
        if caller.is_interrupted() {
            return Reply::Error(RESTART);
        }
        std::thread::sleep(pause);
        pause = LONGEST.min(pause * 2);
    }
}
