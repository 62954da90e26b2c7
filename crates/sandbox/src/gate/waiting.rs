//! What must wait for another process is done by threads of their own, and not many: opening a named pipe for
//! writing waits for a reader; opening or cutting a file that another process has a lease on waits until that is
//! given up, or until the kernel ends it.

use super::attributes::Change;
use super::caller::Caller;
use super::open::Opening;
use super::plan::Reply;
use super::serve::{Gate, Indispensable};
use rustix::io::Errno;
use std::sync::Arc;
use std::time::Duration;

/// How many callers may wait at a time.
const MOST: usize = 64;

/// `ERESTARTSYS`: the signal's handler runs, then the call begins anew or ends with `EINTR`, as its handler says.
const RESTART: Errno = Errno::from_raw_os_error(512);

const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(20);

/// What may have to wait.
pub(super) enum Patient {
    /// Opening what exists.
    Open(Opening),
    /// Cutting a file.
    Cut(Change),
}

impl Patient {
    /// One try; `None` if it must wait.
    fn attempt(&self, gate: &Gate) -> Option<Reply> {
        match self {
            Patient::Open(opening) => opening.open(gate),
            Patient::Cut(change) => change.cut(gate),
        }
    }
}

/// Does it. If it must wait, a thread of its own waits and answers; `EACCES` if too many wait already.
pub(super) fn perform(gate: &Arc<Gate>, caller: &Caller<'_>, patient: Patient) -> Reply {
    if let Some(reply) = patient.attempt(gate) {
        return reply;
    }
    let Some(ticket) = Ticket::take(gate) else { return Reply::Error(Errno::ACCESS) };
    let notice = *caller.notice();
    let waiting = std::thread::Builder::new().name("wait".into()).spawn(move || {
        let _guard = Indispensable;
        let gate = &ticket.0;
        let reply = match Caller::meet(gate, notice) {
            Ok(caller) => wait(&caller, &patient),
            Err(_) => Reply::Error(Errno::ACCESS),
        };
        drop(patient);
        gate.answer(notice.id, reply);
    });
    if waiting.is_ok() { Reply::Later } else { Reply::Error(Errno::ACCESS) }
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

fn wait(caller: &Caller<'_>, patient: &Patient) -> Reply {
    let mut pause = SHORTEST;
    loop {
        if let Some(reply) = patient.attempt(caller.gate()) {
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
