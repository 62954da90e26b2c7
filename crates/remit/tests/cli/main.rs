//! What the command line prints, whole, and the codes that it ends with.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files")]

mod capabilities;
mod check;
mod explain;
mod five_minutes;
mod init;
mod log;
mod manners;
mod overview;
mod own_tests;
mod place;
mod reference;
mod state;
mod trust;
mod verify;
mod words;
