//! Who lives: each session holds a lock on a file in its home for as long as its processes live, so that a
//! later run can tell what a killed holder left behind, and remove it.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const LEASE: &str = "lease";
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
    let file = OpenOptions::new().write(true).custom_flags(libc_nofollow()).open(home.join(LEASE)).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok().map(|()| file)
}

fn libc_nofollow() -> i32 {
    i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0)
}

/// Removes a home; of one in which a conversation may have been kept, only the temporary files.
pub fn clear(home: &Path) -> io::Result<()> {
    if fs::symlink_metadata(home.join(KEPT)).is_ok() {
        return ["tmp", "var-tmp"].iter().try_for_each(|name| remove(&home.join(name)));
    }
    remove(home)
}

/// Removes a folder and all below it, following no link. Folders that their owner may not enter are opened
/// first: a program can leave such.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            open_up(folder)?;
            fs::remove_dir_all(folder)
        }
        other => other,
    }
}

/// Gives the owner back what it takes to remove a tree. Links are not followed: only real folders are entered.
fn open_up(folder: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Ok(());
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        fs::create_dir_all(kept.root().join("home")).unwrap();
        drop(kept);
        for name in ["a.sock", "b.sock", "gone.sock", "other"] {
            fs::write(sockets.join(name), "").unwrap();
        }
        collect(&homes, &sockets);
        assert!(lives.root().exists() && !homes.join("b").exists());
        assert!(homes.join("c/home").exists() && !homes.join("c/tmp").exists());
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
        open_up(&home).unwrap();
        remove(&home).unwrap();
        assert!(!home.exists() && outside.join("precious").exists());
    }
}
