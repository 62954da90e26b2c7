//! What Remit needs to know of git repositories. Finding the main checkout and a person's identity reads git's
//! own small files, since a session's launch has no time for two processes.
#![expect(clippy::disallowed_methods, reason = "reads git's administrative files")]

mod checkout;
mod identity;

pub use checkout::{Checkout, checkout};
pub use identity::{Identity, identity};
