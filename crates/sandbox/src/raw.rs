//! The system calls of view and launch that have no safe wrapper elsewhere. All `unsafe` of this half of the
//! crate is here.

#![expect(unsafe_code, reason = "the calls fork, or take pointers to kernel structures")]

use rustix::io::Errno;
use rustix::process::Pid;
use std::ffi::{CStr, CString, c_long};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

fn checked(result: c_long) -> Result<c_long, Errno> {
    if result < 0 { Err(last()) } else { Ok(result) }
}

fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Which side of a fork this is.
pub(crate) enum Side {
    /// The one that was before, and its child.
    Parent(Pid),
    /// The new one.
    Child,
}

fn side(result: c_long) -> Result<Side, Errno> {
    let pid = i32::try_from(checked(result)?).map_err(|_| Errno::OVERFLOW)?;
    Ok(Pid::from_raw(pid).map_or(Side::Child, Side::Parent))
}

/// Makes a child with namespaces of its own: user, mount, PID, and IPC (System V's shared memory, semaphores and
/// queues, and POSIX queues, which are found by number or name and not by path). Only in a process with one thread, since the
/// child goes on with a copy of all memory, locks included.
pub(crate) fn clone_session() -> Result<Side, Errno> {
    let namespaces = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    let flags = namespaces | libc::SIGCHLD;
    // SAFETY: no stack and no pointers are handed over: the call is a fork. The caller has one thread.
    side(unsafe { libc::syscall(libc::SYS_clone, c_long::from(flags), 0, 0, 0, 0) })
}

/// Forks. Only in a process with one thread.
pub(crate) fn fork() -> Result<Side, Errno> {
    // SAFETY: the caller has one thread, so that the child may go on in any way.
    side(c_long::from(unsafe { libc::fork() }))
}

/// Ends this process at once, without running anything that its parent may have registered.
pub(crate) fn leave(code: u8) -> ! {
    // SAFETY: `_exit` takes a number and does not return.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Gives attributes to the mount that `mount` is the root of, as `mount_setattr` does.
pub(crate) fn set_mount(mount: BorrowedFd<'_>, recursive: bool, set: u64) -> Result<(), Errno> {
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the empty path is a C string, and the structure has the size that is told.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    checked(done).map(drop)
}

/// Marks every descriptor from 3 on to be closed when a program is started.
pub(crate) fn close_all_at_exec() -> Result<(), Errno> {
    // SAFETY: three numbers; no descriptor is closed now.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    checked(done).map(drop)
}

/// Starts a program in place of this one. Returns only if that fails.
pub(crate) fn exec(program: &CStr, arguments: &[CString], environment: &[CString]) -> Errno {
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer and point to C strings that outlive the call.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    last()
}

/// What becomes of signals.
#[derive(Clone, Copy)]
pub(crate) enum Signals {
    /// All as a fresh process has them, none blocked.
    Fresh,
    /// Those that a terminal or a person sends are ignored: process 1 of a PID namespace would die of them.
    Ignored,
}

/// Sets the disposition of signals.
pub(crate) fn set_signals(signals: Signals) {
    let terminal = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
        libc::SIGPIPE,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
    ];
    // SAFETY: dispositions are set to the two constants that need no handler; the set is initialised before use.
    unsafe {
        match signals {
            Signals::Fresh => {
                // The C library keeps two signals to itself and would leave them as they were. All zero: default.
                let default = [0u64; 4];
                for signal in 1..=64 {
                    let none = std::ptr::null_mut::<u64>();
                    libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), none, size_of::<u64>());
                }
            }
            Signals::Ignored => {
                for signal in terminal {
                    libc::signal(signal, libc::SIG_IGN);
                }
                libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            }
        }
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Sends a signal to every process of the namespace but this one (process 1).
pub(crate) fn signal_all(signal: i32) {
    // SAFETY: two numbers. There may be nobody to send to, which is fine.
    unsafe { libc::kill(-1, signal) };
}

/// Sends a signal to a process, or to its group.
pub(crate) fn signal(pid: Pid, group: bool, signal: i32) -> Result<(), Errno> {
    let pid = pid.as_raw_nonzero().get();
    // SAFETY: two numbers.
    checked(c_long::from(unsafe { libc::kill(if group { -pid } else { pid }, signal) })).map(drop)
}

/// Sends a signal that stops to this process, or to its whole group, and stops by it, even if it is blocked in this
/// thread. Returns when somebody has let this process go on; at once if it was not stopped, as when no shell is
/// there to let it go on.
pub(crate) fn stop(group: bool, signal: i32) -> Result<(), Errno> {
    let to = if group { 0 } else { rustix::process::getpid().as_raw_pid() };
    // SAFETY: two numbers.
    checked(c_long::from(unsafe { libc::kill(to, signal) }))?;
    // SAFETY: both sets are initialised by the calls that are given them.
    unsafe {
        let mut set = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, &raw mut before);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
    Ok(())
}

/// Whether this process ignores a signal.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // SAFETY: all zeroes is a valid structure, which the call fills in; no action is given, so none is changed.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// A signal that has arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrived {
    /// Its number.
    pub(crate) number: i32,
    /// It comes from the kernel, as what a terminal sends does, and not from a process.
    pub(crate) by_kernel: bool,
}

/// Signals that arrive as bytes to read, and not as interruptions, until this is dropped.
pub(crate) struct SignalReader {
    file: OwnedFd,
    before: libc::sigset_t,
}

impl SignalReader {
    /// Blocks the signals for this thread and reads them instead. Threads that are already there must not take
    /// them.
    pub(crate) fn new(signals: &[i32]) -> Result<Self, Errno> {
        // SAFETY: both sets are initialised by the calls that are given them; the descriptor is new and ours.
        unsafe {
            let mut set = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in signals {
                libc::sigaddset(&raw mut set, *signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            let file = checked(c_long::from(libc::signalfd(
                -1,
                &raw const set,
                libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
            )));
            match file.and_then(|n| RawFd::try_from(n).map_err(|_| Errno::BADF)) {
                Ok(file) => Ok(Self { file: OwnedFd::from_raw_fd(file), before }),
                Err(error) => {
                    libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
                    Err(error)
                }
            }
        }
    }

    /// The descriptor to poll.
    pub(crate) fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// The next signal that has arrived.
    pub(crate) fn next(&self) -> Option<Arrived> {
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        let length = rustix::io::read(&self.file, &mut info).ok()?;
        // Number, error and code, each of four bytes.
        let (words, _) = info.as_chunks::<4>();
        match words {
            [number, _, code, ..] if length == info.len() => Some(Arrived {
                number: i32::from_ne_bytes(*number),
                by_kernel: i32::from_ne_bytes(*code) > 0,
            }),
            _ => None,
        }
    }
}

impl Drop for SignalReader {
    fn drop(&mut self) {
        // SAFETY: the set was filled in when the signals were blocked.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// Tries to enter a new user namespace.
pub(crate) fn try_user_namespace() -> Result<(), Errno> {
    // SAFETY: one number.
    checked(c_long::from(unsafe { libc::unshare(libc::CLONE_NEWUSER) })).map(drop)
}

/// Makes a system call by number without arguments that could do harm.
pub(crate) fn try_call(number: c_long) -> Result<(), Errno> {
    // SAFETY: only called with numbers that take no pointer, or to which null pointers are an error.
    checked(unsafe { libc::syscall(number, 0, 0, 0, 0, 0, 0) }).map(drop)
}

/// Asks the kernel for a number that describes its Landlock: flag 1 the ABI, flag 2 the mended errata.
pub(crate) fn landlock(flag: u32) -> Result<u32, Errno> {
    let null = std::ptr::null::<u8>();
    // SAFETY: with one of these flags the kernel wants no structure.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, null, 0usize, flag) };
    u32::try_from(checked(answer)?).map_err(|_| Errno::OVERFLOW)
}

/// Whether the kernel knows filters that ask a listener and wait for it unless killed. Installs nothing.
pub(crate) fn seccomp_listener() -> Result<(), Errno> {
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let null = std::ptr::null::<u8>();
    // SAFETY: the null filter is refused (EFAULT) after the flags were checked (EINVAL).
    match checked(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, null) }) {
        Err(Errno::FAULT) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Has a command close every descriptor from 3 on when it starts.
pub(crate) fn close_all_at_start(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let close = || close_all_at_exec().map_err(Into::into);
    // SAFETY: between fork and exec only one system call is made.
    unsafe { command.pre_exec(close) };
}

/// How far a child in new namespaces came.
pub(crate) enum Tried {
    /// Everything worked.
    All,
    /// The namespaces could not be made.
    Not(Errno),
    /// Mounts could not be changed.
    NoMounts,
    /// No file system in memory.
    NoMemory,
    /// No `/proc`.
    NoProc,
}

/// Makes a child in new namespaces that tries mounts and ends. The child makes system calls only, so other threads
/// do not matter.
pub(crate) fn try_namespaces() -> Result<Tried, Errno> {
    let child = match clone_session() {
        Ok(Side::Parent(child)) => child,
        Ok(Side::Child) => try_mounts(),
        Err(error) => return Ok(Tried::Not(error)),
    };
    match exit_code(child)? {
        Some(0) => Ok(Tried::All),
        Some(1) => Ok(Tried::NoMounts),
        Some(2) => Ok(Tried::NoMemory),
        Some(3) => Ok(Tried::NoProc),
        _ => Err(Errno::CHILD),
    }
}

/// Tries something in a child with namespaces of its own that ends at once. Only in a process with one thread.
pub(crate) fn try_in_namespaces(body: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    match clone_session()? {
        Side::Child => {
            let code = body().map_or_else(Errno::raw_os_error, |()| 0);
            leave(u8::try_from(code).unwrap_or(u8::MAX))
        }
        Side::Parent(child) => match exit_code(child)? {
            Some(0) => Ok(()),
            Some(code) => Err(Errno::from_raw_os_error(code)),
            None => Err(Errno::CHILD),
        },
    }
}

/// Waits for a child's end; none if it did not end by itself.
fn exit_code(child: Pid) -> Result<Option<i32>, Errno> {
    loop {
        match rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()) {
            Err(Errno::INTR) | Ok(None) => {}
            Err(error) => return Err(error),
            Ok(Some((_, status))) => return Ok(status.exit_status()),
        }
    }
}

fn try_mounts() -> ! {
    let null = std::ptr::null();
    let mount = |kind: &CStr, at: &CStr, flags: u64| {
        // SAFETY: the strings are C strings; null stands for no source and no options.
        unsafe { libc::mount(null, at.as_ptr(), kind.as_ptr(), flags, null.cast()) == 0 }
    };
    let private = mount(c"", c"/", libc::MS_REC | libc::MS_SLAVE);
    // A second mount of it needs to see the first, so it comes before the one in memory covers that.
    let proc = private && mount(c"proc", c"/proc", libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC);
    let memory = private && mount(c"tmpfs", c"/proc", libc::MS_NOSUID | libc::MS_NODEV);
    match (private, memory, proc) {
        (false, _, _) => leave(1),
        (_, false, _) => leave(2),
        (_, _, false) => leave(3),
        _ => leave(0),
    }
}
