//! Stands in for the gate until it is merged: a filter that refuses a little and traps nothing.
#![expect(unsafe_code, reason = "one call takes a pointer to a kernel structure")]

use crate::authority::Authority;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;
use std::thread::JoinHandle;

const fn step(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

/// The filter.
pub fn program() -> Vec<libc::sock_filter> {
    let refused = 0x0005_0000 | 38;
    vec![
        step(0x20, 0, 0, 4),
        step(0x15, 1, 0, 0xC000_003E),
        step(0x06, 0, 0, 0x8000_0000),
        step(0x20, 0, 0, 0),
        step(0x35, 0, 1, 0x4000_0000),
        step(0x06, 0, 0, refused),
        step(0x15, 0, 1, 425),
        step(0x06, 0, 0, refused),
        step(0x06, 0, 0, 0x7fff_0000),
    ]
}

/// Installs it.
pub fn install(program: &[libc::sock_filter]) -> Result<RawFd, Errno> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // SAFETY: `program` points to `len` instructions that live through the call.
    let listener = unsafe { libc::syscall(libc::SYS_seccomp, 1, 8 | 32, &raw const program) };
    RawFd::try_from(listener).ok().filter(|l| *l >= 0).ok_or(Errno::INVAL)
}

/// Serves nothing.
pub struct Gate(OwnedFd);

impl Gate {
    /// Takes the listener.
    pub fn new(listener: OwnedFd, _authority: Arc<dyn Authority>) -> Result<Gate, Errno> {
        Ok(Gate(listener))
    }

    /// Until no task is left.
    pub fn serve(self: Arc<Self>, _threads: usize) -> Vec<JoinHandle<()>> {
        vec![std::thread::spawn(move || {
            while poll(&mut [PollFd::new(&self.0, PollFlags::empty())], None).is_err() {}
        })]
    }
}

/// The device nodes.
pub fn device_rules() -> &'static [&'static str] {
    &[
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
        "/dev/tty",
        "/dev/ptmx",
        "/dev/pts",
    ]
}
