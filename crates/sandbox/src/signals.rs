//! Signals that end a program, sent to the holder of a session: they are the program's, and the holder stays to
//! write down how it ended.
#![expect(unsafe_code, reason = "signal masks have no safe interface here")]

use std::io;

/// The signals that are handed on.
const HANDED_ON: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

fn set() -> libc::sigset_t {
    // SAFETY: all zeroes is a valid set for `sigemptyset`, which makes it the empty one.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a valid, writable set, and the numbers are those of signals.
    unsafe {
        libc::sigemptyset(&raw mut set);
        for signal in HANDED_ON {
            libc::sigaddset(&raw mut set, signal);
        }
    }
    set
}

/// From now on these signals wait, for this thread and all that it starts, and `hand_on` is called with each, on
/// a thread of its own, as long as the process lives. Call it after a launch, since a program inherits what waits,
/// and before other threads start, since one that does not wait would end the process.
pub fn hand_on(mut hand_on: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    let set = set();
    // SAFETY: `set` is a valid set that lives through the call; the old mask is not asked for.
    let failed = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed));
    }
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        loop {
            let mut signal = 0;
            // SAFETY: both point to valid values that live through the call.
            if unsafe { libc::sigwait(&raw const set, &raw mut signal) } == 0 {
                hand_on(signal);
            }
        }
    })?;
    Ok(())
}
