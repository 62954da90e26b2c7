//! `remit.yaml`: found, read with positions, checked, written.
//!
//! [`find()`] reads the nearest policy file. [`load()`] turns its text into a
//! [`PolicySource`](remit_policy::PolicySource), or says all that is wrong with it ([`load_in()`] looks at the disk for
//! that, too). [`render()`] writes the
//! canonical form, [`init::propose`] a first policy. [`edit`] changes a text and leaves the rest of it as it is,
//! [`fix`] says which changes mend it. [`ground()`] looks at the disk, [`check()`],
//! [`none_but_tracked`], [`run_tests`], [`requires`] and [`provides`] ask a compiled policy.
#![expect(
    clippy::disallowed_methods,
    reason = "this room owns reading the policy file and looking at what it names"
)]

mod capabilities;
pub mod check;
pub mod edit;
pub mod find;
mod finding;
pub mod fix;
pub mod ground;
pub mod init;
mod judge;
mod keys;
pub mod load;
mod modes;
mod nearest;
pub mod own_tests;
mod patterns;
mod read;
pub mod render;
mod rules;
pub mod schema;
mod team;
mod text;
pub mod tracked;
mod tree;

pub use capabilities::{Capability, Claim, provides, requires, unmet};
pub use check::check;
pub use find::{FindError, Found, find};
pub use ground::{Ground, ground};
pub use load::{VERSION, load, load_in, merged};
pub use nearest::{hint, nearest};
pub use own_tests::{run_tests, tested_folders};
pub use render::render;
pub use schema::schema;
pub use tracked::{none_but_tracked, none_not_ignored};
