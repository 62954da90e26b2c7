//! Exit codes of the program: an interface, so one documented enum. `remit hook` has its own table (0 and 2
//! only); `remit run` answers with the child's code.

/// What the process answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Yes; done.
    Yes = 0,
    /// No: denied, or a check failed.
    No = 1,
    /// The command line is wrong.
    Usage = 2,
    /// `remit.yaml`, or another configuration file, is wrong or missing.
    Config = 3,
    /// A file, the ledger or the store could not be read or written.
    Io = 4,
    /// The kernel here cannot hold the session, and the policy does not allow less.
    Sandbox = 5,
    /// What was named does not exist.
    NotFound = 6,
    /// Somebody else changed it first.
    Conflict = 7,
    /// A person must be asked.
    Ask = 8,
    /// `remit run`: the child never started.
    NeverStarted = 125,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// The shell's number for a child that ended by a signal.
pub fn by_signal(signal: i32) -> u8 {
    u8::try_from(signal.saturating_add(128)).unwrap_or(255)
}
