//! A step that failed between the fork and the start of the program, told to the other side.

use rustix::io::Errno;
use std::fmt;

/// What failed, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The step, in words that follow "cannot": `mount /proc`.
    pub step: String,
    /// What the system said.
    pub error: Errno,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.step, self.error)
    }
}

impl std::error::Error for Failure {}

/// Names the step that a call belongs to.
pub(crate) trait Step<T> {
    /// The same result, with the step.
    fn step(self, words: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T, E: Into<std::io::Error>> Step<T> for Result<T, E> {
    fn step(self, words: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| {
            let error: std::io::Error = error.into();
            Failure { step: words(), error: Errno::from_io_error(&error).unwrap_or(Errno::IO) }
        })
    }
}
