//! Making, removing, linking and moving names.

use super::caller::Caller;
use super::halt::{Halt, both};
use super::open::MODES;
use super::place::{Last, Object, Origin, Place, Standing};
use super::plan::{Deed, End, Plan, Planned, Reply};
use super::resolve::{Links, resolve, target};
use super::serve::Gate;
use super::table::{Call, Family};
use remit_core::{AbsPath, Verb};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, RenameFlags, linkat, mkdirat, mknodat, renameat_with, symlinkat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::path::DecInt;
use rustix::process::umask;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// What is done with names.
#[derive(Debug)]
pub(super) enum Naming {
    /// Makes a folder.
    Folder { place: Place, mode: Mode, mask: Mode },
    /// Makes a pipe, a socket or an empty file.
    Node { place: Place, kind: FileType, mode: Mode, mask: Mode },
    /// Makes a symbolic link.
    Symlink { place: Place, text: Vec<u8> },
    /// Removes a name.
    Remove { place: Place, flags: AtFlags },
    /// Gives a second name.
    Link { object: Object, place: Place },
    /// The same for a symbolic link, which no descriptor can be followed to.
    LinkOfLink { from: Place, place: Place },
    /// Moves a name, or swaps two.
    Rename { from: Place, to: Place, flags: RenameFlags },
}

/// Plans the calls of all six families.
pub(super) fn plan(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    match call.family() {
        Some(Family::MakeFolder) => make_folder(caller, call),
        Some(Family::MakeNode) => make_node(caller, call),
        Some(Family::Symlink) => make_symlink(caller, call),
        Some(Family::Remove) => remove(caller, call),
        Some(Family::Link) => link(caller, call),
        _ => rename(caller, call),
    }
}

fn planned(call: &Call, verb: Verb, end: End, standing: Standing, naming: Naming) -> Planned {
    Plan { verb, syscall: call.1, end, to: None, standing, deed: Deed::Name(Box::new(naming)) }.into()
}

/// The place of a name that must be free.
pub(super) fn free(caller: &Caller<'_>, base: i32, path: &[u8], folder: bool) -> Result<Place, Halt> {
    let place = resolve(caller, base, path, Links::Name)?;
    if place.object.is_some() {
        return Err(Errno::EXIST.into());
    }
    if place.slash && !folder { Err(Errno::NOENT.into()) } else { Ok(place) }
}

fn make_folder(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [a, b, c, ..] = caller.notice().arguments;
    let (base, path, mode) = match i64::from(call.0) {
        libc::SYS_mkdir => (libc::AT_FDCWD, a, b),
        _ => (a as i32, b, c),
    };
    let path = caller.string(path)?;
    let place = free(caller, base, &path, true)?;
    let mode = mode as u32 & MODES;
    let mask = Mode::from_bits_retain(caller.umask(mode)?);
    let end = End { is_folder: true, ..End::at(&place, &path) };
    let standing = place.standing;
    let naming = Naming::Folder { place, mode: Mode::from_bits_retain(mode), mask };
    Ok(planned(call, Verb::Create, end, standing, naming))
}

fn make_node(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [a, b, c, ..] = caller.notice().arguments;
    let (base, path, mode) = match i64::from(call.0) {
        libc::SYS_mknod => (libc::AT_FDCWD, a, b),
        _ => (a as i32, b, c),
    };
    let kind = match mode as u32 & libc::S_IFMT {
        0 | libc::S_IFREG => FileType::RegularFile,
        libc::S_IFIFO => FileType::Fifo,
        libc::S_IFSOCK => FileType::Socket,
        libc::S_IFCHR | libc::S_IFBLK | libc::S_IFDIR => return Err(Errno::PERM.into()),
        _ => return Err(Errno::INVAL.into()),
    };
    let path = caller.string(path)?;
    let place = free(caller, base, &path, false)?;
    let mode = mode as u32 & MODES;
    let mask = Mode::from_bits_retain(caller.umask(mode)?);
    let (end, standing) = (End::at(&place, &path), place.standing);
    let naming = Naming::Node { place, kind, mode: Mode::from_bits_retain(mode), mask };
    Ok(planned(call, Verb::Create, end, standing, naming))
}

/// Only the link's own place is judged: what is done through it is judged where it leads.
fn make_symlink(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [a, b, c, ..] = caller.notice().arguments;
    let (base, path) = match i64::from(call.0) {
        libc::SYS_symlink => (libc::AT_FDCWD, b),
        _ => (b as i32, c),
    };
    let text = caller.string(a)?;
    if text.is_empty() {
        return Err(Errno::NOENT.into());
    }
    let path = caller.string(path)?;
    let place = free(caller, base, &path, false)?;
    let (end, standing) = (End::at(&place, &path), place.standing);
    // A second name for what exists, or may come to exist: a link where a folder of settings would be looked
    // for leads to settings that anybody may write.
    Ok(planned(call, Verb::Rename, end, standing, Naming::Symlink { place, text }))
}

fn remove(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [a, b, c, ..] = caller.notice().arguments;
    let (base, path, flags) = match i64::from(call.0) {
        libc::SYS_unlink => (libc::AT_FDCWD, a, AtFlags::empty()),
        libc::SYS_rmdir => (libc::AT_FDCWD, a, AtFlags::REMOVEDIR),
        _ => (a as i32, b, AtFlags::from_bits_retain(c as u32)),
    };
    if !AtFlags::REMOVEDIR.contains(flags) {
        return Err(Errno::INVAL.into());
    }
    let path = caller.string(path)?;
    let place = resolve(caller, base, &path, Links::Name)?;
    let folder = !flags.is_empty();
    match (place.last, folder) {
        (Last::Name, _) => {}
        (_, false) => return Err(Errno::ISDIR.into()),
        (Last::Dot, true) => return Err(Errno::INVAL.into()),
        (Last::DotDot, true) => return Err(Errno::NOTEMPTY.into()),
        (Last::Root, true) => return Err(Errno::BUSY.into()),
    }
    match &place.object {
        None => return Err(Errno::NOENT.into()),
        Some(object) if folder && !object.is_folder() => return Err(Errno::NOTDIR.into()),
        Some(object) if !folder && object.is_folder() => return Err(Errno::ISDIR.into()),
        Some(_) if !folder && place.slash => return Err(Errno::NOTDIR.into()),
        Some(_) => {}
    }
    let (end, standing) = (End::at(&place, &path), kept([&place], place.standing));
    Ok(planned(call, Verb::Delete, end, standing, Naming::Remove { place, flags }))
}

fn link(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [a, b, c, d, e, ..] = caller.notice().arguments;
    let (old_base, old, new_base, new, flags) = match i64::from(call.0) {
        libc::SYS_link => (libc::AT_FDCWD, a, libc::AT_FDCWD, b, AtFlags::empty()),
        _ => (a as i32, b, c as i32, d, AtFlags::from_bits_retain(e as u32)),
    };
    if !(AtFlags::SYMLINK_FOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
        return Err(Errno::INVAL.into());
    }
    let (old, new) = (caller.string(old)?, caller.string(new)?);
    let follow = flags.contains(AtFlags::SYMLINK_FOLLOW);
    let empty = old.is_empty() && flags.contains(AtFlags::EMPTY_PATH);
    let place = || free(caller, new_base, &new, false);
    if !empty && !follow {
        let from = resolve(caller, old_base, &old, Links::Keep);
        // The kernel says what becomes of a link out of /proc.
        let as_it_is = |from: &Place| {
            from.standing == Standing::Proc
                || from.object.as_ref().is_some_and(|o| o.kind() == FileType::Symlink)
        };
        if !from.as_ref().is_ok_and(as_it_is) {
            let object = from.and_then(|from| Ok(from.into_object()?));
            return link_object(call, object, &old, place(), &new);
        }
        let (from, place) =
            both(from, |from| from.object.is_some().then(|| End::at(from, &old)), place(), &new)?;
        let (end, to) = (End::at(&from, &old), End::at(&place, &new));
        let standing = either(from.standing, place.standing);
        if !end.exists {
            return Err(Errno::NOENT.into());
        }
        return Ok(second_name(call, end, Some(to), standing, Naming::LinkOfLink { from, place }));
    }
    let object = target(caller, old_base, Some(&old), Links::Follow, empty);
    link_object(call, object, &old, place(), &new)
}

fn link_object(
    call: &Call,
    object: Result<Object, Halt>,
    old: &[u8],
    place: Result<Place, Halt>,
    new: &[u8],
) -> Result<Planned, Halt> {
    let (object, place) = both(object, |object| Some(End::of(object, old)), place, new)?;
    if object.is_folder() {
        return Err(Errno::PERM.into());
    }
    let (from, to) = (End::of(&object, old), End::at(&place, new));
    let (nameless, standing) = (object.standing == Standing::Nameless, place.standing);
    let both = either(object.standing, standing);
    let naming = Naming::Link { object, place };
    // A file without a name gets its first.
    if nameless {
        return Ok(planned(call, Verb::Create, to, standing, naming));
    }
    Ok(second_name(call, from, Some(to), both, naming))
}

fn second_name(call: &Call, end: End, to: Option<End>, standing: Standing, naming: Naming) -> Planned {
    Plan { verb: Verb::Rename, syscall: call.1, end, to, standing, deed: Deed::Name(Box::new(naming)) }.into()
}

/// The call by name.
pub(super) fn word(caller: &Caller<'_>, call: &Call) -> &'static str {
    let [.., flags, _] = caller.notice().arguments;
    let swaps = RenameFlags::from_bits_retain(flags as u32).contains(RenameFlags::EXCHANGE);
    if i64::from(call.0) == libc::SYS_renameat2 && swaps { "renameat2 exchange" } else { call.1 }
}

/// How names stand that would be taken from what has them: another session's cover may stand on a placeholder, and
/// would go with it.
fn kept<const N: usize>(places: [&Place; N], standing: Standing) -> Standing {
    let keeps = places.iter().any(|place| place.object.as_ref().is_some_and(Object::is_placeholder));
    if keeps { either(standing, Standing::Fixed) } else { standing }
}

/// What lies on `/proc` at either end is refused by the kernel, and what is no part of the tree, or cannot change,
/// by the gate.
pub(super) fn either(one: Standing, other: Standing) -> Standing {
    let rank = |standing| match standing {
        Standing::Proc => 3,
        Standing::Outside | Standing::Foreign => 2,
        Standing::Fixed => 1,
        Standing::Named | Standing::Nameless | Standing::Held => 0,
    };
    if rank(other) > rank(one) { other } else { one }
}

fn rename(caller: &Caller<'_>, call: &Call) -> Result<Planned, Halt> {
    let [a, b, c, d, e, ..] = caller.notice().arguments;
    let (old_base, old, new_base, new, flags) = match i64::from(call.0) {
        libc::SYS_rename => (libc::AT_FDCWD, a, libc::AT_FDCWD, b, RenameFlags::empty()),
        libc::SYS_renameat => (a as i32, b, c as i32, d, RenameFlags::empty()),
        _ => (a as i32, b, c as i32, d, RenameFlags::from_bits_retain(e as u32)),
    };
    let swaps = flags.contains(RenameFlags::EXCHANGE);
    let keeps = flags.contains(RenameFlags::NOREPLACE);
    let known = RenameFlags::EXCHANGE | RenameFlags::NOREPLACE | RenameFlags::WHITEOUT;
    if !known.contains(flags) || (swaps && flags != RenameFlags::EXCHANGE) {
        return Err(Errno::INVAL.into());
    }
    if flags.contains(RenameFlags::WHITEOUT) {
        return Err(Errno::PERM.into());
    }
    let (old, new) = (caller.string(old)?, caller.string(new)?);
    let from = resolve(caller, old_base, &old, Links::Name);
    let to = resolve(caller, new_base, &new, Links::Name);
    let (from, to) = both(from, |from| from.object.is_some().then(|| End::at(from, &old)), to, &new)?;
    check_rename(&from, &to, swaps, keeps)?;
    let (end, other) = (End::at(&from, &old), End::at(&to, &new));
    let standing = either(from.standing, to.standing);
    let standing = if from.path == to.path { standing } else { kept([&from, &to], standing) };
    let syscall = word(caller, call);
    let deed = Deed::Name(Box::new(Naming::Rename { from, to, flags }));
    Ok(Plan { verb: Verb::Rename, syscall, end, to: Some(other), standing, deed }.into())
}

/// The errors that the kernel would answer, in its order.
fn check_rename(from: &Place, to: &Place, swaps: bool, keeps: bool) -> Result<(), Errno> {
    if from.last != Last::Name {
        return Err(Errno::BUSY);
    }
    if to.last != Last::Name {
        return Err(if keeps { Errno::EXIST } else { Errno::BUSY });
    }
    let source = from.object.as_ref().ok_or(Errno::NOENT)?;
    if keeps && to.object.is_some() {
        return Err(Errno::EXIST);
    }
    if swaps && to.object.is_none() {
        return Err(Errno::NOENT);
    }
    if swaps && to.slash && !to.is_folder() {
        return Err(Errno::NOTDIR);
    }
    if !source.is_folder() && (from.slash || (!swaps && to.slash)) {
        return Err(Errno::NOTDIR);
    }
    if from.path != to.path {
        if source.is_folder() && from.path.covers(&to.path) {
            return Err(Errno::INVAL);
        }
        if to.path.covers(&from.path) {
            return Err(if swaps { Errno::INVAL } else { Errno::NOTEMPTY });
        }
    }
    match &to.object {
        Some(replaced) if !swaps && replaced.is_folder() && !source.is_folder() => Err(Errno::ISDIR),
        Some(replaced) if !swaps && !replaced.is_folder() && source.is_folder() => Err(Errno::NOTDIR),
        _ => Ok(()),
    }
}

/// Where two descriptors lead, if they are on different mounts.
fn mounts(gate: &Gate, one: &OwnedFd, other: &OwnedFd) -> Option<(Origin, Origin)> {
    let (one, other) = (Origin::of(gate, one).ok()?, Origin::of(gate, other).ok()?);
    one.mount.zip(other.mount).is_some_and(|(one, other)| one != other).then_some((one, other))
}

/// Whether something cannot be given a name in another place because that lies on another mount. Where it is only
/// the view that has divided a file system, programs are told so if they may copy instead, and else that they may
/// not.
fn is_away(gate: &Gate, from: &OwnedFd, object: &Object, to: &Place) -> bool {
    let Some((one, other)) = mounts(gate, from, &to.parent) else { return false };
    let authority = gate.authority();
    let named = to.standing == Standing::Named;
    let apart = one.device != other.device && named && object.standing == Standing::Named;
    apart || (named && authority.may(Verb::Create, &to.path) && authority.may(Verb::Read, &object.path))
}

/// Whether a folder is known to have an entry.
fn is_full(gate: &Gate, folder: &Object) -> bool {
    let Ok(listed) = folder.reopen(gate, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) else {
        return false;
    };
    let mut buffer = [MaybeUninit::uninit(); 1 << 10];
    let mut entries = RawDir::new(&listed, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        if ![&b"."[..], b".."].contains(&entry.file_name().to_bytes()) {
            return true;
        }
    }
    false
}

impl Naming {
    /// Does it.
    pub(super) fn perform(self, caller: &Caller<'_>) -> Reply {
        let done = match &self {
            Naming::Folder { place, mode, mask } => {
                umask(*mask);
                mkdirat(&place.parent, place.spelled(), *mode)
            }
            Naming::Node { place, kind, mode, mask } => {
                umask(*mask);
                mknodat(&place.parent, place.name.as_slice(), *kind, *mode, 0)
            }
            Naming::Symlink { place, text } => {
                symlinkat(text.as_slice(), &place.parent, place.name.as_slice())
            }
            Naming::Remove { place, flags } => unlinkat(&place.parent, place.spelled(), *flags),
            Naming::Link { object, place } => linkat(
                caller.gate().own_descriptors(),
                DecInt::from_fd(&object.fd),
                &place.parent,
                place.name.as_slice(),
                AtFlags::SYMLINK_FOLLOW,
            ),
            Naming::LinkOfLink { from, place } => linkat(
                &from.parent,
                from.name.as_slice(),
                &place.parent,
                place.name.as_slice(),
                AtFlags::empty(),
            ),
            Naming::Rename { from, to, flags } => {
                renameat_with(&from.parent, from.spelled(), &to.parent, to.spelled(), *flags)
            }
        };
        done.into()
    }

    /// Whether what is made is a regular file.
    pub(super) fn makes_file(&self) -> bool {
        match self {
            Naming::Node { kind, .. } => *kind == FileType::RegularFile,
            Naming::Link { object, .. } => object.is_file(),
            _ => false,
        }
    }

    /// The error that only the attempt shows: another mount, a folder that is not empty.
    pub(super) fn late_error(&self, gate: &Gate) -> Option<Errno> {
        let away = match self {
            Naming::Link { object, place } => is_away(gate, &object.fd, object, place),
            Naming::LinkOfLink { from, place } | Naming::Rename { from, to: place, .. } => {
                from.object.as_ref().is_some_and(|object| is_away(gate, &from.parent, object, place))
            }
            _ => false,
        };
        if away {
            return Some(Errno::XDEV);
        }
        let goes = match self {
            Naming::Remove { place, flags } => (!flags.is_empty()).then_some(place),
            Naming::Rename { to, flags, .. } => {
                (!flags.contains(RenameFlags::EXCHANGE) && to.is_folder()).then_some(to)
            }
            _ => None,
        };
        let full = goes.and_then(|place| place.object.as_ref()).is_some_and(|folder| is_full(gate, folder));
        full.then_some(Errno::NOTEMPTY)
    }

    /// Whether it would take the name from a folder on which the view has mounted another part of the same file
    /// system: the kernel would answer that it is in use.
    pub(super) fn takes_a_mount(&self, gate: &Gate) -> bool {
        let mounted = |place: &Place| {
            let Some(object) = place.object.as_ref().filter(|object| object.is_folder()) else {
                return false;
            };
            mounts(gate, &place.parent, &object.fd).is_some_and(|(one, other)| one.device == other.device)
        };
        match self {
            Naming::Remove { place, .. } => mounted(place),
            // Between mounts the kernel says so first, and programs copy instead.
            Naming::Rename { from, to, .. } => {
                (mounted(from) || mounted(to)) && mounts(gate, &from.parent, &to.parent).is_none()
            }
            _ => false,
        }
    }

    /// The folders that would move, each with the path that it would get.
    pub(super) fn moving_folders(&self) -> Vec<(&Object, &AbsPath)> {
        let Naming::Rename { from, to, flags } = self else { return Vec::new() };
        let swaps = flags.contains(RenameFlags::EXCHANGE);
        let moving = [(from, to), (to, from)].into_iter().take(if swaps { 2 } else { 1 });
        moving
            .filter_map(|(one, other)| Some((one.object.as_ref()?, &other.path)))
            .filter(|(object, _)| object.is_folder() && object.standing == Standing::Named)
            .collect()
    }
}
