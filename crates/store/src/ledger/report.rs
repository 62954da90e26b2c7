//! What verifying a ledger found.

use remit_ledger::{Bad, CheckpointError, Damage, Hash, Lost, Torn, Unsigned};

/// A place where the ledger is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("segment {segment}: {bad}")]
pub struct Damaged {
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
    /// More whole records follow than it counted: an append was cut short. The next one counts them.
    Behind {
        /// How many more.
        records: u64,
    },
    /// It is not there, or unreadable. The next append makes it anew.
    Unreadable,
    /// The records are not those that it counted.
    Differs,
    /// Not compared: the record that it counts last is among what is damaged.
    Unreached,
}

impl HeadState {
    /// The name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Behind { .. } => "behind",
            Self::Unreadable => "unreadable",
            Self::Differs => "differs",
            Self::Unreached => "unreached",
        }
    }
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
    /// It was signed and is not among the checkpoints of the ledger.
    #[error("checkpoint {number} is not in `checkpoints.jsonl`; somebody removed it, or the disk failed")]
    Missing {
        /// Its number.
        number: u64,
    },
    /// Another checkpoint has its number.
    #[error("checkpoint {number} in `checkpoints.jsonl` is another one")]
    Other {
        /// The number.
        number: u64,
    },
    /// There are checkpoints, and there is no anchor.
    #[error("it is missing; somebody removed it, or a power loss took it")]
    NoAnchor,
}

/// Where something is said about checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckpointAt {
    /// The copy of the last one that is kept beside the ledger.
    Anchor,
    /// The head, which counts them.
    Head,
    /// A line of `checkpoints.jsonl`, from 1.
    Line(u64),
}

impl std::fmt::Display for CheckpointAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Anchor => f.write_str("the anchor"),
            Self::Head => f.write_str("the head"),
            Self::Line(line) => write!(f, "checkpoint line {line}"),
        }
    }
}

/// A checkpoint that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadCheckpoint {
    /// Where it stands.
    pub at: CheckpointAt,
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
    /// Lines that were begun and never ended: an append was cut short.
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
    /// How many whole records stand behind the first damage.
    pub behind: u64,
    /// Lines that were begun and never ended, because a writer was killed or the disk was full, by the number of
    /// the seal.
    pub sealed: Vec<(u64, Torn)>,
    /// Damage that an append found, by the number of the seal that tells it.
    pub damaged: Vec<(u64, Damage)>,
    /// Records that a power loss took, or somebody who cut the file, by the number of the seal that tells it.
    pub lost: Vec<(u64, Lost)>,
    /// Seals that tell of a head that was made anew.
    pub rebuilt: Vec<u64>,
    /// Checkpoints or an anchor that were gone, by the number of the seal that tells it.
    pub unsigned: Vec<(u64, Unsigned)>,
    /// Bytes at the end that are a line that was begun: an append was cut short, and nobody has appended since.
    pub unsealed: u64,
    /// How many places are not what was written, as far as they can be told apart.
    pub faults: u64,
    /// The first of them.
    pub first_bad: Option<Damaged>,
}

impl Report {
    /// Whether all that is there is what was written, and nothing is missing. A writer that is killed never makes
    /// this false. Whatever could be somebody's doing makes it false for good, though it may have been a power
    /// loss: no later append takes it back.
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
            && self.unsealed == 0
            && self.checkpoints.torn == 0
    }
}
