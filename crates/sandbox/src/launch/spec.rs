//! What a launch is told, and what it tells.

use crate::authority::Authority;
use crate::failure::Failure;
use crate::placeholders::PlaceholderError;
use crate::plan::{Plan, Refusal};
use crate::view::SessionFile;
use remit_core::AbsPath;
use rustix::termios::isatty;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

/// What the program's descriptors 0, 1 and 2 are.
#[derive(Debug)]
pub enum Stdio {
    /// The caller's. If one of them is a terminal, the program stays in the caller's process group and can be
    /// reached from the keyboard (the caller, too: it should ignore what the keyboard sends); otherwise it gets a
    /// process group of its own, in the gate's session, which has no terminal. If input and output are a terminal,
    /// its modes are put back when the program has ended. None of them may be a folder.
    Inherit,
    /// A terminal of the view's own; [`Running::terminal`](super::Running::terminal) is the other end. It is the
    /// controlling terminal of the gate's session, in which the program leads a process group.
    Pty {
        /// Its size.
        size: WindowSize,
        /// Whether the program begins in its foreground, as a job that a shell waits for does.
        front: bool,
    },
    /// These, and a process group as for `Inherit` without a terminal. None of them may be a folder.
    Given([OwnedFd; 3]),
}

impl Stdio {
    /// Whether the program and the caller are at the same terminal.
    pub(super) fn shares_terminal(&self) -> bool {
        let own = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
        matches!(self, Stdio::Inherit) && own.into_iter().any(isatty)
    }
}

/// What is launched.
pub struct Spec {
    /// The view and the floor.
    pub plan: Plan,
    /// The program and its arguments. A name without `/` is looked for in `PATH` of `environment`, in the view.
    pub arguments: Vec<OsString>,
    /// The whole environment; nothing is added.
    pub environment: Vec<(OsString, OsString)>,
    /// The working folder, as the view names it.
    pub cwd: AbsPath,
    /// Input and output.
    pub stdio: Stdio,
    /// Who decides about changes.
    pub authority: Arc<dyn Authority>,
    /// What stands in `/run/remit/session`.
    pub session_files: Vec<SessionFile>,
    /// The file under Remit's state that says who uses which placeholder.
    pub placeholder_record: PathBuf,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildExit {
    /// With a code.
    Code(u8),
    /// By a signal.
    Signal(i32),
    /// With the whole session: its gate is gone, so how the program ended is not known.
    Lost,
}

/// How users of the machine are mapped into the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserMap {
    /// Every user to itself (launched by root).
    All,
    /// The own user and group only.
    Own,
}

/// One try of the self-test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What must not work: `list the covered folder /w/secrets`.
    pub what: String,
    /// Whether it was refused.
    pub held: bool,
    /// What the system said.
    pub seen: String,
}

/// What was measured after restriction, in the session itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// The kernel's Landlock ABI.
    pub landlock_abi: u32,
    /// Whether all that the floor wants is held; if not, the kernel is older than the newest of its rights.
    pub floor_complete: bool,
    /// The user map.
    pub user_map: UserMap,
    /// The self-test.
    pub checks: Vec<Check>,
    /// Folders that could not be put under a layer of the session's own, and so are not seen, each with what the
    /// system said.
    pub unlayered: Vec<(String, String)>,
}

fn lines<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(|item| format!("\n  {item}")).collect()
}

fn failed(checks: &[Check]) -> String {
    let said: Vec<String> =
        checks.iter().filter(|c| !c.held).map(|c| format!("{}: {}", c.what, c.seen)).collect();
    lines(&said)
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The plan has rules that cannot be held.
    #[error("the kernel here cannot hold these rules:{}", lines(.0))]
    Refused(Vec<Refusal>),
    /// The caller has more than one thread.
    #[error("a session must be launched before threads are started, and {0} are running")]
    Threads(usize),
    /// There is no program to start, or an argument, a variable or a name has a NUL byte.
    #[error("the command cannot be passed to a program: {0}")]
    Command(&'static str),
    /// A folder stands where the program's input or output should.
    #[error("{0} is a folder, and would lead out of the session's file tree")]
    Folder(&'static str),
    /// A placeholder.
    #[error(transparent)]
    Placeholder(#[from] PlaceholderError),
    /// A step on the way failed.
    #[error(transparent)]
    Step(#[from] Failure),
    /// The program could not be started, in a view that otherwise stands.
    #[error("`{program}` cannot be started in the session: {}", std::io::Error::from(*.error))]
    Program {
        /// Its name.
        program: String,
        /// What the system said.
        error: rustix::io::Errno,
    },
    /// The self-test found something that is not held.
    #[error("the self-test failed:{}", failed(.0))]
    SelfTest(Vec<Check>),
    /// The caller could not take note of what was measured.
    #[error("the launch cannot be noted: {0}")]
    Note(std::io::Error),
    /// The gate ended without a word.
    #[error("the session's gate ended before the program was started")]
    GateDied,
}
