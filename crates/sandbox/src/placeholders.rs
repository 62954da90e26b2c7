//! Folders that are made before a launch and removed after the last session that uses them. A **placeholder**
//! stands in for a path that is out of bounds and does not exist, since a mask needs something to cover; it is
//! known by its mode, and is never removed earlier, since the mask would go with it. A **new folder** is one that a
//! rule grants and that nobody has made yet; it is like any other folder, known by its inode, and stays if somebody
//! has put something into it. A file under Remit's state says who uses which; a session that ended without saying
//! so is known by its process id and start time, and is cleaned up after at the next launch.

use crate::plan::{Kind, Stat};
use remit_core::AbsPath;
use remit_core::path::{escape, unescape};
use rustix::fs::{self, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The permission bits by which a placeholder is known; a folder that somebody made his own has others.
const MARK: u32 = 0o1700;
/// The same for a folder that only leads to one: it is seen in the session, and may come into use.
const LEADS: u32 = 0o1751;
/// What such a folder gets when it has come into use.
const USED: u32 = 0o755;

/// Whether this is a placeholder.
pub(crate) fn is_one(stat: &Stat) -> bool {
    stat.kind == Kind::Folder && [MARK, LEADS].contains(&stat.mode)
}

/// Whether a file of this type and mode bears the mark of a placeholder.
pub(crate) fn is_marked(mode: u32) -> bool {
    FileType::from_raw_mode(mode) == FileType::Directory && [MARK, LEADS].contains(&(mode & 0o7777))
}

/// Why placeholders cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum PlaceholderError {
    /// The record of who uses what.
    #[error("the record of placeholders {}: {error}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A folder could not be made.
    #[error("the placeholder `{path}` cannot be made: {error}")]
    Make {
        /// The folder.
        path: AbsPath,
        /// What the system said.
        error: Errno,
    },
}

/// A session's claim on its placeholders and new folders; given up when dropped.
#[derive(Debug)]
pub struct Holding {
    record: PathBuf,
    claims: Vec<Claim>,
    unmade: Vec<(AbsPath, Errno)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Claim {
    pid: u32,
    start: u64,
    /// The inode of a new folder; none for a placeholder.
    inode: Option<u64>,
    path: AbsPath,
}

/// Makes the folders of `placeholders` and `new_folders` that do not exist, and notes in the file `record` that this
/// process uses them. Cleans up after sessions that are gone. A new folder that cannot be made is no error; see
/// [`Holding::unmade`].
pub fn hold(
    record: &Path,
    placeholders: &[AbsPath],
    new_folders: &[AbsPath],
) -> Result<Holding, PlaceholderError> {
    let mut holding = Holding { record: record.to_owned(), claims: Vec::new(), unmade: Vec::new() };
    let asked = !placeholders.is_empty() || new_folders.iter().any(|folder| inode(folder).is_none());
    if !asked && fs::stat(record).is_err() {
        return Ok(holding);
    }
    let _lock = lock(record)?;
    let known = read(record)?;
    let pid = std::process::id();
    let start = start_time(pid).unwrap_or_default();
    let claim = |path: &AbsPath, inode| Claim { pid, start, inode, path: path.clone() };
    holding.claims = placeholders.iter().map(|path| claim(path, None)).collect();
    for path in new_folders {
        match inode(path) {
            // Another session's is this one's, too; what somebody else has made is nobody's here.
            Some(inode) if known.iter().any(|c| c.path == *path && c.inode == Some(inode)) => {
                holding.claims.push(claim(path, Some(inode)));
            }
            Some(_) => {}
            None => match fs::mkdir(path.as_path(), Mode::from_raw_mode(0o777)) {
                Ok(()) => holding.claims.extend(inode(path).map(|inode| claim(path, Some(inode)))),
                Err(Errno::EXIST) => {}
                Err(error) => holding.unmade.push((path.clone(), error)),
            },
        }
    }
    let mut claims: Vec<Claim> = known.iter().filter(|c| alive(c)).cloned().collect();
    claims.extend(holding.claims.iter().cloned());
    let left = unclaimed(&known, &claims);
    // First the record, then the placeholder: a crash between the two leaves nothing unknown.
    let all: Vec<Claim> = left.iter().copied().chain(&claims).cloned().collect();
    write(record, &all)?;
    for path in placeholders {
        let leads = placeholders.iter().any(|other| other != path && path.covers(other));
        make(path, if leads { LEADS } else { MARK })?;
    }
    left.into_iter().rev().for_each(remove);
    write(record, &claims)?;
    Ok(holding)
}

impl Holding {
    /// The new folders that could not be made, and why: they are not seen in the session.
    pub fn unmade(&self) -> &[(AbsPath, Errno)] {
        &self.unmade
    }

    /// Gives the claim up, and removes the folders that nobody else uses and that are still empty.
    pub fn release(mut self) -> Result<(), PlaceholderError> {
        self.give_up()
    }

    fn give_up(&mut self) -> Result<(), PlaceholderError> {
        let mine = std::mem::take(&mut self.claims);
        if mine.is_empty() {
            return Ok(());
        }
        let _lock = lock(&self.record)?;
        let known = read(&self.record)?;
        let mut claims = known.clone();
        for claim in &mine {
            if let Some(at) = claims.iter().position(|c| c == claim) {
                claims.remove(at);
            }
        }
        claims.retain(alive);
        // What lies in another one was made after it.
        unclaimed(&known, &claims).into_iter().rev().for_each(remove);
        write(&self.record, &claims)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        // What cannot be cleaned up now is cleaned up at the next launch.
        drop(self.give_up());
    }
}

fn unclaimed<'a>(known: &'a [Claim], claims: &[Claim]) -> Vec<&'a Claim> {
    known.iter().filter(|one| !claims.iter().any(|c| c.path == one.path && c.inode == one.inode)).collect()
}

/// The inode of a folder; none if there is none of this name.
fn inode(path: &AbsPath) -> Option<u64> {
    let stat = fs::lstat(path.as_path()).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::Directory).then_some(stat.st_ino)
}

fn make(path: &AbsPath, bits: u32) -> Result<(), PlaceholderError> {
    let failed = |error| PlaceholderError::Make { path: path.clone(), error };
    match fs::mkdir(path.as_path(), Mode::from_raw_mode(bits)) {
        Ok(()) => mark(path, bits).map_err(failed),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Gives a folder that has just been made the bits that the mode mask has taken. By descriptor: what has the name
/// by now may be another's.
fn mark(path: &AbsPath, bits: u32) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match fs::open(path.as_path(), flags, Mode::empty()) {
        // With such a mask its owner cannot read it; then it is no placeholder that a later launch would know.
        Err(Errno::ACCESS) => return Err(Errno::PERM),
        other => other?,
    };
    let stat = fs::fstat(&folder)?;
    let made = stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o7777 & !bits == 0;
    match (is_marked(stat.st_mode), made) {
        (_, true) => fs::fchmod(&folder, Mode::from_raw_mode(bits)),
        (true, _) => Ok(()),
        (false, false) => Err(Errno::BUSY),
    }
}

/// Removes an unused placeholder or new folder. What is not one, or has content, is somebody's own by now and stays; a
/// placeholder loses the mark, so that it may be moved and changed again.
fn remove(claim: &Claim) {
    let path = &claim.path;
    let Ok(stat) = fs::lstat(path.as_path()) else { return };
    let ours = match claim.inode {
        None => is_marked(stat.st_mode),
        Some(inode) => inode == stat.st_ino,
    };
    if !ours || fs::rmdir(path.as_path()).is_ok() || claim.inode.is_some() {
        return;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(folder) = fs::open(path.as_path(), flags, Mode::empty()) else { return };
    let bits = match fs::fstat(&folder) {
        Ok(stat) if stat.st_mode & 0o7777 == LEADS => USED,
        Ok(stat) if is_marked(stat.st_mode) => MARK & 0o777,
        _ => return,
    };
    // Only its owner may; whoever else made use of it has it with the mark.
    match fs::fchmod(&folder, Mode::from_raw_mode(bits)) {
        Ok(()) | Err(_) => {}
    }
}

/// Nothing is waited for that somebody may have put in the place of a file, and no link is followed.
const QUIET: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

fn regular(file: &OwnedFd) -> Result<(), Errno> {
    let kind = fs::FileType::from_raw_mode(fs::fstat(file)?.st_mode);
    if kind == fs::FileType::RegularFile { Ok(()) } else { Err(Errno::INVAL) }
}

fn lock(record: &Path) -> Result<OwnedFd, PlaceholderError> {
    let path = record.with_extension("lock");
    let failed = |error: Errno| PlaceholderError::Record { path: path.clone(), error: error.into() };
    let flags = OFlags::RDWR | OFlags::CREATE | QUIET;
    let file = fs::open(&path, flags, Mode::from_raw_mode(0o600)).map_err(failed)?;
    regular(&file).map_err(failed)?;
    rustix::io::retry_on_intr(|| fs::flock(&file, FlockOperation::LockExclusive)).map_err(failed)?;
    Ok(file)
}

fn read(record: &Path) -> Result<Vec<Claim>, PlaceholderError> {
    let failed = |error| PlaceholderError::Record { path: record.to_owned(), error };
    let mut text = String::new();
    match fs::open(record, OFlags::RDONLY | QUIET, Mode::empty()) {
        Ok(file) => {
            regular(&file).map_err(|error| failed(error.into()))?;
            File::from(file).read_to_string(&mut text).map_err(failed)?
        }
        Err(Errno::NOENT) => return Ok(Vec::new()),
        Err(error) => return Err(failed(error.into())),
    };
    let claim = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let (pid, start) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let rest = words.next()?;
        // A path begins with a slash, and the inode of a new folder with an `@`.
        let (inode, path) = match rest.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
            Some((inode, path)) => (Some(inode.parse().ok()?), path),
            None => (None, rest),
        };
        Some(Claim { pid, start, inode, path: AbsPath::new(unescape(path)?).ok()? })
    };
    text.lines()
        .map(|line| {
            claim(line).ok_or_else(|| failed(std::io::Error::other(format!("`{line}` is not a claim"))))
        })
        .collect()
}

fn write(record: &Path, claims: &[Claim]) -> Result<(), PlaceholderError> {
    let failed = |error| PlaceholderError::Record { path: record.to_owned(), error };
    let line = |c: &Claim| {
        let inode = c.inode.map_or(String::new(), |inode| format!("@{inode} "));
        format!("{} {} {inode}{}\n", c.pid, c.start, escape(c.path.as_bytes()))
    };
    let text: String = claims.iter().map(line).collect();
    let new = record.with_extension("new");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | QUIET;
    let file = fs::open(&new, flags, Mode::from_raw_mode(0o600)).map_err(|error| failed(error.into()))?;
    regular(&file).map_err(|error| failed(error.into()))?;
    File::from(file).write_all(text.as_bytes()).map_err(failed)?;
    std::fs::rename(&new, record).map_err(failed)
}

fn alive(claim: &Claim) -> bool {
    start_time(claim.pid) == Some(claim.start)
}

/// When a process started, in clock ticks since boot; none if there is no such process, or it is a zombie.
fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, parentheses included.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    if matches!(words.next()?, "Z" | "X") {
        return None;
    }
    words.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch() -> (tempfile::TempDir, PathBuf, AbsPath) {
        let scratch = tempfile::tempdir().unwrap();
        let record = scratch.path().join("placeholders");
        let path = AbsPath::try_from(scratch.path().join("secrets").as_path()).unwrap();
        (scratch, record, path)
    }

    #[test]
    fn made_for_a_session_and_removed_after_it() {
        let (_scratch, record, path) = scratch();
        let holding = hold(&record, std::slice::from_ref(&path), &[]).unwrap();
        assert!(path.as_path().is_dir());
        holding.release().unwrap();
        assert!(!path.as_path().exists());
        assert_eq!(std::fs::read_to_string(&record).unwrap(), "");
    }

    #[test]
    fn stays_while_another_session_uses_it() {
        let (_scratch, record, path) = scratch();
        let first = hold(&record, std::slice::from_ref(&path), &[]).unwrap();
        let second = hold(&record, std::slice::from_ref(&path), &[]).unwrap();
        first.release().unwrap();
        assert!(path.as_path().is_dir());
        drop(second);
        assert!(!path.as_path().exists());
    }

    #[test]
    fn what_somebody_filled_or_made_is_never_removed() {
        let (_scratch, record, path) = scratch();
        let holding = hold(&record, std::slice::from_ref(&path), &[]).unwrap();
        std::fs::write(path.as_path().join("k"), "x").unwrap();
        holding.release().unwrap();
        assert!(path.as_path().join("k").exists());

        let (_scratch, record, path) = scratch();
        std::fs::create_dir(path.as_path()).unwrap();
        hold(&record, std::slice::from_ref(&path), &[]).unwrap().release().unwrap();
        assert!(path.as_path().is_dir());
    }

    #[test]
    fn folders_that_lead_to_it_are_made_and_removed_with_it() {
        let (scratch, record, path) = scratch();
        let deep = path.join("a").unwrap().join("b").unwrap();
        let chain = [path.clone(), path.join("a").unwrap(), deep.clone()];
        hold(&record, &chain, &[]).unwrap().release().unwrap();
        assert!(!path.as_path().exists());
        // What came into use stays, without the mark.
        let holding = hold(&record, &chain, &[]).unwrap();
        std::fs::write(path.as_path().join("mine"), "x").unwrap();
        holding.release().unwrap();
        let names: Vec<_> =
            std::fs::read_dir(path.as_path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["mine"]);
        assert_eq!(fs::stat(path.as_path()).unwrap().st_mode & 0o7777, 0o755);
        drop(scratch);
    }

    #[test]
    fn a_session_that_crashed_is_cleaned_up_after_at_the_next_launch() {
        let (_scratch, record, path) = scratch();
        std::mem::forget(hold(&record, std::slice::from_ref(&path), &[]).unwrap());
        let line = std::fs::read_to_string(&record).unwrap();
        // The same process id, started at another time: another process.
        let other = line.replacen(&start_time(std::process::id()).unwrap().to_string(), "1", 1);
        std::fs::write(&record, other).unwrap();
        hold(&record, &[], &[]).unwrap().release().unwrap();
        assert!(!path.as_path().exists());
        assert_eq!(std::fs::read_to_string(&record).unwrap(), "");
    }

    #[test]
    fn a_record_that_cannot_be_read_is_an_error() {
        let (_scratch, record, path) = scratch();
        std::fs::write(&record, "nonsense\n").unwrap();
        let error = hold(&record, &[path], &[]).unwrap_err().to_string();
        assert!(error.contains("`nonsense` is not a claim"), "{error}");
    }

    #[test]
    fn a_room_is_an_ordinary_folder_and_goes_with_its_last_session_if_it_is_empty() {
        let (_scratch, record, path) = scratch();
        let new_folders = std::slice::from_ref(&path);
        let first = hold(&record, &[], new_folders).unwrap();
        let stat = fs::lstat(path.as_path()).unwrap();
        assert!(!is_marked(stat.st_mode), "{:o}", stat.st_mode);
        let second = hold(&record, &[], new_folders).unwrap();
        first.release().unwrap();
        assert!(path.as_path().is_dir(), "the second session still uses it");
        drop(second);
        assert!(!path.as_path().exists());

        let holding = hold(&record, &[], new_folders).unwrap();
        std::fs::write(path.as_path().join("work"), "x").unwrap();
        holding.release().unwrap();
        assert!(path.as_path().join("work").exists());
    }

    #[test]
    fn a_folder_that_is_no_room_of_a_sessions_making_stays() {
        let (_scratch, record, path) = scratch();
        let new_folders = std::slice::from_ref(&path);
        std::fs::create_dir(path.as_path()).unwrap();
        hold(&record, &[], new_folders).unwrap().release().unwrap();
        assert!(path.as_path().is_dir());

        // Somebody has put another in its place; the first is kept, so that its inode is not used again.
        std::fs::remove_dir(path.as_path()).unwrap();
        let holding = hold(&record, &[], new_folders).unwrap();
        std::fs::rename(path.as_path(), path.as_path().with_extension("old")).unwrap();
        std::fs::create_dir(path.as_path()).unwrap();
        holding.release().unwrap();
        assert!(path.as_path().is_dir());
    }

    #[test]
    fn a_room_that_cannot_be_made_is_told_and_stops_nothing() {
        let (_scratch, record, path) = scratch();
        let below = AbsPath::lexical(&path, "no/parent").unwrap();
        let holding = hold(&record, &[], std::slice::from_ref(&below)).unwrap();
        assert_eq!(holding.unmade(), [(below, Errno::NOENT)]);
    }

    #[test]
    fn the_room_of_a_session_that_crashed_goes_at_the_next_launch() {
        let (_scratch, record, path) = scratch();
        std::mem::forget(hold(&record, &[], std::slice::from_ref(&path)).unwrap());
        let line = std::fs::read_to_string(&record).unwrap();
        let other = line.replacen(&format!(" {} ", start_time(std::process::id()).unwrap()), " 1 ", 1);
        std::fs::write(&record, other).unwrap();
        hold(&record, &[], &[]).unwrap().release().unwrap();
        assert!(!path.as_path().exists());
    }
}
