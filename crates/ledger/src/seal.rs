//! Seals: the records that close off a damaged end. A writer that was killed, or a full disk, may leave half a
//! line; a power loss may take lines that were never synced. Nothing is rewritten: the bytes stay where they
//! are, and the next line says how many there are and what they hash to, or which lines are gone.

use crate::{Event, Hash, Record, Time, decode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Bytes that are no chained lines, from the end of the last chained line to the newline before the seal.
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

/// What a `ledger-sealed` record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// Lines that are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    /// Whether the head was unreadable and was made anew from the segments.
    #[serde(default, skip_serializing_if = "is_false")]
    pub rebuilt: bool,
    /// Bytes that are no lines.
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
