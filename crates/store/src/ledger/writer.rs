//! Appending. The head's file follows the lines at a distance: at every sync, and before it is [`LAG`] bytes behind.
//! A writer that wrote the last line knows the end all the same; any other reads on from what the file says.

use super::LedgerError;
use super::folder::{self, Folder, HEAD, Segment, Stored, lock};
use super::recover::{Inspection, inspect};
use remit_ledger::chain::{LONGEST_LINE, LONGEST_RECORD};
use remit_ledger::head::FARTHEST;
use remit_ledger::{Hash, Head, Record, Time, chain, decode, encode, link};
use rustix::fd::OwnedFd;
use rustix::fs::{FallocateFlags, FlockOperation};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How far the head's file may fall behind, in bytes.
const LAG: u64 = 64 << 10;

/// A segment that has reached this many bytes is full.
const SEGMENT: u64 = 64 << 20;

/// So much space is kept on disk behind the end, so that a full disk does not silence what must still be told.
const SPARE: u64 = 256 << 10;
/// Of that, so much is for the last words only.
const LAST: u64 = 8 << 10;
/// How much more is taken at a time.
const STEP: u64 = 256 << 10;

/// How much of the space that is kept on disk a record may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserve {
    /// None of it.
    Plain,
    /// What is kept for refusals.
    Refusal,
    /// All of it.
    Last,
}

impl Reserve {
    /// What must be left behind the record, in bytes.
    fn left(self) -> u64 {
        match self {
            Self::Plain => SPARE,
            Self::Refusal => LAST,
            Self::Last => 0,
        }
    }
}

/// What an append answers: the record is in the ledger, and stays there if this process or any other is killed.
/// A power loss may still take it until [`Ledger::sync`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Its number, from 1.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
}

/// A ledger, open for appending; for all threads of a process. Each process opens its own: the lock belongs to
/// the open file, so that a value which is used on both sides of a fork would not exclude itself.
#[derive(Debug)]
pub struct Ledger {
    folder: Folder,
    id: Hash,
    limit: u64,
    files: Mutex<Files>,
}

/// Where the ledger ends, and the segment in which it does.
type End = (Head, Arc<File>);

/// Tells the moment that a seal has; asked only if one is needed.
type Moment<'a> = &'a dyn Fn() -> Result<Time, LedgerError>;

#[derive(Debug)]
struct Files {
    head: File,
    /// The segment that was written to last, and its number.
    segment: Option<(u64, Arc<File>)>,
    /// Where the ledger ended after this writer's last line.
    end: Option<Head>,
    /// How many bytes of its lines the head's file does not count.
    behind: u64,
    /// A segment, and up to which byte the disk has space for it.
    kept: (u64, u64),
    line: Vec<u8>,
}

impl Files {
    /// Where the ledger ends as far as the head's file or this writer knows.
    fn known(&self) -> Result<Stored, LedgerError> {
        let stored = folder::read_head(&self.head)?;
        Ok(match (stored, self.end) {
            (Stored::Head(told), Some(own)) if told.segment == own.segment && told.next < own.next => {
                Stored::Head(Head { checkpoints: told.checkpoints, checkpoint: told.checkpoint, ..own })
            }
            _ => stored,
        })
    }

    fn write_head(&mut self, head: &Head) -> Result<(), LedgerError> {
        folder::write_head(&self.head, head)?;
        (self.end, self.behind) = (Some(*head), 0);
        Ok(())
    }

    /// Brings the head's file up to the last line of this writer. One that cannot be read is left to the next
    /// append, which tells of it.
    fn catch_up(&mut self) -> Result<(), LedgerError> {
        match self.known()? {
            Stored::Head(head) => self.write_head(&head),
            Stored::Empty | Stored::Damaged => {
                (self.end, self.behind) = (None, 0);
                Ok(())
            }
        }
    }
}

impl Ledger {
    /// Opens the ledger in this folder, creating both if they are not there; the folder's parent must exist.
    pub fn create_or_open(dir: &Path) -> Result<Self, LedgerError> {
        Self::open(Folder::create_or_open(dir)?)
    }

    /// The same by a descriptor of the folder, which may be all that a process has of the file system.
    pub fn from_dir(dir: OwnedFd) -> Result<Self, LedgerError> {
        Self::open(Folder::from_fd(dir))
    }

    fn open(folder: Folder) -> Result<Self, LedgerError> {
        let (id, head) = folder.id_and_head()?;
        let files = Files { head, segment: None, end: None, behind: 0, kept: (0, 0), line: Vec::new() };
        Ok(Self { folder, id, limit: SEGMENT, files: Mutex::new(files) })
    }

    /// The same with segments of another size, in bytes.
    #[must_use]
    pub fn with_segments_of(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// The ledger's id.
    pub fn id(&self) -> Hash {
        self.id
    }

    /// Appends a record; see [`Ledger::append`].
    pub fn append_record(&self, record: &Record) -> Result<Receipt, LedgerError> {
        self.append_record_using(record, Reserve::Plain)
    }

    /// The same for a record that may use what is kept for it on a disk that is full.
    pub fn append_record_using(&self, record: &Record, reserve: Reserve) -> Result<Receipt, LedgerError> {
        self.append_in(&encode(record)?, reserve)
    }

    /// Appends the bytes of a record, as [`encode`] makes them. When this answers, a kill of anything loses
    /// nothing. On an error the record does not count, even if a part or all of it was written.
    pub fn append(&self, record: &[u8]) -> Result<Receipt, LedgerError> {
        self.append_in(record, Reserve::Plain)
    }

    fn append_in(&self, record: &[u8], reserve: Reserve) -> Result<Receipt, LedgerError> {
        if !chain::is_record(record) {
            return Err(LedgerError::NotARecord);
        }
        self.locked(|files| {
            let time = || Ok(decode(record)?.time);
            let mut end = self.settle(files, &time)?;
            if end.0.length > 0 && end.0.length.saturating_add(line_length(record)) > self.limit {
                end = self.turn(files, end, &time)?;
            }
            Self::keep_space(files, &end, line_length(record), reserve)?;
            let head = Self::write(files, end, record)?;
            Ok(Receipt { seq: head.next.saturating_sub(1), hash: head.hash })
        })
    }

    /// Syncs to disk all that this value appended before, and all that was in the last segment when this value
    /// last looked. Appending goes on meanwhile.
    pub fn sync(&self) -> Result<(), LedgerError> {
        self.catch_up()?;
        let segment = self.files().segment.clone();
        match segment {
            None => Ok(()),
            Some((number, file)) => sync(&file, number),
        }
    }

    /// Where the ledger ends now.
    pub fn head(&self) -> Result<Head, LedgerError> {
        self.locked(|files| {
            let stored = files.known()?;
            if let Stored::Head(head) = stored
                && self.segment(files, head.segment)?.1 == head.length
            {
                return Ok(head);
            }
            let end = inspect(&self.folder, &self.id, stored)?;
            self.segment(files, end.head.segment)?;
            Ok(end.head)
        })
    }

    /// How many records there are: the number of the last one. Numbers that a power loss took count.
    pub fn len(&self) -> Result<u64, LedgerError> {
        self.head().map(|head| head.next.saturating_sub(1))
    }

    /// Whether there is no record yet.
    pub fn is_empty(&self) -> Result<bool, LedgerError> {
        self.len().map(|len| len == 0)
    }

    /// Closes off a damaged end, if there is one, and answers where the ledger ends.
    pub(super) fn settled(&self, time: Time) -> Result<Head, LedgerError> {
        self.locked(|files| Ok(self.settle(files, &|| Ok(time))?.0))
    }

    /// Has the head count this many checkpoints, the last of which hashes to `checkpoint`. It never counts back.
    pub(super) fn note(&self, number: u64, checkpoint: Hash, time: Time) -> Result<(), LedgerError> {
        self.locked(|files| {
            let (mut head, _) = self.settle(files, &|| Ok(time))?;
            if number > head.checkpoints {
                (head.checkpoints, head.checkpoint) = (number, checkpoint);
                files.write_head(&head)?;
            }
            Ok(())
        })
    }

    fn catch_up(&self) -> Result<(), LedgerError> {
        if self.files().behind == 0 {
            return Ok(());
        }
        self.locked(Files::catch_up)
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        // What a thread that died left in `Files` is only a cache.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn locked<T>(&self, work: impl FnOnce(&mut Files) -> Result<T, LedgerError>) -> Result<T, LedgerError> {
        let mut files = self.files();
        lock(&files.head, FlockOperation::LockExclusive)?;
        let done = work(&mut files);
        lock(&files.head, FlockOperation::Unlock)?;
        done
    }

    /// Where the ledger ends. If the head and the segment disagree, they are brought to agree first; `time` is
    /// the moment that a seal tells, if one is needed.
    fn settle(&self, files: &mut Files, time: Moment<'_>) -> Result<End, LedgerError> {
        let stored = files.known()?;
        if let Stored::Head(head) = stored {
            let (file, size) = self.segment(files, head.segment)?;
            if size == head.length {
                return Ok((head, file));
            }
        }
        let end = inspect(&self.folder, &self.id, stored)?;
        self.repair(files, end, time)
    }

    /// Ends an open line and writes the seal, if there is something to tell.
    fn repair(&self, files: &mut Files, end: Inspection, time: Moment<'_>) -> Result<End, LedgerError> {
        let mut head = end.head;
        let (file, _) = self.segment(files, head.segment)?;
        let mut bytes = if end.open { b"\n".to_vec() } else { Vec::new() };
        if let Some(seal) = end.seal {
            let record = encode(&seal.record(time()?))?;
            let seq = match seal.lost {
                Some(lost) => after(lost.to)?,
                None => head.next,
            };
            head.hash = link(&mut bytes, &head.hash, seq, &record);
            head.next = after(seq)?;
        }
        if !bytes.is_empty() {
            write_whole(&file, head.segment, &bytes)?;
        }
        head.length = longer(head.length, &bytes);
        files.write_head(&head)?;
        Ok((head, file))
    }

    /// Sees to it that the disk has space for a line of this length, and behind it what must be left of the reserve. Where
    /// the file system cannot promise space, a full disk shows only when the line is written.
    fn keep_space(
        files: &mut Files,
        (head, file): &End,
        line: u64,
        reserve: Reserve,
    ) -> Result<(), LedgerError> {
        let wanted = head.length.saturating_add(line).saturating_add(reserve.left());
        if files.kept.0 == head.segment && files.kept.1 >= wanted {
            return Ok(());
        }
        let keep = |until: u64| {
            let length = until.saturating_sub(head.length);
            let flags = FallocateFlags::KEEP_SIZE;
            rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, flags, head.length, length))
                .map(|()| until)
        };
        let full = |error: &Errno| [Errno::NOSPC, Errno::DQUOT].contains(error);
        match keep(wanted.saturating_add(STEP)).or_else(|_| keep(wanted)) {
            Ok(until) => files.kept = (head.segment, until),
            Err(error) if full(&error) && reserve != Reserve::Last => {
                return Err(LedgerError::io("keep space for", Segment(head.segment))(error));
            }
            Err(error) if full(&error) => {}
            Err(_) => files.kept = (head.segment, u64::MAX),
        }
        Ok(())
    }

    /// Writes one line where the ledger ends.
    fn write(files: &mut Files, (mut head, file): End, record: &[u8]) -> Result<Head, LedgerError> {
        let mut line = std::mem::take(&mut files.line);
        line.clear();
        let hash = link(&mut line, &head.hash, head.next, record);
        head.next = after(head.next)?;
        write_whole(&file, head.segment, &line)?;
        head.length = longer(head.length, &line);
        head.hash = hash;
        files.end = Some(head);
        files.behind = longer(files.behind, &line);
        if files.behind >= LAG {
            files.write_head(&head)?;
        }
        // A buffer that one long record needed is not kept for all the short ones.
        line.shrink_to(1 << 16);
        files.line = line;
        Ok(head)
    }

    /// Turns to the next segment. The order of the steps is what makes the head trustworthy after a power loss.
    fn turn(&self, files: &mut Files, (head, full): End, time: Moment<'_>) -> Result<End, LedgerError> {
        sync(&full, head.segment)?;
        let head = Head { segment: head.segment.saturating_add(1), length: 0, ..head };
        let (new, size) = self.segment(files, head.segment)?;
        if size > 0 {
            // The head was put back to an older state.
            let end = inspect(&self.folder, &self.id, Stored::Damaged)?;
            return self.repair(files, end, time);
        }
        self.folder.sync()?;
        files.write_head(&head)?;
        files.head.sync_data().map_err(LedgerError::io("sync", HEAD))?;
        Ok((head, new))
    }

    /// The segment, open for appending, and its size in bytes. One that was removed is opened anew, so that
    /// nothing is written into a file that has no name.
    fn segment(&self, files: &mut Files, number: u64) -> Result<(Arc<File>, u64), LedgerError> {
        let look = |file: &File| rustix::fs::fstat(file).map_err(LedgerError::io("look at", Segment(number)));
        let size = |stat: rustix::fs::Stat| u64::try_from(stat.st_size).unwrap_or(0);
        if let Some((open, file)) = &files.segment
            && *open == number
        {
            let stat = look(file)?;
            if stat.st_nlink > 0 {
                return Ok((Arc::clone(file), size(stat)));
            }
        }
        let file = Arc::new(self.folder.segment_for_append(number)?);
        files.segment = Some((number, Arc::clone(&file)));
        let stat = look(&file)?;
        Ok((file, size(stat)))
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Who opens it next reads on from what the head's file says.
        drop(self.catch_up());
    }
}

/// The number after this one; none that a head could not say.
fn after(number: u64) -> Result<u64, LedgerError> {
    number.checked_add(1).filter(|next| *next <= FARTHEST).ok_or(LedgerError::Full)
}

fn sync(file: &File, number: u64) -> Result<(), LedgerError> {
    file.sync_data().map_err(LedgerError::io("sync", Segment(number)))
}

fn longer(length: u64, bytes: &[u8]) -> u64 {
    length.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
}

/// How long the line of a record is, at most.
fn line_length(record: &[u8]) -> u64 {
    u64::try_from(record.len().saturating_add(LONGEST_LINE - LONGEST_RECORD)).unwrap_or(u64::MAX)
}

/// One `write` of all the bytes.
fn write_whole(file: &File, number: u64, bytes: &[u8]) -> Result<(), LedgerError> {
    let wrote = rustix::io::retry_on_intr(|| rustix::io::write(file, bytes))
        .map_err(LedgerError::io("write", Segment(number)))?;
    if wrote == bytes.len() {
        return Ok(());
    }
    Err(LedgerError::Short { file: Segment(number).into(), wrote, of: bytes.len() })
}
