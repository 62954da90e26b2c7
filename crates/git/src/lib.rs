//! What Remit needs to know of git repositories: which one a folder belongs to, who a person is to git, what
//! git runs by itself, and which files it tracks. All of it is read from git's own files, since a session's
//! launch has no time for processes.
#![expect(clippy::disallowed_methods, reason = "reads git's administrative files")]

mod checkout;
mod config;
mod identity;
mod protected;
mod read;
mod tracked;

pub use checkout::{Checkout, checkout};
pub use identity::{Identity, identity};
pub use protected::{Protected, Why, protected};
pub use tracked::{Entry, Tracked, tracked};
