//! A scratch machine for one test: folders and environment ([`scratch`]), git repositories with the same commits
//! every time ([`repo`]), programs run to their end ([`outcome`]), output without what differs from run to run
//! ([`normal`]), and the end of whatever was left running ([`leftovers`]).

mod leftovers;
mod normal;
mod outcome;
mod repo;
mod scratch;

pub use outcome::Outcome;
pub use repo::Repo;
pub use scratch::{NOBODY, TestEnv};
