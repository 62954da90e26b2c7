//! The one place where a settings file is read and replaced: whole or not at all, with its mode, and through
//! a link if it is one.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why a settings file was not read or replaced.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file system said no.
    #[error("`{}` could not be {what}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What was tried: `read`, `written`, `deleted`.
        what: &'static str,
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

fn io(path: &Path, what: &'static str) -> impl Fn(std::io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError::Io { path: path.clone(), what, source }
}

/// The text of the file; none if there is no file.
pub fn read(path: &Path) -> Result<Option<String>, FileError> {
    match std::fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| FileError::NotText(path.to_owned())),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(io(path, "read")(e)),
    }
}

/// Puts `new` in the place of the file, or deletes it; `seen` is what [`read`] answered, and if the file is
/// no longer so, nothing is done. Folders above it are made, the mode is kept, and a link stays a link.
pub fn replace(path: &Path, seen: Option<&str>, new: Option<&str>) -> Result<(), FileError> {
    let real = match std::fs::canonicalize(path) {
        Ok(real) => real,
        Err(e) if e.kind() == ErrorKind::NotFound => path.to_owned(),
        Err(e) => return Err(io(path, "read")(e)),
    };
    if read(&real)?.as_deref() != seen {
        return Err(FileError::Changed(real));
    }
    let folder = real.parent().unwrap_or(Path::new("/")).to_owned();
    let Some(new) = new else {
        if seen.is_some() {
            std::fs::remove_file(&real).map_err(io(&real, "deleted"))?;
            sync(&folder)?;
        }
        return Ok(());
    };
    std::fs::create_dir_all(&folder).map_err(io(&folder, "written"))?;
    let mode = match std::fs::metadata(&real) {
        Ok(meta) => Some(meta.permissions().mode() & 0o7777),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(io(&real, "read")(e)),
    };
    let mut name = std::ffi::OsString::from(".");
    name.push(real.file_name().unwrap_or_default());
    name.push(format!(".remit-{}", std::process::id()));
    let temporary = folder.join(name);
    let written = write(&temporary, new, mode).and_then(|()| {
        // As late as can be: what was seen is what goes.
        if read(&real)?.as_deref() == seen { Ok(()) } else { Err(FileError::Changed(real.clone())) }
    });
    let moved = written.and_then(|()| std::fs::rename(&temporary, &real).map_err(io(&real, "written")));
    match moved {
        Ok(()) => sync(&folder),
        Err(why) => match std::fs::remove_file(&temporary) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(io(&temporary, "deleted")(e)),
            _ => Err(why),
        },
    }
}

fn write(path: &Path, text: &str, mode: Option<u32>) -> Result<(), FileError> {
    // A file of this process's number can only be what a killed one left.
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(io(path, "deleted")(e)),
        _ => {}
    }
    let fail = io(path, "written");
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode.unwrap_or(0o666));
    let mut file = options.open(path).map_err(&fail)?;
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode)).map_err(&fail)?;
    }
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(&fail)
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
}
