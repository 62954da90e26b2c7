//! `remit run` as a person meets it: codes, streams, surroundings, git, and nothing left behind.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files and processes")]

mod audit;
mod beside;
mod caches;
mod closed;
mod demo;
mod ends;
mod exits;
mod files;
mod hidden;
mod inside;
mod jobs;
mod leftovers;
mod links;
mod modes;
mod place;
mod records;
mod shell;
mod surroundings;
mod terminal;
mod watch;
