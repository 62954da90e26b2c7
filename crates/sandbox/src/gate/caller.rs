//! What belongs to the caller: its memory, working folder, descriptors, process, mode mask, pending signals.
//!
//! All of it is read while the caller waits. It is known to have been the caller's own only if
//! [`Caller::is_waiting`] says so *after* the last reading; nothing is judged before that.

use super::serve::Gate;
use crate::sys::{self, Notice};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use rustix::path::DecInt;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

/// The longest string of a path, its NUL included.
const LONGEST: usize = 4096;

/// How many threads of the session a serving thread keeps open.
const REMEMBERED: usize = 128;

/// `PIDFD_THREAD`: a descriptor for one thread of a process.
const ONE_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::O_EXCL.unsigned_abs());

const BENEATH_PROC: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const READING: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

/// A thread of the session. Its descriptors are bound to the thread, not to its number: once it is gone they
/// answer `ESRCH`, whoever has the number then.
struct Task {
    handle: OwnedFd,
    /// The process that it is a thread of.
    group: u32,
    /// `/proc/<thread>`.
    folder: Option<OwnedFd>,
    /// `/proc/<thread>/status`.
    status: Option<OwnedFd>,
}

impl Task {
    fn open(gate: &Gate, thread: u32) -> Result<Task, Errno> {
        let pid = i32::try_from(thread).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        // Without the flag the kernel answers only for the thread that leads its process.
        if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) {
            return Ok(Task { handle, group: thread, folder: None, status: None });
        }
        let handle = pidfd_open(pid, ONE_THREAD)?;
        let mut task = Task { handle, group: 0, folder: None, status: None };
        task.group = task.number(gate, thread, "Tgid:", 10)?;
        Ok(task)
    }

    /// Whether the thread has ended, so that its number may be another's now.
    fn has_ended(&self) -> bool {
        let mut asked = [PollFd::new(&self.handle, PollFlags::IN)];
        !matches!(poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
    }

    fn folder(&mut self, gate: &Gate, thread: u32) -> Result<&OwnedFd, Errno> {
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => openat(gate.proc(), DecInt::new(thread), BENEATH_PROC, Mode::empty())?,
        };
        Ok(self.folder.insert(folder))
    }

    fn status(&mut self, gate: &Gate, thread: u32) -> Result<String, Errno> {
        let status = match self.status.take() {
            Some(status) => status,
            None => openat(self.folder(gate, thread)?, c"status", READING, Mode::empty())?,
        };
        let status = self.status.insert(status);
        let mut text = [0; 4096];
        let length = rustix::io::pread(status, &mut text, 0)?;
        Ok(String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned())
    }

    /// A number from the status. The thread's name cannot forge a line: the kernel escapes it.
    fn number(&mut self, gate: &Gate, thread: u32, key: &str, radix: u32) -> Result<u32, Errno> {
        let status = self.status(gate, thread)?;
        u32::try_from(field(&status, key, radix).ok_or(Errno::ACCESS)?).map_err(|_| Errno::ACCESS)
    }
}

fn field(status: &str, key: &str, radix: u32) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(key))?;
    u64::from_str_radix(value.trim(), radix).ok()
}

thread_local! {
    static TASKS: RefCell<HashMap<u32, Task>> = RefCell::default();
}

/// The thread whose call has stopped.
pub(super) struct Caller<'g> {
    gate: &'g Gate,
    notice: Notice,
    group: u32,
}

impl<'g> Caller<'g> {
    /// Takes up a stopped call. `ESRCH`: the caller is gone.
    pub(super) fn meet(gate: &'g Gate, notice: Notice) -> Result<Self, Errno> {
        let group = TASKS.with_borrow_mut(|tasks| {
            if tasks.get(&notice.thread).is_some_and(Task::has_ended) {
                tasks.remove(&notice.thread);
            }
            if let Some(task) = tasks.get(&notice.thread) {
                return Ok(task.group);
            }
            if tasks.len() >= REMEMBERED {
                tasks.clear();
            }
            let task = Task::open(gate, notice.thread)?;
            Ok(tasks.entry(notice.thread).or_insert(task).group)
        })?;
        Ok(Self { gate, notice, group })
    }

    /// The gate that serves it.
    pub(super) fn gate(&self) -> &'g Gate {
        self.gate
    }

    /// The stopped call.
    pub(super) fn notice(&self) -> &Notice {
        &self.notice
    }

    /// Its process.
    pub(super) fn group(&self) -> u32 {
        self.group
    }

    /// Its thread.
    pub(super) fn thread(&self) -> u32 {
        self.notice.thread
    }

    /// Whether it still waits, so that all that was read until now was its own.
    pub(super) fn is_waiting(&self) -> bool {
        sys::is_waiting(self.gate.listener(), self.notice.id)
    }

    fn task<T>(&self, read: impl FnOnce(&mut Task) -> Result<T, Errno>) -> Result<T, Errno> {
        TASKS.with_borrow_mut(|tasks| read(tasks.get_mut(&self.notice.thread).ok_or(Errno::SRCH)?))
    }

    /// A string at an address of the caller, without its NUL. `ENAMETOOLONG` beyond the longest path.
    pub(super) fn string(&self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut text = [0; LONGEST];
        let mut length = 0;
        while length < LONGEST {
            let address = address.checked_add(length as u64).ok_or(Errno::FAULT)?;
            // Never across a page's end: the string may end before it, and nothing be behind it.
            let page = LONGEST - (address % LONGEST as u64) as usize;
            let most = if length == 0 { 256 } else { LONGEST };
            let end = length + page.min(most).min(LONGEST - length);
            let chunk = text.get_mut(length..end).ok_or(Errno::NAMETOOLONG)?;
            let read = sys::read_memory(self.notice.thread, address, chunk)?;
            if let Some(nul) = chunk.iter().take(read).position(|byte| *byte == 0) {
                return Ok(text.get(..length + nul).unwrap_or_default().to_vec());
            }
            length += read;
        }
        Err(Errno::NAMETOOLONG)
    }

    /// So many bytes at an address of the caller.
    pub(super) fn bytes(&self, address: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            let chunk = bytes.get_mut(done..).ok_or(Errno::FAULT)?;
            let address = address.checked_add(done as u64).ok_or(Errno::FAULT)?;
            done += sys::read_memory(self.notice.thread, address, chunk)?;
        }
        Ok(bytes)
    }

    /// Two numbers of eight bytes at an address of the caller.
    pub(super) fn numbers(&self, address: u64) -> Result<[u64; 2], Errno> {
        let bytes = self.bytes(address, 16)?;
        let number = |half: &[u8]| half.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
        let (first, second) = bytes.split_at(8);
        Ok([number(first), number(second)])
    }

    /// Puts two numbers at an address of the caller.
    pub(super) fn put_numbers(&self, address: u64, numbers: [u64; 2]) -> Result<(), Errno> {
        let mut bytes = [0; 16];
        for (place, byte) in bytes.iter_mut().zip(numbers.into_iter().flat_map(u64::to_le_bytes)) {
            *place = byte;
        }
        sys::write_memory(self.notice.thread, address, &bytes)
    }

    /// Where the caller's relative paths begin: at its working folder or at a descriptor of its own.
    pub(super) fn base(&self, descriptor: i32) -> Result<OwnedFd, Errno> {
        if descriptor != libc::AT_FDCWD {
            return self.descriptor(descriptor);
        }
        let (gate, thread) = (self.gate, self.notice.thread);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        self.task(|task| openat(task.folder(gate, thread)?, c"cwd", flags, Mode::empty()))
    }

    /// The open file behind a descriptor of the caller. `EBADF`: it has none of this number.
    pub(super) fn descriptor(&self, number: i32) -> Result<OwnedFd, Errno> {
        if number < 0 {
            return Err(Errno::BADF);
        }
        self.task(|task| take(&task.handle, number))
    }

    /// The open file behind a descriptor of another thread of the caller's process.
    pub(super) fn descriptor_of(&self, thread: u32, number: i32) -> Result<OwnedFd, Errno> {
        if thread == self.notice.thread {
            return self.descriptor(number);
        }
        let pid = i32::try_from(thread).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        take(&pidfd_open(pid, ONE_THREAD)?, number)
    }

    /// Whether a thread's number is one of the caller's process.
    pub(super) fn is_own_thread(&self, thread: u32) -> bool {
        // A process lists its own threads only.
        thread == self.group
            || statat(self.gate.proc(), format!("{}/task/{thread}", self.group), AtFlags::empty()).is_ok()
    }

    /// The bits that new files of this mode do not get.
    pub(super) fn umask(&self, mode: u32) -> Result<u32, Errno> {
        if mode & 0o077 == 0 && !self.gate.has_owner_mask() {
            return Ok(0);
        }
        let (gate, thread) = (self.gate, self.notice.thread);
        self.task(|task| task.number(gate, thread, "Umask:", 8))
    }

    /// Whether a signal waits for this very thread, so that a call that blocks must let it through. A signal for
    /// the process counts only if it has no other thread to take it.
    pub(super) fn is_interrupted(&self) -> bool {
        let (gate, thread) = (self.gate, self.notice.thread);
        let Ok(status) = self.task(|task| task.status(gate, thread)) else { return false };
        let set = |key| field(&status, key, 16).unwrap_or(0);
        let alone = field(&status, "Threads:", 10) == Some(1);
        let pending = set("SigPnd:") | if alone { set("ShdPnd:") } else { 0 };
        pending & !set("SigBlk:") & !set("SigIgn:") != 0
    }
}

fn take(handle: &OwnedFd, number: i32) -> Result<OwnedFd, Errno> {
    pidfd_getfd(handle.as_fd(), number, PidfdGetfdFlags::empty()).map_err(|error| match error {
        Errno::PERM => Errno::ACCESS,
        other => other,
    })
}

/// The root folder, which gate and callers share.
pub(super) fn root() -> Result<OwnedFd, Errno> {
    openat(CWD, c"/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}
