//! Seals: the records that tell what the next writer found where the ledger should have ended. A writer that was
//! killed, or a full disk, may leave half a line; a power loss, or somebody who meddles, may take lines or leave
//! other ones. Nothing is rewritten: what is there stays where it is, and the next line tells of it.
//!
//! Only `torn` is a thing that happens to honest writers. All else stays damage for good.

use crate::{Event, Hash, Record, Time, decode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The beginning of a line whose writer died, and those of seals whose writers did, from the end of the last chained line to the newline before the seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Torn {
    /// How many.
    pub bytes: u64,
    /// What they hash to (plain SHA-256).
    pub sha256: Hash,
}

/// Lines that the head counted and that are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    /// The first number that is gone.
    pub from: u64,
    /// The last number that is gone; the seal has the next one.
    pub to: u64,
    /// The hash of the last line that is gone.
    pub head: Hash,
}

/// Where the lines first are not what was written, and all that stands from there to the seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Damage {
    /// How many bytes stand there.
    pub bytes: u64,
    /// How many lines they are; the last may lack its newline.
    pub lines: u64,
    /// Where they begin, in bytes of the segment.
    pub offset: u64,
    /// The segment in which they begin, from 1. They may go on through later ones.
    pub segment: u64,
    /// The number of the record that should stand there; 0 if that cannot be told.
    pub seq: u64,
    /// What they hash to (plain SHA-256).
    pub sha256: Hash,
}

/// Checkpoints that were signed and are not where they were put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsigned {
    /// The number that the anchor said; none if it was gone, unreadable, or signed by another key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<u64>,
    /// The number of the last one in `checkpoints.jsonl`; 0 if there was none.
    pub found: u64,
    /// How many the head counted.
    pub noted: u64,
}

/// What a `ledger-sealed` record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// Checkpoints that are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<Unsigned>,
    /// Lines that are not what was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<Damage>,
    /// Lines that are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    /// Whether the head was unreadable and was made anew from the segments.
    #[serde(default, skip_serializing_if = "is_false")]
    pub rebuilt: bool,
    /// A line that was begun and never ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn: Option<Torn>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Seal {
    /// The record that says it.
    pub fn record(&self, time: Time) -> Record {
        let detail = serde_json::to_value(self).unwrap_or(Value::Object(Map::new()));
        Record { detail, ..Record::new(time, Event::LedgerSealed) }
    }

    /// The seal that a record's bytes are; `None` for every other record.
    pub fn read(record: &[u8]) -> Option<Self> {
        // A seal has no field that sorts before `detail`, so the others need not be parsed.
        if !record.starts_with(b"{\"detail\":{") {
            return None;
        }
        let record = decode(record).ok().filter(|record| record.event == Event::LedgerSealed)?;
        serde_json::from_value(record.detail).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;

    #[test]
    fn a_seal_survives_as_a_record() {
        let time = Time::parse("2026-01-02T03:04:05.000006Z").unwrap();
        let seal = Seal {
            checkpoints: Some(Unsigned { anchor: Some(3), found: 1, noted: 2 }),
            damage: Some(Damage {
                bytes: 9,
                lines: 2,
                offset: 70,
                segment: 1,
                seq: 3,
                sha256: Hash([3; 32]),
            }),
            torn: Some(Torn { bytes: 5, sha256: Hash([1; 32]) }),
            lost: Some(Lost { from: 2, to: 4, head: Hash([2; 32]) }),
            rebuilt: true,
        };
        for seal in [seal, Seal { lost: None, ..seal }, Seal { rebuilt: true, ..Seal::default() }] {
            assert_eq!(Seal::read(&encode(&seal.record(time)).unwrap()), Some(seal));
        }
        let other = Record::new(time, Event::Alert).with("rebuilt", true);
        assert_eq!(Seal::read(&encode(&other).unwrap()), None);
    }
}
