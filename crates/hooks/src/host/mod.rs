//! One file per agent program.

mod claude;

pub use claude::Claude;
