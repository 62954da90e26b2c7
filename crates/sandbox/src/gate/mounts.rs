//! Which mounts are the session's. A descriptor may come from anywhere: it was inherited, or sent by another
//! process. What the kernel calls such a thing is its name in the file tree that it came from, and the session's
//! tree may have another thing of that name. Only on a mount of the session's own does a name mean what it says.

use super::place::AT_ITSELF;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, StatxFlags, openat2, statx};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{PoisonError, RwLock};

/// The mounts that are known to be in the session's tree. Each is held open, so that the kernel gives its number
/// to no other.
#[derive(Default)]
pub(super) struct Mounts(RwLock<Vec<(u64, OwnedFd)>>);

impl Mounts {
    /// Whether the mount of this number is in the session's tree; `name` is what the kernel calls something on it.
    /// It is, if that name or one above it leads there from the session's root.
    pub(super) fn has(&self, mount: u64, name: &[u8]) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).iter().any(|(id, _)| *id == mount);
        known || self.find(mount, name)
    }

    fn find(&self, mount: u64, name: &[u8]) -> bool {
        let mut rest = name;
        while rest.starts_with(b"/") {
            if let Ok(there) = open(rest)
                && of(&there) == Some(mount)
            {
                self.0.write().unwrap_or_else(PoisonError::into_inner).push((mount, there));
                return true;
            }
            rest = match rest.iter().rposition(|byte| *byte == b'/') {
                Some(0) if rest.len() > 1 => b"/",
                Some(slash) => rest.get(..slash).unwrap_or_default(),
                None => b"",
            };
        }
        false
    }
}

fn open(name: &[u8]) -> Result<OwnedFd, rustix::io::Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    openat2(CWD, name, flags, Mode::empty(), resolve)
}

/// The number of the mount that a descriptor is on; none if the kernel does not tell.
fn of(file: impl AsFd) -> Option<u64> {
    let stat = statx(file, c"", AT_ITSELF, StatxFlags::MNT_ID).ok()?;
    (stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(stat.stx_mnt_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_known_by_any_name_above_and_no_other_is() {
        let mounts = Mounts::default();
        let here = open(b"/proc").unwrap();
        let id = of(&here).unwrap();
        assert!(mounts.has(id, b"/proc/no such name (deleted)"));
        assert!(mounts.has(id, b"anything, for it is known now"));
        assert!(!mounts.has(u64::MAX, b"/proc/self"));
        assert!(!mounts.has(of(open(b"/").unwrap()).unwrap(), b"pipe:[1]"));
    }
}
