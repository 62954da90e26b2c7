//! Walking a path component by component where it leads through `/proc`, or to a folder that cannot be entered: `self` is the caller, not the gate, and
//! a link that leads to an open file, a working folder or a program is followed for the caller's own process only.
//! The gate may open such links of every process, so the kernel's own check would not hold.

use super::caller::{Caller, root};
use super::halt::Halt;
use super::place::{Last, Object, Origin, Place, join};
use super::resolve::{Links, MOST_LINKS, dots, read_link};
use remit_core::AbsPath;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

const FOLLOWED: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const KEPT: OFlags = FOLLOWED.union(OFlags::NOFOLLOW);

/// The number of the root folder of a `/proc`.
const ROOT_OF_PROC: u64 = 1;

/// Finds the place of a path. It begins at `start`, or at the root folder.
pub(super) fn walk(
    caller: &Caller<'_>,
    start: Option<OwnedFd>,
    path: &[u8],
    links: Links,
) -> Result<Place, Halt> {
    let mut folder = match start {
        Some(start) if !path.starts_with(b"/") => start,
        _ => root()?,
    };
    let mut rest = parts(path);
    let mut slash = path.ends_with(b"/");
    let mut left = MOST_LINKS;
    while let Some(name) = rest.pop() {
        let is_last = rest.is_empty();
        if is_last && let Some(place) = dots(caller, &folder, &name)? {
            return Ok(place);
        }
        if is_last && slash && links.creates() {
            return Err(Errno::ISDIR.into());
        }
        let follows = !is_last || links.follow(slash);
        let origin = Origin::of(caller.gate(), &folder)?;
        let on_proc = origin.on_proc;
        if on_proc && follows && own_name(caller, &folder, &name, &mut rest)? {
            continue;
        }
        let fd = match openat(&folder, name.as_slice(), KEPT, Mode::empty()) {
            Err(Errno::NOENT) if is_last => {
                return Ok(place(caller, folder, name, slash, origin, None)?);
            }
            Err(error) => {
                let names = std::iter::once(&name).chain(rest.iter().rev()).map(Vec::as_slice);
                return Err(Halt::at(caller.gate(), &folder, error, names));
            }
            Ok(fd) => fd,
        };
        if !follows || FileType::from_raw_mode(fstat(&fd)?.st_mode) != FileType::Symlink {
            if is_last {
                return Ok(place(caller, folder, name, slash, origin, Some(fd))?);
            }
            folder = fd;
            continue;
        }
        left = left.checked_sub(1).ok_or(Errno::LOOP)?;
        if on_proc && is_magic(&folder, &name)? {
            let object = follow_magic(caller, &folder, &name)?;
            if is_last {
                return Ok(magic_place(caller, folder, name, slash, origin, object)?);
            }
            folder = object.fd;
            continue;
        }
        let text = read_link(&fd)?;
        if text.starts_with(b"/") {
            folder = root()?;
        }
        slash |= is_last && text.ends_with(b"/");
        rest.extend(parts(&text));
    }
    // Nothing was left: `/`, or a link to it.
    Ok(dots(caller, &folder, b"")?.ok_or(Errno::NOENT)?)
}

/// The components of a path, the first one last.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).rev().map(<[u8]>::to_vec).collect()
}

/// Puts the caller's own numbers in the place of `self` and `thread-self`.
fn own_name(
    caller: &Caller<'_>,
    folder: &OwnedFd,
    name: &[u8],
    rest: &mut Vec<Vec<u8>>,
) -> Result<bool, Errno> {
    let of_thread = name == b"thread-self";
    if !(of_thread || name == b"self") || fstat(folder)?.st_ino != ROOT_OF_PROC {
        return Ok(false);
    }
    if of_thread {
        rest.push(caller.thread().to_string().into_bytes());
        rest.push(b"task".to_vec());
    }
    rest.push(caller.group().to_string().into_bytes());
    Ok(true)
}

fn place(
    caller: &Caller<'_>,
    parent: OwnedFd,
    name: Vec<u8>,
    slash: bool,
    origin: Origin,
    fd: Option<OwnedFd>,
) -> Result<Place, Errno> {
    let (folder, standing) = origin.folder(caller.gate(), &parent)?;
    let path = join(&folder, &name)?;
    let named = |fd| Object::named(caller.gate(), fd, path.clone(), (origin, standing));
    let object = fd.map(named).transpose()?;
    Ok(Place { parent, name, last: Last::Name, slash, path, standing, object })
}

/// The place of a link of `/proc` that has been followed. Its name is on `/proc`, so nothing can be made there; the
/// path is that of what it leads to.
fn magic_place(
    caller: &Caller<'_>,
    parent: OwnedFd,
    name: Vec<u8>,
    slash: bool,
    origin: Origin,
    object: Object,
) -> Result<Place, Errno> {
    let mut place = place(caller, parent, name, slash, origin, None)?;
    place.path = object.path.clone();
    place.object = Some(object);
    Ok(place)
}

/// Whether a link of `/proc` leads elsewhere than its text says.
fn is_magic(folder: &OwnedFd, name: &[u8]) -> Result<bool, Errno> {
    match openat2(folder, name, FOLLOWED, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
        Ok(_) => Ok(false),
        // A plain link of /proc leads through `self`, which may lack what the caller has.
        Err(Errno::NOENT) => Ok(false),
        Err(Errno::LOOP) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Follows such a link, if it is the caller's own.
fn follow_magic(caller: &Caller<'_>, folder: &OwnedFd, name: &[u8]) -> Result<Object, Errno> {
    let (path, _) = Origin::of(caller.gate(), folder)?.folder(caller.gate(), folder)?;
    let thread = own_thread(caller, &path).ok_or(Errno::ACCESS)?;
    if path.file_name() != Some(b"fd") {
        return Object::of(caller.gate(), openat(folder, name, FOLLOWED, Mode::empty())?);
    }
    let number = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok()).ok_or(Errno::NOENT)?;
    // The open file itself, so that what it was opened for is known of this file and of no other.
    let file = caller.descriptor_of(thread, number).map_err(|error| match error {
        Errno::BADF => Errno::NOENT,
        other => other,
    })?;
    let held = rustix::fs::fcntl_getfl(&file)?;
    Ok(Object { held: Some(held), ..Object::of(caller.gate(), file)? })
}

/// Whether something on `/proc` is the caller's process's own: it may change that, and nothing else there. The
/// kernel lets a process change much of every process of its user, and so of the gate.
pub(super) fn is_own(caller: &Caller<'_>, path: &AbsPath) -> bool {
    // The network below a process is the machine's.
    own_thread(caller, path).is_some() && !path.components().any(|part| part == b"net")
}

/// Whether something on `/proc` belongs to a process.
pub(super) fn is_of_process(path: &AbsPath) -> bool {
    path.components().nth(1).is_some_and(|name| name.first().is_some_and(u8::is_ascii_digit))
}

/// The thread that a folder of `/proc` belongs to, if it is one of the caller's process.
fn own_thread(caller: &Caller<'_>, folder: &AbsPath) -> Option<u32> {
    let mut parts = folder.components();
    if parts.next()? != b"proc" {
        return None;
    }
    let number = |part: &[u8]| std::str::from_utf8(part).ok()?.parse::<u32>().ok();
    let process = number(parts.next()?)?;
    let thread = match parts.next() {
        Some(b"task") => number(parts.next()?)?,
        _ => process,
    };
    (caller.is_own_thread(process) && caller.is_own_thread(thread)).then_some(thread)
}
