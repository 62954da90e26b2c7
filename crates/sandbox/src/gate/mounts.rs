//! Which mounts are the session's. A descriptor may come from anywhere: it was inherited, or sent by another
//! process. What the kernel calls such a thing is its name in the file tree that it came from, and the session's
//! tree may have another thing of that name. Only on a mount of the session's own does a name mean what it says.

use super::place::AT_ITSELF;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxFlags, fstatvfs, openat2, statx};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{OnceLock, PoisonError, RwLock};

/// The mounts that are known to be in the session's tree.
#[derive(Default)]
pub(super) struct Mounts {
    known: RwLock<Vec<Mount>>,
    /// The one that the view's own folders lie on: its number, and that of its file system.
    own: OnceLock<Option<(u64, Device)>>,
}

/// The number of a file system, in two halves.
type Device = (u32, u32);

struct Mount {
    id: u64,
    way: Way,
    /// Held open, so that the kernel gives its number to no other.
    _there: OwnedFd,
}

/// What a mount lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Changes.
    Open,
    /// None, whoever asks: it is mounted read-only.
    Fixed,
}

impl Mounts {
    /// What the mount of this number lets through, if it is in the session's tree; `name` is what the kernel calls
    /// something on it. It is in the tree, if that name or one above it leads there from the session's root.
    pub(super) fn find(&self, mount: u64, name: &[u8]) -> Option<Way> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.iter().find(|known| known.id == mount) {
            return Some(known.way);
        }
        drop(known);
        self.look(mount, name)
    }

    /// Whether this lies on the mount of the view's own folders, which hold nothing but what leads to something
    /// that is shown. Not to be asked before the machine's tree is out of reach.
    pub(super) fn is_own(&self, file: impl AsFd) -> bool {
        let own = self.own();
        own.is_some() && of(file) == own
    }

    /// Whether this is a cover of something that must not be seen: covers come from the file system of the view's
    /// own folders, and each is a mount of its own.
    pub(super) fn is_cover(&self, file: impl AsFd) -> bool {
        self.own()
            .zip(of(file))
            .is_some_and(|((own, device), (mount, other))| device == other && own != mount)
    }

    fn own(&self) -> Option<(u64, Device)> {
        *self.own.get_or_init(|| open(b"/").ok().and_then(of))
    }

    fn look(&self, mount: u64, name: &[u8]) -> Option<Way> {
        let mut rest = name;
        while rest.starts_with(b"/") {
            if let Ok(there) = open(rest)
                && of(&there).is_some_and(|(number, _)| number == mount)
            {
                let fixed = fstatvfs(&there).ok()?.f_flag.contains(StatVfsMountFlags::RDONLY);
                let way = if fixed { Way::Fixed } else { Way::Open };
                let mount = Mount { id: mount, way, _there: there };
                self.known.write().unwrap_or_else(PoisonError::into_inner).push(mount);
                return Some(way);
            }
            rest = match rest.iter().rposition(|byte| *byte == b'/') {
                Some(0) if rest.len() > 1 => b"/",
                Some(slash) => rest.get(..slash).unwrap_or_default(),
                None => b"",
            };
        }
        None
    }
}

fn open(name: &[u8]) -> Result<OwnedFd, rustix::io::Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    openat2(CWD, name, flags, Mode::empty(), resolve)
}

/// The numbers of the mount that a descriptor is on and of its file system; none if the kernel does not tell.
fn of(file: impl AsFd) -> Option<(u64, Device)> {
    let stat = statx(file, c"", AT_ITSELF, StatxFlags::MNT_ID).ok()?;
    let device = (stat.stx_dev_major, stat.stx_dev_minor);
    (stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some((stat.stx_mnt_id, device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_known_by_any_name_above_and_no_other_is() {
        let mounts = Mounts::default();
        let here = open(b"/proc").unwrap();
        let (id, _) = of(&here).unwrap();
        assert_eq!(mounts.find(id, b"/proc/no such name (deleted)"), Some(Way::Open));
        assert_eq!(mounts.find(id, b"anything, for it is known now"), Some(Way::Open));
        assert_eq!(mounts.find(u64::MAX, b"/proc/self"), None);
        let root = open(b"/").unwrap();
        assert_eq!(mounts.find(of(&root).unwrap().0, b"pipe:[1]"), None);
        assert!(mounts.is_own(&root) && !mounts.is_own(&here));
        assert!(!mounts.is_cover(&root) && !mounts.is_cover(&here));
    }
}
