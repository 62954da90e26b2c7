//! What policies mean: the table of cases, attacks on paths, and laws that hold for every policy.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod attacks;
mod laws;
mod meaning;
mod modes;
mod protected;
mod reference;
mod speaking;
mod team;
