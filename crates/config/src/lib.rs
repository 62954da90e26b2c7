//! `remit.yaml`: found, read with positions, checked, written.
//!
//! [`find`] reads the nearest policy file. [`load`] turns its text into a
//! [`PolicySource`](remit_policy::PolicySource), or says all that is wrong with it. [`render`] writes the
//! canonical form, [`init::propose`] a first policy.
#![expect(
    clippy::disallowed_methods,
    reason = "this room owns reading the policy file and looking at what it names"
)]

pub mod find;
mod finding;
pub mod init;
pub mod load;
mod nearest;
mod read;
pub mod render;
mod rules;
mod team;
mod text;
mod tree;

pub use find::{FindError, Found, find};
pub use load::load;
pub use render::render;
