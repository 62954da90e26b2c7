//! The file tree as planning asks for it, with what folders hold remembered from launch to launch: a launch looks
//! at each folder's times, and reads only those that have changed.
//!
//! A folder's change time moves with each name that is made, renamed or removed in it, and no program can set it.
//! So a listing is used again if device, inode, modification and change time are the same; and it is only kept if
//! the folder had been at rest when it was read (a later change in the same tick would not show), and lies on a
//! file system that keeps these times by itself. The file belongs to one boot of the machine: device numbers mean
//! something, and a power loss cannot leave half of one.

use remit_core::AbsPath;
use remit_sandbox::plan::{Disk, Found, HostDisk, Kind, Looks};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A folder that has changed within this time before it is read is not at rest: some ticks of the kernel's clock.
const REST: Duration = Duration::from_millis(50);
/// The same on a file system that may keep whole seconds only.
const COARSE_REST: Duration = Duration::from_secs(2);

/// File systems that keep the times of folders themselves: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs.
const KEEPERS: [u64; 5] = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994];

/// A remembered file larger than this is begun anew.
const LARGEST: usize = 64 << 20;

/// What tells whether a folder has changed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    device: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Serialize, Deserialize)]
struct Folder<'a> {
    path: &'a [u8],
    stamp: Stamp,
    /// Per entry a letter for its kind, its name, and a NUL.
    entries: &'a [u8],
}

#[derive(Serialize, Deserialize)]
struct File<'a> {
    boot: &'a [u8],
    #[serde(borrow)]
    folders: Vec<Folder<'a>>,
}

/// Works on the machine's file tree. What is remembered lies in `file`, whose folder may be missing: then nothing
/// is kept.
pub fn remembering<T>(file: &Path, work: impl FnOnce(&dyn Disk) -> T) -> T {
    remembering_if(file, |path, stamp| stamp.is_at_rest() && keeps_times(path), work)
}

fn remembering_if<T>(
    file: &Path,
    keeps: fn(&AbsPath, &Stamp) -> bool,
    work: impl FnOnce(&dyn Disk) -> T,
) -> T {
    // Whatever is wrong with the file, folders are read, and the next one is whole.
    let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let bytes = remit_store::read_file(file).ok().flatten().unwrap_or_default();
    let before = postcard::from_bytes::<File<'_>>(&bytes).ok().filter(|file| file.boot == boot);
    let folders = before.map(|file| file.folders).unwrap_or_default();
    let listings = Listings {
        before: folders.iter().map(|folder| (folder.path, folder)).collect(),
        fresh: RefCell::default(),
        same: RefCell::default(),
        looks: Looks::default(),
        keeps,
    };
    let done = work(&listings);
    if !boot.is_empty() && listings.is_worth_keeping(bytes.len()) {
        // A launch without it is only slower.
        drop(listings.keep(file, &boot));
    }
    done
}

/// A folder that was read.
struct Fresh {
    stamp: Stamp,
    entries: Vec<u8>,
}

struct Listings<'a> {
    before: HashMap<&'a [u8], &'a Folder<'a>>,
    fresh: RefCell<HashMap<Vec<u8>, Fresh>>,
    /// The folders that were found to be as they were: within one launch that is asked once.
    same: RefCell<HashSet<&'a [u8]>>,
    looks: Looks,
    /// Whether what a folder holds may be remembered under a stamp.
    keeps: fn(&AbsPath, &Stamp) -> bool,
}

impl Listings<'_> {
    /// A rewrite costs as much as it has bytes, so a few new folders in many wait for more.
    fn is_worth_keeping(&self, bytes: usize) -> bool {
        let fresh: usize = self.fresh.borrow().values().map(|folder| folder.entries.len() + 64).sum();
        fresh > 0 && fresh.saturating_mul(8) >= bytes
    }

    fn keep(&self, file: &Path, boot: &[u8]) -> io::Result<()> {
        let fresh = self.fresh.borrow();
        let now = fresh.iter().map(|(path, f)| Folder { path, stamp: f.stamp, entries: &f.entries });
        let mut folders: Vec<_> = now.collect();
        let older = self.before.values().filter(|folder| !fresh.contains_key(folder.path));
        let older: Vec<_> =
            older.map(|f| Folder { path: f.path, stamp: f.stamp, entries: f.entries }).collect();
        if older.iter().map(|folder| folder.entries.len()).sum::<usize>() < LARGEST {
            folders.extend(older);
        }
        let bytes = postcard::to_stdvec(&File { boot, folders }).map_err(io::Error::other)?;
        let temporary = PathBuf::from(format!("{}.{}", file.display(), std::process::id()));
        let written = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut to| to.write_all(&bytes))
            .and_then(|()| fs::rename(&temporary, file));
        written.inspect_err(|_| drop(fs::remove_file(&temporary)))
    }
}

impl Disk for Listings<'_> {
    fn find(&self, path: &AbsPath) -> io::Result<Found> {
        self.looks.find(path)
    }

    fn link(&self, path: &AbsPath) -> io::Result<Vec<u8>> {
        HostDisk.link(path)
    }

    fn may_make_in(&self, folder: &AbsPath) -> bool {
        HostDisk.may_make_in(folder)
    }

    fn list(&self, path: &AbsPath, each: &mut dyn FnMut(&[u8], Kind)) -> io::Result<()> {
        let known = self.before.get(path.as_bytes());
        if let Some(folder) = known.filter(|folder| self.same.borrow().contains(folder.path)) {
            tell(folder.entries, each);
            return Ok(());
        }
        let Ok(stamp) = Stamp::of(path) else { return HostDisk.list(path, each) };
        if let Some(folder) = known.filter(|folder| folder.stamp == stamp) {
            self.same.borrow_mut().insert(folder.path);
            tell(folder.entries, each);
            return Ok(());
        }
        if let Some(fresh) = self.fresh.borrow().get(path.as_bytes())
            && fresh.stamp == stamp
        {
            tell(&fresh.entries, each);
            return Ok(());
        }
        let keeps = (self.keeps)(path, &stamp);
        let mut entries = Vec::new();
        HostDisk.list(path, &mut |name, kind| {
            entries.push(letter(kind));
            entries.extend_from_slice(name);
            entries.push(0);
            each(name, kind);
        })?;
        if keeps && Stamp::of(path).is_ok_and(|after| after == stamp) {
            self.fresh.borrow_mut().insert(path.as_bytes().to_vec(), Fresh { stamp, entries });
        }
        Ok(())
    }
}

impl Stamp {
    fn of(path: &AbsPath) -> io::Result<Self> {
        let about = fs::symlink_metadata(path.as_path())?;
        Ok(Self {
            device: about.dev(),
            inode: about.ino(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        })
    }

    /// By the change time: the other one can be set.
    fn is_at_rest(&self) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let rest = if nanoseconds == 0 { COARSE_REST } else { REST };
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u32::try_from(nanoseconds)) else {
            return false;
        };
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        SystemTime::now().duration_since(changed).is_ok_and(|since| since > rest)
    }
}

fn keeps_times(path: &AbsPath) -> bool {
    rustix::fs::statfs(path.as_path())
        .is_ok_and(|about| u64::try_from(about.f_type).is_ok_and(|kind| KEEPERS.contains(&kind)))
}

fn letter(kind: Kind) -> u8 {
    match kind {
        Kind::Folder => b'd',
        Kind::File => b'f',
        Kind::Link => b'l',
        Kind::Other => b'o',
    }
}

fn tell(entries: &[u8], each: &mut dyn FnMut(&[u8], Kind)) {
    for entry in entries.split(|byte| *byte == 0) {
        let Some((kind, name)) = entry.split_first() else { continue };
        let kind = match kind {
            b'd' => Kind::Folder,
            b'f' => Kind::File,
            b'l' => Kind::Link,
            _ => Kind::Other,
        };
        each(name, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Scene {
        _scratch: tempfile::TempDir,
        folder: AbsPath,
        file: PathBuf,
    }

    /// A folder at rest, on a file system that keeps times.
    fn scene() -> Scene {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("folder");
        fs::create_dir(&folder).unwrap();
        for name in ["one", "two"] {
            fs::write(folder.join(name), "").unwrap();
        }
        fs::create_dir(folder.join("three")).unwrap();
        symlink("one", folder.join("four")).unwrap();
        let file = scratch.path().join("listings");
        Scene { folder: AbsPath::try_from(folder.as_path()).unwrap(), file, _scratch: scratch }
    }

    fn names(disk: &dyn Disk, folder: &AbsPath) -> Vec<(Vec<u8>, Kind)> {
        let mut names = Vec::new();
        disk.list(folder, &mut |name, kind| names.push((name.to_vec(), kind))).unwrap();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names
    }

    /// Writes a file that remembers something else of the folder than what it holds, under its stamp.
    fn plant(scene: &Scene, boot: &[u8], stamp: Stamp) {
        let folder = Folder { path: scene.folder.as_bytes(), stamp, entries: b"fplanted\0" };
        let file = File { boot, folders: vec![folder] };
        fs::write(&scene.file, postcard::to_stdvec(&file).unwrap()).unwrap();
    }

    fn boot() -> Vec<u8> {
        fs::read("/proc/sys/kernel/random/boot_id").unwrap()
    }

    #[test]
    fn a_listing_says_what_the_folder_holds() {
        let scene = scene();
        let seen = remembering(&scene.file, |disk| names(disk, &scene.folder));
        assert_eq!(seen, names(&HostDisk, &scene.folder));
        assert_eq!(seen.len(), 4);
    }

    #[test]
    fn a_folder_with_the_same_stamp_is_not_read_again() {
        let scene = scene();
        plant(&scene, &boot(), Stamp::of(&scene.folder).unwrap());
        let seen = remembering(&scene.file, |disk| names(disk, &scene.folder));
        assert_eq!(seen, [(b"planted".to_vec(), Kind::File)]);
    }

    #[test]
    fn within_one_launch_a_folder_is_looked_at_once() {
        let scene = scene();
        plant(&scene, &boot(), Stamp::of(&scene.folder).unwrap());
        remembering(&scene.file, |disk| {
            let first = names(disk, &scene.folder);
            fs::write(scene.folder.as_path().join("later"), "").unwrap();
            assert_eq!(names(disk, &scene.folder), first);
        });
        assert_eq!(remembering(&scene.file, |disk| names(disk, &scene.folder)).len(), 5);
    }

    #[test]
    fn a_folder_that_has_changed_is_read_again() {
        let scene = scene();
        let before = Stamp::of(&scene.folder).unwrap();
        let others = [
            Stamp { inode: before.inode + 1, ..before },
            Stamp { device: before.device + 1, ..before },
            Stamp { changed: (before.changed.0, before.changed.1 ^ 1), ..before },
            Stamp { modified: (before.modified.0 - 1, before.modified.1), ..before },
        ];
        for other in others {
            plant(&scene, &boot(), other);
            assert_eq!(remembering(&scene.file, |disk| names(disk, &scene.folder)).len(), 4);
        }
    }

    #[test]
    fn what_another_boot_remembered_does_not_count() {
        let scene = scene();
        plant(&scene, b"another", Stamp::of(&scene.folder).unwrap());
        assert_eq!(remembering(&scene.file, |disk| names(disk, &scene.folder)).len(), 4);
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let scene = scene();
        plant(&scene, &boot(), Stamp::of(&scene.folder).unwrap());
        let whole = fs::read(&scene.file).unwrap();
        for length in 0..whole.len() {
            fs::write(&scene.file, &whole[..length]).unwrap();
            assert_eq!(remembering(&scene.file, |disk| names(disk, &scene.folder)).len(), 4, "{length}");
        }
    }

    #[test]
    fn rest_and_the_file_system_decide_what_is_remembered() {
        let at = |time: SystemTime, nanoseconds| {
            let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
            let time = (i64::try_from(since.as_secs()).unwrap(), nanoseconds);
            Stamp { device: 1, inode: 1, modified: (1, 0), changed: time }
        };
        let (now, second, minute) = (SystemTime::now(), Duration::from_secs(1), Duration::from_secs(60));
        assert!(at(now - minute, 0).is_at_rest() && at(now - second, 1).is_at_rest());
        assert!(!at(now, 0).is_at_rest(), "it may have changed again within its second");
        assert!(!at(now + minute, 0).is_at_rest() && !at(now + minute, 1).is_at_rest());
        assert!(!keeps_times(&AbsPath::new("/proc").unwrap()));
    }

    #[test]
    fn what_is_kept_is_found_at_the_next_launch_beside_what_was() {
        let scene = scene();
        plant(&scene, &boot(), Stamp::of(&scene.folder).unwrap());
        let other = scene.folder.join("three").unwrap();
        fs::write(other.as_path().join("five"), "").unwrap();
        let seen = |keeps| {
            remembering_if(&scene.file, keeps, |disk| {
                [&other, &scene.folder].map(|folder| names(disk, folder))
            })
        };
        let first = seen(|_, _| true);
        assert_eq!(first.clone().map(|names| names[0].0.clone()), [b"five".to_vec(), b"planted".to_vec()]);
        let bytes = fs::read(&scene.file).unwrap();
        assert_eq!(postcard::from_bytes::<File<'_>>(&bytes).unwrap().folders.len(), 2);
        assert_eq!(seen(|_, _| false), first);
    }
}
