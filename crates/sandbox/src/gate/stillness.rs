//! Keeps names still while a call is judged and done, among the gates of all sessions that work on one tree: a
//! folder that another session moves gives new names to all that lies below it.
//!
//! One file is locked for all of them. A lock belongs to an open file description, so each thread has its own; what
//! the kernel gives back when a gate ends cannot be left behind.

use super::serve::Gate;
use rustix::fd::AsRawFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::{Errno, pread, pwrite};
use rustix::path::DecInt;
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long a call waits for other sessions. A gate that was stopped in the middle of a call keeps the lock; a walk
/// through what moves with a folder, on a slow disk, may take some of it.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long others make way for a call that moves names, from when it last said that it waits. Calls that only need
/// names to stay could else follow one another for ever.
const WAY: Duration = Duration::from_millis(100);

/// At which of its calls a thread looks whether somebody waits to move names: looking costs half as much again as
/// the lock.
const LOOKS: u8 = 16;

const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_millis(2);

/// One thread's lock; none for a gate that has its tree for itself.
#[derive(Debug)]
pub(super) struct Stillness {
    file: Option<OwnedFd>,
    calls: Cell<u8>,
}

/// Names are still as long as this lives, or are this thread's to move.
#[derive(Debug)]
pub(super) struct Still<'a>(Option<&'a OwnedFd>);

impl Drop for Still<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            // Nothing can stand against it; the lock would else go with the thread.
            flock(file, FlockOperation::NonBlockingUnlock).ok();
        }
    }
}

impl Stillness {
    /// For the thread that asks.
    pub(super) fn of(gate: &Gate) -> Result<Self, Errno> {
        let Some(shared) = gate.authority().tree() else {
            return Ok(Self { file: None, calls: Cell::new(0) });
        };
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let file = openat(gate.own_descriptors(), DecInt::new(shared.as_raw_fd()), flags, Mode::empty())?;
        Ok(Self { file: Some(file), calls: Cell::new(0) })
    }

    /// Waits until no other session moves names, or, for one that is to move them, `alone`, until no other is at
    /// it at all. `EAGAIN` if that does not come to be.
    pub(super) fn hold(&self, alone: bool) -> Result<Still<'_>, Errno> {
        self.hold_within(PATIENCE, alone)
    }

    fn hold_within(&self, patience: Duration, alone: bool) -> Result<Still<'_>, Errno> {
        let Some(file) = &self.file else { return Ok(Still(None)) };
        let calls = self.calls.replace(self.calls.get().wrapping_add(1));
        let looks = !alone && calls.is_multiple_of(LOOKS);
        if !(looks && is_awaited(file)?) && take(file, alone)? {
            return Ok(Still(Some(file)));
        }
        let (since, mut pause) = (Instant::now(), SHORTEST);
        while since.elapsed() < patience {
            if alone {
                say(file, now() + nanoseconds(WAY))?;
            }
            std::thread::sleep(pause);
            pause = LONGEST.min(pause * 2);
            // Nobody makes way for ever.
            let passes = alone || since.elapsed() > WAY || !is_awaited(file)?;
            if passes && take(file, alone)? {
                let still = Still(Some(file));
                if alone {
                    say(file, 0)?;
                }
                return Ok(still);
            }
        }
        Err(Errno::AGAIN)
    }
}

fn take(file: &OwnedFd, alone: bool) -> Result<bool, Errno> {
    let operation = match alone {
        true => FlockOperation::NonBlockingLockExclusive,
        false => FlockOperation::NonBlockingLockShared,
    };
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Until when others are to make way, in nanoseconds of the machine's own clock.
fn say(file: &OwnedFd, until: u64) -> Result<(), Errno> {
    pwrite(file, &until.to_ne_bytes(), 0).map(drop)
}

/// Whether somebody waits to move names. What was said before the machine last started counts for nothing.
fn is_awaited(file: &OwnedFd) -> Result<bool, Errno> {
    let mut until = [0; size_of::<u64>()];
    pread(file, &mut until, 0)?;
    let until = u64::from_ne_bytes(until);
    Ok(until != 0 && until.checked_sub(now()).is_some_and(|left| left > 0 && left <= nanoseconds(WAY)))
}

fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let whole = Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0));
    nanoseconds(whole)
}

fn nanoseconds(of: Duration) -> u64 {
    u64::try_from(of.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, OpenOptions};
    use std::path::Path;

    fn lock(path: &Path) -> Stillness {
        let file: File =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        Stillness { file: Some(file.into()), calls: Cell::new(0) }
    }

    #[test]
    fn many_may_need_names_to_stay_and_one_alone_may_move_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let [one, other, third] = [lock(&path), lock(&path), lock(&path)];
        let held = (one.hold(false).unwrap(), other.hold(false).unwrap());
        assert!(!take(third.file.as_ref().unwrap(), true).unwrap());
        drop(held);
        let moving = third.hold(true).unwrap();
        assert!(!take(one.file.as_ref().unwrap(), false).unwrap());
        drop(moving);
        assert!(take(one.file.as_ref().unwrap(), false).unwrap());
    }

    #[test]
    fn a_gate_that_was_stopped_with_the_lock_does_not_hang_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let [stopped, other] = [lock(&path), lock(&path)];
        let _kept = stopped.hold(true).unwrap();
        for alone in [false, true] {
            assert_eq!(other.hold_within(Duration::from_millis(5), alone).unwrap_err(), Errno::AGAIN);
        }
    }

    #[test]
    fn who_moves_names_is_made_way_for_but_what_is_left_of_a_dead_one_counts_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let one = lock(&path);
        let file = one.file.as_ref().unwrap();
        assert!(!is_awaited(file).unwrap());
        say(file, now() + nanoseconds(WAY)).unwrap();
        assert!(is_awaited(file).unwrap());
        drop(one.hold(false).unwrap());
        for left in [now().saturating_sub(1), now() + nanoseconds(WAY) * 1000, u64::MAX] {
            say(file, left).unwrap();
            assert!(!is_awaited(file).unwrap());
        }
    }
}
