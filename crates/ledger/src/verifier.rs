//! Is each line the one that was written there? A [`Verifier`] is fed one line after the other and names the
//! first that is not.
//!
//! Bytes that are no chained line are held back: if the next chained line is a seal that says how many they are
//! and what they hash to, they are a damaged end that was closed off; if none comes, they are the fault.

use crate::seal::{Lost, Seal, Torn};
use crate::{Hash, Parsed, parse_line};
use sha2::{Digest as _, Sha256};

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It does not have the shape of a line.
    #[error("not a line of a ledger")]
    Malformed,
    /// Its hash is not that of the rest of it.
    #[error("altered: its hash does not fit what it says")]
    Altered,
    /// It has a later number.
    #[error("missing: record {found} stands in its place")]
    Gap {
        /// The number that it has.
        found: u64,
    },
    /// It and the one after it have changed places.
    #[error("swapped with the record after it")]
    Swapped,
    /// It has a number that was there before.
    #[error("inserted: record {found} stands here a second time")]
    Repeated {
        /// The number that it has.
        found: u64,
    },
    /// It has the right number, but follows another line than the one that stands before it.
    #[error("it follows another record than the one before it")]
    WrongPrev,
    /// It closes off bytes or a gap that are not there.
    #[error("it seals damage that is not there")]
    WrongSeal,
    /// The file that it should be in is gone.
    #[error("missing: its segment is gone")]
    NoSegment,
    /// The ledger ends here, and something that counted it says that it went on.
    #[error("missing: the ledger ends before it")]
    Truncated,
    /// It is whole and chained, but something that counted it had another hash.
    #[error("replaced: it is not the record that was here before")]
    Replaced,
}

/// The first line that is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("record {seq}, byte {offset} of its segment: {fault}")]
pub struct Bad {
    /// The number of the line that should stand there.
    pub seq: u64,
    /// Where it begins, in bytes from the first line that was fed.
    pub offset: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What a line turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// The next record.
    Record(Parsed<'a>),
    /// The next record, and it is a seal.
    Seal(Parsed<'a>, Seal),
    /// Not the next record; held back until a seal closes it off.
    Unchained,
}

/// Checks line after line.
#[derive(Debug, Clone)]
pub struct Verifier {
    /// Number and prev that the next line must have; none: those that it has.
    expects: Option<(u64, Hash)>,
    offset: u64,
    held: Option<Held>,
}

/// Bytes that are no chained lines.
#[derive(Debug, Clone)]
struct Held {
    bad: Bad,
    state: Sha256,
    bytes: u64,
    lines: u64,
    /// A newline that was seen and not yet hashed: the one before a seal belongs to the seal.
    newline: bool,
    /// Whole lines are among them, which no torn write leaves behind.
    certain: bool,
}

impl Held {
    fn push(&mut self, line: &[u8], newline: bool) {
        if self.newline {
            self.state.update(b"\n");
            self.bytes = self.bytes.saturating_add(1);
        }
        self.state.update(line);
        self.bytes = self.bytes.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
        self.lines = self.lines.saturating_add(1);
        self.newline = newline;
    }

    fn torn(&self) -> Torn {
        Torn { bytes: self.bytes, sha256: Hash(self.state.clone().finalize().into()) }
    }
}

impl Verifier {
    /// For lines from the beginning of a ledger; `genesis` is what stands before the first.
    pub fn new(genesis: Hash) -> Self {
        Self::at(1, genesis)
    }

    /// For lines from number `next` on; `prev` is the hash of the one before.
    pub fn at(next: u64, prev: Hash) -> Self {
        Self { expects: Some((next, prev)), offset: 0, held: None }
    }

    /// For lines from anywhere on; the first is taken at its word about what came before.
    pub fn anywhere() -> Self {
        Self { expects: None, offset: 0, held: None }
    }

    /// The number that the next line must have, and the hash of the last chained line. `None` if nothing was fed
    /// to a verifier that began anywhere.
    pub fn expects(&self) -> Option<(u64, Hash)> {
        self.expects
    }

    /// Lines are counted in bytes from here again: a new segment begins.
    pub fn restart_offset(&mut self) {
        self.offset = 0;
    }

    /// What is held back: the first fault.
    pub fn held(&self) -> Option<Bad> {
        self.held.as_ref().map(|held| held.bad)
    }

    /// Whether what is held back cannot be a torn write that is about to be sealed.
    pub fn is_certain(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.certain)
    }

    /// All that is held back, for a seal; a newline is to be written between it and the seal.
    pub fn torn(&self) -> Option<Torn> {
        self.held.clone().map(|mut held| {
            held.push(b"", false);
            held.torn()
        })
    }

    /// Takes the next line, with its newline if it has one.
    pub fn feed<'a>(&mut self, raw: &'a [u8]) -> Step<'a> {
        let (line, newline) = match raw.strip_suffix(b"\n") {
            Some(line) => (line, true),
            None => (raw, false),
        };
        let offset = self.offset;
        self.offset = offset.saturating_add(u64::try_from(raw.len()).unwrap_or(u64::MAX));
        let judged = match &self.held {
            None => self.judge(line, None),
            Some(held) if held.newline => self.judge(line, Some(held)),
            // No line begins in the middle of another.
            Some(_) => Err(Fault::Malformed),
        };
        match judged {
            Ok((parsed, seal)) => {
                self.held = None;
                self.expects = Some((parsed.seq.saturating_add(1), parsed.hash));
                seal.map_or(Step::Record(parsed), |seal| Step::Seal(parsed, seal))
            }
            Err(fault) => {
                self.hold(line, newline, offset, fault);
                Step::Unchained
            }
        }
    }

    fn hold(&mut self, line: &[u8], newline: bool, offset: u64, fault: Fault) {
        let whole = !matches!(fault, Fault::Malformed | Fault::Altered);
        let expects = self.expects;
        let held = self.held.get_or_insert_with(|| Held {
            bad: Bad { seq: expects.map_or(0, |(next, _)| next), offset, fault },
            state: Sha256::new(),
            bytes: 0,
            lines: 0,
            newline: false,
            certain: false,
        });
        // The line that was missing comes right after the one that stands in its place.
        let after = Fault::Gap { found: held.bad.seq.saturating_add(1) };
        if held.lines == 1 && held.bad.fault == after && whole {
            let place = parse_line(line).ok().map(|parsed| (parsed.seq, parsed.prev));
            if place == expects {
                held.bad.fault = Fault::Swapped;
            }
        }
        held.certain |= whole;
        held.push(line, newline);
    }

    /// Whether `line` is the next record. With bytes held back, only the seal that closes them off is.
    fn judge<'a>(&self, line: &'a [u8], held: Option<&Held>) -> Result<(Parsed<'a>, Option<Seal>), Fault> {
        let parsed = parse_line(line).map_err(|_| Fault::Malformed)?;
        if !parsed.is_whole() {
            return Err(Fault::Altered);
        }
        let seal = Seal::read(parsed.record);
        let (torn, lost) = seal.map_or((None, None), |seal| (seal.torn, seal.lost));
        let closes = match (torn, held) {
            (None, None) => true,
            (Some(torn), Some(held)) => torn == held.torn(),
            _ => false,
        };
        if !closes {
            return Err(self.place(&parsed).err().unwrap_or(Fault::WrongSeal));
        }
        match lost {
            None => self.place(&parsed)?,
            Some(Lost { from, to, .. }) => {
                let (next, prev) = self.expects.unwrap_or((from, parsed.prev));
                if from != next || parsed.prev != prev || from > to || to.checked_add(1) != Some(parsed.seq) {
                    return Err(Fault::WrongSeal);
                }
            }
        }
        Ok((parsed, seal))
    }

    /// Whether the line stands where it should.
    fn place(&self, parsed: &Parsed<'_>) -> Result<(), Fault> {
        let (next, prev) = self.expects.unwrap_or((parsed.seq, parsed.prev));
        match parsed.seq.cmp(&next) {
            std::cmp::Ordering::Greater => Err(Fault::Gap { found: parsed.seq }),
            std::cmp::Ordering::Less => Err(Fault::Repeated { found: parsed.seq }),
            std::cmp::Ordering::Equal if parsed.prev != prev => Err(Fault::WrongPrev),
            std::cmp::Ordering::Equal => Ok(()),
        }
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "a test that overflows fails")]
mod tests {
    use super::*;
    use crate::{Event, Record, Time, encode, link};

    const GENESIS: Hash = Hash([7; 32]);

    fn time() -> Time {
        Time::parse("2026-01-02T03:04:05.000006Z").unwrap()
    }

    fn line(prev: &Hash, seq: u64, record: &Record) -> (Vec<u8>, Hash) {
        let mut line = Vec::new();
        let hash = link(&mut line, prev, seq, &encode(record).unwrap());
        (line, hash)
    }

    fn chain(count: u64) -> Vec<Vec<u8>> {
        let mut prev = GENESIS;
        (1..=count)
            .map(|seq| {
                let (line, hash) = line(&prev, seq, &Record::new(time(), Event::Call).with("n", seq));
                prev = hash;
                line
            })
            .collect()
    }

    /// How many records were accepted, and what is wrong.
    fn check(lines: &[Vec<u8>]) -> (u64, Option<(u64, Fault)>) {
        let mut verifier = Verifier::new(GENESIS);
        let mut good = 0;
        for line in lines {
            good += u64::from(!matches!(verifier.feed(line), Step::Unchained));
        }
        (good, verifier.held().map(|bad| (bad.seq, bad.fault)))
    }

    fn tail(lines: &[Vec<u8>]) -> (Verifier, u64, Hash) {
        let mut verifier = Verifier::new(GENESIS);
        for line in lines {
            verifier.feed(line);
        }
        let (next, prev) = verifier.expects().unwrap();
        (verifier, next, prev)
    }

    #[test]
    fn a_whole_chain_is_accepted() {
        assert_eq!(check(&chain(9)), (9, None));
        let mut verifier = Verifier::new(GENESIS);
        assert_eq!(
            verifier.feed(&chain(1)[0]),
            Step::Record(parse_line(chain(1)[0].trim_ascii_end()).unwrap())
        );
    }

    #[test]
    fn the_first_bad_record_and_its_fault_are_named() {
        let lines = chain(9);
        let mut flipped = lines.clone();
        let at = flipped[3].len() - 20;
        flipped[3][at] ^= 1;
        assert_eq!(check(&flipped), (3, Some((4, Fault::Altered))));

        let mut dropped = lines.clone();
        dropped.remove(3);
        assert_eq!(check(&dropped), (3, Some((4, Fault::Gap { found: 5 }))));

        let mut swapped = lines.clone();
        swapped.swap(3, 4);
        assert_eq!(check(&swapped), (3, Some((4, Fault::Swapped))));

        let mut moved = lines.clone();
        moved.swap(3, 6);
        assert_eq!(check(&moved), (3, Some((4, Fault::Gap { found: 7 }))));

        let mut twice = lines.clone();
        twice.insert(3, lines[1].clone());
        assert_eq!(check(&twice), (3, Some((4, Fault::Repeated { found: 2 }))));

        let mut foreign = lines.clone();
        foreign[3] = line(&Hash([8; 32]), 4, &Record::new(time(), Event::Call)).0;
        assert_eq!(check(&foreign), (3, Some((4, Fault::WrongPrev))));

        let mut garbage = lines.clone();
        garbage.insert(3, b"rm -rf /\n".to_vec());
        assert_eq!(check(&garbage), (3, Some((4, Fault::Malformed))));
    }

    #[test]
    fn a_forged_record_in_the_middle_breaks_the_chain_after_it() {
        let mut lines = chain(9);
        let (_, next, prev) = tail(&lines[..3]);
        lines[3] = line(&prev, next, &Record::new(time(), Event::Alert)).0;
        assert_eq!(check(&lines), (4, Some((5, Fault::WrongPrev))));
    }

    #[test]
    fn the_place_of_the_fault_is_told() {
        let mut lines = chain(5);
        let before: usize = lines[..3].iter().map(Vec::len).sum();
        lines[3][0] = b'[';
        let mut verifier = Verifier::new(GENESIS);
        lines.iter().for_each(|line| {
            verifier.feed(line);
        });
        assert_eq!(verifier.held(), Some(Bad { seq: 4, offset: before as u64, fault: Fault::Malformed }));
    }

    /// Lines, torn bytes after the third, the seal that closes them off, two more lines.
    fn sealed(torn: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut lines = chain(3);
        let (mut verifier, next, prev) = tail(&lines);
        for part in torn {
            assert_eq!(verifier.feed(part), Step::Unchained);
        }
        let seal = Seal { torn: verifier.torn(), ..Seal::default() };
        let (sealed, hash) = line(&prev, next, &seal.record(time()));
        let mut torn: Vec<Vec<u8>> = torn.iter().map(|part| part.to_vec()).collect();
        // The newline that the sealer writes.
        match torn.last_mut() {
            Some(last) if !last.ends_with(b"\n") => last.push(b'\n'),
            _ => torn.push(b"\n".to_vec()),
        }
        lines.extend(torn);
        lines.push(sealed);
        let (fifth, hash) = line(&hash, next + 1, &Record::new(time(), Event::Call));
        lines.push(fifth);
        lines.push(line(&hash, next + 2, &Record::new(time(), Event::Call)).0);
        lines
    }

    #[test]
    fn a_torn_end_is_accepted_when_the_next_line_seals_it() {
        let torn = b"{\"hash\":\"00".as_slice();
        assert_eq!(check(&sealed(&[torn])), (6, None));
        assert_eq!(check(&sealed(&[b"one\n", torn])), (6, None));
        assert_eq!(check(&sealed(&[b"one\n", b"\n"])), (6, None));
        assert_eq!(check(&sealed(&[&[0; 4096]])), (6, None));
    }

    #[test]
    fn sealed_bytes_cannot_be_changed_dropped_or_added_to() {
        let lines = sealed(&[b"{\"hash"]);
        let with = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
            let mut lines = lines.clone();
            change(&mut lines);
            check(&lines)
        };
        assert_eq!(with(&|lines| lines[3][0] = b'['), (3, Some((4, Fault::Malformed))));
        assert_eq!(with(&|lines| drop(lines.remove(3))), (3, Some((4, Fault::WrongSeal))));
        assert_eq!(with(&|lines| lines.insert(3, b"x\n".to_vec())), (3, Some((4, Fault::Malformed))));
        assert_eq!(with(&|lines| lines.insert(4, b"\n".to_vec())), (3, Some((4, Fault::Malformed))));
        assert_eq!(with(&|lines| drop(lines.remove(4))), (3, Some((4, Fault::Malformed))));
    }

    #[test]
    fn a_gap_is_accepted_only_from_the_seal_that_tells_of_it() {
        let (_, _, prev) = tail(&chain(3));
        let told = |lost: Lost, seq| {
            let mut lines = chain(3);
            let seal = Seal { lost: Some(lost), ..Seal::default() };
            lines.push(line(&prev, seq, &seal.record(time())).0);
            check(&lines)
        };
        let lost = Lost { from: 4, to: 8, head: Hash([1; 32]) };
        assert_eq!(told(lost, 9), (4, None));
        assert_eq!(told(lost, 10), (3, Some((4, Fault::WrongSeal))));
        assert_eq!(told(Lost { from: 3, ..lost }, 9), (3, Some((4, Fault::WrongSeal))));
        assert_eq!(told(Lost { from: 4, to: 3, ..lost }, 4), (3, Some((4, Fault::WrongSeal))));
    }

    #[test]
    fn a_fault_is_certain_once_a_whole_line_follows_it() {
        let lines = chain(5);
        let (mut verifier, ..) = tail(&lines[..2]);
        verifier.feed(b"torn");
        assert!(!verifier.is_certain());
        let (mut verifier, ..) = tail(&lines[..2]);
        verifier.feed(b"flipped\n");
        verifier.feed(&lines[3]);
        assert!(verifier.is_certain());
    }

    #[test]
    fn a_verifier_may_begin_anywhere_but_not_skip() {
        let lines = chain(6);
        let mut verifier = Verifier::anywhere();
        assert!(matches!(verifier.feed(&lines[3]), Step::Record(parsed) if parsed.seq == 4));
        assert!(matches!(verifier.feed(&lines[4]), Step::Record(_)));
        assert_eq!(verifier.feed(&lines[3]), Step::Unchained);
    }
}
