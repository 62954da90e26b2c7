//! Git's small files: plain files only, bounded, never waited for.

use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// More than any configuration or pointer file has, in bytes.
const SMALL: u64 = 1 << 20;

/// The bytes of a small plain file; none if nothing has the name. A link at the end of the path is not
/// followed.
///
/// # Errors
/// What the system says, with the path; a link, folder, pipe or device; more than 1 MiB.
pub(crate) fn small(path: &Path) -> io::Result<Option<Vec<u8>>> {
    bounded(path, SMALL)?.map_or(Ok(None), |bytes| bytes.map(Some).ok_or_else(|| wrong(path, "is too large")))
}

/// The bytes of a plain file; none if nothing has the name, and then none again if it has more than `most`.
pub(crate) fn bounded(path: &Path, most: u64) -> io::Result<Option<Option<Vec<u8>>>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
        Err(rustix::io::Errno::LOOP) => return Err(wrong(path, "is a symbolic link")),
        Err(error) => return Err(told(path, error.into())),
    };
    let seen = rustix::fs::fstat(&file).map_err(|error| told(path, error.into()))?;
    if FileType::from_raw_mode(seen.st_mode) != FileType::RegularFile {
        return Err(wrong(path, "is no plain file"));
    }
    let size = usize::try_from(seen.st_size).unwrap_or(0).min(usize::try_from(most).unwrap_or(usize::MAX));
    let mut bytes = Vec::with_capacity(size.saturating_add(1));
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| told(path, error))?;
    Ok(Some((bytes.len() as u64 <= most).then_some(bytes)))
}

fn wrong(path: &Path, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("`{}` {what}", shown(path)))
}

/// A system's error with the path.
pub(crate) fn told(path: &Path, error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => wrong(path, "is leased by another process"),
        kind => io::Error::new(kind, format!("`{}`: {error}", shown(path))),
    }
}

fn shown(path: &Path) -> String {
    remit_core::path::escape(path.as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_a_small_plain_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "text").unwrap();
        assert_eq!(small(&at("file")).unwrap().unwrap(), b"text");
        assert_eq!(small(&at("gone")).unwrap(), None);
        assert_eq!(small(&at("file/x")).unwrap(), None);
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RUSR).unwrap();
        File::create(at("large")).unwrap().set_len(SMALL + 1).unwrap();
        for name in ["link", "pipe", ".", "large"] {
            let error = small(&at(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{name}: {error}");
        }
    }
}
