//! Signals that would end a process at the wrong moment, and at the right one: what is too large for a file only
//! fails, a hook that is told to end answers first, and the holder of a session ends as its program did.
#![expect(unsafe_code, reason = "dispositions and handlers have no safe interface here")]

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

/// From now on a write beyond the limit on the size of files fails, and does not end this process. Programs that it
/// starts inherit that, but for the program of a session.
pub fn outlive_file_limit() {
    // SAFETY: the disposition is set to a constant that needs no handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Ends this process by the signal that ended a session's program, so that whoever waits is told what it would be told
/// of the program alone; a shell's loop ends by Ctrl-C for that. There is no second core dump. Returns where the
/// signal ends no process, and for `SIGKILL`, which would look as if this process had been killed in its work.
pub fn end_by(signal: i32) {
    if signal == libc::SIGKILL || set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        return;
    }
    // SAFETY: the disposition is set to a constant that needs no handler, and the set is initialised before use. A
    // number that is no signal's is refused.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut only);
        libc::sigaddset(&raw mut only, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
        libc::raise(signal);
    }
}

/// The exit code and the last words, on standard error, of a process that is ended by a signal.
static CODE: AtomicI32 = AtomicI32::new(0);
static WORDS: OnceLock<&str> = OnceLock::new();

/// Signals that do not end a process, or that a write or the terminal's control only hinders.
const HARMLESS: [i32; 6] =
    [libc::SIGKILL, libc::SIGSTOP, libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];
const IGNORED: [i32; 5] = [libc::SIGPIPE, libc::SIGXFSZ, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// From now on every signal that would end or stop this process, but for those that nothing can be done about
/// (`SIGKILL`, `SIGSTOP`), ends it with this exit code and these words, or is ignored where the process can go on.
/// The last code and the first words count.
pub fn end_with(code: u8, words: &'static str) {
    CODE.store(code.into(), Ordering::Relaxed);
    WORDS.get_or_init(|| words);
    let handler: extern "C" fn(libc::c_int) = end;
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| !HARMLESS.contains(signal)) {
        let ignored = IGNORED.contains(&signal);
        // SAFETY: the structure is initialised: no flags but the one for a thread's spare stack, an empty mask, and a
        // handler that only makes calls that are allowed in one. A number that is no signal's is refused.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = if ignored { libc::SIG_IGN } else { handler as libc::sighandler_t };
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    // SAFETY: the set is initialised before use. What waits arrives now.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

extern "C" fn end(_signal: libc::c_int) {
    let words = WORDS.get().copied().unwrap_or_default();
    // SAFETY: `write` and `_exit` may be called in a handler; the words live as long as the process.
    unsafe {
        libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
        libc::_exit(CODE.load(Ordering::Relaxed));
    }
}
