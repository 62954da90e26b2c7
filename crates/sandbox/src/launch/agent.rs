//! The process that becomes the program: gives up everything, shows that it has, and starts it.

use super::channel::{Channel, GO, Report};
use super::floor;
use super::self_test;
use super::spec::{LaunchError, Measured, UserMap};
use crate::failure::{Failure, Step};
use crate::gate::{self, Stops};
use crate::plan::Plan;
use crate::raw::{self, Signals};
use remit_core::AbsPath;
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{DumpableBehavior, chdir, set_dumpable_behavior};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};
use std::convert::Infallible;
use std::ffi::{CString, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What the program is told, ready for the kernel.
pub(super) struct Command {
    arguments: Vec<CString>,
    environment: Vec<CString>,
    /// Where the program may be.
    candidates: Vec<CString>,
}

impl Command {
    pub(super) fn new(
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
    ) -> Result<Self, LaunchError> {
        let nul = |_| LaunchError::Command("a NUL byte stands in it");
        let words = |s: &OsString| CString::new(s.as_bytes()).map_err(nul);
        let arguments: Vec<CString> = arguments.iter().map(words).collect::<Result<_, _>>()?;
        let program = arguments.first().ok_or(LaunchError::Command("it is empty"))?.clone();
        let variable = |(name, value): &(OsString, OsString)| {
            let mut text = name.clone();
            text.push("=");
            text.push(value);
            CString::new(text.into_vec()).map_err(nul)
        };
        let candidates = if program.as_bytes().contains(&b'/') {
            vec![program]
        } else {
            let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_bytes());
            let folders = path.unwrap_or_default().split(|b| *b == b':').filter(|folder| !folder.is_empty());
            folders
                .map(|folder| CString::new([folder, b"/", program.as_bytes()].concat()).map_err(nul))
                .collect::<Result<_, _>>()?
        };
        let environment = environment.iter().map(variable).collect::<Result<_, _>>()?;
        Ok(Self { arguments, environment, candidates })
    }

    pub(super) fn program(&self) -> String {
        self.arguments.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Becomes the program. Returns only if there is none.
    fn start(&self) -> Errno {
        let mut answer = Errno::NOENT;
        for candidate in &self.candidates {
            match raw::exec(candidate, &self.arguments, &self.environment) {
                Errno::NOENT | Errno::NOTDIR => {}
                // Another folder of PATH may have one that may be started.
                Errno::ACCESS => answer = Errno::ACCESS,
                other => return other,
            }
        }
        answer
    }
}

/// The program's input and output.
pub(super) enum Files {
    /// As they are.
    Same,
    /// This terminal, which is the session's already.
    Terminal(OwnedFd),
    /// These.
    Given([OwnedFd; 3]),
}

/// What the agent knows of the session.
pub(super) struct Setting<'a> {
    pub(super) plan: &'a Plan,
    pub(super) command: &'a Command,
    pub(super) cwd: &'a AbsPath,
    /// What the filter stops beside changes.
    pub(super) stops: Stops,
    /// The holder's IPC namespace.
    pub(super) ipc: u64,
    /// What could not be put under a layer, and why.
    pub(super) unlayered: Vec<(AbsPath, Errno)>,
}

/// Runs the agent's part. Never returns.
pub(super) fn agent(setting: &Setting<'_>, files: Files, gate: &Channel) -> ! {
    let Err(failure) = prepare(setting, files, gate);
    // If even this cannot be told, the gate sees the end of this process.
    gate.send(&failure.bytes()).ok();
    raw::leave(125)
}

fn prepare(setting: &Setting<'_>, files: Files, gate: &Channel) -> Result<Infallible, Report> {
    let command = setting.command;
    restrict(setting, files, gate).map_err(Report::Failed)?;
    let Err(error) = raw::close_all_at_exec().map(|()| command.start()).and_then(Err::<Infallible, _>);
    Err(Report::NoProgram(Failure { step: format!("start `{}`", command.program()), error }))
}

fn restrict(setting: &Setting<'_>, files: Files, gate: &Channel) -> Result<(), Failure> {
    let Setting { plan, cwd, stops, ipc, ref unlayered, .. } = *setting;
    raw::set_signals(Signals::Fresh);
    connect(files).step(|| "connect input and output".to_owned())?;
    chdir(cwd.as_path()).step(|| format!("enter the working folder {cwd} in the session"))?;
    let filter = gate::program(stops);
    give_up(CapabilitySet::empty()).step(|| "give up capabilities".to_owned())?;
    set_dumpable_behavior(DumpableBehavior::Dumpable).step(|| "become visible to debuggers".to_owned())?;
    let floor = floor::restrict(plan)?;
    let mut checks = self_test::floor(plan);
    let listener = gate::install(&filter).step(|| "install the system call filter".to_owned())?;
    gate.send(&Report::Listener(listener).bytes()).step(|| "reach the gate".to_owned())?;
    wait_for_go(gate)?;
    checks.extend(self_test::all(plan, ipc));
    let (landlock_abi, floor_complete) = (floor.abi, floor.complete);
    let unlayered = unlayered.iter().map(|(path, error)| (path.to_string(), error.to_string())).collect();
    let user_map = UserMap::Own;
    let measured = Measured { landlock_abi, floor_complete, user_map, checks, unlayered };
    let held = measured.checks.iter().all(|check| check.held);
    gate.send(&Report::Measured(measured).bytes()).step(|| "reach the gate".to_owned())?;
    if !held {
        return Err(Errno::PERM).step(|| "pass the self-test".to_owned());
    }
    wait_for_go(gate)
}

fn wait_for_go(gate: &Channel) -> Result<(), Failure> {
    match gate.receive().step(|| "reach the gate".to_owned())? {
        (word, _) if word == GO => Ok(()),
        _ => Err(Errno::PIPE).step(|| "reach the gate".to_owned()),
    }
}

/// Keeps these capabilities at most, for ever, for this process and all that it starts.
pub(super) fn give_up(keep: CapabilitySet) -> Result<(), Errno> {
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if keep.contains(one) {
            continue;
        }
        match remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // The first number that the kernel does not know.
            Err(Errno::INVAL) if number > 0 => break,
            Err(error) => return Err(error),
        }
    }
    clear_ambient_capability_set()?;
    let sets = CapabilitySets { effective: keep, permitted: keep, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets)?;
    set_no_new_privs(true)
}

fn connect(files: Files) -> Result<(), Errno> {
    let given = match files {
        Files::Same => return Ok(()),
        Files::Terminal(terminal) => [terminal.try_clone(), terminal.try_clone(), Ok(terminal)]
            .map(|file| file.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))),
        Files::Given(files) => files.map(Ok),
    };
    // Out of the way of the numbers that they shall have.
    let [input, output, error] = given.map(|file| fcntl_dupfd_cloexec(file?, 3));
    dup2_stdin(input?)?;
    dup2_stdout(output?)?;
    dup2_stderr(error?)
}
