//! Being told of changes. Whoever watches a folder is told the names that change in it, and the floor does not hold
//! that: so where a session sees folders that it may not list, the gate sets the watch, on what has been judged.

use super::caller::Caller;
use super::halt::Halt;
use super::place::{Object, Standing};
use super::plan::{Deed, End, Plan, Planned, Reply};
use super::resolve::{Links, target};
use super::table::Call;
use remit_core::Verb;
use rustix::fs::inotify::{self, WatchFlags};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, OwnedFd};

/// A watch to be set.
#[derive(Debug)]
pub(super) struct Watching {
    inotify: OwnedFd,
    object: Object,
    flags: WatchFlags,
}

/// Plans `inotify_add_watch`. The other way to watch, which few programs know, does not exist in such a session.
pub(super) fn plan(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    if i64::from(call.0) != libc::SYS_inotify_add_watch {
        return Err(Errno::PERM.into());
    }
    let [number, path, mask, ..] = caller.notice().arguments;
    let flags = WatchFlags::from_bits_retain(mask as u32);
    let inotify = caller.descriptor(number as i32)?;
    let path = caller.string(path)?;
    let links = if flags.contains(WatchFlags::DONT_FOLLOW) { Links::Keep } else { Links::Follow };
    let object = target(caller, libc::AT_FDCWD, Some(&path), links, false)?;
    let gate = caller.gate();
    let readable = match object.standing {
        Standing::Named | Standing::Fixed => {
            gate.authority().may(Verb::Read, &object.path) || gate.mounts().is_own(&object.fd)
        }
        Standing::Nameless | Standing::Held | Standing::Proc | Standing::Foreign => true,
        Standing::Outside => false,
    };
    let end = End::of(&object, &path);
    let standing = if readable { Standing::Held } else { object.standing };
    let deed = Deed::Watch(Watching { inotify, object, flags });
    Ok(Plan { verb: Verb::Read, syscall: call.1, end, to: None, standing, deed }.into())
}

impl Watching {
    /// Does it.
    pub(super) fn perform(&self) -> Reply {
        let path = format!("/proc/self/fd/{}", self.object.fd.as_raw_fd());
        // The last link leads to the object itself, whatever that is.
        let flags = self.flags.difference(WatchFlags::DONT_FOLLOW);
        match inotify::add_watch(&self.inotify, path, flags) {
            Ok(number) => Reply::Value(number.into()),
            Err(error) => Reply::Error(error),
        }
    }
}
