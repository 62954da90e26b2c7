//! The gate under real system calls: each test runs code inside a session of its own, once as the user that runs
//! the tests and, if that is root, once more as an ordinary one.
#![expect(
    clippy::disallowed_methods,
    reason = "the tests play programs, which open files and start processes"
)]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]
#![expect(unsafe_code, reason = "the tests play programs, which make system calls of every kind")]

mod attacks;
mod calls;
mod life;
mod others;
mod outside;
mod programs;
mod races;
mod session;
mod sockets;
