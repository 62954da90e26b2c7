//! From rules to what must be mounted and granted before a session starts.

mod build;
mod disk;
mod finish;
mod rules;
mod shape;
mod survey;

pub use build::{Extra, Request, plan};
pub use disk::{Disk, Found, HostDisk, Kind, Stat};
pub use rules::{Point, Rules, Where};
pub use shape::{Bind, FloorRule, Link, Plan, Refusal, Rights, Source};
