//! What this program does when others start it: the work that is timed, in a session or plainly. Each task
//! prints one JSON object.

pub(crate) mod append;
mod calls;
mod hooks;
mod task;
mod timed;

pub(crate) use task::run;
