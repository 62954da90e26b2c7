//! A resolved path: the folder, the last name, what has it, and what the kernel calls it.

use super::mounts::Way;
use super::serve::Gate;
use crate::placeholders;
use remit_core::AbsPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, StatxFlags, fstat, openat, statat, statx};
use rustix::io::Errno;
use rustix::path::DecInt;
use std::os::fd::{AsFd, OwnedFd};

/// What the kernel writes after the name of something that has lost it.
const LOST: &[u8] = b" (deleted)";

/// Files in memory are named so, though they have no name in any tree.
const MEMORY: &[u8] = b"/memfd:";

/// What stands before the name of something that is in no tree of the session's. No rule is about it.
const OUTSIDE: &[u8] = b"/(outside the session)";

/// The flags of a question about a descriptor itself.
pub(super) const AT_ITSELF: AtFlags = AtFlags::EMPTY_PATH;

/// The last component of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// A name.
    Name,
    /// `.`
    Dot,
    /// `..`
    DotDot,
    /// There is none: the path is `/`.
    Root,
}

/// Whether a change of something is a change of the tree, and so to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has, or will have, a name in the tree.
    Named,
    /// The same, but on a mount that is read-only for everybody in the session.
    Fixed,
    /// It is a pipe, a socket, memory, or a file that has lost its last name.
    Nameless,
    /// It was opened outside and is not in the session's tree, whatever it is called there: nothing but what
    /// its descriptor gives may be done with it.
    Outside,
    /// The caller has it open already for what it asks.
    Held,
    /// It is the kernel's, and the kernel says what the caller may do: on `/proc`.
    Proc,
    /// It is another process, which nothing inside may change so though the kernel would let it.
    Foreign,
}

/// Where a descriptor leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// The number of the mount; none if the kernel does not tell.
    pub(super) mount: Option<u64>,
    /// The number of the file system, in two halves.
    pub(super) device: (u32, u32),
    /// Whether it is on the session's `/proc`.
    pub(super) on_proc: bool,
    links: u32,
}

impl Origin {
    /// Asks the kernel.
    pub(super) fn of(gate: &Gate, fd: impl AsFd) -> Result<Self, Errno> {
        let stat = statx(fd, c"", AT_ITSELF, StatxFlags::NLINK | StatxFlags::MNT_ID)?;
        let mount = (stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(stat.stx_mnt_id);
        let device = (stat.stx_dev_major, stat.stx_dev_minor);
        let on_proc = device == gate.device_of_proc();
        Ok(Self { mount, device, on_proc, links: stat.stx_nlink })
    }

    /// How something of this name of the kernel's stands that has a name.
    fn standing(self, gate: &Gate, name: &[u8]) -> Standing {
        match self.mount.and_then(|mount| gate.mounts().find(mount, name)) {
            None => Standing::Outside,
            Some(_) if self.on_proc => Standing::Proc,
            Some(Way::Fixed) => Standing::Fixed,
            Some(Way::Open) => Standing::Named,
        }
    }

    /// The same for what was found by its name in a folder of this origin and standing: another mount may stand on
    /// the name.
    fn standing_below(
        self,
        gate: &Gate,
        folder: Standing,
        fd: &OwnedFd,
        stat: &Stat,
        path: &AbsPath,
    ) -> Result<Standing, Errno> {
        let (major, minor) = self.device;
        let moved = stat.st_dev != rustix::fs::makedev(major, minor) || folder == Standing::Fixed;
        match folder {
            Standing::Named | Standing::Fixed if moved => {
                Ok(Origin::of(gate, fd)?.standing(gate, path.as_bytes()))
            }
            other => Ok(other),
        }
    }

    /// The path and the standing of names in this folder. `ENOENT`: it has been removed; `ENOTDIR`: it is none.
    pub(super) fn folder(self, gate: &Gate, folder: &OwnedFd) -> Result<(AbsPath, Standing), Errno> {
        let name = name_of(gate, folder)?;
        if !name.starts_with(b"/") {
            return Err(Errno::NOTDIR);
        }
        if self.links == 0 && name.ends_with(LOST) {
            return Err(Errno::NOENT);
        }
        match self.standing(gate, &name) {
            Standing::Outside => Ok((outside(&name)?, Standing::Outside)),
            inside => Ok((path(&name)?, inside)),
        }
    }
}

/// Something that exists.
#[derive(Debug)]
pub(super) struct Object {
    /// A descriptor for it; mostly one that gives no access to the content.
    pub(super) fd: OwnedFd,
    /// What it is.
    pub(super) stat: Stat,
    /// The kernel's name of it; the root folder if it is nameless.
    pub(super) path: AbsPath,
    /// Whether it is to be judged.
    pub(super) standing: Standing,
    /// What the caller's own descriptor, through which it was found, gives; none for anything else.
    pub(super) held: Option<OFlags>,
}

impl Object {
    /// What has a name in a folder of this origin and standing.
    pub(super) fn named(
        gate: &Gate,
        fd: OwnedFd,
        path: AbsPath,
        (origin, folder): (Origin, Standing),
    ) -> Result<Self, Errno> {
        let stat = fstat(&fd)?;
        let standing = origin.standing_below(gate, folder, &fd, &stat, &path)?;
        Ok(Self { stat, fd, path, standing, held: None })
    }

    /// Takes what is behind a descriptor, and names it.
    pub(super) fn of(gate: &Gate, fd: OwnedFd) -> Result<Self, Errno> {
        let (stat, origin) = (fstat(&fd)?, Origin::of(gate, &fd)?);
        let name = name_of(gate, &fd)?;
        let object = |path, standing| Ok(Self { fd, stat, path, standing, held: None });
        let lost = stat.st_nlink == 0 && name.ends_with(LOST);
        if !name.starts_with(b"/") || (lost && name.starts_with(MEMORY)) {
            return object(AbsPath::root(), Standing::Nameless);
        }
        let standing = origin.standing(gate, &name);
        match standing {
            Standing::Outside => return object(outside(&name)?, standing),
            Standing::Proc => return object(path(&name)?, standing),
            _ if lost => return object(AbsPath::root(), Standing::Nameless),
            _ => {}
        }
        let path = match name.strip_suffix(LOST) {
            // Either the words are part of its name, or it has lost this name but has another, as a temporary
            // file without a name that was linked later: then the name that it was opened by stands for it.
            Some(former) if !has_name(&stat, &name) => path(former)?,
            _ => path(&name)?,
        };
        object(path, standing)
    }

    /// How it stands to a caller that wants to open it with these access bits: what its own descriptor gives, it
    /// may have again.
    pub(super) fn standing_for(&self, flags: OFlags) -> Standing {
        let both = OFlags::RDWR;
        let holds = |held: OFlags| {
            held & OFlags::ACCMODE == both || held & OFlags::ACCMODE == flags & OFlags::ACCMODE
        };
        match self.held {
            // Cutting needs a descriptor that writes, even where the new one is only to be read.
            Some(held) if held.contains(OFlags::PATH) || !held.intersects(OFlags::ACCMODE) => self.standing,
            Some(held) if holds(held) => Standing::Held,
            _ => self.standing,
        }
    }

    /// What kind of thing it is.
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Whether it is a folder.
    pub(super) fn is_folder(&self) -> bool {
        self.kind() == FileType::Directory
    }

    /// Whether it is a regular file.
    pub(super) fn is_file(&self) -> bool {
        self.kind() == FileType::RegularFile
    }

    /// Whether it stands in for a path that some session may not see.
    pub(super) fn is_placeholder(&self) -> bool {
        placeholders::is_marked(self.stat.st_mode)
    }

    /// Opens it anew; the flags must not ask for creation.
    pub(super) fn reopen(&self, gate: &Gate, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        openat(gate.own_descriptors(), DecInt::from_fd(&self.fd), flags | OFlags::CLOEXEC, mode)
    }
}

/// A name, and what has it.
#[derive(Debug)]
pub(super) struct Place {
    /// The folder.
    pub(super) parent: OwnedFd,
    /// The last component; `.` for the root folder.
    pub(super) name: Vec<u8>,
    /// What the last component is.
    pub(super) last: Last,
    /// Whether slashes follow it.
    pub(super) slash: bool,
    /// What the kernel calls it.
    pub(super) path: AbsPath,
    /// Whether a change of the *name* is to be judged.
    pub(super) standing: Standing,
    /// What has the name.
    pub(super) object: Option<Object>,
}

impl Place {
    /// The last component as the caller wrote it, so that the kernel's answer to slashes comes out.
    pub(super) fn spelled(&self) -> Vec<u8> {
        let mut name = self.name.clone();
        if self.slash {
            name.push(b'/');
        }
        name
    }

    /// Whether a folder has the name.
    pub(super) fn is_folder(&self) -> bool {
        self.object.as_ref().is_some_and(Object::is_folder)
    }

    /// What has the name. `ENOENT`: nothing; `ENOTDIR`: a slash follows, but it is no folder.
    pub(super) fn into_object(self) -> Result<Object, Errno> {
        let object = self.object.ok_or(Errno::NOENT)?;
        if self.slash && !object.is_folder() { Err(Errno::NOTDIR) } else { Ok(object) }
    }
}

/// The kernel's name of what a descriptor of the gate is open on.
pub(super) fn name_of(gate: &Gate, fd: impl AsFd) -> Result<Vec<u8>, Errno> {
    let name = rustix::fs::readlinkat(gate.own_descriptors(), DecInt::from_fd(&fd), Vec::new())?;
    Ok(name.into_bytes())
}

/// A path that says that a name of the kernel's is not one of the session's tree.
fn outside(name: &[u8]) -> Result<AbsPath, Errno> {
    path(&[OUTSIDE, name].concat())
}

/// A name of the kernel's as a path.
pub(super) fn path(name: &[u8]) -> Result<AbsPath, Errno> {
    AbsPath::new(name).map_err(refusal)
}

/// The path of a name in a folder.
pub(super) fn join(folder: &AbsPath, name: &[u8]) -> Result<AbsPath, Errno> {
    folder.join(name).map_err(refusal)
}

fn refusal(error: remit_core::PathError) -> Errno {
    match error {
        remit_core::PathError::TooLong => Errno::NAMETOOLONG,
        _ => Errno::ACCESS,
    }
}

fn has_name(stat: &Stat, name: &[u8]) -> bool {
    statat(rustix::fs::CWD, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|there| (there.st_dev, there.st_ino) == (stat.st_dev, stat.st_ino))
}
