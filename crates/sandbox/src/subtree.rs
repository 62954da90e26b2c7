//! What lies below a folder that goes: one that moves takes all below it along, and one that is removed goes with
//! it. So each entry below is judged as if it went by itself. Else a rule for a path could be walked round by
//! renaming a folder above it, twice; and what would be refused in the middle, half done, is known at the start.

use crate::placeholders;
use remit_core::AbsPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, fstat, openat, statat};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// How many entries are looked at; a folder with more below it does not go.
pub const MOST: usize = 200_000;

/// How a folder is opened to be looked through.
pub const LISTED: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder that is still to be listed.
struct Pending {
    parent: Arc<OwnedFd>,
    name: Vec<u8>,
    old: AbsPath,
    new: Option<AbsPath>,
}

/// Why an entry keeps a folder where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It was judged, by its present or its coming path.
    Judged(AbsPath),
    /// It cannot be looked into.
    Closed(AbsPath),
    /// It stands in for what some session may not see.
    Placeholder(AbsPath),
    /// It is one too many.
    TooMany(AbsPath),
}

impl Obstacle {
    /// The entry.
    pub fn path(&self) -> &AbsPath {
        match self {
            Obstacle::Judged(path)
            | Obstacle::Closed(path)
            | Obstacle::Placeholder(path)
            | Obstacle::TooMany(path) => path,
        }
    }
}

/// The first entry found below the folder `listed`, whose path is `old`, that may not go: by its present path or, if
/// the folder moves to `new`, by its coming one. `may` is asked for each; `most` is how many are looked at.
pub fn first_fixed(
    may: &dyn Fn(&AbsPath) -> bool,
    listed: OwnedFd,
    (old, new): (&AbsPath, Option<&AbsPath>),
    most: usize,
) -> Option<Obstacle> {
    let mut walk = Walk { may, left: most, pending: Vec::new() };
    let mut found = walk.list(listed, old, new);
    while found.is_none()
        && let Some(next) = walk.pending.pop()
    {
        found = match openat(&*next.parent, next.name.as_slice(), LISTED, Mode::empty()) {
            Ok(fd) if is_free(&fd) => walk.list(fd, &next.old, next.new.as_ref()),
            Ok(_) => Some(Obstacle::Placeholder(next.old)),
            Err(_) => Some(Obstacle::Closed(next.old)),
        };
    }
    found
}

struct Walk<'a> {
    may: &'a dyn Fn(&AbsPath) -> bool,
    left: usize,
    pending: Vec<Pending>,
}

impl Walk<'_> {
    /// Judges the entries of one folder, and notes the folders among them.
    fn list(&mut self, fd: OwnedFd, old: &AbsPath, new: Option<&AbsPath>) -> Option<Obstacle> {
        let parent = Arc::new(fd);
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut entries = RawDir::new(&*parent, &mut buffer);
        while let Some(entry) = entries.next() {
            let Ok(entry) = entry else { return Some(Obstacle::Closed(old.clone())) };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let (Ok(before), Ok(after)) = (old.join(name), new.map(|new| new.join(name)).transpose()) else {
                return Some(Obstacle::Closed(old.clone()));
            };
            let Some(left) = self.left.checked_sub(1) else { return Some(Obstacle::TooMany(before)) };
            self.left = left;
            if !(self.may)(&before) {
                return Some(Obstacle::Judged(before));
            }
            if let Some(after) = after.as_ref().filter(|after| !(self.may)(after)) {
                return Some(Obstacle::Judged(after.clone()));
            }
            if is_folder(&parent, entry.file_type(), name) {
                let (parent, name) = (Arc::clone(&parent), name.to_vec());
                self.pending.push(Pending { parent, name, old: before, new: after });
            }
        }
        None
    }
}

/// Whether no session's cover can stand on a folder.
pub fn is_free(folder: &OwnedFd) -> bool {
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

    fn walk(fixed: &'static str, most: usize) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
        std::fs::write(folder.path().join("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("link")).unwrap();
        let listed = openat(rustix::fs::CWD, folder.path(), LISTED, Mode::empty()).unwrap();
        let path = |path| AbsPath::new(path).unwrap();
        // All goes but what has this name.
        let may = |path: &AbsPath| path != &AbsPath::new(fixed).unwrap();
        let found = first_fixed(&may, listed, (&path("/old"), Some(&path("/new"))), most)?;
        Some(found.path().to_string())
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
            first_fixed(&|_| true, listed, (&path("/old"), None), MOST)
        };
        assert_eq!(found(), None);
        std::fs::set_permissions(&placeholder, std::fs::Permissions::from_mode(0o1700)).unwrap();
        assert_eq!(found(), Some(Obstacle::Placeholder(AbsPath::new("/old/a/b").unwrap())));
    }

    #[test]
    fn a_folder_with_too_much_below_it_does_not_move() {
        assert!(walk("/elsewhere", 4).is_some());
    }
}
