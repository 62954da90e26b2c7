//! The head: a small file of fixed size that says where the ledger ends. It is written after the line that it
//! counts, so it may be one step behind after a kill; it is never ahead of what was written.
//!
//! ```text
//! "REMITHD2" ‖ segment ‖ length ‖ next ‖ checkpoints ‖ hash ‖ checkpoint ‖ checksum
//! numbers: 8 bytes, greatest first; 136 bytes in all
//! checksum = SHA-256("remit/ledger/head/v2\0" ‖ what stands before it)
//! ```

use crate::Hash;

const SCHEME: &[u8; 8] = b"REMITHD2";

/// How many bytes a head has.
pub const BYTES: usize = BODY + 32;

const BODY: usize = 104;

/// The greatest number of a record or checkpoint that is believed without a chain that leads to it, so that
/// numbers do not run out because somebody wrote one down.
pub const FARTHEST: u64 = 1 << 52;

/// Where the ledger ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The segment that is written to, from 1.
    pub segment: u64,
    /// How many bytes of it are chained lines.
    pub length: u64,
    /// The number that the next line gets.
    pub next: u64,
    /// The hash of the last line, or what stands before the first.
    pub hash: Hash,
    /// How many checkpoints were signed, at least: the number of the last one that was noted.
    pub checkpoints: u64,
    /// The hash of that checkpoint's line, without its newline; zeros if there is none.
    pub checkpoint: Hash,
}

/// Why bytes are not a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// Too short or too long, or of a scheme that this program does not know.
    #[error("not the head of a ledger")]
    Shape,
    /// The checksum is another one.
    #[error("the checksum of the head is wrong")]
    Checksum,
    /// It counts records that nobody can have written.
    #[error("the head says a number that no ledger reaches")]
    Number,
}

impl Head {
    /// The head of a ledger without records.
    pub fn empty(genesis: Hash) -> Self {
        Self { segment: 1, length: 0, next: 1, hash: genesis, checkpoints: 0, checkpoint: Hash([0; 32]) }
    }

    /// The bytes of the file.
    pub fn encode(&self) -> [u8; BYTES] {
        let mut out = [0; BYTES];
        let numbers = [self.segment, self.length, self.next, self.checkpoints].map(u64::to_be_bytes);
        let body =
            SCHEME.iter().chain(numbers.iter().flatten()).chain(&self.hash.0).chain(&self.checkpoint.0);
        for (to, from) in out.iter_mut().zip(body) {
            *to = *from;
        }
        let sum = out.first_chunk::<BODY>().map_or([0; 32], checksum);
        if let Some(tail) = out.last_chunk_mut::<32>() {
            *tail = sum;
        }
        out
    }

    /// Takes the bytes of the file.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeadError> {
        let (body, sum) = bytes.split_first_chunk::<BODY>().ok_or(HeadError::Shape)?;
        let (scheme, rest) = body.split_first_chunk::<8>().ok_or(HeadError::Shape)?;
        if scheme != SCHEME || sum.len() != 32 {
            return Err(HeadError::Shape);
        }
        if *sum != checksum(body) {
            return Err(HeadError::Checksum);
        }
        let (segment, rest) = rest.split_first_chunk().ok_or(HeadError::Shape)?;
        let (length, rest) = rest.split_first_chunk().ok_or(HeadError::Shape)?;
        let (next, rest) = rest.split_first_chunk().ok_or(HeadError::Shape)?;
        let (checkpoints, rest) = rest.split_first_chunk().ok_or(HeadError::Shape)?;
        let (hash, checkpoint) = rest.split_first_chunk().ok_or(HeadError::Shape)?;
        let (next, checkpoints) = (u64::from_be_bytes(*next), u64::from_be_bytes(*checkpoints));
        if next == 0 || next.max(checkpoints) > FARTHEST {
            return Err(HeadError::Number);
        }
        Ok(Self {
            segment: u64::from_be_bytes(*segment),
            length: u64::from_be_bytes(*length),
            next,
            hash: Hash(*hash),
            checkpoints,
            checkpoint: Hash(checkpoint.try_into().map_err(|_| HeadError::Shape)?),
        })
    }
}

fn checksum(body: &[u8; BODY]) -> [u8; 32] {
    Hash::of(&[b"remit/ledger/head/v2\0", body]).0
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Head = Head {
        segment: 2,
        length: 77,
        next: FARTHEST,
        hash: Hash([9; 32]),
        checkpoints: 3,
        checkpoint: Hash([8; 32]),
    };

    #[test]
    fn a_head_survives_and_any_flipped_bit_is_seen() {
        let bytes = HEAD.encode();
        assert_eq!(Head::decode(&bytes), Ok(HEAD));
        for at in 0..BYTES * 8 {
            let mut bytes = bytes;
            bytes[at / 8] ^= 1 << (at % 8);
            assert!(Head::decode(&bytes).is_err(), "bit {at}");
        }
    }

    #[test]
    fn a_number_that_would_run_out_is_not_believed() {
        for next in [0, FARTHEST + 1, u64::MAX] {
            assert_eq!(Head::decode(&Head { next, ..HEAD }.encode()), Err(HeadError::Number));
        }
        let signed = Head { checkpoints: FARTHEST + 1, ..HEAD };
        assert_eq!(Head::decode(&signed.encode()), Err(HeadError::Number));
    }

    #[test]
    fn a_head_has_one_length() {
        let bytes = HEAD.encode();
        assert_eq!(Head::decode(&bytes[..BYTES - 1]), Err(HeadError::Shape));
        assert_eq!(Head::decode(&[bytes.as_slice(), b"0"].concat()), Err(HeadError::Shape));
        assert_eq!(Head::decode(b""), Err(HeadError::Shape));
    }
}
