//! A session: one run of an agent. This crate knows the agent CLIs (`adapter`), what a session has of its own
//! (`base`, `home`), how its tool calls and system calls are answered and recorded (`desk`, `warden`), and
//! starts and holds it (`holder`).
//!
//! Data flow: `workspace` opens `remit.yaml` and the ledger → `holder` makes the home, compiles the policy for
//! this machine, plans the view and launches the gate with a `warden` → the hook's requests come over the
//! session's socket to the `desk`, system calls to the `warden`; both call `remit_policy::decide` and append
//! to the ledger before they answer.
#![expect(clippy::disallowed_methods, reason = "makes private homes, sockets and session files")]

pub mod adapter;
pub mod audit;
pub mod base;
pub mod caches;
pub mod calls;
pub mod choose;
pub mod desk;
pub mod environment;
pub mod facts;
mod git_hooks;
pub mod handed;
pub mod holder;
pub mod home;
pub mod ignored;
pub mod lease;
pub mod lineage;
pub mod links;
pub mod listings;
pub mod outside;
pub mod reads;
pub mod recorder;
pub mod refusals;
pub mod scratch;
pub mod socket;
pub mod survey;
pub mod syncer;
pub mod trust;
pub mod unignored;
pub mod warden;
pub mod words;
pub mod workspace;
mod worktree;
