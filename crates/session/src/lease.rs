//! Who lives: each session holds a lock on a file in its home for as long as its processes live, so that a
//! later run can tell what a killed holder left behind, and remove it.

use rustix::fs::{
    AtFlags, Dir, FlockOperation, Mode, OFlags, chmod, fchmod, flock, open, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use std::ffi::CStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const LEASE: &str = "lease";
/// The folder of a home that holds what the session has changed in the person's caches.
pub(crate) const LAYERS: &str = "layers";
/// Marks a home in which a conversation may have been kept.
const KEPT: &str = "kept";
/// A home that is being made.
const FRESH: &str = ".new";

/// A home that this process holds. The lock ends with the last process that has the descriptor: the holder and
/// the gate, which is a copy of it.
#[derive(Debug)]
pub struct Lease {
    root: PathBuf,
    _lock: File,
}

impl Lease {
    /// Makes the folder `homes/<id>`, locked before it can be seen under that name.
    pub fn take(homes: &Path, id: &str, keep: bool) -> io::Result<Self> {
        let (fresh, root) = (homes.join(format!("{FRESH}{id}")), homes.join(id));
        fs::DirBuilder::new().mode(0o700).create(&fresh)?;
        let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(fresh.join(LEASE))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        if keep {
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(fresh.join(KEPT))?;
        }
        fs::rename(&fresh, &root)?;
        Ok(Self { root, _lock: lock })
    }

    /// The home.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// Removes what sessions left behind whose processes are all gone: homes without a conversation, temporary
/// files, sockets. What cannot be removed stays for the next time.
pub fn collect(homes: &Path, sockets: &Path) {
    for entry in fs::read_dir(homes).into_iter().flatten().flatten() {
        let home = entry.path();
        if entry.file_name().to_string_lossy().starts_with(FRESH) {
            // Being made right now, or by somebody who died at it: a minute tells them apart.
            let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
            if age.is_some_and(|age| age.as_secs() > 60) {
                drop(remove(&home));
            }
        } else if let Some(_lock) = abandoned(&home) {
            drop(clear(&home));
        }
    }
    for entry in fs::read_dir(sockets).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let id = Path::new(&name).file_stem().unwrap_or_default();
        let home = homes.join(id);
        let gone = fs::symlink_metadata(&home).is_err() || abandoned(&home).is_some();
        if gone && name.to_string_lossy().ends_with(".sock") {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// The lock of a home that nobody holds.
fn abandoned(home: &Path) -> Option<File> {
    let file = open_lease(home).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok().map(|()| file)
}

/// Whether a session other than that of this home lives, or is being started; so too if that cannot be told.
pub fn others_live(homes: &Path, own: &Path) -> bool {
    let Ok(entries) = fs::read_dir(homes) else { return true };
    entries.into_iter().any(|entry| match entry {
        Ok(entry) if entry.path() == own => false,
        Ok(entry) => match open_lease(&entry.path()) {
            Ok(file) => flock(&file, FlockOperation::NonBlockingLockExclusive).is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        },
        Err(_) => true,
    })
}

fn open_lease(home: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(no_waiting()).open(home.join(LEASE))
}

/// Neither for a link's target nor for a pipe's other end.
fn no_waiting() -> i32 {
    i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0)
}

/// Removes a home; of one in which a conversation may have been kept, only the temporary files and what was laid over
/// caches.
pub fn clear(home: &Path) -> io::Result<()> {
    if fs::symlink_metadata(home.join(KEPT)).is_ok() {
        return ["tmp", "var-tmp", LAYERS].iter().try_for_each(|name| remove(&home.join(name)));
    }
    remove(home)
}

/// A folder that is entered, no link.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes a folder and all below it, following no link. However deep it is, it takes few descriptors and no long
/// path: folders within folders are moved up to the top first.
fn remove(folder: &Path) -> io::Result<()> {
    let Some((parent, name)) = folder.parent().zip(folder.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = match open(parent, FOLDER, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    let top = match enter(&parent, name) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    let mut raised = 0;
    // Each round empties the folders that stand in the top, and puts theirs there.
    while empty(&top, |name| {
        let below = enter(&top, name)?;
        empty(&below, |inner| raise(&below, inner, &top, &mut raised))?;
        unlinkat(&top, name, AtFlags::REMOVEDIR)
    })? {}
    Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
}

/// Opens a folder, whatever its mode: a program can leave such that their owner may not enter.
fn enter(parent: &OwnedFd, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    match openat(parent, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {}
        other => return other,
    }
    let closed = openat(parent, name, OFlags::PATH | FOLDER, Mode::empty())?;
    chmod(format!("/proc/self/fd/{}", closed.as_raw_fd()), Mode::RWXU)?;
    openat(parent, name, FOLDER, Mode::empty())
}

/// Removes what is no folder from a folder, and does with each folder as it is told; whether there was any.
fn empty(folder: &OwnedFd, mut inner: impl FnMut(&CStr) -> Result<(), Errno>) -> Result<bool, Errno> {
    // Without the right to write, nothing can be taken out of it.
    fchmod(folder, Mode::RWXU)?;
    let mut any = false;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if [c".", c".."].contains(&name) {
            continue;
        }
        match unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR) => {
                any = true;
                inner(name)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(any)
}

/// Removes a folder, or moves it to the top if it has anything in it.
fn raise(parent: &OwnedFd, name: &CStr, top: &OwnedFd, raised: &mut u64) -> Result<(), Errno> {
    match unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY) => {}
        other => return other,
    }
    // A folder that moves is changed itself.
    fchmod(&enter(parent, name)?, Mode::RWXU)?;
    loop {
        *raised = raised.saturating_add(1);
        match renameat(parent, name, top, format!("{raised}")) {
            // Something there has this name.
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_living_session_keeps_its_home_and_a_dead_one_loses_it() {
        let dir = tempfile::tempdir().unwrap();
        let (homes, sockets) = (dir.path().join("homes"), dir.path().join("run"));
        fs::create_dir_all(&homes).unwrap();
        fs::create_dir_all(&sockets).unwrap();
        let lives = Lease::take(&homes, "a", false).unwrap();
        drop(Lease::take(&homes, "b", false).unwrap());
        let kept = Lease::take(&homes, "c", true).unwrap();
        fs::create_dir_all(kept.root().join("tmp/x")).unwrap();
        fs::create_dir_all(kept.root().join("layers/cache-npm/upper")).unwrap();
        fs::create_dir_all(kept.root().join("home")).unwrap();
        drop(kept);
        for name in ["a.sock", "b.sock", "gone.sock", "other"] {
            fs::write(sockets.join(name), "").unwrap();
        }
        collect(&homes, &sockets);
        assert!(lives.root().exists() && !homes.join("b").exists());
        assert!(homes.join("c/home").exists() && !homes.join("c/tmp").exists());
        assert!(!homes.join("c/layers").exists());
        let left: std::collections::BTreeSet<_> =
            fs::read_dir(&sockets).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(left.into_iter().collect::<Vec<_>>(), ["a.sock", "other"]);
    }

    #[test]
    fn folders_that_may_not_be_entered_are_removed_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("precious"), "").unwrap();
        let home = dir.path().join("home");
        fs::create_dir_all(home.join("closed/deep")).unwrap();
        std::os::unix::fs::symlink(&outside, home.join("closed/link")).unwrap();
        fs::set_permissions(home.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        remove(&home).unwrap();
        assert!(!home.exists() && outside.join("precious").exists());
    }

    #[test]
    fn a_tree_deeper_than_any_path_is_removed_with_few_descriptors() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir(&home).unwrap();
        let mut at = open(&home, FOLDER, Mode::empty()).unwrap();
        for level in 0..5000 {
            // Names as the removal itself gives.
            let name = format!("{}", level % 3 + 1);
            rustix::fs::mkdirat(&at, name.as_str(), Mode::RWXU).unwrap();
            let below = openat(&at, name.as_str(), FOLDER, Mode::empty()).unwrap();
            openat(&at, "file", OFlags::CREATE | OFlags::WRONLY, Mode::empty()).unwrap();
            if level % 7 == 0 {
                fchmod(&at, Mode::empty()).unwrap();
            }
            at = below;
        }
        drop(at);
        remove(&home).unwrap();
        assert!(!home.exists());
    }
}
