//! `/dev` of a session: the harmless nodes of the machine, terminals of its own, shared memory of its own.

use super::tree::{NOEXEC, PLAIN, Root, Stand, copy, followed, fresh, put};
use crate::failure::{Failure, Step};
use remit_core::AbsPath;
use rustix::fs::{FileType, fstat, makedev};
use rustix::io::Errno;
use rustix::mount::MountAttrFlags;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The nodes that are shown, with their numbers: a node of that name that is another device is refused.
const NODES: [(&str, u32, u32); 6] = [
    ("/dev/null", 1, 3),
    ("/dev/zero", 1, 5),
    ("/dev/full", 1, 7),
    ("/dev/random", 1, 8),
    ("/dev/urandom", 1, 9),
    ("/dev/tty", 5, 0),
];

const LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    // A terminal opened here must be one of this view's own.
    ("/dev/ptmx", "pts/ptmx"),
];

fn path(text: &str) -> Result<AbsPath, Errno> {
    AbsPath::new(text).map_err(|_| Errno::INVAL)
}

fn node(name: &str, major: u32, minor: u32) -> Result<OwnedFd, Errno> {
    let file = followed(Path::new(name))?;
    let stat = fstat(&file)?;
    let device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    if device && stat.st_rdev == makedev(major, minor) { Ok(file) } else { Err(Errno::NODEV) }
}

/// Fills `/dev` in the new root. The machine's own terminals are not in it: a program of the same user could
/// read what is typed there.
pub(super) fn devices(root: &Root) -> Result<(), Failure> {
    for (name, major, minor) in NODES {
        let bound = || {
            let tree = copy(node(name, major, minor)?)?;
            put(&tree, root.place(&path(name)?, Stand::File, true)?)
        };
        bound().step(|| format!("show the device {name}"))?;
    }
    for (at, to) in LINKS {
        root.link(&path(at).step(|| format!("make the link {at}"))?, to.as_bytes())?;
    }
    let own = |at: &str, kind: &str, options: &[(&str, &str)], attributes: MountAttrFlags| {
        let tree = fresh(kind, options, attributes)?;
        put(&tree, root.place(&path(at)?, Stand::Folder, true)?)
    };
    let terminals = [("ptmxmode", "0666"), ("mode", "0600")];
    own("/dev/pts", "devpts", &terminals, MountAttrFlags::MOUNT_ATTR_NOSUID | NOEXEC)
        .step(|| "mount /dev/pts".to_owned())?;
    own("/dev/shm", "tmpfs", &[("mode", "1777")], PLAIN).step(|| "mount /dev/shm".to_owned())
}
