//! The system call filter and its listener.
#![expect(unsafe_code, reason = "the calls take pointers to kernel structures")]

use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// A stopped call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Notice {
    /// Names this stop among all; never used twice.
    pub(crate) id: u64,
    /// The stopped thread, by its number in the receiver's PID namespace; 0 if it has none there.
    pub(crate) thread: u32,
    /// The call's number.
    pub(crate) number: i32,
    /// Its arguments as they are in the registers.
    pub(crate) arguments: [u64; 6],
}

/// What a stopped call returns.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome {
    /// This value.
    Value(i64),
    /// This error.
    Error(Errno),
    /// Whatever the kernel answers when it goes on with the call.
    Continue,
}

/// The flag that switches on waking the other side on the own core (`SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`).
const SYNC_WAKE_UP: u64 = 1;

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Puts the calling thread, and all that it will start, behind the program; answers the number of the listener's
/// descriptor, which is closed on exec. The thread must have `no_new_privs` already. Only raw calls are made, so
/// it may run between fork and exec.
pub fn install(program: &[libc::sock_filter]) -> Result<RawFd, Errno> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // A caller whose operation has been received must not be interrupted by a signal: the operation would be
    // done, and then done again.
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: `program` points to `len` instructions that live through the call, which only reads them.
    let listener =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    RawFd::try_from(listener).ok().filter(|listener| *listener >= 0).ok_or_else(last_error)
}

/// Refuses a kernel whose structures are greater than those that are handed to it.
pub(crate) fn check_sizes() -> Result<(), Errno> {
    let mut sizes = libc::seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
    // SAFETY: the kernel writes one such structure to the pointer.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, 0, &raw mut sizes) };
    if done < 0 {
        return Err(last_error());
    }
    let fits = usize::from(sizes.seccomp_notif) <= size_of::<libc::seccomp_notif>()
        && usize::from(sizes.seccomp_notif_resp) <= size_of::<libc::seccomp_notif_resp>();
    if fits { Ok(()) } else { Err(Errno::NOSYS) }
}

fn command<T>(listener: BorrowedFd<'_>, request: libc::Ioctl, argument: *mut T) -> Result<i32, Errno> {
    // SAFETY: every request of this module takes a pointer to the structure that its caller passes, and the
    // kernel keeps none of it after the call.
    let done = unsafe { libc::ioctl(listener.as_raw_fd(), request, argument) };
    if done < 0 { Err(last_error()) } else { Ok(done) }
}

/// Makes answers wake the caller on the core of the answering thread.
pub(crate) fn wake_synchronously(listener: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: this request takes its flags by value.
    let done = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP as libc::c_ulong)
    };
    if done < 0 { Err(last_error()) } else { Ok(()) }
}

/// Waits for the next stopped call. `ENOENT`: the one that was to be received has died, or no task is left.
pub(crate) fn receive(listener: BorrowedFd<'_>) -> Result<Notice, Errno> {
    // The kernel wants the structure zeroed.
    let mut notice = libc::seccomp_notif {
        id: 0,
        pid: 0,
        flags: 0,
        data: libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] },
    };
    command(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut notice)?;
    Ok(Notice { id: notice.id, thread: notice.pid, number: notice.data.nr, arguments: notice.data.args })
}

/// Whether the caller still waits; if so, all that was read from it until now was its own.
pub(crate) fn is_waiting(listener: BorrowedFd<'_>, mut id: u64) -> bool {
    command(listener, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw mut id).is_ok()
}

/// Gives the caller a descriptor for an open file, and answers its number. The caller goes on waiting.
pub(crate) fn inject(
    listener: BorrowedFd<'_>,
    id: u64,
    file: BorrowedFd<'_>,
    close_on_exec: bool,
) -> Result<i32, Errno> {
    let mut order = libc::seccomp_notif_addfd {
        id,
        flags: 0,
        srcfd: file.as_raw_fd().unsigned_abs(),
        newfd: 0,
        newfd_flags: if close_on_exec { libc::O_CLOEXEC.unsigned_abs() } else { 0 },
    };
    command(listener, libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw mut order)
}

/// Lets the caller go on with an outcome. `ENOENT`: it has died.
pub(crate) fn send(listener: BorrowedFd<'_>, id: u64, outcome: Outcome) -> Result<(), Errno> {
    let mut answer = libc::seccomp_notif_resp { id, val: 0, error: 0, flags: 0 };
    match outcome {
        Outcome::Value(value) => answer.val = value,
        Outcome::Error(error) => answer.error = -error.raw_os_error(),
        Outcome::Continue => answer.flags = 1,
    }
    command(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer).map(|_| ())
}
