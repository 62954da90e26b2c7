//! From rules to what must be mounted and granted before a session starts.

mod descend;
mod disk;
mod expansion;
mod finish;
mod places;
mod planner;
mod rules;
mod shape;
mod tracked;

pub use disk::{Disk, Found, HostDisk, Kind, Looks, Stat};
pub use planner::{Extra, Request, plan};
pub use rules::{Point, Rules, Where};
pub use shape::{Bind, FloorRule, Link, Plan, Refusal, Rights, Source};
pub use tracked::Tracked;
