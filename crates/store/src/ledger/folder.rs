//! The ledger's folder: every file is opened by name within it, so that a process that was born with nothing
//! but its descriptor can write.

use super::LedgerError;
use crate::atomic;
use remit_ledger::{Hash, Head, genesis, head};
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Files are for their owner alone.
pub(super) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

pub(super) const HEAD: &str = "head";
/// The checkpoints' file.
pub(super) const CHECKPOINTS: &str = "checkpoints.jsonl";
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

impl Stored {
    /// The head, if it can be read.
    pub(super) fn head(self) -> Option<Head> {
        match self {
            Self::Head(head) => Some(head),
            Self::Empty | Self::Damaged => None,
        }
    }
}

/// The folder of a ledger.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder that exists.
    fn open(path: &Path) -> Result<Self, LedgerError> {
        match atomic::open_folder(path) {
            Ok(folder) => Ok(Self(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(LedgerError::NoLedger(path.to_owned()))
            }
            Err(error) => Err(LedgerError::io("open", path.display().to_string())(error)),
        }
    }

    /// Opens a ledger that exists, to be read, and answers its id.
    pub(super) fn open_ledger(path: &Path) -> Result<(Self, Hash), LedgerError> {
        let folder = Self::open(path)?;
        match folder.id()? {
            Some(id) => Ok((folder, id)),
            None if folder.is_unused()? => Err(LedgerError::NoLedger(path.to_owned())),
            // Somebody else may have drawn it just now.
            None => match folder.id()? {
                Some(id) => Ok((folder, id)),
                None => Err(LedgerError::NoId(path.to_owned())),
            },
        }
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
        atomic::open_file(&self.0, name, flags, PRIVATE).map_err(LedgerError::io("open", name))
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

    /// The ledger's id and the file of its head. If the folder has no ledger yet, the id is drawn now. It gets its
    /// name after the head has its content, so that a ledger whose head says nothing is never an honest one.
    pub(super) fn id_and_head(&self) -> Result<(Hash, File), LedgerError> {
        let known = self.id()?;
        if known.is_none() && !self.is_unused()? {
            // Somebody else may have drawn it just now.
            return match self.id()? {
                Some(id) => Ok((id, self.head()?)),
                None => Err(LedgerError::NoId(self.path())),
            };
        }
        let head = self.head()?;
        if let Some(id) = known {
            return Ok((id, head));
        }
        lock(&head, FlockOperation::LockExclusive)?;
        let id = self.begin(&head);
        lock(&head, FlockOperation::Unlock)?;
        Ok((id?, head))
    }

    /// The head's file, created if it is not there. Reading it leaves no time behind, which would cost more than the
    /// reading.
    fn head(&self) -> Result<File, LedgerError> {
        match self.create_file(HEAD, OFlags::RDWR | OFlags::NOATIME) {
            // The file is somebody else's.
            Err(LedgerError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
                self.create_file(HEAD, OFlags::RDWR)
            }
            opened => opened,
        }
    }

    fn begin(&self, head: &File) -> Result<Hash, LedgerError> {
        if let Some(id) = self.id()? {
            return Ok(id);
        }
        let id = Hash(atomic::random().map_err(LedgerError::io("draw", ID))?);
        write_head(head, &Head::empty(genesis(&id)))?;
        head.sync_data().map_err(LedgerError::io("sync", HEAD))?;
        // Syncs the folder too, and with it the head's name.
        atomic::create(&self.0, ID, format!("{id}\n").as_bytes(), PRIVATE)
            .map_err(LedgerError::io("create", ID))?;
        self.id()?.ok_or_else(|| LedgerError::NoId(self.path()))
    }

    /// Whether nothing shows that there ever was a ledger; a head without content, or one that counts no records,
    /// does not.
    fn is_unused(&self) -> Result<bool, LedgerError> {
        let counts = match self.open_file(HEAD, OFlags::RDONLY)? {
            Some(head) => matches!(read_head(&head)?, Stored::Head(Head { next: 2.., .. })),
            None => false,
        };
        let there = |name| self.open_file(name, OFlags::RDONLY).map(|file| file.is_some());
        Ok(!counts && !there(ID)? && !there(CHECKPOINTS)? && self.segments()?.is_empty())
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

pub(super) fn lock(head: &File, operation: FlockOperation) -> Result<(), LedgerError> {
    rustix::io::retry_on_intr(|| rustix::fs::flock(head, operation)).map_err(LedgerError::io("lock", HEAD))
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
