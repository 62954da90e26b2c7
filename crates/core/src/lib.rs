//! The words every process of Remit shares: names, paths, actions, decisions, diagnostics, exit codes and
//! the wire of the session socket. No IO, no clock, no randomness, no panics.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

pub mod action;
pub mod decision;
pub mod diagnostic;
pub mod exit;
pub mod name;
pub mod path;
pub mod wire;

pub use action::{Action, Actor, Assurance, Object, Verb};
pub use decision::{Decision, Digest, Effect, Layer, Reason, Rule, Why};
pub use diagnostic::{Diagnostic, Place, Severity};
pub use exit::Exit;
pub use name::{AgentName, CallId, SessionId};
pub use path::{AbsPath, PathError};
