//! Where does the ledger really end? Asked when the head and the segment's size disagree: after a kill, a full
//! disk, a power loss, or because somebody meddled.
//!
//! What a writer leaves that dies stands behind what the head counts: whole lines, then at most one that was begun.
//! If anything else is found, the lines before are looked at too, so that the seal tells where the damage begins.

use super::LedgerError;
use super::folder::{Folder, Segment, Stored};
use super::lines::Lines;
use remit_ledger::hash::Tally;
use remit_ledger::{Bad, Damage, Fault, Hash, Head, Lost, Parsed, Seal, Step, Verifier, genesis};

/// The end as it was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inspection {
    /// The last chained line, and the length of all that stands in its segment.
    pub(super) head: Head,
    /// Whether the segment ends within a line.
    pub(super) open: bool,
    /// What has to be told.
    pub(super) seal: Option<Seal>,
}

/// Finds the end. To be called under the lock.
pub(super) fn inspect(folder: &Folder, id: &Hash, stored: Stored) -> Result<Inspection, LedgerError> {
    let mut segments = folder.segments()?;
    // A turn to a new segment that was not finished leaves an empty one.
    segments.retain(|(_, size)| *size > 0);
    let known = stored.head();
    let last = segments.last().map_or(1, |(number, _)| *number);
    let size_of = {
        let segments = segments.clone();
        move |n| segments.iter().find(|(number, _)| *number == n).map_or(0, |(_, size)| *size)
    };
    if let Some(head) = known
        && last <= head.segment
        && size_of(head.segment) >= head.length
    {
        let mut scan = Scan::new(Verifier::at(head.next, head.hash), None);
        scan.segment(folder, head.segment, head.length)?;
        if scan.damage.is_none() {
            let torn = scan.verifier.torn();
            let seal = torn.map(|torn| Seal { torn: Some(torn), ..Seal::default() });
            return scan.end(&head, size_of(head.segment), seal);
        }
    }
    let segment = known.map_or(last, |head| head.segment.max(last));
    if segment > last || segments.is_empty() {
        segments.push((segment, 0));
    }
    let scan = scan(folder, id, &segments, known)?;
    let head = Head { segment, ..Head::empty(genesis(id)) };
    let head = known.map_or(head, |known| Head { next: 1, hash: head.hash, segment, ..known });
    let (next, _) = scan.verifier.expects().unwrap_or((head.next, head.hash));
    let seal = Seal {
        damage: scan.damage.map(|(at, bad)| damage(folder, &segments, at, &bad)).transpose()?,
        lost: known.filter(|known| known.next > next).map(|known| Lost {
            from: next,
            to: known.next.saturating_sub(1),
            head: known.hash,
        }),
        // A turn syncs the head, so one that points to an older segment was put there.
        rebuilt: known.is_none_or(|head| last > head.segment),
        torn: scan.verifier.torn().filter(|_| !scan.cut),
        ..Seal::default()
    };
    scan.end(&head, size_of(segment), Some(seal))
}

/// Scans the last two segments, or as many more as are needed to find a chained line.
fn scan(
    folder: &Folder,
    id: &Hash,
    segments: &[(u64, u64)],
    known: Option<Head>,
) -> Result<Scan, LedgerError> {
    let mut begin = segments.len().saturating_sub(2);
    loop {
        let scanned = segments.get(begin..).unwrap_or_default();
        let whole = scanned.first().is_none_or(|(number, _)| *number == 1);
        let start = if whole { Verifier::new(genesis(id)) } else { Verifier::anywhere() };
        let mut scan = Scan::new(start, known);
        for (number, _) in scanned {
            scan.leave_segment();
            scan.segment(folder, *number, 0)?;
        }
        scan.finish();
        if begin == 0 || scan.verifier.expects().is_some() {
            return Ok(scan);
        }
        begin = begin.saturating_sub(1);
    }
}

struct Scan {
    verifier: Verifier,
    /// The first damage and the segment in which it begins.
    damage: Option<(u64, Bad)>,
    /// What the head counts, if it counts more than where the scan begins.
    known: Option<Head>,
    /// Where a line stands that has the number of the last one that the head counts, but is another one.
    other: Option<(u64, Bad)>,
    segment: u64,
    /// Whether the last line lacks its newline.
    open: bool,
    /// Where that line begins, if it is chained.
    unended: Option<Bad>,
    /// Whether the head counted what is now the beginning of a line, so that no writer that died left it.
    cut: bool,
}

impl Scan {
    fn new(verifier: Verifier, known: Option<Head>) -> Self {
        Self {
            verifier,
            damage: None,
            known,
            other: None,
            segment: 0,
            open: false,
            unended: None,
            cut: false,
        }
    }

    /// Feeds what stands in a segment from byte `from` on.
    fn segment(&mut self, folder: &Folder, segment: u64, from: u64) -> Result<(), LedgerError> {
        (self.segment, self.open) = (segment, false);
        let Some(file) = folder.segment(segment)? else { return Ok(()) };
        let failed = || LedgerError::io::<std::io::Error>("read", Segment(segment));
        let mut lines = Lines::new(file, from, u64::MAX).map_err(failed())?;
        while let Some(line) = lines.next().map_err(failed())? {
            self.feed(line);
        }
        let partial = lines.partial();
        self.open = !partial.is_empty();
        if self.open {
            let offset = self.verifier.offset();
            let seq = self.verifier.expects().map_or(0, |(next, _)| next);
            if self.feed(partial) {
                self.unended = Some(Bad { seq, offset, fault: Fault::Malformed });
            }
        }
        Ok(())
    }

    fn feed(&mut self, line: &[u8]) -> bool {
        let offset = self.verifier.offset();
        let other = |parsed: Parsed<'_>, known: Head| {
            parsed.seq.checked_add(1) == Some(known.next) && parsed.hash != known.hash
        };
        let chained = match self.verifier.feed(line) {
            Step::Record(parsed) | Step::Seal(parsed, _) | Step::Resumed(parsed) => {
                if self.known.is_some_and(|known| other(parsed, known)) {
                    let bad = Bad { seq: parsed.seq, offset, fault: Fault::Replaced };
                    self.other = Some((self.segment, bad));
                }
                true
            }
            Step::Unchained => false,
        };
        let damage = self.verifier.take_damage().map(|bad| (self.segment, bad));
        self.damage = self.damage.or(damage);
        chained
    }

    /// Only the last segment may end in a line that is not whole.
    fn leave_segment(&mut self) {
        let unended = self.unended.take().or(self.verifier.held());
        self.damage = self.damage.or(unended.map(|bad| (self.segment, bad)));
        self.verifier.restart_offset();
    }

    /// The last newline of what the head counts, and its last line, cannot be missing or another one.
    fn finish(&mut self) {
        let Some(known) = self.known else { return };
        let counted = |bad: &Bad| self.segment == known.segment && bad.offset < known.length;
        let unended = self.unended.or(self.verifier.held()).filter(counted).map(|bad| (self.segment, bad));
        self.cut = unended.is_some();
        self.damage = self.damage.or(self.other).or(unended);
    }

    /// The end, if `known` is the head that holds but for where the chain ends.
    fn end(&self, known: &Head, size: u64, seal: Option<Seal>) -> Result<Inspection, LedgerError> {
        let (next, hash) = self.verifier.expects().unwrap_or((known.next, known.hash));
        let head = Head { length: size, next, hash, ..*known };
        // The newline that closes off a torn line is written though the line may have one.
        let open = self.open || seal.is_some_and(|seal| seal.torn.is_some());
        Ok(Inspection { head, open, seal: seal.filter(|seal| *seal != Seal::default()) })
    }
}

/// All that stands from `bad` on.
fn damage(folder: &Folder, segments: &[(u64, u64)], segment: u64, bad: &Bad) -> Result<Damage, LedgerError> {
    let mut tally = Tally::default();
    for (number, size) in segments.iter().filter(|(number, _)| *number >= segment) {
        let Some(file) = folder.segment(*number)? else { continue };
        let failed = || LedgerError::io::<std::io::Error>("read", Segment(*number));
        let from = if *number == segment { bad.offset } else { 0 };
        let mut lines = Lines::new(file, from, *size).map_err(failed())?;
        while let Some(line) = lines.next().map_err(failed())? {
            tally.line(line);
        }
        tally.line(lines.partial());
    }
    let (bytes, lines, sha256) = tally.finish();
    Ok(Damage { bytes, lines, offset: bad.offset, segment, seq: bad.seq, sha256 })
}
