//! The few questions that planning puts to the file tree.

use remit_core::AbsPath;
use rustix::fs::{self, Access, AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;

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
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::io::retry_on_intr(|| {
            fs::openat2(fs::CWD, path.as_path(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        });
        let file = match opened {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Found::Absent),
            Err(Errno::LOOP) => return Ok(Found::ThroughLink),
            // In a session, which is not let use this call.
            Err(Errno::NOSYS) => return find_by_steps(path),
            Err(error) => return Err(error.into()),
        };
        Ok(Found::Is(known(&fs::fstat(&file)?)))
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
                        Ok(stat) => known(&stat).kind,
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
    let mut found = known(&fs::fstat(&at)?);
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
        found = known(&fs::fstat(&at)?);
    }
    Ok(Found::Is(found))
}

fn known(stat: &fs::Stat) -> Stat {
    Stat {
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
        mode: stat.st_mode & 0o7777,
        names: stat.st_nlink,
        own: stat.st_uid == rustix::process::geteuid().as_raw(),
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
        let find = |name: &str| {
            let found = HostDisk.find(&at(name)).unwrap();
            assert_eq!(find_by_steps(&at(name)).unwrap(), found, "{name}");
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
        assert_eq!(find("real/file/below"), Found::Absent);
        assert_eq!(HostDisk.link(&at("link")).unwrap(), b"real");
        let mut names = Vec::new();
        HostDisk.list(&root, &mut |name, kind| names.push((name.to_vec(), kind))).unwrap();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(names, [(b"link".to_vec(), Kind::Link), (b"real".to_vec(), Kind::Folder)]);
    }
}
