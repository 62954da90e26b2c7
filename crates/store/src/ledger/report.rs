//! What verifying a ledger found.

use remit_ledger::{Bad, CheckpointError, Hash, Lost, Torn};

/// The first line that is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("segment {segment}: {bad}")]
pub struct FirstBad {
    /// The segment, from 1.
    pub segment: u64,
    /// Which record, where in the segment, and what is wrong.
    pub bad: Bad,
}

/// What the head says about the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadState {
    /// The ledger ends where it says.
    Fits,
    /// More whole records follow than it counted: a writer was killed. The next append counts them.
    Behind {
        /// How many more.
        records: u64,
    },
    /// It is not there, or unreadable. The next append makes it anew.
    Unreadable,
    /// The records are not those that it counted.
    Differs,
    /// Not compared, since an earlier fault ended the scan.
    Unreached,
}

/// Why a checkpoint does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointFault {
    /// Shape, scheme, key or signature.
    #[error(transparent)]
    Forged(#[from] CheckpointError),
    /// It is another ledger's.
    #[error("it is a checkpoint of another ledger")]
    Foreign,
    /// The checkpoints before it are gone, or it stands there twice.
    #[error("checkpoint {found} stands where checkpoint {expected} should")]
    Number {
        /// The number that should be there.
        expected: u64,
        /// The number that is.
        found: u64,
    },
    /// The record that it counts last is another one.
    #[error("record {seq} is not the one that was signed")]
    Replaced {
        /// The record.
        seq: u64,
    },
    /// The ledger has fewer records than were signed.
    #[error("record {seq} was signed and is gone")]
    Gone {
        /// The record.
        seq: u64,
    },
    /// The anchor is not among the checkpoints of the ledger.
    #[error("checkpoint {number} is not in `checkpoints.jsonl`")]
    Missing {
        /// Its number.
        number: u64,
    },
}

/// A checkpoint that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadCheckpoint {
    /// Its line in `checkpoints.jsonl`, from 1; 0 is the anchor.
    pub line: u64,
    /// Why.
    pub why: CheckpointFault,
}

/// What became of the checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checkpoints {
    /// How many hold.
    pub ok: u64,
    /// Those that do not.
    pub bad: Vec<BadCheckpoint>,
    /// Lines that were begun and never ended, because the writer was killed.
    pub torn: u64,
}

/// What verifying found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The ledger's id.
    pub ledger: Hash,
    /// How many records stand in an unbroken chain from the first on.
    pub records: u64,
    /// The number of the last of them.
    pub last: u64,
    /// The hash of the last of them.
    pub hash: Hash,
    /// How many segments there are.
    pub segments: u64,
    /// How many bytes were checked.
    pub bytes: u64,
    /// What the head says.
    pub head: HeadState,
    /// What became of the checkpoints and the anchor.
    pub checkpoints: Checkpoints,
    /// Damaged ends that were closed off, by the number of the seal.
    pub sealed: Vec<(u64, Torn)>,
    /// Records that a power loss took, or somebody who cut the file, by the number of the seal that tells it.
    pub lost: Vec<(u64, Lost)>,
    /// Seals that tell of a head that was made anew.
    pub rebuilt: Vec<u64>,
    /// Bytes at the end that are no whole line yet: a writer was killed, and nobody has appended since.
    pub unsealed: u64,
    /// The first line that is not what was written.
    pub first_bad: Option<FirstBad>,
}

impl Report {
    /// Whether all that is there is what was written, and nothing that was counted is missing without a record
    /// that tells it. A kill never makes this false; nor does a power loss, once somebody has appended.
    pub fn is_intact(&self) -> bool {
        self.first_bad.is_none()
            && self.checkpoints.bad.is_empty()
            && matches!(self.head, HeadState::Fits | HeadState::Behind { .. })
    }

    /// Whether it is intact, and there is nothing else to tell.
    pub fn is_clean(&self) -> bool {
        self.is_intact()
            && self.head == HeadState::Fits
            && self.sealed.is_empty()
            && self.lost.is_empty()
            && self.rebuilt.is_empty()
            && self.unsealed == 0
            && self.checkpoints.torn == 0
    }
}
