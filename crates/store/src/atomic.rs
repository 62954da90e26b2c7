//! Whole files, written so that nobody ever sees half of one.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read as _, Write as _};

/// Opens a folder.
pub(crate) fn open_folder(path: &std::path::Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Opens a file of a folder, `None` if it is not there. What is not a regular file is an error and never waited for:
/// a pipe that somebody puts there would hold up whoever reads it.
pub(crate) fn open_file(
    folder: impl AsFd,
    name: impl rustix::path::Arg,
    flags: OFlags,
    mode: Mode,
) -> io::Result<Option<File>> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    match rustix::fs::openat(&folder, name, flags, mode) {
        Ok(fd) if is_regular(rustix::fs::fstat(&fd)?.st_mode) => Ok(Some(File::from(fd))),
        Err(Errno::NOENT) => Ok(None),
        // A link, a folder, a socket, or a pipe without a reader.
        Ok(_) | Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => Err(io::Error::other(NotAFile)),
        Err(error) => Err(error.into()),
    }
}

fn is_regular(mode: u32) -> bool {
    rustix::fs::FileType::from_raw_mode(mode) == rustix::fs::FileType::RegularFile
}

/// What stands where a file should is something else.
#[derive(Debug, thiserror::Error)]
#[error("it is a link, a folder or a pipe, and no file")]
pub(crate) struct NotAFile;

impl NotAFile {
    pub(crate) fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

/// A whole file of Remit's own; `None` if it is not there. Fails on what is not a regular file.
pub fn read_file(path: &std::path::Path) -> io::Result<Option<Vec<u8>>> {
    let Some(mut file) = open_file(rustix::fs::CWD, path, OFlags::RDONLY, Mode::empty())? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Puts what `edit` makes of a whole file in its place; none is what is not there. Its folder is made if need be, and
/// whoever edits it at the same time waits: `<name>.lock` beside it tells. Only this user may read it.
///
/// # Errors
/// What the system says, and what `edit` says; the file is as it was then.
pub fn edit_file<E: From<io::Error>>(
    path: &std::path::Path,
    edit: impl FnOnce(Option<Vec<u8>>) -> Result<Vec<u8>, E>,
) -> Result<(), E> {
    let nameless = || io::Error::other("it has no name in a folder");
    let folder = path.parent().ok_or_else(nameless)?;
    let name = path.file_name().and_then(std::ffi::OsStr::to_str).ok_or_else(nameless)?;
    std::fs::create_dir_all(folder)?;
    let folder = open_folder(folder)?;
    let mode = Mode::RUSR | Mode::WUSR;
    let lock = open_file(&folder, format!("{name}.lock"), OFlags::WRONLY | OFlags::CREATE, mode)?;
    let lock = lock.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).map_err(io::Error::from)?;
    let content = edit(read_file(path)?)?;
    place(folder.as_fd(), name, &content, mode, true, |scratch| {
        rustix::fs::renameat(&folder, scratch, &folder, name)
    })?;
    Ok(())
}

/// Creates `name` with this content, on disk before its name is; answers whether it did, which it does not if
/// the name exists.
pub(crate) fn create(folder: impl AsFd, name: &str, content: &[u8], mode: Mode) -> io::Result<bool> {
    place(folder.as_fd(), name, content, mode, true, |scratch| {
        match rustix::fs::linkat(&folder, scratch, &folder, name, AtFlags::empty()) {
            Ok(()) => rustix::fs::unlinkat(&folder, scratch, AtFlags::empty()).map(|()| true),
            Err(Errno::EXIST) => rustix::fs::unlinkat(&folder, scratch, AtFlags::empty()).map(|()| false),
            Err(error) => Err(error),
        }
    })
}

/// Puts this content in the place of `name`, whether it exists or not. It reaches the disk when the system
/// writes it: a power loss may leave what was there, or an empty file.
pub(crate) fn replace_soon(folder: impl AsFd, name: &str, content: &[u8], mode: Mode) -> io::Result<()> {
    place(folder.as_fd(), name, content, mode, false, |scratch| {
        rustix::fs::renameat(&folder, scratch, &folder, name)
    })
}

fn place<T>(
    folder: impl AsFd,
    name: &str,
    content: &[u8],
    mode: Mode,
    sync: bool,
    settle: impl FnOnce(&str) -> Result<T, Errno>,
) -> io::Result<T> {
    let scratch = format!(".{name}.{}", remit_ledger::hash::hex(&random::<8>()?));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(&folder, &scratch, flags, mode)?);
    let written = file.write_all(content).and_then(|()| if sync { file.sync_all() } else { Ok(()) });
    let settled = written.and_then(|()| settle(&scratch).map_err(io::Error::from));
    match settled {
        Ok(answer) => {
            if sync {
                rustix::fs::fsync(&folder)?;
            }
            Ok(answer)
        }
        Err(error) => {
            // The first error is the one to tell; a scratch file left behind disturbs nobody.
            rustix::fs::unlinkat(&folder, &scratch, AtFlags::empty()).ok();
            Err(error)
        }
    }
}

/// Bytes that nobody can foresee.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creating_never_overwrites_and_replacing_does() {
        let dir = tempfile::tempdir().unwrap();
        let folder = open_folder(dir.path()).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        assert!(create(&folder, "a", b"one", mode).unwrap());
        assert!(!create(&folder, "a", b"two", mode).unwrap());
        assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"one");
        replace_soon(&folder, "a", b"three", mode).unwrap();
        assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"three");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
