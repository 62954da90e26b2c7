//! From a plan to a running program. Three processes: the **holder** (the caller), the **gate** (process 1 of the
//! session's own namespaces) and the **agent**, which becomes the program.
//!
//! The holder clones the gate, maps the users, and says go. The gate builds the view, forks the agent and gives up
//! all capabilities but one. The agent gives up all, puts the floor and the filter on itself, and tells the number
//! of the filter's listener. The gate takes the listener and begins to serve; the agent tries what must not work,
//! and becomes the program only if all of it failed, and when the holder has taken note of that. The end of the holder's thread ends the gate, and the end of
//! the gate ends the session.

mod agent;
mod channel;
mod floor;
mod gate_process;
mod holder;
mod self_test;
mod spec;

pub(crate) use holder::News;
pub use holder::{Running, launch, launch_noting};
pub use spec::{Check, ChildExit, LaunchError, Measured, Spec, Stdio, UserMap, WindowSize};
