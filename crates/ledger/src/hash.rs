//! SHA-256 values.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// A SHA-256 value; 64 lowercase hex digits as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The hash of the parts, one after the other. Callers begin with a domain that ends in NUL, so that a
    /// hash made for one purpose means nothing in another.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut state = Sha256::new();
        for part in parts {
            state.update(part);
        }
        Self(state.finalize().into())
    }

    /// Takes exactly 64 lowercase hex digits.
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        from_hex(text).map(Self)
    }

    /// The 64 digits.
    pub fn hex(&self) -> [u8; 64] {
        let mut out = [0; 64];
        for (pair, byte) in out.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&digits(byte));
        }
        out
    }
}

/// Counts and hashes bytes that come line by line.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    state: Sha256,
    bytes: u64,
    lines: u64,
}

impl Tally {
    /// Takes a line as it stands, with its newline if it has one. No bytes are no line.
    pub fn line(&mut self, line: &[u8]) {
        self.state.update(line);
        self.bytes = self.bytes.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
        self.lines = self.lines.saturating_add(u64::from(!line.is_empty()));
    }

    /// How many bytes and lines there were, and what they hash to (plain SHA-256).
    pub fn finish(self) -> (u64, u64, Hash) {
        (self.bytes, self.lines, Hash(self.state.finalize().into()))
    }
}

fn digits(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 15].map(|half| DIGITS.get(usize::from(half)).copied().unwrap_or(b'0'))
}

/// Bytes as lowercase hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| digits(*byte)).map(char::from).collect()
}

/// The value of every byte as a hex digit; 255 for what is none.
const VALUES: [u8; 256] = {
    let mut values = [255; 256];
    let mut digit = 0;
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    while digit < 16 {
        values[DIGITS[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};

/// Takes `2 * N` lowercase hex digits; `None` for anything else.
pub fn from_hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let pairs = text.chunks_exact(2);
    if pairs.len() != N || !pairs.remainder().is_empty() {
        return None;
    }
    let value = |digit: Option<&u8>| digit.and_then(|d| VALUES.get(usize::from(*d))).copied().unwrap_or(255);
    let mut out = [0; N];
    let mut seen = 0;
    for (byte, pair) in out.iter_mut().zip(pairs) {
        let (high, low) = (value(pair.first()), value(pair.last()));
        seen |= high | low;
        *byte = (high << 4) | (low & 15);
    }
    (seen < 16).then_some(out)
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hex().iter().try_for_each(|digit| fmt::Write::write_char(f, char::from(*digit)))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(text.as_bytes()).ok_or_else(|| serde::de::Error::custom("not 64 lowercase hex digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_vector_and_the_parts_make_one_message() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Hash::of(&[b"abc"]).to_string(), abc);
        assert_eq!(Hash::of(&[b"a", b"", b"bc"]).to_string(), abc);
        assert_eq!(Hash::from_hex(abc.as_bytes()), Some(Hash::of(&[b"abc"])));
    }

    #[test]
    fn a_tally_counts_lines_and_hashes_them_as_one() {
        let mut tally = Tally::default();
        [&b"a\n"[..], b"bc", b""].iter().for_each(|line| tally.line(line));
        assert_eq!(tally.finish(), (4, 2, Hash::of(&[b"a\nbc"])));
    }

    #[test]
    fn only_lowercase_hex_of_the_right_length_is_a_hash() {
        let good = Hash::of(&[]).to_string();
        assert!(Hash::from_hex(good.as_bytes()).is_some());
        assert!(Hash::from_hex(good.to_uppercase().as_bytes()).is_none());
        assert!(Hash::from_hex(&good.as_bytes()[1..]).is_none());
        assert!(Hash::from_hex(format!("{good}0").as_bytes()).is_none());
        assert!(Hash::from_hex(good.replacen('e', "g", 1).as_bytes()).is_none());
    }
}
