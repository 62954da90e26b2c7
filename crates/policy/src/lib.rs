//! All judgement. A [`PolicySource`] (what `remit.yaml` says, with positions) and a [`World`] (where things
//! are on this machine) compile into a [`Policy`], which never changes; [`decide`] answers an action with a
//! [`Decision`](remit_core::Decision) and its reasons. Nothing here does IO, knows the time or panics.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

pub mod access;
pub mod source;
pub mod world;

pub use access::Access;
pub use source::PolicySource;
pub use world::{BaseRule, World};
