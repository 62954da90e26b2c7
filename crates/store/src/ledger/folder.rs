//! The ledger's folder: every file is opened by name within it, so that a process that was born with nothing
//! but its descriptor can write.

use super::LedgerError;
use crate::atomic;
use remit_ledger::{Hash, Head, head};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Files are for their owner alone.
pub(super) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

pub(super) const HEAD: &str = "head";
const ID: &str = "id";

/// What the head's file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    /// Where the ledger ends.
    Head(Head),
    /// Nothing yet.
    Empty,
    /// Nothing that can be read.
    Damaged,
}

/// The folder of a ledger.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens a ledger that exists.
    pub(super) fn open(path: &Path) -> Result<Self, LedgerError> {
        let folder =
            atomic::open_folder(path).map_err(LedgerError::io("open", path.display().to_string()))?;
        Ok(Self(folder))
    }

    /// Opens the folder, creating it with mode 0700 if it is not there; its parent must exist.
    pub(super) fn create_or_open(path: &Path) -> Result<Self, LedgerError> {
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Self::open(path),
            Err(error) => Err(LedgerError::io("create", path.display().to_string())(error)),
        }
    }

    pub(super) fn from_fd(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// Opens a file of the folder; `None` if it is not there.
    pub(super) fn open_file(&self, name: &str, flags: OFlags) -> Result<Option<File>, LedgerError> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.0, name, flags, PRIVATE) {
            Ok(fd) => Ok(Some(File::from(fd))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(LedgerError::io("open", name)(error)),
        }
    }

    /// Opens a file that is created if it is not there.
    pub(super) fn create_file(&self, name: &str, flags: OFlags) -> Result<File, LedgerError> {
        self.open_file(name, flags | OFlags::CREATE)?
            .ok_or_else(|| LedgerError::io("create", name)(Errno::NOENT))
    }

    /// The ledger's id; `None` if there is none that can be read.
    pub(super) fn id(&self) -> Result<Option<Hash>, LedgerError> {
        let Some(file) = self.open_file(ID, OFlags::RDONLY)? else { return Ok(None) };
        let mut text = Vec::new();
        file.take(66).read_to_end(&mut text).map_err(LedgerError::io("read", ID))?;
        Ok(text.strip_suffix(b"\n").and_then(Hash::from_hex))
    }

    /// The ledger's id, drawn now if the folder has no ledger yet.
    pub(super) fn id_or_new(&self) -> Result<Hash, LedgerError> {
        if let Some(id) = self.id()? {
            return Ok(id);
        }
        let fresh = self.open_file(ID, OFlags::RDONLY)?.is_none() && self.segments()?.is_empty();
        if fresh {
            let id = Hash(atomic::random().map_err(LedgerError::io("draw", ID))?);
            atomic::create(&self.0, ID, format!("{id}\n").as_bytes(), PRIVATE)
                .map_err(LedgerError::io("create", ID))?;
        }
        // Whoever was first has drawn it.
        self.id()?.ok_or_else(|| LedgerError::NoId(self.path()))
    }

    /// The folder's path, for messages.
    pub(super) fn path(&self) -> PathBuf {
        use std::os::fd::AsRawFd as _;
        let link = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        std::fs::read_link(link).unwrap_or_else(|_| PathBuf::from("the ledger's folder"))
    }

    /// The numbers of the segments and their sizes in bytes, in order.
    pub(super) fn segments(&self) -> Result<Vec<(u64, u64)>, LedgerError> {
        let list = || -> Result<Vec<(u64, u64)>, Errno> {
            let mut found = Vec::new();
            for entry in rustix::fs::Dir::read_from(&self.0)? {
                let entry = entry?;
                let Some(number) = number(entry.file_name().to_bytes()) else { continue };
                let stat =
                    rustix::fs::statat(&self.0, entry.file_name(), rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
                found.push((number, u64::try_from(stat.st_size).unwrap_or(0)));
            }
            found.sort_unstable();
            Ok(found)
        };
        list().map_err(LedgerError::io("list", "."))
    }

    /// Opens a segment for reading; `None` if it is not there.
    pub(super) fn segment(&self, number: u64) -> Result<Option<File>, LedgerError> {
        self.open_file(&name(number), OFlags::RDONLY)
    }

    /// Opens a segment for appending, creating it if it is not there.
    pub(super) fn segment_for_append(&self, number: u64) -> Result<File, LedgerError> {
        self.create_file(&name(number), OFlags::RDWR | OFlags::APPEND)
    }

    /// Makes the names in the folder last.
    pub(super) fn sync(&self) -> Result<(), LedgerError> {
        rustix::fs::fsync(&self.0).map_err(LedgerError::io("sync", "."))
    }
}

/// A segment in an error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment(pub(super) u64);

impl From<Segment> for String {
    fn from(segment: Segment) -> Self {
        name(segment.0)
    }
}

/// A segment's name.
fn name(number: u64) -> String {
    format!("{number:06}.jsonl")
}

fn number(file: &[u8]) -> Option<u64> {
    let number = std::str::from_utf8(file.strip_suffix(b".jsonl")?).ok()?.parse().ok()?;
    (number > 0 && name(number).as_bytes() == file).then_some(number)
}

/// Reads the head's file. Only under the lock is it sure to be whole.
pub(super) fn read_head(file: &File) -> Result<Stored, LedgerError> {
    let mut bytes = [0; head::BYTES + 1];
    let read = file.read_at(&mut bytes, 0).map_err(LedgerError::io("read", HEAD))?;
    match bytes.get(..read) {
        None | Some([]) => Ok(Stored::Empty),
        Some(bytes) => Ok(Head::decode(bytes).map_or(Stored::Damaged, Stored::Head)),
    }
}

/// Writes the head's file, which never changes its size once it was written.
pub(super) fn write_head(file: &File, head: &Head) -> Result<(), LedgerError> {
    file.write_all_at(&head.encode(), 0).map_err(LedgerError::io("write", HEAD))
}
