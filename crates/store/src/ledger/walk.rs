//! Going through the lines in order, past what is damaged. Takes no lock, writes nothing and disturbs no writer.

use super::LedgerError;
use super::folder::{Folder, HEAD, Segment, read_head};
use super::lenient::Piece;
use super::lines::Lines;
use super::report::Damaged;
use remit_ledger::{Bad, Fault, Head, Step, Verifier, genesis, parse_line};
use rustix::fs::OFlags;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// A place in the ledger, and what was found before it and not yet asked for.
#[derive(Debug)]
pub(super) struct Walk {
    path: PathBuf,
    folder: Folder,
    from: u64,
    segment: u64,
    /// None while the segment does not exist.
    lines: Option<Lines>,
    verifier: Verifier,
    found: VecDeque<Piece>,
}

impl Walk {
    /// From record `from` on; 0 and 1 are the beginning. Damage in the segment of that record is found also where
    /// it stands before it.
    pub(super) fn open(dir: &Path, from: u64) -> Result<Self, LedgerError> {
        let (folder, id) = Folder::open_ledger(dir)?;
        let segment = start(&folder, from)?;
        let verifier = if segment == 1 { Verifier::new(genesis(&id)) } else { Verifier::anywhere() };
        let found = VecDeque::new();
        Ok(Self { path: dir.to_owned(), folder, from, segment, lines: None, verifier, found })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The next piece; `None` if there is none yet.
    pub(super) fn advance(&mut self) -> Result<Option<Piece>, LedgerError> {
        // Once something stands in a later segment, nothing more is written to this one; but the last look at it
        // may have been before that.
        let mut later = None;
        loop {
            if let Some(piece) = self.found.pop_front() {
                return Ok(Some(piece));
            }
            if self.read()? {
                continue;
            }
            match later {
                None => {
                    later = self.later()?;
                    if later.is_none() {
                        return Ok(None);
                    }
                }
                Some(next) => {
                    self.leave(next);
                    later = None;
                }
            }
        }
    }

    /// Reads one line of the segment; no if there is none yet.
    fn read(&mut self) -> Result<bool, LedgerError> {
        let failed = || LedgerError::io::<std::io::Error>("read", Segment(self.segment));
        if self.lines.is_none()
            && let Some(file) = self.folder.segment(self.segment)?
        {
            self.lines = Some(Lines::new(file, 0, u64::MAX).map_err(failed())?);
        }
        let Some(lines) = &mut self.lines else { return Ok(false) };
        let Some(line) = lines.next().map_err(failed())? else { return Ok(false) };
        let piece = match self.verifier.feed(line) {
            Step::Record(parsed) | Step::Seal(parsed, _) => Some(Piece::Record(parsed.into())),
            Step::Resumed(parsed) => Some(Piece::Unchained(parsed.into())),
            Step::Unchained => {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                parse_line(line).ok().map(|parsed| Piece::Unchained(parsed.into()))
            }
        };
        if let Some(bad) = self.verifier.take_damage() {
            self.damaged(bad);
        }
        let wanted = |piece: &Piece| match piece {
            Piece::Record(entry) | Piece::Unchained(entry) => entry.seq >= self.from,
            Piece::Damaged(_) => true,
        };
        self.found.extend(piece.filter(wanted));
        Ok(true)
    }

    fn damaged(&mut self, bad: Bad) {
        self.found.push_back(Piece::Damaged(Damaged { segment: self.segment, bad }));
    }

    /// The next segment in which something stands.
    fn later(&self) -> Result<Option<u64>, LedgerError> {
        let segments = self.folder.segments()?;
        Ok(segments
            .into_iter()
            .find(|(number, size)| *number > self.segment && *size > 0)
            .map(|(next, _)| next))
    }

    /// Turns to another segment. This one must have ended with a whole line.
    fn leave(&mut self, next: u64) {
        if let Some(bad) = self.unended() {
            self.damaged(bad);
        }
        self.verifier.restart_offset();
        let here = if self.lines.is_none() { self.segment } else { self.segment.saturating_add(1) };
        if here < next {
            self.segment = here;
            let seq = self.verifier.expects().map_or(0, |(next, _)| next);
            self.damaged(Bad { seq, offset: 0, fault: Fault::NoSegment });
        }
        (self.segment, self.lines) = (next, None);
    }

    /// What stands at the end of the segment and is no line, if it was not told yet.
    fn unended(&self) -> Option<Bad> {
        let (seq, offset) = (self.verifier.expects().map_or(0, |(next, _)| next), self.verifier.offset());
        let partial = self.lines.as_ref().is_some_and(|lines| !lines.partial().is_empty());
        match self.verifier.held() {
            Some(bad) => Some(bad).filter(|_| !self.verifier.is_certain()),
            None => partial.then_some(Bad { seq, offset, fault: Fault::Malformed }),
        }
    }

    /// Asked where nothing more comes: a piece that came meanwhile, or what the head counts and is not there.
    pub(super) fn missing(&mut self) -> Result<Option<Piece>, LedgerError> {
        let Some(head) = self.head()? else { return Ok(None) };
        // The head is written after the lines that it counts.
        if let Some(piece) = self.advance()? {
            return Ok(Some(piece));
        }
        let unended = self.unended();
        let (next, _) = self.verifier.expects().unwrap_or((0, head.hash));
        let offset = unended.map_or(self.verifier.offset(), |bad| bad.offset);
        if head.segment < self.segment || (head.segment == self.segment && head.length <= offset) {
            return Ok(None);
        }
        let bad = unended.unwrap_or(Bad { seq: next, offset, fault: Fault::Truncated });
        Ok(Some(Piece::Damaged(Damaged { segment: self.segment, bad })))
    }

    /// The head, if it can be read and counts anything in its segment.
    fn head(&self) -> Result<Option<Head>, LedgerError> {
        let Some(file) = self.folder.open_file(HEAD, OFlags::RDONLY)? else { return Ok(None) };
        Ok(read_head(&file)?.head().filter(|head| head.length > 0))
    }
}

/// The segment in which record `from` stands: the last whose first record is not later.
fn start(folder: &Folder, from: u64) -> Result<u64, LedgerError> {
    for (segment, _) in folder.segments()?.into_iter().rev() {
        let Some(file) = folder.segment(segment)? else { continue };
        let failed = || LedgerError::io::<std::io::Error>("read", Segment(segment));
        let mut lines = Lines::new(file, 0, u64::MAX).map_err(failed())?;
        let first = lines.next().map_err(failed())?.and_then(|line| line.strip_suffix(b"\n"));
        if first.and_then(|line| parse_line(line).ok()).is_some_and(|first| first.seq <= from) {
            return Ok(segment);
        }
    }
    Ok(1)
}
