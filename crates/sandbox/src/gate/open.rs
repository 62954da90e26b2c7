//! Opening for more than reading, and creating: the file is opened here and handed to the caller. And listing the
//! view's own folders, where the floor cannot allow it: what it allows for a folder holds for all that is mounted
//! below.

use super::caller::Caller;
use super::devices;
use super::halt::Halt;
use super::place::{Object, Place, Standing};
use super::plan::{Deed, End, Plan, Planned, Reply};
use super::proc_walk;
use super::reading;
use super::resolve::{Links, resolve};
use super::serve::Gate;
use super::table::Call;
use remit_core::Verb;
use rustix::fs::{FileType, Mode, OFlags, fcntl_setfl, openat};
use rustix::io::Errno;
use rustix::process::umask;
use std::os::fd::OwnedFd;

/// How a file is opened.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) how: How,
    pub(super) flags: OFlags,
}

/// Which file.
#[derive(Debug)]
pub(super) enum How {
    /// One that exists.
    Existing(Object),
    /// One that is made.
    New {
        /// Where.
        place: Place,
        /// With these bits.
        mode: Mode,
        /// Less these.
        mask: Mode,
    },
    /// One without a name, in this folder.
    Unnamed {
        /// Where.
        folder: Object,
        /// With these bits.
        mode: Mode,
        /// Less these.
        mask: Mode,
    },
}

/// The bit that distinguishes `O_TMPFILE` from `O_DIRECTORY`.
const UNNAMED: OFlags = OFlags::TMPFILE.difference(OFlags::DIRECTORY);

/// Flags that an open file keeps and that can be set anew.
const KEPT: OFlags = OFlags::APPEND.union(OFlags::DIRECT).union(OFlags::NOATIME).union(OFlags::SYNC);

/// The bits of a new file's mode. No session leaves a program behind that runs as its owner, or as its group: the
/// session's rules end with it, and others start such programs.
pub(super) const MODES: u32 = 0o1777;

/// Flags that are spent once the file has been found.
const SPENT: OFlags = OFlags::CREATE.union(OFlags::EXCL).union(OFlags::NOFOLLOW);

/// The arguments of the three calls.
struct Arguments {
    base: i32,
    path: Vec<u8>,
    flags: OFlags,
    mode: u32,
}

fn arguments(caller: &Caller<'_>, call: &Call) -> Result<Arguments, Errno> {
    let (base, path, flags, mode) = raw(caller, call);
    Ok(Arguments { base, path: caller.string(path)?, flags, mode: mode as u32 & MODES })
}

/// The same as they stand in the registers.
fn raw(caller: &Caller<'_>, call: &Call) -> (i32, u64, OFlags, u64) {
    let [a, b, c, d, ..] = caller.notice().arguments;
    match i64::from(call.0) {
        libc::SYS_open => (libc::AT_FDCWD, a, OFlags::from_bits_retain(b as u32), c),
        libc::SYS_creat => (libc::AT_FDCWD, a, OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC, b),
        _ => (a as i32, b, OFlags::from_bits_retain(c as u32), d),
    }
}

/// Plans `open`, `openat`, `creat`.
pub(super) fn plan(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let Arguments { base, path, flags, mode } = arguments(caller, call)?;
    if lists(flags) {
        let opened = list(caller, base, &path, flags);
        if matches!(opened, Reply::Continue) && caller.gate().authority().records_reads() {
            return reading::open(caller, call, base, &path, flags);
        }
        return Ok(Planned::Now(opened));
    }
    if caller.gate().authority().records_reads() && change(caller, call).is_none() {
        return reading::open(caller, call, base, &path, flags);
    }
    let unnamed = flags.contains(UNNAMED);
    let creates = flags.contains(OFlags::CREATE);
    if creates && flags.contains(OFlags::DIRECTORY) {
        return Err(Errno::INVAL.into());
    }
    if unnamed && !(flags.contains(OFlags::TMPFILE) && writes(flags)) {
        return Err(Errno::INVAL.into());
    }
    let keeps = flags.contains(OFlags::NOFOLLOW) || (creates && flags.contains(OFlags::EXCL));
    let links = match (creates, keeps) {
        (true, true) => Links::CreateKept,
        (true, false) => Links::Create,
        (false, true) => Links::Keep,
        (false, false) => Links::Follow,
    };
    let place = resolve(caller, base, &path, links)?;
    if unnamed {
        let mask = Mode::from_bits_retain(caller.umask(mode)?);
        let folder = place.into_object()?;
        if !folder.is_folder() {
            return Err(Errno::NOTDIR.into());
        }
        let (end, standing) = (End::of(&folder, &path), folder.standing);
        let how = How::Unnamed { folder, mode: Mode::from_bits_retain(mode), mask };
        return Ok(opening(call, Verb::Create, end, standing, Opening { how, flags }));
    }
    if place.object.is_some() {
        return existing(caller, call, place, &path, flags);
    }
    if !creates || place.standing == Standing::Proc {
        return Err(Errno::NOENT.into());
    }
    let mask = Mode::from_bits_retain(caller.umask(mode)?);
    let (end, standing) = (End::at(&place, &path), place.standing);
    let how = How::New { place, mode: Mode::from_bits_retain(mode), mask };
    Ok(opening(call, Verb::Create, end, standing, Opening { how, flags }))
}

/// What opening would change; none if nothing.
pub(super) fn change(caller: &Caller<'_>, call: &Call) -> Option<Verb> {
    let (_, _, flags, _) = raw(caller, call);
    if flags.intersects(OFlags::CREATE | UNNAMED) {
        Some(Verb::Create)
    } else {
        (writes(flags) || flags.contains(OFlags::TRUNC)).then_some(Verb::Write)
    }
}

/// Whether a folder is opened for nothing but to list it.
fn lists(flags: OFlags) -> bool {
    let more = UNNAMED | OFlags::CREATE | OFlags::TRUNC;
    flags.contains(OFlags::DIRECTORY) && !writes(flags) && !flags.intersects(more)
}

/// Opens a folder of the view's own. All others the caller opens as itself, and the kernel answers whatever is wrong.
fn list(caller: &Caller<'_>, base: i32, path: &[u8], flags: OFlags) -> Reply {
    let links = if flags.contains(OFlags::NOFOLLOW) { Links::Keep } else { Links::Follow };
    let opened = resolve(caller, base, path, links).and_then(|place| {
        let folder = place.into_object()?;
        if !folder.is_folder() || !caller.gate().mounts().is_own(&folder.fd) {
            return Err(Errno::ACCESS.into());
        }
        Ok(folder.reopen(caller.gate(), flags.difference(OFlags::NOFOLLOW), Mode::empty())?)
    });
    match opened {
        Ok(file) => Reply::File { file, close_on_exec: flags.contains(OFlags::CLOEXEC) },
        Err(_) => Reply::Continue,
    }
}

fn existing(
    caller: &Caller<'_>,
    call: &Call,
    place: Place,
    path: &[u8],
    flags: OFlags,
) -> Result<Planned, Halt> {
    let creates = flags.contains(OFlags::CREATE);
    if creates && flags.contains(OFlags::EXCL) {
        return Err(Errno::EXIST.into());
    }
    let slash = place.slash;
    let object = place.object.ok_or(Errno::NOENT)?;
    match object.kind() {
        FileType::Symlink => return Err(Errno::LOOP.into()),
        FileType::Directory => return Err(Errno::ISDIR.into()),
        _ if slash || flags.contains(OFlags::DIRECTORY) => return Err(Errno::NOTDIR.into()),
        FileType::Socket => return Err(Errno::NXIO.into()),
        FileType::CharacterDevice if devices::is_harmless(object.stat.st_rdev) => {
            return Ok(Planned::Now(Reply::Continue));
        }
        FileType::CharacterDevice | FileType::BlockDevice => return Err(Errno::ACCESS.into()),
        _ => {}
    }
    // The floor lets nobody create or cut a file, so one that is there and only to be read needs no judgement.
    if !(writes(flags) || flags.contains(OFlags::TRUNC)) {
        return Ok(reading::plan(caller, call, Verb::Read, &object, path));
    }
    let standing = match object.standing {
        Standing::Proc if proc_walk::is_own(caller, &object.path) => Standing::Proc,
        Standing::Proc if proc_walk::is_of_process(&object.path) => Standing::Foreign,
        // The machine's own, which the floor refuses.
        Standing::Proc => return Ok(Planned::Now(Reply::Continue)),
        _ => object.standing_for(flags),
    };
    let end = End::of(&object, path);
    let how = How::Existing(object);
    Ok(opening(call, Verb::Write, end, standing, Opening { how, flags }))
}

fn opening(call: &Call, verb: Verb, end: End, standing: Standing, opening: Opening) -> Planned {
    Plan { verb, syscall: call.1, end, to: None, standing, deed: Deed::Open(opening) }.into()
}

fn writes(flags: OFlags) -> bool {
    flags.intersects(OFlags::ACCMODE)
}

impl Opening {
    /// Makes the file and opens it. `None`: another has made it since; all must be asked anew.
    pub(super) fn make(&self, gate: &Gate) -> Option<Reply> {
        let done = match &self.how {
            How::Existing(_) => Err(Errno::INVAL),
            How::Unnamed { folder, mode, mask } => {
                umask(*mask);
                folder.reopen(gate, self.flags.difference(OFlags::NOFOLLOW), *mode)
            }
            How::New { place, mode, mask } => {
                umask(*mask);
                let own = OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
                let made = openat(&place.parent, place.name.as_slice(), self.flags | own, *mode);
                if matches!(made, Err(Errno::EXIST)) && !self.flags.contains(OFlags::EXCL) {
                    return None;
                }
                made
            }
        };
        Some(self.reply(done))
    }

    /// Opens the file that exists. `None`: the caller must wait, for the reader of a pipe or until another process
    /// has given up its lease.
    pub(super) fn open(&self, gate: &Gate) -> Option<Reply> {
        let How::Existing(object) = &self.how else { return self.make(gate) };
        let flags = self.flags.difference(SPENT) | OFlags::NOCTTY;
        let waits = !flags.contains(OFlags::NONBLOCK)
            && match object.kind() {
                FileType::RegularFile => true,
                FileType::Fifo => flags & OFlags::ACCMODE == OFlags::WRONLY,
                _ => false,
            };
        if !waits {
            return Some(self.reply(object.reopen(gate, flags, Mode::empty())));
        }
        let opened = object.reopen(gate, flags | OFlags::NONBLOCK, Mode::empty()).and_then(|file| {
            fcntl_setfl(&file, flags & KEPT)?;
            Ok(file)
        });
        match opened {
            Err(Errno::NXIO | Errno::AGAIN) => None,
            other => Some(self.reply(other)),
        }
    }

    /// Whether a file is made.
    pub(super) fn makes(&self) -> bool {
        !matches!(self.how, How::Existing(_))
    }

    /// Whether a file that exists is opened for reading, too.
    pub(super) fn reads(&self) -> bool {
        matches!(self.how, How::Existing(_)) && self.flags & OFlags::ACCMODE != OFlags::WRONLY
    }

    fn reply(&self, done: Result<OwnedFd, Errno>) -> Reply {
        match done {
            Ok(file) => Reply::File { file, close_on_exec: self.flags.contains(OFlags::CLOEXEC) },
            Err(error) => Reply::Error(error),
        }
    }
}
