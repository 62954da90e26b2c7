//! Checking a whole ledger: every line, the head, every checkpoint, and the anchor.

use super::LedgerError;
use super::checkpoints;
use super::folder::{Folder, HEAD, Segment, Stored, read_head};
use super::lines::Lines;
use super::report::{BadCheckpoint, CheckpointFault, Checkpoints, FirstBad, HeadState, Report};
use remit_ledger::{Bad, Checkpoint, Fault, Hash, Head, Parsed, Seal, Step, Verifier, Verifying, genesis};
use rustix::fs::{FlockOperation, OFlags};
use std::io::Read as _;
use std::path::Path;

/// Checks the ledger in `dir`. The checkpoints must be signed by one of `keys`; `anchor` is the last checkpoint as
/// it was kept elsewhere. Writers are held up only while sizes are read, and what they write meanwhile is not
/// looked at.
pub fn verify(dir: &Path, keys: &[Verifying], anchor: Option<&Checkpoint>) -> Result<Report, LedgerError> {
    let folder = Folder::open(dir)?;
    let id = folder.id()?.ok_or_else(|| LedgerError::NoId(dir.to_owned()))?;
    let found = Found::look(&folder)?;
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
        sealed: Vec::new(),
        lost: Vec::new(),
        rebuilt: Vec::new(),
        unsealed: 0,
        first_bad: None,
    };
    let claims = claims(&found, &id, keys, anchor, &mut report.checkpoints);
    let mut scan = Scan { folder: &folder, found: &found, claims, claim: 0, report };
    scan.run(genesis)?;
    Ok(scan.finish())
}

/// The ledger at one moment.
struct Found {
    head: Option<Head>,
    segments: Vec<(u64, u64)>,
    checkpoints: Vec<u8>,
}

impl Found {
    fn look(folder: &Folder) -> Result<Self, LedgerError> {
        let head = folder.open_file(HEAD, OFlags::RDONLY)?;
        if let Some(head) = &head {
            rustix::io::retry_on_intr(|| rustix::fs::flock(head, FlockOperation::LockShared))
                .map_err(LedgerError::io("lock", HEAD))?;
        }
        let mut checkpoints = Vec::new();
        if let Some(mut file) = folder.open_file(checkpoints::FILE, OFlags::RDONLY)? {
            file.read_to_end(&mut checkpoints).map_err(LedgerError::io("read", checkpoints::FILE))?;
        }
        let segments = folder.segments()?;
        let stored = head.as_ref().map(read_head).transpose()?;
        // Closing the head's file unlocks it.
        Ok(Self { head: head_of(stored), segments, checkpoints })
    }
}

fn head_of(stored: Option<Stored>) -> Option<Head> {
    match stored {
        Some(Stored::Head(head)) => Some(head),
        Some(Stored::Empty | Stored::Damaged) | None => None,
    }
}

/// Somebody says: record `seq` has this hash.
struct Claim {
    seq: u64,
    hash: Hash,
    by: By,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Head,
    /// A checkpoint, by its line; 0 is the anchor.
    Checkpoint(u64),
}

/// All claims, in the order of the records. Checkpoints that do not hold by themselves make none.
fn claims(
    found: &Found,
    id: &Hash,
    keys: &[Verifying],
    anchor: Option<&Checkpoint>,
    told: &mut Checkpoints,
) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    if let Some(head) = &found.head {
        claims.push(Claim { seq: head.next.saturating_sub(1), hash: head.hash, by: By::Head });
    }
    let mut claim = |checkpoint: &Checkpoint, line: u64, told: &mut Checkpoints| {
        let said = &checkpoint.statement;
        let sound = match checkpoint.check(keys) {
            Err(error) => Err(CheckpointFault::Forged(error)),
            Ok(()) if said.ledger != *id => Err(CheckpointFault::Foreign),
            Ok(()) => Ok(()),
        };
        match sound {
            Ok(()) => claims.push(Claim { seq: said.seq, hash: said.head, by: By::Checkpoint(line) }),
            Err(why) => told.bad.push(BadCheckpoint { line, why }),
        }
    };
    let mut expected = 1;
    // Lines that are no checkpoint, and may be a torn one that the next line follows.
    let mut unread: Vec<BadCheckpoint> = Vec::new();
    for (line, raw) in (1..).zip(found.checkpoints.split_inclusive(|byte| *byte == b'\n')) {
        let Some(text) = raw.strip_suffix(b"\n") else {
            // The last line, and it was never ended.
            told.torn = told.torn.saturating_add(1);
            continue;
        };
        let checkpoint = match Checkpoint::parse(text) {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                unread.push(BadCheckpoint { line, why: error.into() });
                continue;
            }
        };
        let number = checkpoint.statement.number;
        if number == expected {
            told.torn = told.torn.saturating_add(u64::try_from(unread.len()).unwrap_or(u64::MAX));
            unread.clear();
        } else {
            told.bad.append(&mut unread);
            told.bad.push(BadCheckpoint { line, why: CheckpointFault::Number { expected, found: number } });
        }
        expected = number.saturating_add(1);
        claim(&checkpoint, line, told);
    }
    told.bad.append(&mut unread);
    if let Some(anchor) = anchor {
        claim(anchor, 0, told);
        let number = anchor.statement.number;
        if number >= expected {
            told.bad.push(BadCheckpoint { line: 0, why: CheckpointFault::Missing { number } });
        }
    }
    claims.sort_by_key(|claim| claim.seq);
    claims
}

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
        let last = self.found.segments.last().map_or(0, |(number, _)| *number);
        let counted = self.found.head.map_or(0, |head| if head.length > 0 { head.segment } else { 0 });
        for segment in 1..=last.max(counted) {
            let size =
                self.found.segments.iter().find(|(number, _)| *number == segment).map(|(_, size)| *size);
            verifier.restart_offset();
            match size {
                None => {
                    self.bad(segment, Bad { seq: self.next(&verifier), offset: 0, fault: Fault::NoSegment })
                }
                Some(size) => self.segment(&mut verifier, segment, size, segment == last)?,
            }
            if self.report.first_bad.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn next(&self, verifier: &Verifier) -> u64 {
        verifier.expects().map_or(0, |(next, _)| next)
    }

    fn bad(&mut self, segment: u64, bad: Bad) {
        self.report.first_bad.get_or_insert(FirstBad { segment, bad });
    }

    fn segment(
        &mut self,
        verifier: &mut Verifier,
        segment: u64,
        size: u64,
        is_last: bool,
    ) -> Result<(), LedgerError> {
        let failed = || LedgerError::io::<std::io::Error>("read", Segment(segment));
        let Some(file) = self.folder.segment(segment)? else {
            self.bad(segment, Bad { seq: self.next(verifier), offset: 0, fault: Fault::NoSegment });
            return Ok(());
        };
        let mut lines = Lines::new(file, 0, size).map_err(failed())?;
        while let Some(line) = lines.next().map_err(failed())? {
            match verifier.feed(line) {
                Step::Record(parsed) => self.record(&parsed, None),
                Step::Seal(parsed, seal) => self.record(&parsed, Some(seal)),
                Step::Unchained => {}
            }
        }
        self.report.bytes = self.report.bytes.saturating_add(size);
        let partial = lines.partial();
        if !partial.is_empty() {
            let seq = self.next(verifier);
            if !matches!(verifier.feed(partial), Step::Unchained) {
                let length = u64::try_from(partial.len()).unwrap_or(u64::MAX);
                if is_last {
                    // A whole line but for its newline, which the next append adds. It does not count yet.
                    self.report.unsealed = length;
                } else {
                    let offset = size.saturating_sub(length);
                    self.bad(segment, Bad { seq, offset, fault: Fault::Malformed });
                }
                return Ok(());
            }
        }
        if let (Some(bad), Some(torn)) = (verifier.held(), verifier.torn()) {
            let counted =
                self.found.head.is_some_and(|head| head.segment == segment && bad.offset < head.length);
            if is_last && !counted && !verifier.is_certain() {
                self.report.unsealed = torn.bytes;
            } else {
                self.bad(segment, bad);
            }
        }
        Ok(())
    }

    fn record(&mut self, parsed: &Parsed<'_>, seal: Option<Seal>) {
        let report = &mut self.report;
        report.records = report.records.saturating_add(1);
        report.last = parsed.seq;
        report.hash = parsed.hash;
        if let Some(seal) = seal {
            report.sealed.extend(seal.torn.map(|torn| (parsed.seq, torn)));
            report.lost.extend(seal.lost.map(|lost| (parsed.seq, lost)));
            if seal.rebuilt {
                report.rebuilt.push(parsed.seq);
            }
        }
        self.reached(parsed.seq, parsed.hash);
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
            (By::Checkpoint(0), None) => {}
            (By::Checkpoint(_), None) => report.checkpoints.ok = report.checkpoints.ok.saturating_add(1),
            (By::Checkpoint(line), Some(why)) => report.checkpoints.bad.push(BadCheckpoint { line, why }),
        }
    }

    /// Settles what was said about records that are not there, and answers.
    fn finish(mut self) -> Report {
        let broken = self.report.first_bad.is_some();
        for claim in self.claims.split_off(self.claim.min(self.claims.len())) {
            match claim.by {
                By::Head if broken => self.report.head = HeadState::Unreached,
                _ if broken => {}
                by => {
                    self.settle(by, Some(CheckpointFault::Gone { seq: claim.seq }));
                    let (segment, offset) = self.found.segments.last().copied().unwrap_or((1, 0));
                    let seq = self.report.last.saturating_add(1);
                    self.bad(segment, Bad { seq, offset, fault: Fault::Truncated });
                }
            }
        }
        let mut report = self.report;
        match (report.head, self.found.head) {
            (HeadState::Differs, Some(head)) if report.first_bad.is_none() => {
                let seq = head.next.saturating_sub(1);
                let bad = Bad { seq, offset: head.length, fault: Fault::Replaced };
                report.first_bad = Some(FirstBad { segment: head.segment, bad });
            }
            (HeadState::Fits, Some(head)) if report.last >= head.next => {
                report.head =
                    HeadState::Behind { records: report.last.saturating_sub(head.next).saturating_add(1) };
            }
            _ => {}
        }
        report.checkpoints.bad.sort_by_key(|bad| bad.line);
        report
    }
}
