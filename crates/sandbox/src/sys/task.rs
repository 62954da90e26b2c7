//! Memory of other tasks, and calls that the usual wrappers lack.
#![expect(unsafe_code, reason = "the calls take pointers, or change what threads share")]

use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Reads a thread's memory from `address` on into `buffer`; answers how many bytes could be read, at least 1.
/// `EFAULT`: nothing is there; `EACCES`: it may not be read.
pub(crate) fn read_memory(thread: u32, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    let thread = libc::pid_t::try_from(thread).map_err(|_| Errno::SRCH)?;
    let address = usize::try_from(address).map_err(|_| Errno::FAULT)?;
    let here = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let there =
        libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: buffer.len() };
    // SAFETY: `here` is a writable buffer of its length; `there` is an address in the other task, which the
    // kernel checks.
    let read = unsafe { libc::process_vm_readv(thread, &raw const here, 1, &raw const there, 1, 0) };
    match usize::try_from(read) {
        Ok(0) => Err(Errno::FAULT),
        Ok(read) => Ok(read),
        Err(_) => Err(match last_error() {
            Errno::PERM => Errno::ACCESS,
            other => other,
        }),
    }
}

/// Writes all the bytes into a thread's memory. `EFAULT`: they do not fit there; `EACCES`: it may not be written.
pub(crate) fn write_memory(thread: u32, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    let thread = libc::pid_t::try_from(thread).map_err(|_| Errno::SRCH)?;
    let address = usize::try_from(address).map_err(|_| Errno::FAULT)?;
    let here = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let there =
        libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: bytes.len() };
    // SAFETY: `here` is a buffer of its length, which the call only reads; `there` is an address in the other task,
    // which the kernel checks.
    let wrote = unsafe { libc::process_vm_writev(thread, &raw const here, 1, &raw const there, 1, 0) };
    match usize::try_from(wrote) {
        Ok(wrote) if wrote == bytes.len() => Ok(()),
        Ok(_) => Err(Errno::FAULT),
        Err(_) => Err(match last_error() {
            Errno::PERM => Errno::ACCESS,
            other => other,
        }),
    }
}

/// Sets the soft and hard limit of a process, and answers the former ones.
pub(crate) fn set_limit(process: u32, resource: u32, new: [u64; 2]) -> Result<[u64; 2], Errno> {
    let mut former = [0u64; 2];
    // SAFETY: the kernel reads two numbers from the one and writes two to the other.
    let done =
        unsafe { libc::syscall(libc::SYS_prlimit64, process, resource, new.as_ptr(), former.as_mut_ptr()) };
    if done < 0 { Err(last_error()) } else { Ok(former) }
}

/// Gives the calling thread a working folder and a mode mask of its own.
pub(crate) fn own_umask() -> Result<(), Errno> {
    // SAFETY: no descriptor table is unshared, and no thread of this process relies on another's mask or folder.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FS) }
}

/// Gives a Unix socket a path for its address, of 108 bytes at most and without NUL.
pub(crate) fn bind_path(socket: BorrowedFd<'_>, path: &[u8]) -> Result<(), Errno> {
    let mut address = [0u8; size_of::<libc::sockaddr_un>()];
    let (family, text) = address.split_at_mut(size_of::<libc::sa_family_t>());
    family.copy_from_slice(&(libc::AF_UNIX as libc::sa_family_t).to_ne_bytes());
    text.get_mut(..path.len()).ok_or(Errno::INVAL)?.copy_from_slice(path);
    let length = family.len() + (path.len() + 1).min(text.len());
    // SAFETY: the address has at least so many bytes, and the kernel keeps none of them.
    let done = unsafe { libc::syscall(libc::SYS_bind, socket.as_raw_fd(), address.as_ptr(), length) };
    if done < 0 { Err(last_error()) } else { Ok(()) }
}

/// `fchmodat2` on the file behind any descriptor, one without access to the content included.
pub(crate) fn change_mode(file: BorrowedFd<'_>, mode: u32) -> Result<(), Errno> {
    // SAFETY: the path is a constant that ends in NUL; the call keeps nothing of it.
    let done = unsafe {
        libc::syscall(libc::SYS_fchmodat2, file.as_raw_fd(), c"".as_ptr(), mode, libc::AT_EMPTY_PATH)
    };
    if done < 0 { Err(last_error()) } else { Ok(()) }
}
