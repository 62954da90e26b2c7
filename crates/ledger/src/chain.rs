//! Lines and how they are chained.
//!
//! ```text
//! {"hash":"<64 hex>","prev":"<64 hex>","record":{…},"seq":N}\n
//! hash = SHA-256("remit/ledger/record/v1\0" ‖ prev ‖ seq as 8 bytes, greatest first ‖ record)
//! ```
//!
//! The places of hash, prev and record are fixed, and the number is found from the end, so that a line is
//! checked by slicing and hashing; its JSON is never parsed for that. There is one way to write a line.

use crate::Hash;

/// The longest line, in bytes with its newline.
pub const LONGEST_LINE: usize = 16 << 20;

/// What a line needs around its record, at most.
const AROUND: usize = 256;

/// The longest record, in bytes.
pub const LONGEST_RECORD: usize = LONGEST_LINE - AROUND;

const OPEN: &[u8] = b"{\"hash\":\"";
const PREV: &[u8] = b"\",\"prev\":\"";
const RECORD: &[u8] = b"\",\"record\":";
const SEQ: &[u8] = b",\"seq\":";

/// What stands before the first line of the ledger with this id.
pub fn genesis(ledger: &Hash) -> Hash {
    Hash::of(&[b"remit/ledger/genesis/v1\0", &ledger.0])
}

/// The hash of a line.
pub fn hash(prev: &Hash, seq: u64, record: &[u8]) -> Hash {
    Hash::of(&[b"remit/ledger/record/v1\0", &prev.0, &seq.to_be_bytes(), record])
}

/// Adds the line of `record`, newline included, to `out` and answers its hash. The record must be what
/// [`crate::encode`] wrote: an object on one line.
pub fn link(out: &mut Vec<u8>, prev: &Hash, seq: u64, record: &[u8]) -> Hash {
    let hash = hash(prev, seq, record);
    out.reserve(record.len().saturating_add(AROUND));
    out.extend_from_slice(OPEN);
    out.extend_from_slice(&hash.hex());
    out.extend_from_slice(PREV);
    out.extend_from_slice(&prev.hex());
    out.extend_from_slice(RECORD);
    out.extend_from_slice(record);
    out.extend_from_slice(SEQ);
    out.extend_from_slice(seq.to_string().as_bytes());
    out.extend_from_slice(b"}\n");
    hash
}

/// A line taken apart; nothing is checked but its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// What the line says its hash is.
    pub hash: Hash,
    /// What the line says came before.
    pub prev: Hash,
    /// The record's bytes.
    pub record: &'a [u8],
    /// The line's number, from 1.
    pub seq: u64,
}

impl Parsed<'_> {
    /// Whether the hash is that of the rest of the line.
    pub fn is_whole(&self) -> bool {
        hash(&self.prev, self.seq, self.record) == self.hash
    }
}

/// The bytes do not have the shape of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bytes do not have the shape of a line")]
pub struct LineError;

/// Takes a line, without its newline, apart.
pub fn parse_line(line: &[u8]) -> Result<Parsed<'_>, LineError> {
    parse(line).ok_or(LineError)
}

fn parse(line: &[u8]) -> Option<Parsed<'_>> {
    let rest = line.strip_prefix(OPEN)?;
    let (hash, rest) = rest.split_at_checked(64)?;
    let rest = rest.strip_prefix(PREV)?;
    let (prev, rest) = rest.split_at_checked(64)?;
    let rest = rest.strip_prefix(RECORD)?.strip_suffix(b"}")?;
    let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (rest, number) = rest.split_at_checked(rest.len().checked_sub(digits)?)?;
    let record = rest.strip_suffix(SEQ)?;
    // One spelling for each number: no leading zeros, and lines count from 1.
    let seq = std::str::from_utf8(number).ok().filter(|n| !n.starts_with('0'))?.parse().ok()?;
    if !is_record(record) {
        return None;
    }
    Some(Parsed { hash: Hash::from_hex(hash)?, prev: Hash::from_hex(prev)?, record, seq })
}

/// Whether `bytes` are what a writer leaves that dies within a line after `prev` (any line, if none is named): the
/// beginning of a line, and not all of it.
pub fn is_beginning(bytes: &[u8], prev: Option<&Hash>) -> bool {
    let prev = prev.map(Hash::hex);
    let fixed = |text: &'static [u8]| text.iter().copied().map(Some);
    let before = (0..64).map(|at| prev.as_ref().and_then(|prev| prev.get(at)).copied());
    let shape = fixed(OPEN)
        .chain(std::iter::repeat_n(None, 64))
        .chain(fixed(PREV))
        .chain(before)
        .chain(fixed(RECORD))
        .chain(fixed(b"{"));
    let fits = |byte: u8, wanted: Option<u8>| match wanted {
        Some(wanted) => byte == wanted,
        None => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    // The beginning of an object is no JSON before its last brace.
    bytes.len() < LONGEST_LINE
        && bytes.iter().zip(shape).all(|(byte, wanted)| fits(*byte, wanted))
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err()
}

/// Whether the bytes can stand in a line as a record: an object without line breaks, of a bearable length.
pub fn is_record(record: &[u8]) -> bool {
    record.len() <= LONGEST_RECORD
        && record.starts_with(b"{")
        && record.ends_with(b"}")
        && record.len() > 1
        && !record.contains(&b'\n')
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "a test that overflows fails")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_has_the_documented_shape() {
        let prev = genesis(&Hash([7; 32]));
        let mut line = Vec::new();
        let hash = link(&mut line, &prev, 1, b"{\"v\":1}");
        assert_eq!(
            String::from_utf8(line.clone()).unwrap(),
            format!("{{\"hash\":\"{hash}\",\"prev\":\"{prev}\",\"record\":{{\"v\":1}},\"seq\":1}}\n")
        );
        let parsed = parse_line(line.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!(parsed, Parsed { hash, prev, record: b"{\"v\":1}", seq: 1 });
        assert!(parsed.is_whole());
        // The whole line is canonical JSON.
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(crate::canonical::to_vec(&value).unwrap(), line.strip_suffix(b"\n").unwrap());
    }

    #[test]
    fn the_hash_binds_the_ledger_the_number_and_the_record() {
        let (a, b) = (genesis(&Hash([1; 32])), genesis(&Hash([2; 32])));
        let one = hash(&a, 1, b"{}");
        assert_ne!(one, hash(&b, 1, b"{}"));
        assert_ne!(one, hash(&a, 2, b"{}"));
        assert_ne!(one, hash(&a, 1, b"{ }"));
    }

    #[test]
    fn a_record_that_holds_the_ending_of_a_line_cannot_shift_the_number() {
        let prev = Hash([0; 32]);
        let record = br#"{"why":",\"seq\":9}","x":{},"seq":8}"#;
        let mut line = Vec::new();
        link(&mut line, &prev, 3, record);
        let parsed = parse_line(line.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!((parsed.seq, parsed.record), (3, &record[..]));
    }

    #[test]
    fn every_beginning_of_a_line_is_one_and_nothing_else_is() {
        let prev = Hash([0xcd; 32]);
        let mut line = Vec::new();
        // A cut behind the inner object would have the shape of a line.
        link(&mut line, &prev, 7, br#"{"detail":{"a":{},"seq":5},"v":1}"#);
        let line = line.strip_suffix(b"\n").unwrap();
        for end in 0..line.len() {
            assert!(is_beginning(&line[..end], Some(&prev)), "{end}");
            assert!(is_beginning(&line[..end], None), "{end}");
        }
        assert!(!is_beginning(line, Some(&prev)));
        assert!(!is_beginning(&line[..100], Some(&Hash([0xce; 32]))));
        for other in [&b"garbage"[..], b"\0\0\0\0", b"[", b" ", b"{\"hash\":\"AB", b"{}"] {
            assert!(!is_beginning(other, Some(&prev)), "{other:?}");
        }
    }

    #[test]
    fn other_spellings_of_a_line_are_refused() {
        let mut line = Vec::new();
        link(&mut line, &Hash([0xab; 32]), 10, b"{}");
        let line = String::from_utf8(line).unwrap();
        let line = line.trim_end();
        assert!(parse_line(line.as_bytes()).is_ok());
        for other in [
            line.replace("\"seq\":10", "\"seq\":010"),
            line.replace("\"seq\":10", "\"seq\":0"),
            line.replace("\"seq\":10", "\"seq\":"),
            line.replace("\"seq\":10", "\"seq\":99999999999999999999"),
            line.replace("\"seq\":10", "\"seq\": 10"),
            line.replace("ab", "AB"),
            line.replace("{}", "[]"),
            line.replace("{}", "{"),
            line.replace(",\"prev\"", ", \"prev\""),
            format!("{line} "),
            format!(" {line}"),
            String::new(),
        ] {
            assert_eq!(parse_line(other.as_bytes()), Err(LineError), "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_apart_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(parse_line(&bytes), Err(LineError));
        }

        #[test]
        fn a_flipped_bit_is_never_whole(at in 0_usize..1000, bit in 0_u8..8, seq in 1..u64::MAX) {
            let mut line = Vec::new();
            link(&mut line, &Hash([3; 32]), seq, br#"{"event":"call","v":1}"#);
            line.pop();
            let at = at % line.len();
            line[at] ^= 1 << bit;
            prop_assert!(!parse_line(&line).is_ok_and(|parsed| parsed.is_whole() && parsed.prev == Hash([3; 32])));
        }
    }
}
