//! Mounts by descriptor. A mount is made detached, gets its attributes, and only then a place; nothing is named
//! by a path that somebody could exchange meanwhile.

use crate::failure::{Failure, Step};
use crate::raw;
use remit_core::AbsPath;
use remit_core::path::escape;
use rustix::fs::{self, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

pub(super) const PLAIN: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);
pub(super) const NOEXEC: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOEXEC;
pub(super) const READ_ONLY: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_RDONLY;

/// Makes a file system of a type, with its options, mounted nowhere yet.
pub(super) fn fresh(
    kind: &str,
    options: &[(&str, &str)],
    attributes: MountAttrFlags,
) -> Result<OwnedFd, Errno> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(context.as_fd(), *key, *value)?;
    }
    fsconfig_create(context.as_fd())?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Lays the folder `upper` over the folder `lower`, mounted nowhere yet. All three are named by descriptor, through the
/// machine's `/proc`. Nothing of it outlives the session, so nothing is forced to the disk.
pub(crate) fn layered(lower: &AbsPath, upper: &AbsPath, work: &AbsPath) -> Result<OwnedFd, Errno> {
    let folders = [("lowerdir", real(lower)?), ("upperdir", real(upper)?), ("workdir", real(work)?)];
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, folder) in &folders {
        fsconfig_set_string(context.as_fd(), *key, format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
    }
    for flag in ["userxattr", "volatile"] {
        fsconfig_set_flag(context.as_fd(), flag)?;
    }
    fsconfig_create(context.as_fd())?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, PLAIN)
}

/// Opens something of the machine by its real name: a link on the way is an error.
pub(super) fn real(path: &AbsPath) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat2(CWD, path.as_path(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Opens something of the machine, links followed.
pub(super) fn followed(path: &Path) -> Result<OwnedFd, Errno> {
    fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// A second mount of what a descriptor stands for, with all that is mounted below it, mounted nowhere yet.
pub(super) fn again(of: impl AsFd, attributes: MountAttrFlags) -> Result<OwnedFd, Errno> {
    let tree = copy(of)?;
    raw::set_mount(tree.as_fd(), true, attributes.bits().into())?;
    Ok(tree)
}

/// The same, with the attributes of the first.
pub(super) fn copy(of: impl AsFd) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(of, c"", flags)
}

/// Gives a mount its place.
pub(super) fn put(tree: impl AsFd, on: impl AsFd) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", on, c"", flags)
}

/// The new root while it is built.
pub(super) struct Root {
    /// Its own folder.
    pub(super) folder: OwnedFd,
}

/// What shall stand at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// A folder.
    Folder,
    /// Anything else.
    File,
}

impl Root {
    /// Opens a path in the new root; links are errors.
    pub(super) fn open(&self, path: &AbsPath) -> Result<OwnedFd, Errno> {
        let below = AbsPath::root().strip(path).unwrap_or_default();
        let below = if below.is_empty() { b"." } else { below };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        fs::openat2(&self.folder, below, flags, Mode::empty(), resolve)
    }

    /// Opens a path; with `make` what is missing on the way is made, the last component as `stand` says.
    pub(super) fn place(&self, path: &AbsPath, stand: Stand, make: bool) -> Result<OwnedFd, Errno> {
        match self.open(path) {
            Err(Errno::NOENT) if make => {}
            other => return other,
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::NOENT) };
        let folder = self.place(&parent, Stand::Folder, true)?;
        let made = match stand {
            Stand::Folder => {
                let made = fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755));
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                made.and_then(|()| fs::openat(&folder, name, flags, Mode::empty()))
            }
            Stand::File => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                fs::openat(&folder, name, flags, Mode::from_raw_mode(0o644))
            }
        };
        match made {
            Err(Errno::EXIST) => self.open(path),
            other => other,
        }
    }

    /// Makes a symbolic link.
    pub(super) fn link(&self, at: &AbsPath, to: &[u8]) -> Result<(), Failure> {
        let made = || {
            let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else { return Err(Errno::EXIST) };
            let folder = self.place(&parent, Stand::Folder, true)?;
            fs::symlinkat(to, &folder, name)
        };
        made().step(|| format!("make the link {at} -> {}", escape(to)))
    }
}

/// Whether a descriptor stands for a folder or for something else.
pub(super) fn stand_of(file: impl AsFd) -> Result<Stand, Errno> {
    let stat = fs::fstat(file)?;
    let folder = fs::FileType::from_raw_mode(stat.st_mode) == fs::FileType::Directory;
    Ok(if folder { Stand::Folder } else { Stand::File })
}
