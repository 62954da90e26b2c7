//! Confined children: what the kernel holds for a session.
//!
//! A compiled policy becomes a [`plan`](plan::plan): the mounts and masks of a **view**, and the rules of a
//! **floor** (Landlock). [`launch`](launch::launch) builds both around a new process, puts the **gate** (a system
//! call filter whose every question is answered by the session's own process 1) in between, tries what must not
//! work, and starts the program. Everything that narrows going down the tree is held by the view, everything that
//! widens by the floor, and every change of the file tree is judged by the [`Authority`] and done by the gate.
//!
//! [`probe`](probe::probe) says what the kernel here can hold, and [`plain`] starts the few unconfined children
//! that Remit itself needs. Nothing else in the project starts a process, and no other crate has `unsafe`.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate owns processes, mounts and the view of the file tree"
)]

pub mod attend;
pub mod authority;
pub mod endings;
pub mod failure;
pub mod gate;
pub mod launch;
pub mod placeholders;
pub mod plain;
pub mod plan;
pub mod probe;
pub mod pty;
mod raw;
mod relay;
mod screen;
pub mod signals;
pub mod subtree;
mod sys;
pub mod view;

pub use authority::{Authority, Fixed, Operation, Ruling, Target};
