//! The caller's side of a session.

use super::agent::Command;
use super::channel::{Channel, GO, LONGEST, Order, Report};
use super::gate_process::gate_process;
use super::self_test;
use super::spec::{ChildExit, LaunchError, Measured, Spec, Stdio, UserMap};
use crate::failure::{Failure, Step};
use crate::placeholders::{self, Holding};
use crate::pty::Modes;
use crate::raw::{self, Side};
use remit_core::AbsPath;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::fmt::Write as _;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long the gate may take to answer a message.
const PATIENCE: Duration = Duration::from_secs(10);

/// A session that runs. Dropping it ends the session.
pub struct Running {
    gate: Pid,
    life: Option<Channel>,
    control: Mutex<Control>,
    terminal: Option<OwnedFd>,
    shares_terminal: bool,
    measured: Measured,
    /// What the gate has told.
    told: OnceLock<ChildExit>,
    ended: OnceLock<ChildExit>,
    placeholders: Option<Holding>,
    /// Of the terminal that the program has inherited; put back when it has ended.
    modes: Mutex<Option<Modes>>,
}

/// What becomes of a program.
pub(crate) enum News {
    /// This signal has stopped it.
    Stopped(i32),
    /// It has ended; what it left behind is being ended.
    Ended,
    /// Nothing is left.
    Over,
}

struct Control {
    channel: Channel,
    last: u32,
}

/// Starts a session. The calling process must have one thread, and the calling thread must live as long as the
/// session: its end is the session's.
pub fn launch(spec: Spec) -> Result<Running, LaunchError> {
    launch_noting(spec, |_| Ok(()))
}

/// The same; `note` is told what was measured before the program begins, and if it fails, nothing begins.
pub fn launch_noting(
    spec: Spec,
    note: impl FnOnce(&Measured) -> io::Result<()>,
) -> Result<Running, LaunchError> {
    if !spec.plan.refused.is_empty() {
        return Err(LaunchError::Refused(spec.plan.refused));
    }
    match threads().step(|| "count the threads of this process".to_owned())? {
        1 => {}
        more => return Err(LaunchError::Threads(more)),
    }
    no_folder(&spec.stdio)?;
    let command = Command::new(&spec.arguments, &spec.environment)?;
    let ipc = self_test::ipc_namespace().step(|| "know the namespace of shared memory".to_owned())?;
    let modes = matches!(spec.stdio, Stdio::Inherit).then(Modes::of_terminal).flatten();
    let shares_terminal = spec.stdio.shares_terminal();
    let holding =
        placeholders::hold(&spec.placeholder_record, &spec.plan.placeholders, &spec.plan.new_folders)?;
    let pair = || Channel::pair().step(|| "make a channel".to_owned());
    let ((life, gate_life), (control, gate_control)) = (pair()?, pair()?);
    let gate = match raw::clone_session().step(|| "make user, mount and process namespaces".to_owned())? {
        Side::Child => {
            drop((life, control));
            gate_process(spec, &command, ipc, gate_life, gate_control)
        }
        Side::Parent(gate) => gate,
    };
    drop((gate_life, gate_control));
    let started = map_users(gate).map_err(LaunchError::Step).and_then(|user_map| {
        life.send(GO).step(|| "reach the gate".to_owned())?;
        // While the gate works: memory that both share by now is not given back for nothing.
        drop(spec);
        watch(&life, &command, |measured| {
            measured.user_map = user_map;
            note(measured)
        })
    });
    match started {
        Ok((measured, terminal)) => Ok(Running {
            gate,
            life: Some(life),
            control: Mutex::new(Control { channel: control, last: 0 }),
            terminal,
            shares_terminal,
            measured,
            told: OnceLock::new(),
            ended: OnceLock::new(),
            placeholders: Some(holding),
            modes: Mutex::new(modes),
        }),
        Err(error) => {
            end(gate);
            Err(error)
        }
    }
}

/// A folder as input or output would lead out of the session's file tree: `..` of it is the machine's.
fn no_folder(stdio: &Stdio) -> Result<(), LaunchError> {
    let own = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    let files = match stdio {
        Stdio::Inherit => own,
        Stdio::Given([input, output, error]) => [input.as_fd(), output.as_fd(), error.as_fd()],
        Stdio::Pty { .. } => return Ok(()),
    };
    let is_folder = |file: BorrowedFd<'_>| match fstat(file) {
        Ok(stat) => FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
        // Nothing is open there.
        Err(_) => false,
    };
    let names = ["standard input", "standard output", "standard error"];
    match names.into_iter().zip(files).find(|(_, file)| is_folder(*file)) {
        Some((name, _)) => Err(LaunchError::Folder(name)),
        None => Ok(()),
    }
}

fn threads() -> io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}

/// Maps users and groups of the machine into the session's namespace, each to itself.
fn map_users(gate: Pid) -> Result<UserMap, Failure> {
    let gate = gate.as_raw_nonzero();
    let put = |file: &str, text: &str| std::fs::write(format!("/proc/{gate}/{file}"), text);
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() {
        let all = identity("/proc/self/uid_map").and_then(|map| put("uid_map", &map));
        match all {
            Ok(()) => {
                let groups = identity("/proc/self/gid_map").and_then(|map| put("gid_map", &map));
                return groups.step(|| "map the groups".to_owned()).map(|()| UserMap::All);
            }
            // User 0 without the right to do so, as in some containers.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error).step(|| "map the users".to_owned()),
        }
    }
    put("setgroups", "deny").step(|| "forbid changes of groups".to_owned())?;
    let (user, group) = (user.as_raw(), group.as_raw());
    put("uid_map", &format!("{user} {user} 1")).step(|| "map the user".to_owned())?;
    put("gid_map", &format!("{group} {group} 1")).step(|| "map the group".to_owned())?;
    Ok(UserMap::Own)
}

/// The ids that this process's own map knows, each mapped to itself.
fn identity(own: &str) -> io::Result<String> {
    let text = std::fs::read_to_string(own)?;
    let mut map = String::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(first), Some(_), Some(count)) = (words.next(), words.next(), words.next()) else {
            return Err(io::Error::other("an unknown form of map"));
        };
        writeln!(map, "{first} {first} {count}").map_err(io::Error::other)?;
    }
    Ok(map)
}

fn watch(
    life: &Channel,
    command: &Command,
    note: impl FnOnce(&mut Measured) -> io::Result<()>,
) -> Result<(Measured, Option<OwnedFd>), LaunchError> {
    let mut note = Some(note);
    let mut terminal = None;
    let mut measured = None;
    loop {
        let (bytes, file) = life.receive().step(|| "reach the gate".to_owned())?;
        match (Report::read(&bytes), measured.take()) {
            (Some(Report::Terminal), _) => terminal = file,
            (Some(Report::Measured(seen)), _) if seen.checks.iter().any(|check| !check.held) => {
                return Err(LaunchError::SelfTest(seen.checks));
            }
            (Some(Report::Measured(mut seen)), _) => {
                note.take().map_or(Ok(()), |note| note(&mut seen)).map_err(LaunchError::Note)?;
                life.send(GO).step(|| "reach the gate".to_owned())?;
                measured = Some(seen);
            }
            (Some(Report::Started), Some(measured)) => return Ok((measured, terminal)),
            (Some(Report::Failed(failure)), _) => return Err(failure.into()),
            (Some(Report::NoProgram(failure)), _) => {
                return Err(LaunchError::Program { program: command.program(), error: failure.error });
            }
            _ => return Err(LaunchError::GateDied),
        }
    }
}

/// Ends a gate at once, and with it its session.
fn end(gate: Pid) {
    raw::signal(gate, false, libc::SIGKILL).ok();
    while let Err(Errno::INTR) = waitpid(Some(gate), WaitOptions::empty()) {}
}

impl Running {
    /// Granted folders that did not exist and could not be made, and why: they are not seen in the session.
    pub fn unmade(&self) -> &[(AbsPath, Errno)] {
        self.placeholders.as_ref().map_or(&[], Holding::unmade)
    }

    /// Waits until the program has ended and all that it left behind is gone. May be called again. Somebody must
    /// read the session's terminal meanwhile, or a program that writes much never ends, and let a program that was
    /// stopped go on: [`attend`](crate::attend::attend) does both.
    pub fn wait(&self) -> ChildExit {
        *self.ended.get_or_init(|| {
            while !matches!(self.news(), News::Over) {}
            while let Err(Errno::INTR) = waitpid(Some(self.gate), WaitOptions::empty()) {}
            drop(self.modes.lock().unwrap_or_else(PoisonError::into_inner).take());
            self.told.get().copied().unwrap_or(ChildExit::Lost)
        })
    }

    /// Waits for what becomes of the program. After the last news, the last again.
    pub(crate) fn news(&self) -> News {
        loop {
            let Some(Ok((bytes, _))) = self.life.as_ref().map(Channel::receive) else { return News::Over };
            match Report::read(&bytes) {
                Some(Report::Stopped(signal)) => return News::Stopped(signal),
                Some(Report::Ended(how)) => {
                    self.told.get_or_init(|| how);
                    return News::Ended;
                }
                Some(Report::Closed) | None => return News::Over,
                Some(_) => {}
            }
        }
    }

    /// The descriptor to poll for news; none if there are none.
    pub(crate) fn news_file(&self) -> Option<&OwnedFd> {
        self.life.as_ref().map(Channel::file)
    }

    /// Sends a message to the authority in the gate and waits for its answer, at most 10 seconds. Messages and
    /// answers have at most 128 KiB less four bytes.
    pub fn control(&self, message: &[u8]) -> io::Result<Vec<u8>> {
        if message.len() > LONGEST - 4 {
            return Err(Errno::MSGSIZE.into());
        }
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        control.last = control.last.wrapping_add(1);
        let number = control.last.to_ne_bytes();
        control.channel.send(&[&number, message].concat())?;
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let wait = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut files = [PollFd::new(control.channel.file(), PollFlags::IN)];
            match poll(&mut files, Some(&wait)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let (bytes, _) = control.channel.receive()?;
            match bytes.split_first_chunk::<4>() {
                None => return Err(io::ErrorKind::BrokenPipe.into()),
                Some((answered, answer)) if *answered == number => return Ok(answer.to_vec()),
                // The late answer to a message that was given up.
                Some(_) => {}
            }
        }
    }

    /// Sends a signal to the program: to its process group, unless that is the caller's, too.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        self.order(Order::Signal(signal))
    }

    /// Puts the program in the foreground of the session's terminal, or in the background, where using the
    /// terminal stops it.
    pub(crate) fn bring(&self, front: bool) -> io::Result<()> {
        self.order(Order::Front(front))
    }

    fn order(&self, order: Order) -> io::Result<()> {
        match &self.life {
            Some(life) => Ok(life.send(&order.bytes())?),
            None => Ok(()),
        }
    }

    /// Ends the session at once.
    pub fn kill(&self) {
        if self.ended.get().is_none() {
            // Not reaped yet, so the number is still the gate's.
            raw::signal(self.gate, false, libc::SIGKILL).ok();
        }
    }

    /// The holder's end of the session's terminal, if it has one.
    pub fn terminal(&self) -> Option<&OwnedFd> {
        self.terminal.as_ref()
    }

    /// Whether the program is in the caller's process group, at the caller's terminal.
    pub(crate) fn shares_terminal(&self) -> bool {
        self.shares_terminal
    }

    /// What was measured after restriction.
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// The gate's process id, as the machine numbers it.
    pub fn gate(&self) -> u32 {
        self.gate.as_raw_nonzero().get().unsigned_abs()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended.get().is_none() {
            end(self.gate);
        }
        self.life = None;
        self.placeholders = None;
    }
}
