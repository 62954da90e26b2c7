//! A resolved path: the folder, the last name, what has it, and what the kernel calls it.

use super::serve::Gate;
use remit_core::AbsPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstat, fstatfs, openat, statat};
use rustix::io::Errno;
use rustix::path::DecInt;
use std::os::fd::{AsFd, OwnedFd};

/// What the kernel writes after the name of something that has lost it.
const LOST: &[u8] = b" (deleted)";

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
    /// It is a pipe, a socket, memory, or a file that has lost its last name.
    Nameless,
    /// The caller has it open for writing already.
    Held,
    /// It is the kernel's: on `/proc`.
    Proc,
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
}

impl Object {
    /// Takes what is behind a descriptor, and names it.
    pub(super) fn of(gate: &Gate, fd: OwnedFd) -> Result<Self, Errno> {
        let stat = fstat(&fd)?;
        let name = name_of(gate, &fd)?;
        if is_proc(&fd)? {
            return Ok(Self { fd, stat, path: path(&name)?, standing: Standing::Proc });
        }
        if !name.starts_with(b"/") || (stat.st_nlink == 0 && name.ends_with(LOST)) {
            return Ok(Self { fd, stat, path: AbsPath::root(), standing: Standing::Nameless });
        }
        let path = match name.strip_suffix(LOST) {
            // Either the words are part of its name, or it has lost this name but has another, as a temporary
            // file without a name that was linked later: then the name that it was opened by stands for it.
            Some(former) if !has_name(&stat, &name) => path(former)?,
            _ => path(&name)?,
        };
        Ok(Self { fd, stat, path, standing: Standing::Named })
    }

    /// What kind of thing it is.
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Whether it is a folder.
    pub(super) fn is_folder(&self) -> bool {
        self.kind() == FileType::Directory
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

/// The path of a folder in which names are to be looked up. `ENOENT`: it has been removed;
/// `ENOTDIR`: it is none.
pub(super) fn path_of_folder(gate: &Gate, folder: &OwnedFd) -> Result<AbsPath, Errno> {
    let name = name_of(gate, folder)?;
    if !name.starts_with(b"/") {
        return Err(Errno::NOTDIR);
    }
    if name.ends_with(LOST) && fstat(folder)?.st_nlink == 0 {
        return Err(Errno::NOENT);
    }
    path(&name)
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

/// Whether a file system is the kernel's own `/proc`, wherever it is mounted.
pub(super) fn is_proc(fd: impl AsFd) -> Result<bool, Errno> {
    Ok(fstatfs(fd)?.f_type == PROC_SUPER_MAGIC)
}

fn has_name(stat: &Stat, name: &[u8]) -> bool {
    statat(rustix::fs::CWD, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|there| (there.st_dev, there.st_ino) == (stat.st_dev, stat.st_ino))
}
