//! A folder that moves takes all below it along, so each entry below is judged as if it moved by itself. Else a
//! rule for a path could be walked round by renaming a folder above it, twice.

use super::place::join;
use crate::{Authority, placeholders};
use remit_core::{AbsPath, Verb};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, fstat, openat, statat};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// How many entries are looked at; a folder with more below it does not move.
pub(super) const MOST: usize = 200_000;

const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder that is still to be listed.
struct Pending {
    parent: Arc<OwnedFd>,
    name: Vec<u8>,
    old: AbsPath,
    new: AbsPath,
}

/// The first entry found below the folder `listed`, whose path is `old`, that may not move to its place below
/// `new`: by its present or its coming path. A folder that cannot be looked into is such an entry, and so are a placeholder
/// and the one after the first `most`.
pub(super) fn first_fixed(
    authority: &dyn Authority,
    listed: OwnedFd,
    old: &AbsPath,
    new: &AbsPath,
    most: usize,
) -> Option<AbsPath> {
    let mut walk = Walk { authority, left: most, pending: Vec::new() };
    let mut found = walk.list(listed, old, new);
    while found.is_none()
        && let Some(next) = walk.pending.pop()
    {
        found = match openat(&*next.parent, next.name.as_slice(), LISTED, Mode::empty()) {
            Ok(fd) if is_free(&fd) => walk.list(fd, &next.old, &next.new),
            Ok(_) | Err(_) => Some(next.old),
        };
    }
    found
}

struct Walk<'a> {
    authority: &'a dyn Authority,
    left: usize,
    pending: Vec<Pending>,
}

impl Walk<'_> {
    /// Judges the entries of one folder, and notes the folders among them.
    fn list(&mut self, fd: OwnedFd, old: &AbsPath, new: &AbsPath) -> Option<AbsPath> {
        let parent = Arc::new(fd);
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut entries = RawDir::new(&*parent, &mut buffer);
        while let Some(entry) = entries.next() {
            let Ok(entry) = entry else { return Some(old.clone()) };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let (Ok(before), Ok(after)) = (join(old, name), join(new, name)) else {
                return Some(old.clone());
            };
            let Some(left) = self.left.checked_sub(1) else { return Some(before) };
            self.left = left;
            if !self.authority.may(Verb::Rename, &before) {
                return Some(before);
            }
            if !self.authority.may(Verb::Rename, &after) {
                return Some(after);
            }
            if is_folder(&parent, entry.file_type(), name) {
                let (parent, name) = (Arc::clone(&parent), name.to_vec());
                self.pending.push(Pending { parent, name, old: before, new: after });
            }
        }
        None
    }
}

/// Whether no other session's cover can stand on a folder.
fn is_free(folder: &OwnedFd) -> bool {
    fstat(folder).is_ok_and(|stat| !placeholders::is_marked(stat.st_mode))
}

/// Some file systems do not say in the listing.
fn is_folder(parent: &OwnedFd, listed: FileType, name: &[u8]) -> bool {
    if listed != FileType::Unknown {
        return listed == FileType::Directory;
    }
    match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
        // What cannot be looked at is taken for one, and then cannot be opened either.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, Ruling};

    /// Lets all move but what has this name.
    struct AllBut(&'static str);

    impl Authority for AllBut {
        fn judge(&self, _operation: &Operation<'_>) -> Ruling {
            Ruling::Deny
        }
        fn may(&self, _verb: Verb, path: &AbsPath) -> bool {
            path != &AbsPath::new(self.0).unwrap()
        }
        fn control(&self, _message: &[u8]) -> Vec<u8> {
            Vec::new()
        }
    }

    fn walk(fixed: &'static str, most: usize) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
        std::fs::write(folder.path().join("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("link")).unwrap();
        let listed = openat(rustix::fs::CWD, folder.path(), LISTED, Mode::empty()).unwrap();
        let path = |path| AbsPath::new(path).unwrap();
        first_fixed(&AllBut(fixed), listed, &path("/old"), &path("/new"), most).map(|found| found.to_string())
    }

    #[test]
    fn an_entry_that_may_not_move_is_found_by_its_old_and_by_its_new_path() {
        assert_eq!(walk("/elsewhere", 5), None);
        assert_eq!(walk("/old/a/b/file", 5), Some("/old/a/b/file".into()));
        assert_eq!(walk("/new/a/b/c", 5), Some("/new/a/b/c".into()));
        assert_eq!(walk("/old/link", 5), Some("/old/link".into()));
    }

    #[test]
    fn a_folder_with_a_placeholder_below_it_does_not_move() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let placeholder = folder.path().join("a/b");
        std::fs::create_dir_all(&placeholder).unwrap();
        let found = || {
            let listed = openat(rustix::fs::CWD, folder.path(), LISTED, Mode::empty()).unwrap();
            let path = |path| AbsPath::new(path).unwrap();
            first_fixed(&AllBut("/x"), listed, &path("/old"), &path("/new"), MOST).map(|p| p.to_string())
        };
        assert_eq!(found(), None);
        std::fs::set_permissions(&placeholder, std::fs::Permissions::from_mode(0o1700)).unwrap();
        assert_eq!(found(), Some("/old/a/b".into()));
    }

    #[test]
    fn a_folder_with_too_much_below_it_does_not_move() {
        assert!(walk("/elsewhere", 4).is_some());
    }
}
