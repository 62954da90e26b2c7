//! The few questions that planning puts to the file tree.

use remit_core::AbsPath;
use rustix::fs::{self, Access, AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// What sort of thing a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A socket, pipe or device.
    Other,
}

/// What is known of something that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Its sort.
    pub kind: Kind,
    /// Permission bits, `0o7777`.
    pub mode: u32,
    /// How many names it has.
    pub names: u64,
    /// Whether it belongs to the user that asks, who may change its permission bits.
    pub own: bool,
}

/// What a path leads to, no link followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A component above the last is a symbolic link: this is not the kernel's name for anything.
    ThroughLink,
    /// Something.
    Is(Stat),
}

/// The file tree, as planning sees it.
pub trait Disk {
    /// What stands at `path`. Errors other than absence, such as a folder that may not be searched, are errors.
    fn find(&self, path: &AbsPath) -> io::Result<Found>;
    /// Calls `each` with every entry of a folder; `.` and `..` are left out.
    fn list(&self, path: &AbsPath, each: &mut dyn FnMut(&[u8], Kind)) -> io::Result<()>;
    /// What a symbolic link says.
    fn link(&self, path: &AbsPath) -> io::Result<Vec<u8>>;
    /// Whether this user may make something in a folder.
    fn may_make_in(&self, folder: &AbsPath) -> bool;
}

/// The machine's own file tree.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostDisk;

/// So many folders are kept open at most.
const MOST_FOLDERS: usize = 64;

/// Looks at the machine's file tree, for one piece of work: folders in which something was looked for are kept open,
/// so that the next look in the same one is a single call. What a folder's name led to is found once.
#[derive(Debug, Default)]
pub struct Looks {
    folders: RefCell<HashMap<Box<[u8]>, Folder>>,
    user: OnceCell<u32>,
}

/// What a folder's path led to.
#[derive(Debug)]
enum Folder {
    Open(OwnedFd),
    /// What is asked of anything in it has this answer.
    Not(Found),
}

impl Looks {
    /// What stands at `path`, as [`Disk::find`] tells it.
    pub fn find(&self, path: &AbsPath) -> io::Result<Found> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return HostDisk.find(path);
        };
        if let Some(folder) = self.folders.borrow().get(parent.as_bytes()) {
            return self.find_in(folder, name);
        }
        // A link at the end must be an error, too, and not be opened itself.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = match open_real(&parent, flags) {
            Ok(folder) => Folder::Open(folder),
            Err(Errno::NOENT | Errno::NOTDIR) => Folder::Not(Found::Absent),
            Err(Errno::LOOP) => Folder::Not(Found::ThroughLink),
            Err(Errno::NOSYS) => return find_by_steps(path),
            Err(error) => return Err(error.into()),
        };
        let found = self.find_in(&folder, name);
        let mut folders = self.folders.borrow_mut();
        if folders.len() >= MOST_FOLDERS {
            folders.clear();
        }
        folders.insert(parent.as_bytes().into(), folder);
        found
    }

    fn find_in(&self, folder: &Folder, name: &[u8]) -> io::Result<Found> {
        let folder = match folder {
            Folder::Open(folder) => folder,
            Folder::Not(found) => return Ok(*found),
        };
        match rustix::io::retry_on_intr(|| fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(stat) => {
                let user = self.user.get_or_init(|| rustix::process::geteuid().as_raw());
                Ok(Found::Is(known(&stat, *user)))
            }
            Err(Errno::NOENT) => Ok(Found::Absent),
            Err(error) => Err(error.into()),
        }
    }
}

/// Opens what no link leads to.
fn open_real(path: &AbsPath, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::io::retry_on_intr(|| {
        fs::openat2(fs::CWD, path.as_path(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
    })
}

fn kind_of(file_type: FileType) -> Kind {
    match file_type {
        FileType::Directory => Kind::Folder,
        FileType::RegularFile => Kind::File,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

impl Disk for HostDisk {
    fn find(&self, path: &AbsPath) -> io::Result<Found> {
        let file = match open_real(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Found::Absent),
            Err(Errno::LOOP) => return Ok(Found::ThroughLink),
            // In a session, which is not let use this call.
            Err(Errno::NOSYS) => return find_by_steps(path),
            Err(error) => return Err(error.into()),
        };
        Ok(Found::Is(known_to_me(&fs::fstat(&file)?)))
    }

    fn list(&self, path: &AbsPath, each: &mut dyn FnMut(&[u8], Kind)) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::io::retry_on_intr(|| fs::open(path.as_path(), flags, Mode::empty()))?;
        let mut buffer = [MaybeUninit::<u8>::uninit(); 16 * 1024];
        let mut entries = RawDir::new(&folder, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => {
                    match fs::statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => kind_of(FileType::from_raw_mode(stat.st_mode)),
                        Err(Errno::NOENT) => continue,
                        Err(error) => return Err(error.into()),
                    }
                }
                said => kind_of(said),
            };
            each(name, kind);
        }
        Ok(())
    }

    fn link(&self, path: &AbsPath) -> io::Result<Vec<u8>> {
        Ok(fs::readlink(path.as_path(), Vec::new())?.into_bytes())
    }

    fn may_make_in(&self, folder: &AbsPath) -> bool {
        fs::accessat(fs::CWD, folder.as_path(), Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok()
    }
}

/// The same by one call for each component.
fn find_by_steps(path: &AbsPath) -> io::Result<Found> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = fs::open("/", flags, Mode::empty())?;
    let mut found = known_to_me(&fs::fstat(&at)?);
    for name in path.components() {
        match found.kind {
            Kind::Folder => {}
            Kind::Link => return Ok(Found::ThroughLink),
            Kind::File | Kind::Other => return Ok(Found::Absent),
        }
        at = match fs::openat(&at, name, flags, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOENT) => return Ok(Found::Absent),
            Err(error) => return Err(error.into()),
        };
        found = known_to_me(&fs::fstat(&at)?);
    }
    Ok(Found::Is(found))
}

fn known_to_me(stat: &fs::Stat) -> Stat {
    known(stat, rustix::process::geteuid().as_raw())
}

fn known(stat: &fs::Stat, user: u32) -> Stat {
    Stat {
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
        mode: stat.st_mode & 0o7777,
        names: stat.st_nlink,
        own: stat.st_uid == user,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_seen_and_never_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let root = AbsPath::try_from(scratch.path()).unwrap();
        std::fs::create_dir(scratch.path().join("real")).unwrap();
        std::fs::write(scratch.path().join("real/file"), "x").unwrap();
        symlink("real", scratch.path().join("link")).unwrap();
        let at = |name: &str| AbsPath::lexical(&root, name).unwrap();
        let looks = Looks::default();
        let find = |name: &str| {
            let found = HostDisk.find(&at(name)).unwrap();
            assert_eq!(find_by_steps(&at(name)).unwrap(), found, "{name}");
            // The second look finds the folder open.
            for _ in 0..2 {
                assert_eq!(looks.find(&at(name)).unwrap(), found, "{name}");
            }
            found
        };
        let kind = |name: &str| match find(name) {
            Found::Is(stat) => Some(stat.kind),
            _ => None,
        };
        assert_eq!(kind("real"), Some(Kind::Folder));
        assert_eq!(kind("real/file"), Some(Kind::File));
        assert_eq!(kind("link"), Some(Kind::Link));
        assert_eq!(find("link/file"), Found::ThroughLink);
        assert_eq!(find("absent"), Found::Absent);
        assert_eq!(find("absent/below"), Found::Absent);
        assert_eq!(find("real/../link/./file"), Found::ThroughLink);
        assert_eq!(looks.find(&AbsPath::root()).unwrap(), HostDisk.find(&AbsPath::root()).unwrap());
        assert_eq!(find("real/file/below"), Found::Absent);
        assert_eq!(HostDisk.link(&at("link")).unwrap(), b"real");
        let mut names = Vec::new();
        HostDisk.list(&root, &mut |name, kind| names.push((name.to_vec(), kind))).unwrap();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(names, [(b"link".to_vec(), Kind::Link), (b"real".to_vec(), Kind::Folder)]);
    }

    #[test]
    fn looks_see_what_changes_in_a_folder_and_keep_few_of_them_open() {
        let scratch = tempfile::tempdir().unwrap();
        let root = AbsPath::try_from(scratch.path()).unwrap();
        let looks = Looks::default();
        let file = root.join("file").unwrap();
        assert_eq!(looks.find(&file).unwrap(), Found::Absent);
        std::fs::write(file.as_path(), "x").unwrap();
        assert_eq!(looks.find(&file).unwrap(), HostDisk.find(&file).unwrap());
        for number in 0..=MOST_FOLDERS * 2 {
            let folder = root.join(number.to_string()).unwrap();
            std::fs::create_dir(folder.as_path()).unwrap();
            assert_eq!(looks.find(&folder.join("in").unwrap()).unwrap(), Found::Absent);
            assert!(looks.folders.borrow().len() <= MOST_FOLDERS);
        }
    }
}
