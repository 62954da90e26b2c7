//! Where does the ledger really end? Asked when the head and the segment's size disagree: after a kill, a full
//! disk, a power loss, or because somebody meddled.

use super::LedgerError;
use super::folder::{Folder, Segment, Stored};
use super::lines::Lines;
use remit_ledger::{Hash, Head, Lost, Seal, Step, Torn, Verifier, genesis};

/// The end as it was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Survey {
    /// The last chained line.
    pub(super) head: Head,
    /// The segment's size, which is more than the head's length if something unchained follows.
    pub(super) size: u64,
    /// Whether the last chained line lacks its newline.
    pub(super) open: bool,
    /// What has to be told.
    pub(super) seal: Option<Seal>,
}

/// Finds the end. To be called under the lock.
pub(super) fn survey(folder: &Folder, id: &Hash, stored: Stored) -> Result<Survey, LedgerError> {
    let segments = folder.segments()?;
    let size_of = |n| segments.iter().find(|(number, _)| *number == n).map_or(0, |(_, size)| *size);
    let last = segments.last().map_or(1, |(number, _)| *number);
    let anew = |segment, known: Option<Head>, rebuilt| {
        let (verifier, open) = scan_from_start(folder, id, segment)?;
        end(verifier, open, Origin { segment, from: 0, size: size_of(segment) }, known, rebuilt)
    };
    match stored {
        Stored::Empty if segments.iter().all(|(_, size)| *size == 0) => {
            Ok(Survey { head: Head::empty(genesis(id)), size: 0, open: false, seal: None })
        }
        Stored::Empty | Stored::Damaged => anew(last, None, true),
        // A head that was put back to an older state: more was written since than it can know.
        Stored::Head(head) if last > head.segment => anew(last, None, true),
        Stored::Head(head) if size_of(head.segment) < head.length => anew(head.segment, Some(head), false),
        Stored::Head(head) => {
            let size = size_of(head.segment);
            let verifier = Verifier::at(head.next, head.hash);
            let (verifier, open) = scan(folder, head.segment, head.length, verifier)?;
            end(verifier, open, Origin { segment: head.segment, from: head.length, size }, None, false)
        }
    }
}

/// Which bytes were scanned.
#[derive(Clone, Copy)]
struct Origin {
    segment: u64,
    from: u64,
    size: u64,
}

fn end(
    verifier: Verifier,
    open: bool,
    at: Origin,
    known: Option<Head>,
    rebuilt: bool,
) -> Result<Survey, LedgerError> {
    let (next, hash) = verifier.expects().ok_or(LedgerError::Full)?;
    let torn: Option<Torn> = verifier.torn();
    let length = match (verifier.held(), torn) {
        (Some(bad), Some(_)) => at.from.saturating_add(bad.offset),
        _ => at.size,
    };
    let lost = known.filter(|known| known.next > next).map(|known| Lost {
        from: next,
        to: known.next.saturating_sub(1),
        head: known.hash,
    });
    let seal = Seal { lost, rebuilt, torn };
    let head = Head { segment: at.segment, length, next, hash };
    Ok(Survey { head, size: at.size, open, seal: (seal != Seal::default()).then_some(seal) })
}

/// Scans a whole segment. What came before its first line is what the line says, or, if it has no line, what the
/// segments before it say.
fn scan_from_start(folder: &Folder, id: &Hash, segment: u64) -> Result<(Verifier, bool), LedgerError> {
    let mut start = if segment == 1 { Verifier::new(genesis(id)) } else { Verifier::anywhere() };
    for earlier in (1..segment).rev() {
        let (verifier, open) = scan(folder, segment, 0, start)?;
        if verifier.expects().is_some() {
            return Ok((verifier, open));
        }
        let begin = if earlier == 1 { Verifier::new(genesis(id)) } else { Verifier::anywhere() };
        let (verifier, _) = scan(folder, earlier, 0, begin)?;
        start = match verifier.expects() {
            Some((next, prev)) => Verifier::at(next, prev),
            None => Verifier::anywhere(),
        };
    }
    scan(folder, segment, 0, start)
}

/// Feeds what stands in a segment from byte `from` on; also says whether the last chained line lacks its newline.
fn scan(
    folder: &Folder,
    segment: u64,
    from: u64,
    mut verifier: Verifier,
) -> Result<(Verifier, bool), LedgerError> {
    let Some(file) = folder.segment(segment)? else { return Ok((verifier, false)) };
    let failed = || LedgerError::io::<std::io::Error>("read", Segment(segment));
    let mut lines = Lines::new(file, from, u64::MAX).map_err(failed())?;
    while let Some(line) = lines.next().map_err(failed())? {
        verifier.feed(line);
    }
    let partial = lines.partial();
    let open = !partial.is_empty() && !matches!(verifier.feed(partial), Step::Unchained);
    Ok((verifier, open))
}
