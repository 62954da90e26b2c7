//! The one place where a settings file is read and replaced: whole or not at all, with its owner and mode, and
//! through a link if it is one.

use rustix::fs::{Mode, OFlags};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// The longest file that is read, in bytes.
pub const LONGEST: usize = 16 << 20;

/// Why a settings file was not read or replaced.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file system said no.
    #[error("`{}` could not be {what}: {source}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What was tried: `read`, `written`, `made`, `deleted`.
        what: &'static str,
        /// What the file system said.
        source: std::io::Error,
    },
    /// It is a folder, pipe, socket or device.
    #[error("`{}` is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// It is longer than [`LONGEST`].
    #[error("`{}` is longer than {} MiB", .0.display(), LONGEST >> 20)]
    TooLong(PathBuf),
    /// It is a link, or in a folder that is one, whose target is not there.
    #[error("`{}` is a link to something that does not exist", .0.display())]
    Dangling(PathBuf),
    /// The new file could not be given the owner, group and mode of the old one.
    #[error("`{}` cannot be replaced with its owner, group and mode: {source}", path.display())]
    Owner {
        /// Which file.
        path: PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
    /// It is not text.
    #[error("`{}` is not UTF-8", .0.display())]
    NotText(PathBuf),
    /// Somebody else wrote it meanwhile.
    #[error("`{}` was changed by somebody else meanwhile", .0.display())]
    Changed(PathBuf),
}

fn io(path: &Path, what: &'static str) -> impl Fn(std::io::Error) -> FileError + use<> {
    let path = path.to_owned();
    move |source| FileError::Io { path: path.clone(), what, source }
}

/// Takes the lock on a file, which is made if it is not there, and waits for whoever has it. The lock ends with what is
/// answered, or with the process.
pub fn lock(path: &Path) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(io(path, "opened"))?;
    file.lock().map_err(io(path, "locked"))?;
    Ok(file)
}

/// The text of the file; none if there is no file. Never waits: what is not a regular file of at most
/// [`LONGEST`] bytes is an error, and so is a link that leads nowhere.
pub fn read(path: &Path) -> Result<Option<String>, FileError> {
    Ok(find(path)?.map(|found| found.text))
}

/// A file as it stands.
#[derive(PartialEq, Eq)]
struct Found {
    real: PathBuf,
    text: String,
    uid: u32,
    gid: u32,
    mode: u32,
}

fn find(path: &Path) -> Result<Option<Found>, FileError> {
    let real = match std::fs::canonicalize(path) {
        Ok(real) => real,
        Err(e) if e.kind() == ErrorKind::NotFound => return not_dangling(path).map(|()| None),
        Err(e) => return Err(io(path, "read")(e)),
    };
    let fail = io(&real, "read");
    let regular = |meta: Metadata| match meta.is_file() {
        true => Ok(meta),
        false => Err(FileError::NotRegular(real.clone())),
    };
    // Looked at before it is opened, since opening a device can do something; and again after that, since
    // another thing may have come in its place.
    regular(std::fs::symlink_metadata(&real).map_err(&fail)?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(&real, flags, Mode::empty()).map_err(|error| match error {
        rustix::io::Errno::AGAIN => fail(std::io::Error::other("it is leased by another process")),
        other => fail(other.into()),
    })?;
    let file = File::from(file);
    let meta = regular(file.metadata().map_err(&fail)?)?;
    let mut bytes = Vec::new();
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(&fail)?;
    if bytes.len() > LONGEST {
        return Err(FileError::TooLong(real));
    }
    let text = String::from_utf8(bytes).map_err(|_| FileError::NotText(real.clone()))?;
    Ok(Some(Found { real, text, uid: meta.uid(), gid: meta.gid(), mode: meta.mode() & 0o7777 }))
}

/// Fails if a path leads nowhere because of a link: its name is taken, though nothing can be read there.
fn not_dangling(path: &Path) -> Result<(), FileError> {
    for here in path.ancestors() {
        match std::fs::metadata(here) {
            Ok(_) => break,
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(io(here, "read")(e)),
            Err(_) if std::fs::symlink_metadata(here).is_ok() => {
                return Err(FileError::Dangling(here.to_owned()));
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// Puts `new` in the place of the file, or deletes it; `seen` is what [`read`] answered, and if the file is
/// no longer so, nothing is done. Folders above it are made, owner, group and mode are kept, and a link stays
/// a link.
pub fn replace(path: &Path, seen: Option<&str>, new: Option<&str>) -> Result<(), FileError> {
    let old = find(path)?;
    let real = old.as_ref().map_or(path, |old| &old.real);
    if old.as_ref().map(|old| old.text.as_str()) != seen {
        return Err(FileError::Changed(real.to_owned()));
    }
    let Some(new) = new else {
        if old.is_some() {
            std::fs::remove_file(real).map_err(io(real, "deleted"))?;
            sync(folder(real))?;
        }
        return Ok(());
    };
    std::fs::create_dir_all(folder(real)).map_err(io(folder(real), "made"))?;
    let mut name = std::ffi::OsString::from(".");
    name.push(real.file_name().unwrap_or_default());
    name.push(format!(".remit-{}", std::process::id()));
    let temporary = folder(real).join(name);
    // Nobody else reads it before it has the old one's owner and mode.
    let file = scratch(&temporary, if old.is_some() { 0o600 } else { 0o666 }).map_err(io(real, "written"))?;
    let moved = fill(file, new, old.as_ref(), real).and_then(|()| {
        // As late as can be: what was seen is what goes.
        if find(path)? != old {
            return Err(FileError::Changed(real.to_owned()));
        }
        std::fs::rename(&temporary, real).map_err(io(real, "written"))
    });
    match moved {
        Ok(()) => sync(folder(real)),
        Err(why) => match std::fs::remove_file(&temporary) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(io(&temporary, "deleted")(e)),
            _ => Err(why),
        },
    }
}

/// Whether the folder of a file is there.
pub fn has_folder(path: &Path) -> Result<bool, FileError> {
    match std::fs::metadata(folder(path)) {
        Ok(meta) => Ok(meta.is_dir()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(io(folder(path), "read")(e)),
    }
}

/// Deletes the folder of a file if nothing is in it; whether it did. A link to a folder stays.
pub fn remove_empty_folder(path: &Path) -> Result<bool, FileError> {
    use ErrorKind::{DirectoryNotEmpty, NotADirectory, NotFound};
    match std::fs::remove_dir(folder(path)) {
        Ok(()) => sync(folder(folder(path))).map(|()| true),
        Err(e) if matches!(e.kind(), DirectoryNotEmpty | NotADirectory | NotFound) => Ok(false),
        Err(e) => Err(io(folder(path), "deleted")(e)),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// A new file that only this process writes.
fn scratch(path: &Path, mode: u32) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    match options.open(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            // A file of this process's number can only be what a killed one left.
            std::fs::remove_file(path)?;
            options.open(path)
        }
        made => made,
    }
}

fn fill(mut file: File, text: &str, old: Option<&Found>, real: &Path) -> Result<(), FileError> {
    let fail = io(real, "written");
    file.write_all(text.as_bytes()).map_err(&fail)?;
    if let Some(old) = old {
        keep(&file, old).map_err(|source| FileError::Owner { path: real.to_owned(), source })?;
    }
    file.sync_all().map_err(&fail)
}

/// Gives the new file what the old one had.
fn keep(file: &File, old: &Found) -> std::io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid, old.gid) {
        fchown(file, Some(old.uid), Some(old.gid))?;
    }
    // After the owner: a change of owner can take mode bits away.
    file.set_permissions(Permissions::from_mode(old.mode))
}

fn sync(folder: &Path) -> Result<(), FileError> {
    File::open(folder).and_then(|f| f.sync_all()).map_err(io(folder, "written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_with_its_mode_and_through_its_link() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("dotfiles.json");
        let link = dir.path().join("settings.json");
        std::fs::write(&real, "{}").unwrap();
        std::fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        replace(&link, Some("{}"), Some("{\"a\":1}")).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(read(&real).unwrap().as_deref(), Some("{\"a\":1}"));
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o7777, 0o640);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file is left");
    }

    #[test]
    fn of_those_who_take_a_lock_one_waits_for_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let (path, count) = (dir.path().join("lock"), dir.path().join("count"));
        std::fs::write(&count, "0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let _lock = lock(&path).unwrap();
                        let number: u32 = std::fs::read_to_string(&count).unwrap().parse().unwrap();
                        std::fs::write(&count, (number + 1).to_string()).unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_to_string(&count).unwrap(), "200");
        assert!(lock(&dir.path().join("no/such/lock")).is_err());
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        std::fs::write(&path, "theirs").unwrap();
        assert!(matches!(replace(&path, Some("old"), Some("ours")), Err(FileError::Changed(_))));
        assert!(matches!(replace(&path, None, Some("ours")), Err(FileError::Changed(_))));
        assert_eq!(read(&path).unwrap().as_deref(), Some("theirs"));
    }

    #[test]
    fn a_new_file_gets_its_folder_and_can_be_deleted_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".claude/settings.json");
        assert_eq!(read(&path).unwrap(), None);
        replace(&path, None, Some("{}")).unwrap();
        replace(&path, Some("{}"), None).unwrap();
        assert_eq!(read(&path).unwrap(), None);
        replace(&path, None, None).unwrap();
    }

    #[test]
    fn bytes_that_are_not_text_are_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(matches!(read(&path), Err(FileError::NotText(_))));
    }

    #[test]
    fn a_persons_file_stays_theirs_when_root_edits_it() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        std::fs::write(&path, "old").unwrap();
        std::os::unix::fs::chown(&path, Some(1234), Some(4321)).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o660)).unwrap();
        replace(&path, Some("old"), Some("new")).unwrap();
        let meta = std::fs::metadata(&path).unwrap();
        assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o7777), (1234, 4321, 0o660));
        assert_eq!(read(&path).unwrap().as_deref(), Some("new"));
    }

    #[test]
    fn a_file_whose_owner_cannot_be_kept_is_left_as_it_is() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        let replaced = as_nobody(|| replace(&path, Some("old"), Some("new")));
        assert!(matches!(replaced, Err(FileError::Owner { .. })), "{replaced:?}");
        let meta = std::fs::metadata(&path).unwrap();
        assert_eq!((read(&path).unwrap().as_deref(), meta.uid()), (Some("old"), 0));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_folder_that_takes_no_new_file_is_said_to_keep_the_file_from_being_written() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        for seen in [&path, &dir.path().join("new.json")] {
            let old = read(seen).unwrap();
            let said = as_nobody(|| replace(seen, old.as_deref(), Some("new"))).unwrap_err().to_string();
            assert!(said.starts_with(&format!("`{}` could not be written", seen.display())), "{said}");
        }
    }

    /// Does `work` on a thread that is no longer root.
    fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        let nobody = rustix::fs::Uid::from_raw(65534);
        let drop_and_work = || {
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            work()
        };
        std::thread::scope(|scope| scope.spawn(drop_and_work).join().unwrap())
    }

    #[test]
    fn what_is_not_a_regular_file_is_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink(at("pipe"), at("link")).unwrap();
        let odd = [at("pipe"), at("socket"), at("link"), dir.path().to_owned(), "/dev/zero".into()];
        for path in odd {
            assert!(matches!(read(&path), Err(FileError::NotRegular(_))), "{}", path.display());
            assert!(matches!(replace(&path, None, Some("x")), Err(FileError::NotRegular(_))));
            assert!(matches!(replace(&path, None, None), Err(FileError::NotRegular(_))));
        }
    }

    #[test]
    fn a_file_is_read_up_to_the_longest_and_no_longer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let file = File::create(&path).unwrap();
        file.set_len(LONGEST as u64).unwrap();
        assert_eq!(read(&path).unwrap().map(|text| text.len()), Some(LONGEST));
        file.set_len(LONGEST as u64 + 1).unwrap();
        assert!(matches!(read(&path), Err(FileError::TooLong(_))));
        // A regular file that does not say how long it is.
        assert!(read(Path::new("/proc/self/status")).unwrap().is_some_and(|text| !text.is_empty()));
    }

    #[test]
    fn a_link_that_leads_nowhere_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (link, folder) = (dir.path().join("settings.json"), dir.path().join("folder"));
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        std::os::unix::fs::symlink("nowhere", &folder).unwrap();
        for path in [&link, &folder.join("settings.json")] {
            assert!(matches!(read(path), Err(FileError::Dangling(_))));
            assert!(matches!(replace(path, None, Some("{}")), Err(FileError::Dangling(_))));
        }
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(std::fs::symlink_metadata(dir.path().join("nowhere")).is_err());
        // A link to a folder in which there is no file yet is none of them.
        std::fs::create_dir(dir.path().join("nowhere")).unwrap();
        assert_eq!(read(&folder.join("settings.json")).unwrap(), None);
    }

    #[test]
    fn a_folder_goes_only_if_it_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".claude/settings.json");
        assert!(!has_folder(&path).unwrap() && !remove_empty_folder(&path).unwrap());
        replace(&path, None, Some("{}")).unwrap();
        assert!(has_folder(&path).unwrap() && !remove_empty_folder(&path).unwrap());
        replace(&path, Some("{}"), None).unwrap();
        assert!(remove_empty_folder(&path).unwrap() && !has_folder(&path).unwrap());
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(!remove_empty_folder(&link.join("settings.json")).unwrap());
    }

    #[test]
    fn what_a_killed_process_left_is_not_in_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let left = dir.path().join(format!(".settings.json.remit-{}", std::process::id()));
        std::fs::write(&left, "half").unwrap();
        replace(&path, None, Some("{}")).unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("{}"));
        assert!(std::fs::symlink_metadata(&left).is_err());
    }
}
