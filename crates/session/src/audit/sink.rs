//! The sink of `audit.log_file`: the ledger's records once more, as plain lines in a file of the workspace.
//!
//! The ledger is the truth, and the file says by its own last line how far it has come: who writes to it goes on
//! from there, under a lock that all holders and hooks of the workspace share. So nothing is there twice and nothing
//! is left out, whoever is killed when. A line that was cut short is finished by the next writer.
//!
//! The lock's file remembers that place, too: for a file that was moved away or emptied, and so that its last line
//! is read only if somebody else has touched the file.

use crate::words::for_terminals;
use remit_ledger::{Hash, Record, RecordError};
use remit_store::{Entry, LedgerError, Piece, Reader};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How much is written at once.
const BATCH: usize = 64 << 10;
/// How much of the end of a file is read at first for its last line.
const TAIL: u64 = 64 << 10;
/// No line is longer, however much of it is escaped.
const LONGEST: u64 = 16 << 20;
/// How often a lock that somebody else holds is tried.
const AGAIN: Duration = Duration::from_millis(5);

/// Why a record could not be written to the sink.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// What stands there is no plain file.
    #[error(
        "`{0}` is a link, or has one on its way, or is a folder or a pipe, and no plain file of the workspace"
    )]
    NotAFile(String),
    /// What stands there is somebody else's, or has a second name.
    #[error("`{0}` has a second name, or belongs to somebody else")]
    Shared(String),
    /// It holds what Remit has not written.
    #[error("`{0}` holds something else than records; move it away, or name another file")]
    Strange(String),
    /// It holds the records of another ledger.
    #[error("`{0}` holds the records of another ledger; move it away")]
    Foreign(String),
    /// The operating system refused.
    #[error("`{0}` cannot be written")]
    Io(String, #[source] io::Error),
    /// The place in the state folder.
    #[error("the place of `{0}` cannot be kept")]
    Place(String, #[source] io::Error),
    /// Somebody else is writing, or there is too much to be written in this time. The next writer goes on.
    #[error("`{0}` is being written")]
    Busy(String),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A record of the ledger.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// A record as a line: what `remit log --json` shows. Nothing in it acts on a terminal.
pub fn line(seq: u64, hash: &Hash, chained: bool, record: &Record) -> String {
    json_line(seq, &hash.to_string(), chained, record)
}

pub(super) fn json_line(seq: u64, hash: &str, chained: bool, record: &Record) -> String {
    for_terminals(&json!({"seq": seq, "hash": hash, "chained": chained, "record": record}).to_string())
}

/// The sink of one workspace.
#[derive(Debug, Clone)]
pub struct Sink {
    root: PathBuf,
    /// Relative to the workspace, as it is written in the policy.
    name: String,
    ledger: PathBuf,
    /// The lock, which says the place.
    place: PathBuf,
}

/// How far the sink has come: the number and hash of its last record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Last {
    seq: u64,
    hash: Hash,
}

/// What the lock's file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    last: Last,
    /// Of the file, when that was its last line.
    size: u64,
    device: u64,
    inode: u64,
}

impl Place {
    fn encode(&self) -> String {
        let Self { last, size, device, inode } = self;
        format!("{:020} {} {size:020} {device:020} {inode:020}\n", last.seq, last.hash)
    }

    fn decode(text: &str) -> Option<Self> {
        let mut words = text.strip_suffix('\n')?.split(' ');
        let seq = words.next()?.parse().ok()?;
        let hash = Hash::from_hex(words.next()?.as_bytes())?;
        let mut number = || words.next()?.parse::<u64>().ok();
        Some(Self { last: Last { seq, hash }, size: number()?, device: number()?, inode: number()? })
    }
}

/// The file, and where it ends.
struct Open {
    file: File,
    lock: File,
    last: Option<Last>,
    /// What a writer that was killed had begun.
    torn: Vec<u8>,
}

impl Sink {
    /// `name` is relative to the workspace's folder `root`; `state` is the state folder, `ledger` the ledger's.
    pub fn new(root: &Path, name: &str, state: &Path, ledger: &Path) -> Self {
        let own = Hash::of(&[root.join(name).as_os_str().as_encoded_bytes()]).to_string();
        let place = state.join(format!("sink-{}", own.get(..12).unwrap_or(&own)));
        Self { root: root.to_owned(), name: name.to_owned(), ledger: ledger.to_owned(), place }
    }

    /// A name that no other sink of the state has.
    pub(super) fn key(&self) -> String {
        self.place.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Makes the file if it is not there, for its owner alone; fails if it cannot be a sink.
    pub fn prepare(&self) -> Result<(), SinkError> {
        self.file().map(drop)
    }

    /// Writes a record, and before it whatever of the ledger is missing. One that is there already is not written
    /// again. Waits for other writers, and catches up, until `until`; what is left then is for the next.
    pub fn take(&self, entry: &Entry, chained: bool, until: Instant) -> Result<(), SinkError> {
        let mut open = self.open(until)?;
        let next = open.last.map_or(1, |last| last.seq.saturating_add(1));
        match entry.seq {
            seq if seq < next => Ok(()),
            seq if seq == next => {
                let mut lines = line(seq, &entry.hash, chained, &entry.decode()?).into_bytes();
                lines.push(b'\n');
                self.write(&mut open, &lines, Last { seq, hash: entry.hash })
            }
            _ => self.read_up(&mut open, next, until),
        }
    }

    /// Writes all records that are missing, as [`Sink::take`] does.
    #[cfg(test)]
    fn catch_up(&self, until: Instant) -> Result<(), SinkError> {
        let mut open = self.open(until)?;
        let next = open.last.map_or(1, |last| last.seq.saturating_add(1));
        self.read_up(&mut open, next, until)
    }

    fn read_up(&self, open: &mut Open, next: u64, until: Instant) -> Result<(), SinkError> {
        let (mut lines, mut last) = (Vec::new(), None);
        for piece in Reader::lenient(&self.ledger, next)? {
            let (entry, chained) = match piece? {
                Piece::Record(entry) => (entry, true),
                Piece::Unchained(entry) => (entry, false),
                Piece::Damaged(_) => continue,
            };
            if last.or(open.last).is_some_and(|last| entry.seq <= last.seq) {
                continue;
            }
            lines.extend_from_slice(line(entry.seq, &entry.hash, chained, &entry.decode()?).as_bytes());
            lines.push(b'\n');
            let here = Last { seq: entry.seq, hash: entry.hash };
            last = Some(here);
            if lines.len() >= BATCH {
                self.write(open, &lines, here)?;
                lines.clear();
                if Instant::now() >= until {
                    return Err(SinkError::Busy(self.name.clone()));
                }
            }
        }
        match last {
            Some(last) if !lines.is_empty() => self.write(open, &lines, last),
            _ => Ok(()),
        }
    }

    /// Appends whole lines, the first without what of it is there already.
    fn write(&self, open: &mut Open, lines: &[u8], last: Last) -> Result<(), SinkError> {
        let failed = |error: io::Error| SinkError::Io(self.name.clone(), error);
        let rest = lines.strip_prefix(open.torn.as_slice()).ok_or_else(|| self.strange())?;
        let wrote =
            rustix::io::retry_on_intr(|| rustix::io::write(&open.file, rest)).map_err(io::Error::from);
        if wrote.map_err(failed)? != rest.len() {
            return Err(failed(Errno::NOSPC.into()));
        }
        open.torn.clear();
        open.last = Some(last);
        let stat = open.file.metadata().map_err(failed)?;
        let place = Place { last, size: stat.size(), device: stat.dev(), inode: stat.ino() };
        open.lock
            .write_all_at(place.encode().as_bytes(), 0)
            .map_err(|error| SinkError::Place(self.name.clone(), error))
    }

    fn strange(&self) -> SinkError {
        SinkError::Strange(self.name.clone())
    }

    /// The file under the lock, and where it ends.
    fn open(&self, until: Instant) -> Result<Open, SinkError> {
        let lock = self.lock(until)?;
        let file = self.file()?;
        let mut text = [0; 256];
        let read = lock.read_at(&mut text, 0).map_err(|error| SinkError::Place(self.name.clone(), error))?;
        let known = std::str::from_utf8(text.get(..read).unwrap_or_default()).ok().and_then(Place::decode);
        let stat = file.metadata().map_err(|error| SinkError::Io(self.name.clone(), error))?;
        let size = stat.size();
        let same = |p: &Place| (p.size, p.device, p.inode) == (size, stat.dev(), stat.ino());
        if let Some(known) = known.filter(same) {
            return Ok(Open { file, lock, last: Some(known.last), torn: Vec::new() });
        }
        let (said, torn) = self.tail(&file, size)?;
        let last = match said {
            Some(said) if known.is_none_or(|known| known.last != said) => {
                self.own(said)?;
                Some(said)
            }
            Some(said) => Some(said),
            // It is new: it goes on where the one before it has ended.
            None => known.map(|known| known.last),
        };
        Ok(Open { file, lock, last, torn })
    }

    fn lock(&self, until: Instant) -> Result<File, SinkError> {
        let failed = |error: io::Error| SinkError::Place(self.name.clone(), error);
        let mut options = OpenOptions::new();
        let lock = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let lock = lock.open(&self.place).map_err(failed)?;
        loop {
            match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(lock),
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < until => std::thread::sleep(AGAIN),
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(SinkError::Busy(self.name.clone())),
                Err(error) => return Err(failed(error.into())),
            }
        }
    }

    /// Opens the file, which must be a plain one of this user with no other name, and no link may lead to it.
    fn file(&self) -> Result<File, SinkError> {
        let failed = |error: Errno| SinkError::Io(self.name.clone(), error.into());
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&self.root, folder, Mode::empty()).map_err(failed)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC;
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let opened = rustix::io::retry_on_intr(|| {
            rustix::fs::openat2(&root, &*self.name, flags, Mode::RUSR | Mode::WUSR, resolve)
        });
        let fd = opened.map_err(|error| match error {
            Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::XDEV => SinkError::NotAFile(self.name.clone()),
            error => failed(error),
        })?;
        let stat = rustix::fs::fstat(&fd).map_err(failed)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(SinkError::NotAFile(self.name.clone()));
        }
        if stat.st_nlink != 1 || stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(SinkError::Shared(self.name.clone()));
        }
        Ok(File::from(fd))
    }

    /// What the last whole line says, and what follows it.
    fn tail(&self, file: &File, size: u64) -> Result<(Option<Last>, Vec<u8>), SinkError> {
        let mut span = TAIL;
        loop {
            if span > LONGEST {
                return Err(self.strange());
            }
            let from = size.saturating_sub(span);
            let length = usize::try_from(size.saturating_sub(from)).map_err(|_| self.strange())?;
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, from).map_err(|error| SinkError::Io(self.name.clone(), error))?;
            let ends = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n');
            let Some(end) = ends(&bytes) else {
                if from == 0 {
                    return Ok((None, bytes));
                }
                span = span.saturating_mul(2);
                continue;
            };
            let torn = bytes.split_off(end + 1);
            bytes.truncate(end);
            match ends(&bytes) {
                None if from > 0 => span = span.saturating_mul(2),
                begin => {
                    let line = bytes.get(begin.map_or(0, |at| at + 1)..).unwrap_or_default();
                    let last = said(line).ok_or_else(|| self.strange())?;
                    return Ok((Some(last), torn));
                }
            }
        }
    }

    /// Fails unless the ledger has this record.
    fn own(&self, said: Last) -> Result<(), SinkError> {
        for piece in Reader::lenient(&self.ledger, said.seq)? {
            if let Piece::Record(entry) | Piece::Unchained(entry) = piece?
                && entry.seq >= said.seq
            {
                return match (entry.seq, entry.hash) == (said.seq, said.hash) {
                    true => Ok(()),
                    false => Err(SinkError::Foreign(self.name.clone())),
                };
            }
        }
        Err(SinkError::Foreign(self.name.clone()))
    }
}

fn said(line: &[u8]) -> Option<Last> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let hash = Hash::from_hex(value.get("hash")?.as_str()?.as_bytes())?;
    value.get("record")?.as_object()?;
    Some(Last { seq: value.get("seq")?.as_u64()?, hash })
}

#[cfg(test)]
mod tests;
