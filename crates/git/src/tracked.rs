//! Which files git tracks: the names in a repository's index (versions 2, 3 and 4), which of them are repositories
//! of their own, and how each file was when git last looked at it. Contents are not looked at.

use crate::config::settings;
use crate::read::{bounded, small};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// An index has at most so many bytes, or what it tracks is unknown.
const LARGEST: u64 = 256 << 20;
/// All names together have at most so many bytes: version 4 can say much in few.
const MOST: usize = 512 << 20;
/// What a name in an index has at most, in bytes.
const LONGEST: usize = 4096;
/// Before each name: times, numbers, mode, owner, size.
const STAT: usize = 40;
const EXTENDED: u16 = 0x4000;
/// Where among the numbers the modification time in seconds, the inode and the mode stand.
const MODIFIED: usize = 8;
const INODE: usize = 20;
const MODE: usize = 24;
/// The kind of a repository of its own, in the upper bits of a mode.
const REPOSITORY: u32 = 0o16;

/// The paths that git tracks, in order: relative to the top of the work tree, without a leading slash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tracked {
    /// All names, one after the other.
    names: Box<[u8]>,
    /// Where each name ends.
    ends: Box<[u32]>,
    /// What the index says of each beside its name.
    seen: Box<[Seen]>,
    /// When the index was written, in seconds since 1970.
    written: u32,
}

/// What an index says of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    modified: u32,
    inode: u32,
    repository: bool,
}

/// One path that git tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Relative to the top of the work tree, without a leading slash.
    pub path: &'a [u8],
    /// It is a repository of its own (a submodule): a folder, of which git remembers a commit.
    pub repository: bool,
    /// The modification time and the inode that git remembers, in seconds since 1970 and cut to 32 bits as git
    /// does: a file that has others is read before git says whether it has changed.
    pub known: (u32, u32),
    /// The file was changed in the second in which git wrote the index, or later: git reads it each time until it
    /// writes the index anew.
    pub racy: bool,
}

impl Tracked {
    /// From what `git ls-files -z --stage` says, for an index that only git itself can read. Nothing is said of
    /// files beside their names. What is no such line is passed over.
    pub fn listed(lines: &[u8]) -> Self {
        let entry = |line: &'_ [u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let (head, path) = line.split_at_checked(tab)?;
            let path = path.get(1..).filter(|path| !path.is_empty())?.to_vec();
            Some((path, Seen { modified: 0, inode: 0, repository: head.starts_with(b"160000 ") }))
        };
        let mut entries: Vec<(Vec<u8>, Seen)> = lines.split(|byte| *byte == 0).filter_map(entry).collect();
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        entries.dedup_by(|one, other| one.0 == other.0);
        let mut tracked = (Vec::new(), Vec::new(), Vec::new());
        for (path, seen) in entries {
            tracked.0.extend(path);
            let Ok(end) = u32::try_from(tracked.0.len()) else { break };
            tracked.1.push(end);
            tracked.2.push(seen);
        }
        let (names, ends, seen) = tracked;
        Self { names: names.into(), ends: ends.into(), seen: seen.into(), written: u32::MAX }
    }

    /// Whether git tracks the file of this path.
    pub fn contains(&self, path: &[u8]) -> bool {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.name(middle).cmp(path) {
                std::cmp::Ordering::Equal => return true,
                std::cmp::Ordering::Less => low = middle.saturating_add(1),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        false
    }

    /// All paths, in the order of their bytes, each once.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.ends.len()).map(|at| self.name(at))
    }

    /// The same, with what the index says of each.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.paths().zip(&*self.seen).map(|(path, seen)| Entry {
            path,
            repository: seen.repository,
            known: (seen.modified, seen.inode),
            racy: seen.modified >= self.written,
        })
    }

    /// When the index was written, in seconds since 1970; 0 if there is none.
    pub fn written(&self) -> u32 {
        self.written
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether git tracks nothing.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn name(&self, at: usize) -> &[u8] {
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let from = at.checked_sub(1).map_or(0, end);
        self.names.get(from..end(at)).unwrap_or_default()
    }
}

/// Reads `index` in a work tree's git folder. No index: nothing is tracked. `None`: it cannot be told without
/// git itself, since the index is split, sparse, of another version, has an extension that must be understood
/// and is not, or is larger than 256 MiB.
///
/// # Errors
/// A file that cannot be read, is no plain file, or is no index.
pub fn tracked(git_dir: &Path) -> io::Result<Option<Tracked>> {
    // Before it is read: an index that is replaced meanwhile seems older than it is, and entries racy.
    let written = match std::fs::metadata(git_dir.join("index")) {
        Ok(seen) => u32::try_from(seen.mtime()).unwrap_or(0),
        Err(_) => 0,
    };
    let index = match bounded(&git_dir.join("index"), LARGEST)? {
        None => return Ok(Some(Tracked::default())),
        Some(None) => return Ok(None),
        Some(Some(index)) => index,
    };
    let common = match small(&git_dir.join("commondir"))? {
        Some(text) => git_dir.join(OsStr::from_bytes(text.trim_ascii())),
        None => git_dir.to_owned(),
    };
    let config = small(&common.join("config"))?.map_or_else(Vec::new, |text| settings(&text));
    let format = config.iter().rfind(|one| one.is("extensions", "objectformat"));
    let sha256 =
        format.and_then(|one| one.value.as_deref()).is_some_and(|v| v.eq_ignore_ascii_case(b"sha256"));
    let tracked = parse(&index, if sha256 { 32 } else { 20 }).map_err(|fault| {
        let at = remit_core::path::escape(git_dir.join("index").as_os_str().as_bytes());
        io::Error::new(io::ErrorKind::InvalidData, format!("`{at}` is no index of git: {fault}"))
    })?;
    Ok(tracked.map(|tracked| Tracked { written, ..tracked }))
}

/// Reads on from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], &'static str> {
        let (head, rest) = self.0.split_at_checked(length).ok_or("it ends too early")?;
        self.0 = rest;
        Ok(head)
    }

    fn number(&mut self) -> Result<u32, &'static str> {
        let bytes = self.take(4)?.try_into().map_err(|_| "it ends too early")?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn short(&mut self) -> Result<u16, &'static str> {
        let bytes = self.take(2)?.try_into().map_err(|_| "it ends too early")?;
        Ok(u16::from_be_bytes(bytes))
    }

    /// What comes before the next NUL, which is taken too.
    fn text(&mut self) -> Result<&'a [u8], &'static str> {
        let window = self.0.get(..self.0.len().min(LONGEST + 1)).unwrap_or_default();
        let end = window.iter().position(|b| *b == 0).ok_or("a name has no end")?;
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }

    /// A number in as few bytes as it needs, as pack files have them.
    fn packed(&mut self) -> Result<usize, &'static str> {
        let mut value = 0_usize;
        loop {
            let byte = self.take(1)?.first().copied().unwrap_or_default();
            value |= usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            value = value.checked_add(1).and_then(|v| v.checked_mul(128)).ok_or("a number is too large")?;
        }
    }
}

fn parse(index: &[u8], hash: usize) -> Result<Option<Tracked>, &'static str> {
    let mut reader = Reader(index);
    if reader.take(4)? != b"DIRC" {
        return Err("it does not begin as one");
    }
    let version = reader.number()?;
    if !(2..=4).contains(&version) {
        return Ok(None);
    }
    let count = reader.number()? as usize;
    // Each entry takes more than this, so that a lie about the number reserves nothing.
    let likely = count.min(index.len() / STAT);
    let mut names: Vec<u8> = Vec::with_capacity(likely.saturating_mul(32));
    let mut ends: Vec<u32> = Vec::with_capacity(likely);
    let mut seen: Vec<Seen> = Vec::with_capacity(likely);
    let mut last: Vec<u8> = Vec::new();
    for _ in 0..count {
        let start = reader.0.len();
        let stat = reader.take(STAT)?;
        reader.take(hash)?;
        if reader.short()? & EXTENDED != 0 {
            reader.take(2)?;
        }
        if version == 4 {
            let kept = last.len().checked_sub(reader.packed()?).ok_or("a name is shorter than nothing")?;
            let more = reader.text()?;
            compare(last.get(kept..).unwrap_or_default(), more, ends.is_empty())?;
            last.truncate(kept);
            last.extend_from_slice(more);
        } else {
            let name = reader.text()?;
            compare(&last, name, ends.is_empty())?;
            last.clear();
            last.extend_from_slice(name);
            // At least one NUL, and as many as make the entry's length a multiple of eight.
            let taken = start.saturating_sub(reader.0.len());
            reader.take(taken.next_multiple_of(8).saturating_sub(taken))?;
        }
        if last.len() > LONGEST || last.is_empty() {
            return Err("a name is too long, or none");
        }
        let from = ends.len().checked_sub(2).and_then(|at| ends.get(at)).map_or(0, |end| *end as usize);
        if ends.is_empty() || names.get(from..) != Some(&last) {
            names.extend_from_slice(&last);
            ends.push(u32::try_from(names.len()).map_err(|_| "its names are too long")?);
            seen.push(Seen::of(stat)?);
        }
        if names.len() > MOST {
            return Ok(None);
        }
    }
    if must_be_understood(reader.0, hash)? {
        return Ok(None);
    }
    Ok(Some(Tracked { names: names.into(), ends: ends.into(), seen: seen.into(), written: 0 }))
}

impl Seen {
    fn of(stat: &[u8]) -> Result<Self, &'static str> {
        let number = |at: usize| Reader(stat.get(at..).unwrap_or_default()).number();
        let repository = number(MODE)? >> 12 == REPOSITORY;
        Ok(Self { modified: number(MODIFIED)?, inode: number(INODE)?, repository })
    }
}

/// Names stand in order; the stages of a conflict have the same one.
fn compare(before: &[u8], name: &[u8], first: bool) -> Result<(), &'static str> {
    if first || before <= name { Ok(()) } else { Err("its names are not in order") }
}

/// Whether one of the extensions changes what the entries mean: their names begin with a small letter.
fn must_be_understood(rest: &[u8], hash: usize) -> Result<bool, &'static str> {
    let body = rest.len().checked_sub(hash).ok_or("it ends too early")?;
    let mut reader = Reader(rest.get(..body).unwrap_or_default());
    while !reader.0.is_empty() {
        let name = reader.take(4)?;
        let length = reader.number()? as usize;
        reader.take(length)?;
        if !name.first().is_some_and(u8::is_ascii_uppercase) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
