//! Checking a whole ledger: every line, the head, every checkpoint, and the anchor. Nothing is written, made or
//! changed for it, so it works on a copy and on a disk that cannot be written.

use super::LedgerError;
use super::checkpoints::{Anchor, read_anchor};
use super::claims::{By, Claim, claims};
use super::folder::{CHECKPOINTS, Folder, HEAD, Segment, lock, read_head};
use super::lines::Lines;
use super::report::{BadCheckpoint, CheckpointAt, CheckpointFault, Checkpoints, Damaged, HeadState, Report};
use remit_ledger::{Bad, Fault, Hash, Head, Parsed, Seal, Step, Verifier, Verifying, genesis};
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use std::io::Read as _;
use std::path::Path;

/// Checks the ledger in `dir`. The checkpoints must be signed by one of `keys`; `anchor` is the file in which the
/// last one is kept outside the ledger, if that is to be looked at: then it must be there once there are
/// checkpoints. Writers are held up only while sizes are read, and what they write meanwhile is not looked at.
pub fn verify(dir: &Path, keys: &[Verifying], anchor: Option<&Path>) -> Result<Report, LedgerError> {
    let (folder, id) = Folder::open_ledger(dir)?;
    let found = Found::look(&folder, anchor)?;
    let genesis = genesis(&id);
    let mut report = Report {
        ledger: id,
        records: 0,
        last: 0,
        hash: genesis,
        segments: u64::try_from(found.segments.len()).unwrap_or(u64::MAX),
        bytes: 0,
        head: HeadState::Unreadable,
        checkpoints: Checkpoints::default(),
        behind: 0,
        sealed: Vec::new(),
        damaged: Vec::new(),
        lost: Vec::new(),
        rebuilt: Vec::new(),
        unsigned: Vec::new(),
        unsealed: 0,
        faults: 0,
        first_bad: None,
    };
    let claims = claims(&found, &id, keys, &mut report.checkpoints);
    let mut scan = Scan { folder: &folder, found: &found, claims, claim: 0, report };
    scan.run(genesis)?;
    Ok(scan.finish())
}

/// The ledger at one moment.
pub(super) struct Found {
    pub(super) head: Option<Head>,
    segments: Vec<(u64, u64)>,
    /// None if nobody asks for it.
    pub(super) anchor: Option<Anchor>,
    pub(super) checkpoints: Vec<u8>,
}

impl Found {
    fn look(folder: &Folder, anchor: Option<&Path>) -> Result<Self, LedgerError> {
        let head = folder.open_file(HEAD, OFlags::RDONLY)?;
        if let Some(head) = &head {
            shared(head)?;
        }
        // A checkpoint reaches its file first, then the anchor, then the head: looked at the other way round, none
        // that is being made seems to be missing.
        let stored = head.as_ref().map(read_head).transpose()?;
        let anchor = anchor.map(read_anchor).transpose()?;
        let mut checkpoints = Vec::new();
        if let Some(mut file) = folder.open_file(CHECKPOINTS, OFlags::RDONLY)? {
            file.read_to_end(&mut checkpoints).map_err(LedgerError::io("read", CHECKPOINTS))?;
        }
        let segments = folder.segments()?;
        // Closing the head's file unlocks it.
        Ok(Self { head: stored.and_then(|stored| stored.head()), segments, anchor, checkpoints })
    }

    /// Whether nothing stands in a later segment.
    fn is_last(&self, segment: u64) -> bool {
        !self.segments.iter().any(|(number, size)| *number > segment && *size > 0)
    }

    /// Whether the head counts what stands in this place.
    fn counts(&self, segment: u64, offset: u64) -> bool {
        self.head.is_some_and(|head| head.segment == segment && offset < head.length)
    }
}

/// Holds writers up, where the file system can do that. Where it cannot, nobody can write there either.
fn shared(head: &std::fs::File) -> Result<(), LedgerError> {
    match lock(head, FlockOperation::LockShared) {
        Err(LedgerError::Io { source, .. }) if UNLOCKABLE.contains(&source.raw_os_error()) => Ok(()),
        locked => locked,
    }
}

const UNLOCKABLE: [Option<i32>; 4] = [
    Some(Errno::ROFS.raw_os_error()),
    Some(Errno::NOLCK.raw_os_error()),
    Some(Errno::NOTSUP.raw_os_error()),
    Some(Errno::NOSYS.raw_os_error()),
];

struct Scan<'a> {
    folder: &'a Folder,
    found: &'a Found,
    claims: Vec<Claim>,
    /// The first claim that was not yet reached.
    claim: usize,
    report: Report,
}

impl Scan<'_> {
    fn run(&mut self, genesis: Hash) -> Result<(), LedgerError> {
        let mut verifier = Verifier::new(genesis);
        self.reached(0, genesis);
        let mut expected = 1;
        for (segment, size) in &self.found.segments {
            self.gap(&verifier, expected, *segment);
            expected = segment.saturating_add(1);
            self.segment(&mut verifier, *segment, *size)?;
            verifier.restart_offset();
        }
        if let Some(head) = self.found.head.filter(|head| head.length > 0) {
            self.gap(&verifier, expected, head.segment.saturating_add(1));
        }
        Ok(())
    }

    /// Tells of segments that are not there: all from `expected` to before `found`.
    fn gap(&mut self, verifier: &Verifier, expected: u64, found: u64) {
        if expected < found {
            let seq = verifier.expects().map_or(0, |(next, _)| next);
            self.bad(expected, Bad { seq, offset: 0, fault: Fault::NoSegment });
        }
    }

    fn bad(&mut self, segment: u64, bad: Bad) {
        let report = &mut self.report;
        let first = report.first_bad.get_or_insert(Damaged { segment, bad });
        let place = |segment: u64, bad: &Bad| (segment, bad.offset);
        match place(segment, &bad).cmp(&place(first.segment, &first.bad)) {
            std::cmp::Ordering::Less => *first = Damaged { segment, bad },
            // The next line has shown what it is.
            std::cmp::Ordering::Equal if bad.fault == Fault::Swapped => {
                first.bad = bad;
                return;
            }
            _ => {}
        }
        report.faults = report.faults.saturating_add(1);
    }

    /// What is missing where a segment begins is missing at the end of the one before.
    fn between(&mut self, segment: u64, bad: Bad) {
        let is_before = |number: u64| number.checked_add(1) == Some(segment);
        let before = self.found.segments.iter().find(|(number, _)| is_before(*number));
        match before {
            Some((number, size)) if bad.offset == 0 && matches!(bad.fault, Fault::Gap { .. }) => {
                self.bad(*number, Bad { offset: *size, ..bad });
            }
            _ => self.bad(segment, bad),
        }
    }

    fn segment(&mut self, verifier: &mut Verifier, segment: u64, size: u64) -> Result<(), LedgerError> {
        let failed = || LedgerError::io::<std::io::Error>("read", Segment(segment));
        let Some(file) = self.folder.segment(segment)? else {
            self.gap(verifier, segment, segment.saturating_add(1));
            return Ok(());
        };
        let mut lines = Lines::new(file, 0, size).map_err(failed())?;
        while let Some(line) = lines.next().map_err(failed())? {
            let offset = verifier.offset();
            let step = verifier.feed(line);
            if let Some(bad) = verifier.take_damage() {
                self.between(segment, bad);
            }
            match step {
                Step::Record(parsed) | Step::Resumed(parsed) => self.record(&parsed),
                Step::Seal(parsed, seal) => {
                    self.record(&parsed);
                    self.seal(segment, offset, parsed.seq, &seal);
                }
                Step::Unchained => {}
            }
        }
        self.report.bytes = self.report.bytes.saturating_add(size);
        self.ending(verifier, segment, lines.partial());
        Ok(())
    }

    /// Judges what a segment ends with, if that is not a chained line with its newline.
    fn ending(&mut self, verifier: &mut Verifier, segment: u64, partial: &[u8]) {
        let offset = verifier.offset();
        let seq = verifier.expects().map_or(0, |(next, _)| next);
        let is_last = self.found.is_last(segment);
        if !partial.is_empty() && !matches!(verifier.feed(partial), Step::Unchained) {
            let bad = verifier.take_damage();
            if bad.is_none() && is_last && !self.found.counts(segment, offset) {
                // A whole line but for its newline, which the next append adds. It does not count yet.
                self.report.unsealed = u64::try_from(partial.len()).unwrap_or(u64::MAX);
            } else {
                self.bad(segment, bad.unwrap_or(Bad { seq, offset, fault: Fault::Malformed }));
            }
            return;
        }
        if let Some(bad) = verifier.take_damage() {
            self.bad(segment, bad);
        }
        if let (Some(bad), Some(torn)) = (verifier.held(), verifier.torn()) {
            if is_last && !self.found.counts(segment, bad.offset) {
                self.report.unsealed = torn.bytes;
            } else {
                self.bad(segment, bad);
            }
        }
    }

    fn record(&mut self, parsed: &Parsed<'_>) {
        let report = &mut self.report;
        if report.first_bad.is_none() {
            report.records = report.records.saturating_add(1);
            (report.last, report.hash) = (parsed.seq, parsed.hash);
        } else {
            report.behind = report.behind.saturating_add(1);
        }
        self.reached(parsed.seq, parsed.hash);
    }

    /// Takes down what a seal tells, at the place where it tells of it.
    fn seal(&mut self, segment: u64, offset: u64, seq: u64, seal: &Seal) {
        let report = &mut self.report;
        report.sealed.extend(seal.torn.map(|torn| (seq, torn)));
        report.damaged.extend(seal.damage.map(|damage| (seq, damage)));
        report.lost.extend(seal.lost.map(|lost| (seq, lost)));
        report.unsigned.extend(seal.checkpoints.map(|gone| (seq, gone)));
        if let Some(damage) = seal.damage {
            let told = Bad { seq: damage.seq, offset: damage.offset, fault: Fault::Told };
            self.bad(damage.segment, told);
        }
        if let Some(lost) = seal.lost {
            self.bad(segment, Bad { seq: lost.from, offset, fault: Fault::Lost });
        }
        if seal.rebuilt {
            self.report.rebuilt.push(seq);
            self.bad(segment, Bad { seq, offset, fault: Fault::HeadLost });
        }
        if seal.checkpoints.is_some() {
            self.bad(segment, Bad { seq, offset, fault: Fault::Unsigned });
        }
    }

    /// Record `seq` was reached: settles what was said about it, and about numbers that were skipped before it.
    fn reached(&mut self, seq: u64, hash: Hash) {
        while let Some(claim) = self.claims.get(self.claim).filter(|claim| claim.seq <= seq) {
            let fault = if claim.seq < seq {
                Some(CheckpointFault::Gone { seq: claim.seq })
            } else if claim.hash != hash {
                Some(CheckpointFault::Replaced { seq })
            } else {
                None
            };
            self.claim = self.claim.saturating_add(1);
            let by = claim.by;
            self.settle(by, fault);
        }
    }

    fn settle(&mut self, by: By, fault: Option<CheckpointFault>) {
        let report = &mut self.report;
        match (by, fault) {
            (By::Head, None) => report.head = HeadState::Fits,
            (By::Head, Some(_)) => report.head = HeadState::Differs,
            (By::Checkpoint(CheckpointAt::Line(_)), None) => {
                report.checkpoints.ok = report.checkpoints.ok.saturating_add(1);
            }
            (By::Checkpoint(_), None) => {}
            (By::Checkpoint(at), Some(why)) => report.checkpoints.bad.push(BadCheckpoint { at, why }),
        }
    }

    /// Settles what was said about records that are not there, and answers.
    fn finish(mut self) -> Report {
        for claim in self.claims.split_off(self.claim.min(self.claims.len())) {
            match claim.by {
                By::Head if self.report.first_bad.is_some() => self.report.head = HeadState::Unreached,
                by => {
                    self.settle(by, Some(CheckpointFault::Gone { seq: claim.seq }));
                    if self.report.first_bad.is_none() {
                        let (segment, offset) = self.found.segments.last().copied().unwrap_or((1, 0));
                        let seq = self.report.last.saturating_add(1);
                        self.bad(segment, Bad { seq, offset, fault: Fault::Truncated });
                    }
                }
            }
        }
        let mut report = self.report;
        match (report.head, self.found.head) {
            (HeadState::Differs, Some(head)) if report.first_bad.is_none() => {
                let seq = head.next.saturating_sub(1);
                let bad = Bad { seq, offset: head.length, fault: Fault::Replaced };
                report.first_bad = Some(Damaged { segment: head.segment, bad });
                report.faults = 1;
            }
            (HeadState::Fits, Some(head)) if report.first_bad.is_none() && report.last >= head.next => {
                report.head =
                    HeadState::Behind { records: report.last.saturating_sub(head.next).saturating_add(1) };
            }
            _ => {}
        }
        report.checkpoints.bad.sort_by_key(|bad| bad.at);
        report
    }
}
