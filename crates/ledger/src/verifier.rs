//! Is each line the one that was written there? A [`Verifier`] is fed one line after the other and names each
//! place where one is not.
//!
//! Bytes that are no chained line are held back. If they can be the beginning of a line, and the next line is a
//! seal that says how many they are and what they hash to, then a writer died there, and all is well. Everything
//! else is damage. The chain goes on behind it, with the next line that is whole and has a later number: what was
//! written well stays readable, and the damage stays told.

use crate::chain::is_beginning;
use crate::head::FARTHEST;
use crate::seal::{Lost, Seal, Torn};
use crate::{Hash, Parsed, parse_line};
use sha2::{Digest as _, Sha256};
use std::cmp::Ordering;

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
    /// A seal tells that it was gone when the next append looked.
    #[error("missing: a power loss took it, or somebody cut the ledger")]
    Lost,
    /// A seal tells of lines that were not what had been written.
    #[error("damaged: an append found other bytes here; a disk that failed, or somebody changed them")]
    Told,
    /// A seal tells that the head had to be made anew.
    #[error(
        "the head was gone when this was written, so records before it may be missing; a disk that failed, or somebody removed it"
    )]
    HeadLost,
    /// A seal tells that checkpoints were gone.
    #[error(
        "signed checkpoints or the anchor were gone when this was written; a power loss, or somebody removed them"
    )]
    Unsigned,
}

/// A line that is not what was written.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'a> {
    /// The next record.
    Record(Parsed<'a>),
    /// The next record, and it is a seal.
    Seal(Parsed<'a>, Box<Seal>),
    /// A whole record behind damage: the chain goes on from it, and nothing but itself says that it belongs here.
    Resumed(Parsed<'a>),
    /// Not the next record; held back.
    Unchained,
}

/// Checks line after line.
#[derive(Debug, Clone)]
pub struct Verifier {
    /// Number and prev that the next line must have; none: those that it has.
    expects: Option<(u64, Hash)>,
    offset: u64,
    held: Option<Held>,
    /// What is to be told and was not yet taken.
    damage: Option<Bad>,
    /// The record that the line before skipped, and where it should have stood.
    skipped: Option<(u64, Hash, u64)>,
}

/// Bytes that are no chained lines.
#[derive(Debug, Clone)]
struct Held {
    bad: Bad,
    state: Sha256,
    bytes: u64,
    /// A newline that was seen and not yet hashed: the one before a seal belongs to the seal.
    newline: bool,
    /// No writer that died leaves them behind.
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
        Self { expects: Some((next, prev)), ..Self::anywhere() }
    }

    /// For lines from anywhere on; the first is taken at its word about what came before.
    pub fn anywhere() -> Self {
        Self { expects: None, offset: 0, held: None, damage: None, skipped: None }
    }

    /// The number that the next line must have, and the hash of the last chained line. `None` if nothing was fed
    /// to a verifier that began anywhere.
    pub fn expects(&self) -> Option<(u64, Hash)> {
        self.expects
    }

    /// Where the next line begins, in bytes from the first that was fed.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// A new segment begins: lines are counted in bytes from here again. What is held back at the end of the one
    /// before is forgotten; see [`Verifier::held`].
    pub fn restart_offset(&mut self) {
        self.offset = 0;
        self.held = None;
    }

    /// What is held back: where it begins and what is wrong with its first line.
    pub fn held(&self) -> Option<Bad> {
        self.held.as_ref().map(|held| held.bad)
    }

    /// Whether what is held back is not what a writer leaves that died.
    pub fn is_certain(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.certain)
    }

    /// The damage that was found since this was asked last. To be asked after each line. [`Fault::Swapped`] may
    /// come for a place of which another fault was told.
    pub fn take_damage(&mut self) -> Option<Bad> {
        self.damage.take()
    }

    /// All that is held back, if a writer that died left it, for a seal; a newline is to be written between it and
    /// the seal.
    pub fn torn(&self) -> Option<Torn> {
        self.held.clone().filter(|held| !held.certain).map(|mut held| {
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
        let skipped = self.skipped.take();
        // No line begins in the middle of another.
        let parsed = match &self.held {
            Some(held) if !held.newline => Err(Fault::Malformed),
            _ => whole(line),
        };
        match parsed {
            Ok(parsed) => self.place(parsed, offset, skipped).unwrap_or_else(|fault| {
                self.hold(line, newline, offset, fault, true);
                Step::Unchained
            }),
            Err(fault) => {
                self.hold(line, newline, offset, fault, false);
                Step::Unchained
            }
        }
    }

    /// Takes a whole line, or says why the chain does not go on from it.
    fn place<'a>(
        &mut self,
        parsed: Parsed<'a>,
        offset: u64,
        skipped: Option<(u64, Hash, u64)>,
    ) -> Result<Step<'a>, Fault> {
        let seal = Seal::read(parsed.record);
        let step = match self.stands(&parsed, seal.as_ref()) {
            Ok(()) => {
                let torn = seal.as_ref().and_then(|seal| seal.torn);
                let fault = match (&self.held, torn) {
                    (None, None) => None,
                    (Some(held), torn) if !held.certain && torn == Some(held.torn()) => None,
                    (Some(held), _) if held.certain && torn.is_none() => None,
                    (Some(held), _) => Some(held.bad),
                    (None, Some(_)) => Some(Bad { seq: parsed.seq, offset, fault: Fault::WrongSeal }),
                };
                self.damage = self.damage.or(fault);
                seal.map_or(Step::Record(parsed), |seal| Step::Seal(parsed, Box::new(seal)))
            }
            Err(fault) => {
                let (next, prev) = self.expects.unwrap_or((parsed.seq, parsed.prev));
                if parsed.seq < next || parsed.seq > FARTHEST {
                    // The line that was missing comes right after the one that stood in its place.
                    if let Some((seq, _, offset)) =
                        skipped.filter(|s| (s.0, s.1) == (parsed.seq, parsed.prev))
                    {
                        self.damage = Some(Bad { seq, offset, fault: Fault::Swapped });
                    }
                    return Err(fault);
                }
                if !self.is_certain() {
                    self.damage = Some(self.held().unwrap_or(Bad { seq: next, offset, fault }));
                }
                if fault == (Fault::Gap { found: next.saturating_add(1) }) && self.held.is_none() {
                    self.skipped = Some((next, prev, offset));
                }
                Step::Resumed(parsed)
            }
        };
        self.held = None;
        self.expects = Some((parsed.seq.saturating_add(1), parsed.hash));
        Ok(step)
    }

    fn hold(&mut self, line: &[u8], newline: bool, offset: u64, fault: Fault, whole: bool) {
        let prev = self.expects.map(|(_, prev)| prev);
        // Behind a torn line, the newline of a seal may be all that was written of it.
        let honest = !whole && is_beginning(line, prev.as_ref()) && (self.held.is_some() || !line.is_empty());
        let expects = self.expects;
        let held = self.held.get_or_insert_with(|| Held {
            bad: Bad { seq: expects.map_or(0, |(next, _)| next), offset, fault },
            state: Sha256::new(),
            bytes: 0,
            newline: false,
            certain: false,
        });
        if !honest && !held.certain {
            held.certain = true;
            self.damage = self.damage.or(Some(held.bad));
        }
        held.push(line, newline);
    }

    /// Whether the line stands where it should.
    fn stands(&self, parsed: &Parsed<'_>, seal: Option<&Seal>) -> Result<(), Fault> {
        let (next, prev) = self.expects.unwrap_or((parsed.seq, parsed.prev));
        if let Some(Lost { from, to, .. }) = seal.and_then(|seal| seal.lost) {
            let next = self.expects.map_or(from, |(next, _)| next);
            let fits =
                from == next && parsed.prev == prev && from <= to && to.checked_add(1) == Some(parsed.seq);
            return if fits { Ok(()) } else { Err(Fault::WrongSeal) };
        }
        match parsed.seq.cmp(&next) {
            Ordering::Greater => Err(Fault::Gap { found: parsed.seq }),
            Ordering::Less => Err(Fault::Repeated { found: parsed.seq }),
            Ordering::Equal if parsed.prev != prev => Err(Fault::WrongPrev),
            Ordering::Equal => Ok(()),
        }
    }
}

/// Takes a line apart if its hash is that of the rest of it.
fn whole(line: &[u8]) -> Result<Parsed<'_>, Fault> {
    let parsed = parse_line(line).map_err(|_| Fault::Malformed)?;
    if parsed.is_whole() { Ok(parsed) } else { Err(Fault::Altered) }
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

    /// How many lines the chain has, and the damage that was told.
    fn check(lines: &[Vec<u8>]) -> (u64, Vec<(u64, Fault)>) {
        let mut verifier = Verifier::new(GENESIS);
        let (mut chained, mut told) = (0, Vec::new());
        for line in lines {
            chained += u64::from(!matches!(verifier.feed(line), Step::Unchained));
            told.extend(verifier.take_damage().map(|bad| (bad.seq, bad.fault)));
        }
        (chained, told)
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
        assert_eq!(check(&chain(9)), (9, vec![]));
        let mut verifier = Verifier::new(GENESIS);
        assert_eq!(
            verifier.feed(&chain(1)[0]),
            Step::Record(parse_line(chain(1)[0].trim_ascii_end()).unwrap())
        );
    }

    #[test]
    fn every_fault_is_named_and_what_stands_behind_it_is_chained_again() {
        let lines = chain(9);
        let mut flipped = lines.clone();
        let at = flipped[3].len() - 20;
        flipped[3][at] ^= 1;
        assert_eq!(check(&flipped), (8, vec![(4, Fault::Altered)]));

        let mut dropped = lines.clone();
        dropped.remove(3);
        assert_eq!(check(&dropped), (8, vec![(4, Fault::Gap { found: 5 })]));

        let mut swapped = lines.clone();
        swapped.swap(3, 4);
        assert_eq!(check(&swapped), (8, vec![(4, Fault::Gap { found: 5 }), (4, Fault::Swapped)]));

        let mut moved = lines.clone();
        moved.swap(3, 6);
        assert_eq!(check(&moved), (6, vec![(4, Fault::Gap { found: 7 }), (8, Fault::Repeated { found: 5 })]));

        let mut twice = lines.clone();
        twice.insert(3, lines[1].clone());
        assert_eq!(check(&twice), (9, vec![(4, Fault::Repeated { found: 2 })]));

        let mut foreign = lines.clone();
        foreign[3] = line(&Hash([8; 32]), 4, &Record::new(time(), Event::Call)).0;
        assert_eq!(check(&foreign), (9, vec![(4, Fault::WrongPrev), (5, Fault::WrongPrev)]));

        let mut garbage = lines.clone();
        garbage.insert(3, b"rm -rf /\n".to_vec());
        assert_eq!(check(&garbage), (9, vec![(4, Fault::Malformed)]));
    }

    #[test]
    fn a_forged_record_in_the_middle_breaks_the_chain_after_it() {
        let mut lines = chain(9);
        let (_, next, prev) = tail(&lines[..3]);
        lines[3] = line(&prev, next, &Record::new(time(), Event::Alert)).0;
        assert_eq!(check(&lines), (9, vec![(5, Fault::WrongPrev)]));
    }

    #[test]
    fn a_record_with_a_number_out_of_reach_does_not_take_the_chain_along() {
        let mut lines = chain(5);
        let far = |seq| line(&Hash([8; 32]), seq, &Record::new(time(), Event::Call)).0;
        lines.insert(3, far(u64::MAX));
        assert_eq!(check(&lines), (5, vec![(4, Fault::Gap { found: u64::MAX })]));
        lines[3] = far(FARTHEST);
        let (chained, told) = check(&lines);
        assert_eq!((chained, told[0]), (4, (4, Fault::Gap { found: FARTHEST })));
    }

    #[test]
    fn the_place_of_the_fault_is_told() {
        let mut lines = chain(5);
        let before: usize = lines[..3].iter().map(Vec::len).sum();
        lines[3][0] = b'[';
        let mut verifier = Verifier::new(GENESIS);
        let told: Vec<Bad> = lines
            .iter()
            .filter_map(|line| {
                verifier.feed(line);
                verifier.take_damage()
            })
            .collect();
        assert_eq!(told, [Bad { seq: 4, offset: before as u64, fault: Fault::Malformed }]);
        assert_eq!(verifier.held(), None);
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
        assert_eq!(check(&sealed(&[torn])), (6, vec![]));
        assert_eq!(check(&sealed(&[b"{\n", torn])), (6, vec![]));
        assert_eq!(check(&sealed(&[b"{\"h\n", b"\n"])), (6, vec![]));
        let whole = chain(4).pop().unwrap();
        for end in 1..whole.len() - 1 {
            assert_eq!(check(&sealed(&[&whole[..end]])), (6, vec![]), "{end}");
        }
    }

    #[test]
    fn what_no_dead_writer_leaves_is_damage_though_a_seal_may_close_it_off() {
        let whole = chain(5).pop().unwrap();
        for bad in [&b"garbage\n"[..], b"\n", &[0; 4096], b"{}\n", b"{\"hash\":\"00\nx", whole.as_slice()] {
            let mut lines = chain(3);
            let (mut verifier, next, prev) = tail(&lines);
            for part in bad.split_inclusive(|byte| *byte == b'\n') {
                verifier.feed(part);
            }
            if bad != whole {
                assert!(verifier.is_certain() && verifier.torn().is_none(), "{bad:?}");
            }
            assert!(verifier.take_damage().is_some(), "{bad:?}");
            // Who wrote it may write a seal as well.
            let torn = Torn { bytes: bad.len() as u64 - 1, sha256: Hash::of(&[&bad[..bad.len() - 1]]) };
            let seal = Seal { torn: Some(torn), ..Seal::default() };
            lines.extend(bad.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec));
            if !bad.ends_with(b"\n") {
                lines.last_mut().unwrap().push(b'\n');
            }
            lines.push(line(&prev, next, &seal.record(time())).0);
            assert_eq!(check(&lines).1[0].0, 4, "{bad:?}");
        }
    }

    #[test]
    fn sealed_bytes_cannot_be_changed_dropped_or_added_to() {
        let lines = sealed(&[b"{\"hash"]);
        let with = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
            let mut lines = lines.clone();
            change(&mut lines);
            check(&lines).1.first().copied()
        };
        let malformed = Some((4, Fault::Malformed));
        assert_eq!(with(&|lines| lines[3][0] = b'['), malformed);
        assert_eq!(with(&|lines| lines[3][3] = b'A'), malformed);
        assert_eq!(with(&|lines| drop(lines.remove(3))), Some((4, Fault::WrongSeal)));
        assert_eq!(with(&|lines| lines.insert(3, b"{\"\n".to_vec())), malformed);
        assert_eq!(with(&|lines| lines.insert(4, b"\n".to_vec())), malformed);
        assert_eq!(with(&|lines| drop(lines.remove(4))), malformed);
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
        assert_eq!(told(lost, 9), (4, vec![]));
        let wrong = (4, vec![(4, Fault::WrongSeal)]);
        assert_eq!(told(lost, 10), wrong);
        assert_eq!(told(Lost { from: 3, ..lost }, 9), wrong);
        assert_eq!(told(Lost { from: 4, to: 3, ..lost }, 4), wrong);
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
