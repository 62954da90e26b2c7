//! What a shell command will do to files, as far as its text shows: redirections and common programs with
//! literal operands. It makes for an early, friendly refusal and nothing else: whatever it does not
//! understand it leaves out, and the kernel decides.

mod parse;
mod scan;
mod word;
mod writers;

pub use parse::{DEEPEST, LONGEST, MOST, TooMuch, deeds};
pub use writers::{Deed, Doing, Landing, Spot};
