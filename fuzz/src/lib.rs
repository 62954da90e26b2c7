//! What must hold whatever bytes come in: one check for each place where Remit reads what others wrote. A check
//! panics where a promise is broken. The fuzzers call them with bytes of their own, and a test of the
//! workspace with the files of `corpus/`.

mod documents;
mod doors;
mod lines;
mod world;

pub use documents::{decide, pattern, policy_document};
pub use doors::{hook_input, session_wire};
pub use lines::ledger_line;
