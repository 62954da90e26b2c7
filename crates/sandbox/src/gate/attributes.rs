//! Length, permission bits, owner, times and extended attributes: all changed through the descriptor of the
//! judged object. The calls that take a descriptor stop here too, for one that is open for reading is enough.

use super::caller::Caller;
use super::halt::Halt;
use super::names::either;
use super::open::MODES;
use super::place::{Object, Standing};
use super::plan::{Deed, End, Plan, Planned, Reply};
use super::resolve::{Links, target};
use super::serve::Gate;
use super::table::{Call, Family};
use crate::sys;
use remit_core::Verb;
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid, XattrFlags,
    chownat, ftruncate, removexattr, setxattr, utimensat,
};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd};

/// The longest name of an extended attribute, in bytes.
const LONGEST_NAME: usize = 255;

/// The longest value of an extended attribute, in bytes; that of Linux.
const LONGEST_VALUE: u64 = 64 << 10;

/// The attribute that holds a folder's access list, whose first entry takes the place of the owner's bits.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// The bits that it takes to list and to enter a folder.
const LOOKED_THROUGH: u32 = 0o5;

/// What an access list gives the owner, in the kernel's form: four bytes of version, then entries of tag, bits and
/// number. None if it does not say.
fn owner_in(list: &[u8]) -> Option<u32> {
    const OWNER: [u8; 2] = 1u16.to_le_bytes();
    let entries = list.get(4..)?.chunks_exact(8);
    let bits = |entry: &[u8]| Some(u32::from(*entry.get(2)?));
    entries.into_iter().find(|entry| entry.starts_with(&OWNER)).and_then(bits)
}

/// A change of what something carries.
#[derive(Debug)]
pub(super) struct Change {
    object: Object,
    what: What,
}

#[derive(Debug)]
enum What {
    Length(u64),
    Mode(u32),
    Owner(Option<Uid>, Option<Gid>),
    Times(Timestamps),
    Set { name: Vec<u8>, value: Vec<u8>, flags: XattrFlags },
    Unset { name: Vec<u8> },
}

/// Plans the calls of all five families.
pub(super) fn plan(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    match call.family() {
        Some(Family::Truncate) => truncate(caller, call),
        Some(Family::Mode) => mode(caller, call),
        Some(Family::Owner) => owner(caller, call),
        Some(Family::Times) => times(caller, call),
        _ => attribute(caller, call),
    }
}

/// What a call is about: a path, or the descriptor itself.
struct Aim {
    base: i32,
    path: Option<u64>,
    links: Links,
    empty: bool,
}

impl Aim {
    fn path(path: u64, links: Links) -> Self {
        Self { base: libc::AT_FDCWD, path: Some(path), links, empty: false }
    }

    fn descriptor(number: u64) -> Self {
        Self { base: number as i32, path: None, links: Links::Follow, empty: true }
    }

    fn at(base: u64, path: u64, flags: AtFlags) -> Result<Self, Errno> {
        if !(AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
            return Err(Errno::INVAL);
        }
        let links = if flags.contains(AtFlags::SYMLINK_NOFOLLOW) { Links::Keep } else { Links::Follow };
        let empty = flags.contains(AtFlags::EMPTY_PATH);
        Ok(Self { base: base as i32, path: Some(path), links, empty })
    }

    /// Finds it, and what the caller called it.
    fn find(&self, caller: &Caller<'_>) -> Result<(Object, Vec<u8>), Halt> {
        let asked = self.path.map(|path| caller.string(path)).transpose()?;
        let object = target(caller, self.base, asked.as_deref(), self.links, self.empty)?;
        // A descriptor without access to the content is none for the calls that take nothing else.
        if self.path.is_none() && rustix::fs::fcntl_getfl(&object.fd)?.contains(OFlags::PATH) {
            return Err(Errno::BADF.into());
        }
        Ok((object, asked.unwrap_or_default()))
    }

    fn plan(
        &self,
        caller: &Caller<'_>,
        call: &Call,
        what: impl FnOnce(&Object) -> Result<What, Errno>,
    ) -> Result<Planned, Halt> {
        let (object, asked) = self.find(caller)?;
        let what = what(&object)?;
        // Nothing of what the kernel shows on /proc carries anything that could be changed to any use.
        if object.standing == Standing::Proc {
            return Err(Errno::PERM.into());
        }
        let (end, standing) = (End::of(&object, &asked), object.standing);
        // To hold a file open for writing is no right to change what else it carries.
        let standing = match &what {
            What::Length(_) => object.standing_for(OFlags::WRONLY),
            What::Times(_) => standing,
            // Its mode is what it is known by, and another session's cover stands on it.
            _ if object.is_placeholder() => either(standing, Standing::Fixed),
            _ => standing,
        };
        let deed = Deed::Change(Change { object, what });
        Ok(Plan { verb: Verb::Write, syscall: call.1, end, to: None, standing, deed }.into())
    }
}

fn truncate(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [path, length, ..] = caller.notice().arguments;
    if (length as i64) < 0 {
        return Err(Errno::INVAL.into());
    }
    Aim::path(path, Links::Follow).plan(caller, call, |object| match object.kind() {
        FileType::RegularFile => Ok(What::Length(length)),
        FileType::Directory => Err(Errno::ISDIR),
        _ => Err(Errno::INVAL),
    })
}

fn mode(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [a, b, c, d, ..] = caller.notice().arguments;
    let (aim, mode) = match i64::from(call.0) {
        libc::SYS_chmod => (Aim::path(a, Links::Follow), b),
        libc::SYS_fchmod => (Aim::descriptor(a), b),
        libc::SYS_fchmodat2 => (Aim::at(a, b, AtFlags::from_bits_retain(d as u32))?, c),
        // The older call has no flags.
        _ => (Aim::at(a, b, AtFlags::empty())?, c),
    };
    aim.plan(caller, call, |object| {
        // A folder may pass its group on; for files see the modes of new ones.
        let bits = if object.is_folder() { MODES | libc::S_ISGID } else { MODES };
        Ok(What::Mode(mode as u32 & bits))
    })
}

fn owner(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [a, b, c, d, e, ..] = caller.notice().arguments;
    let (aim, user, group) = match i64::from(call.0) {
        libc::SYS_chown => (Aim::path(a, Links::Follow), b, c),
        libc::SYS_lchown => (Aim::path(a, Links::Keep), b, c),
        libc::SYS_fchown => (Aim::descriptor(a), b, c),
        _ => (Aim::at(a, b, AtFlags::from_bits_retain(e as u32))?, c, d),
    };
    // All bits set means: as it is.
    let id = |raw: u64| Some(raw as u32).filter(|id| *id != u32::MAX);
    let (user, group) = (id(user).map(Uid::from_raw), id(group).map(Gid::from_raw));
    aim.plan(caller, call, |_| Ok(What::Owner(user, group)))
}

fn times(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [a, b, c, d, ..] = caller.notice().arguments;
    let by_descriptor = b == 0 && a as i32 != libc::AT_FDCWD;
    let (aim, address) = match i64::from(call.0) {
        libc::SYS_utime | libc::SYS_utimes => (Aim::path(a, Links::Follow), b),
        libc::SYS_futimesat if by_descriptor => (Aim::descriptor(a), c),
        libc::SYS_futimesat => (Aim::at(a, b, AtFlags::empty())?, c),
        _ if by_descriptor => {
            if d as u32 != 0 {
                return Err(Errno::INVAL.into());
            }
            (Aim::descriptor(a), c)
        }
        _ => (Aim::at(a, b, AtFlags::from_bits_retain(d as u32))?, c),
    };
    let times = if address == 0 { now() } else { read_times(caller, call, address)? };
    if times.last_access.tv_nsec == UTIME_OMIT && times.last_modification.tv_nsec == UTIME_OMIT {
        return Ok(Planned::Now(Reply::Value(0)));
    }
    aim.plan(caller, call, |_| Ok(What::Times(times)))
}

/// What no times at all mean.
fn now() -> Timestamps {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    Timestamps { last_access: now, last_modification: now }
}

fn read_times(caller: &Caller<'_>, call: &Call, address: u64) -> Result<Timestamps, Errno> {
    let seconds_only = i64::from(call.0) == libc::SYS_utime;
    let bytes = caller.bytes(address, if seconds_only { 16 } else { 32 })?;
    let mut words =
        bytes.chunks_exact(8).map(|word| word.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)));
    let mut word = || words.next().map_or(0, |word| word as i64);
    let mut one = || {
        let tv_sec = word();
        let fraction = if seconds_only { 0 } else { word() };
        let tv_nsec = match i64::from(call.0) {
            libc::SYS_utimensat => fraction,
            _ if (0..1_000_000).contains(&fraction) => fraction * 1000,
            _ => return Err(Errno::INVAL),
        };
        Ok(Timespec { tv_sec, tv_nsec })
    };
    Ok(Timestamps { last_access: one()?, last_modification: one()? })
}

fn attribute(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [a, name, value, size, flags, ..] = caller.notice().arguments;
    let (aim, sets) = match i64::from(call.0) {
        libc::SYS_setxattr => (Aim::path(a, Links::Follow), true),
        libc::SYS_lsetxattr => (Aim::path(a, Links::Keep), true),
        libc::SYS_fsetxattr => (Aim::descriptor(a), true),
        libc::SYS_removexattr => (Aim::path(a, Links::Follow), false),
        libc::SYS_lremovexattr => (Aim::path(a, Links::Keep), false),
        _ => (Aim::descriptor(a), false),
    };
    let name = match caller.string(name) {
        Ok(name) if (1..=LONGEST_NAME).contains(&name.len()) => name,
        Ok(_) | Err(Errno::NAMETOOLONG) => return Err(Errno::RANGE.into()),
        Err(error) => return Err(error.into()),
    };
    let what = if sets {
        if size > LONGEST_VALUE {
            return Err(Errno::TOOBIG.into());
        }
        let value = caller.bytes(value, size as usize)?;
        What::Set { name, value, flags: XattrFlags::from_bits_retain(flags as u32) }
    } else {
        What::Unset { name }
    };
    aim.plan(caller, call, |object| match object.kind() {
        // The path by which it would be done follows links; users' attributes are not for links anyway.
        FileType::Symlink => Err(Errno::PERM),
        _ => Ok(what),
    })
}

impl Change {
    /// Whether it cuts a file.
    pub(super) fn cuts(&self) -> bool {
        matches!(self.what, What::Length(_))
    }

    /// Whether it takes from a folder's owner what is needed to list or to enter it.
    pub(super) fn closes(&self) -> bool {
        let bits = match &self.what {
            What::Mode(mode) => Some(*mode >> 6),
            What::Set { name, value, .. } if name == ACCESS_LIST => owner_in(value),
            _ => None,
        };
        self.object.is_folder() && bits.is_some_and(|bits| bits & LOOKED_THROUGH != LOOKED_THROUGH)
    }

    /// Cuts the file. `None`: it must wait until another process has given up its lease.
    pub(super) fn cut(&self, gate: &Gate) -> Option<Reply> {
        let What::Length(length) = self.what else { return Some(Reply::Error(Errno::INVAL)) };
        let opened = self.object.reopen(gate, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
        match opened {
            Err(Errno::AGAIN) => None,
            other => Some(other.and_then(|file| ftruncate(file, length)).into()),
        }
    }

    /// Does anything else.
    pub(super) fn perform(self) -> Reply {
        let Change { object, what } = self;
        let here = || format!("/proc/self/fd/{}", object.fd.as_raw_fd());
        match what {
            What::Length(_) => Err(Errno::INVAL),
            What::Mode(mode) => sys::change_mode(object.fd.as_fd(), mode),
            What::Owner(user, group) => chownat(&object.fd, c"", user, group, AtFlags::EMPTY_PATH)
                // An owner that the session does not have at all is one that it may not give.
                .map_err(|error| if error == Errno::INVAL { Errno::PERM } else { error }),
            What::Times(times) => utimensat(&object.fd, c"", &times, AtFlags::EMPTY_PATH),
            What::Set { name, value, flags } => setxattr(here(), name, &value, flags),
            What::Unset { name } => removexattr(here(), name),
        }
        .into()
    }
}
