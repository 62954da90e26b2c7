//! What a shell command will do to files, as far as its text shows: redirections and common programs with
//! literal operands. It makes for an early, friendly refusal and nothing else: whatever it does not
//! understand it leaves out, and the kernel decides.
//!
//! **The working folder** is followed through `cd`, by how the command before it ended: through `&&`, `||`, `!`,
//! branches, loops, functions and subshells. A `cd` to a folder that is not there, and that nothing before it in the
//! same command makes, fails: the shell stays where it is. What is never reached (`false && …`, after `exit`) does
//! nothing.
//!
//! Where branches come together the shell may stand in several folders. Inside a session a relative path is left out
//! then: the kernel judges what is really done, and a refusal here might be wrong. Outside, where nothing else holds
//! the agent, each of the folders is judged, and one refusal is enough; the way out is to name the folder. Where the
//! folder is not known at all (`cd $x`), relative paths are left out on both sides.

mod compound;
mod parse;
mod places;
mod readers;
mod scan;
mod simple;
mod word;
mod writers;

pub use parse::{DEEPEST, LONGEST, MOST, TooMuch, deeds};
pub use writers::{Deed, Doing, Landing, Spot};
