//! What one line of the ledger says. One shape for every event: what does not apply is left out.

use crate::canonical::{self, CanonicalError};
use crate::{LONGEST_LINE, Time};
use remit_core::{AgentName, Assurance, CallId, Effect, Layer, SessionId, Verb};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Version of the record's shape; `v` in every record.
pub const VERSION: u32 = 1;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// Somebody wanted to do something, and was answered.
    Access,
    /// A file is no longer what it was.
    Change,
    /// A session began.
    SessionStart,
    /// A session ended.
    SessionEnd,
    /// A moment in the life of a session, as its host tells it.
    Moment,
    /// A tool call was announced and answered.
    Call,
    /// A tool call ended.
    CallEnd,
    /// Counts of what is not recorded one by one.
    Summary,
    /// The policy is another one from here on.
    Policy,
    /// A person was asked.
    Ask,
    /// A person answered, or did not in time.
    Answer,
    /// A permission was added at run time.
    Grant,
    /// A permission was taken back.
    Revoke,
    /// An intent was made, changed, chosen or closed.
    Intent,
    /// The team's board changed: a task, a review, a message, a lease.
    Board,
    /// A version of a workspace was published or brought back.
    Snapshot,
    /// The protocol's registry changed: an agent, a scope, a permission, a connection.
    Registry,
    /// Hooks of a host were installed or removed.
    Hooks,
    /// A damaged end of the ledger was closed off; see [`crate::Seal`].
    LedgerSealed,
    /// Something that a person should look at.
    Alert,
}

impl Event {
    /// All of them.
    pub const ALL: [Event; 20] = [
        Event::Access,
        Event::Change,
        Event::SessionStart,
        Event::SessionEnd,
        Event::Moment,
        Event::Call,
        Event::CallEnd,
        Event::Summary,
        Event::Policy,
        Event::Ask,
        Event::Answer,
        Event::Grant,
        Event::Revoke,
        Event::Intent,
        Event::Board,
        Event::Snapshot,
        Event::Registry,
        Event::Hooks,
        Event::LedgerSealed,
        Event::Alert,
    ];
}

/// Where it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Door {
    /// A hook of an agent's host.
    Hook,
    /// A system call.
    Kernel,
    /// An MCP tool.
    Mcp,
    /// A method of the protocol.
    Map,
    /// The page.
    Web,
    /// A command in a shell.
    Shell,
    /// The holder of the session, of its own accord.
    Holder,
}

/// One record. The fields stand in the order of their names, which is the order in which they are written.
///
/// Paths are the text that [`remit_core::path::escape`] writes, so that any bytes survive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The path as the caller wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// How the actor is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assurance: Option<Assurance>,
    /// The tool call, as the host numbers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The host's id of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// How often what happened, for summaries.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", serialize_with = "canonical::counts")]
    pub counts: BTreeMap<String, u64>,
    /// What belongs to this event alone; null if nothing does.
    #[serde(default, skip_serializing_if = "Value::is_null", serialize_with = "canonical::value")]
    pub detail: Value,
    /// The policy's digest, 64 hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Where it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub door: Option<Door>,
    /// What was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// The version of the policy that the session had seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// What happened.
    pub event: Event,
    /// The agent's host program: `claude`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The intent under which it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The layer that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// The path as the kernel names it; for connections `host:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The process, as the machine numbers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The program that the process runs, as a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The requirement that the intent serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// What the rule that decided says: `backend/** none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Where that rule stands: `remit.yaml:12`; none for what is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_at: Option<String>,
    /// That rule's place in the document, `agents.frontend.permissions[1]`, or its name: `protected.git-hooks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<String>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The subagent within the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The system call: `openat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syscall: Option<String>,
    /// When.
    pub time: Time,
    /// The other end of a rename or link, as the kernel names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The other end as the caller wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_asked: Option<String>,
    /// The tool, by the host's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// [`VERSION`].
    pub v: u32,
    /// What was to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<Verb>,
    /// Why it was answered so, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Why a record could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A number or the nesting has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// The record would not fit in a line.
    #[error("a record of {0} bytes does not fit in a line of the ledger (at most {LONGEST_LINE})")]
    Long(usize),
    /// The bytes are not a record.
    #[error("not a record of the ledger: {0}")]
    Json(#[from] serde_json::Error),
    /// The record is of another version.
    #[error("a record of version `{0}`, and this program reads version {VERSION}")]
    Version(u32),
}

/// The canonical bytes of `record`. Fails on fractions and on numbers beyond 2^53 - 1 in `detail`, `counts` and
/// `epoch`, and on records that do not fit in a line.
pub fn encode(record: &Record) -> Result<Vec<u8>, RecordError> {
    canonical::check(&record.detail, canonical::DEEPEST)?;
    let great = record.counts.values().chain(&record.epoch).find(|number| **number > canonical::GREATEST);
    if let Some(number) = great {
        return Err(CanonicalError::Great(number.to_string()).into());
    }
    let mut out = Vec::with_capacity(512);
    serde_json::to_writer(&mut out, record)?;
    if out.len() > crate::chain::LONGEST_RECORD {
        return Err(RecordError::Long(out.len()));
    }
    Ok(out)
}

/// The record that `bytes` are. Unknown fields and other versions are refused: a reader that skips what it does
/// not know tells half of what happened.
pub fn decode(bytes: &[u8]) -> Result<Record, RecordError> {
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    match serde_json::from_slice::<Record>(bytes) {
        Ok(record) if record.v == VERSION => Ok(record),
        Ok(record) => Err(RecordError::Version(record.v)),
        Err(error) => match serde_json::from_slice::<Versioned>(bytes) {
            Ok(Versioned { v }) if v != VERSION => Err(RecordError::Version(v)),
            _ => Err(error.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_of_record_is_forgotten() {
        let unknown = serde_json::from_str::<Event>("\"party\"").unwrap_err().to_string();
        let listed = unknown.matches('`').count() / 2 - 1;
        assert_eq!(Event::ALL.len(), listed, "{unknown}");
    }
    use serde_json::json;

    fn full() -> Record {
        let text = |s: &str| Some(s.to_owned());
        Record {
            agent: AgentName::new("frontend").ok(),
            asked: text("../x"),
            assurance: Some(Assurance::Kernel),
            call: CallId::new("toolu_1").ok(),
            command: text("make"),
            conversation: text("c"),
            counts: [("read".to_owned(), 3)].into(),
            detail: json!({"z": 1, "a": {"y": [true], "b": null}}),
            digest: text("00"),
            door: Some(Door::Kernel),
            effect: Some(Effect::Deny),
            epoch: Some(7),
            event: Event::Access,
            host: text("claude"),
            intent: text("INT-1"),
            layer: Some(Layer::OwnedScope),
            path: text("/w/a\\x0ab"),
            pid: Some(4),
            program: text("/usr/bin/python3"),
            requirement: text("REQ-1"),
            rule: text("backend/** none"),
            rule_at: text("remit.yaml:12"),
            rule_id: text("agents.frontend.permissions[1]"),
            session: SessionId::new("s-1").ok(),
            subagent: text("explorer"),
            syscall: text("openat"),
            time: Time::parse("2026-01-02T03:04:05.000006Z").unwrap(),
            to: text("/w/c"),
            to_asked: text("c"),
            tool: text("Edit"),
            v: VERSION,
            verb: Some(Verb::Rename),
            why: text("because"),
        }
    }

    #[test]
    fn a_full_record_is_canonical_and_survives() {
        let bytes = encode(&full()).unwrap();
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value.as_object().unwrap().len(), 33);
        assert_eq!(canonical::to_vec(&value).unwrap(), bytes);
        assert_eq!(decode(&bytes).unwrap(), full());
    }

    #[test]
    fn what_does_not_apply_is_left_out() {
        let record = Record::new(full().time, Event::SessionStart);
        assert_eq!(
            String::from_utf8(encode(&record).unwrap()).unwrap(),
            r#"{"event":"session-start","time":"2026-01-02T03:04:05.000006Z","v":1}"#
        );
        assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
    }

    #[test]
    fn records_with_numbers_that_readers_round_are_refused() {
        let refused = |change: &dyn Fn(&mut Record)| {
            let mut record = full();
            change(&mut record);
            matches!(encode(&record), Err(RecordError::Canonical(_)))
        };
        assert!(refused(&|r| r.detail = json!({"ratio": 0.5})));
        assert!(refused(&|r| r.epoch = Some(1 << 53)));
        assert!(refused(&|r| r.counts = [("read".to_owned(), u64::MAX)].into()));
    }

    #[test]
    fn a_record_longer_than_a_line_is_refused() {
        let mut record = full();
        record.command = Some("x".repeat(LONGEST_LINE));
        assert!(matches!(encode(&record), Err(RecordError::Long(_))));
    }

    #[test]
    fn other_versions_and_unknown_fields_are_refused() {
        let line = |v: u32, more: &str| {
            format!(r#"{{"event":"call","time":"2026-01-02T03:04:05.000006Z","v":{v}{more}}}"#)
        };
        assert!(decode(line(1, "").as_bytes()).is_ok());
        assert!(matches!(decode(line(2, "").as_bytes()), Err(RecordError::Version(2))));
        assert!(matches!(decode(line(2, r#","new":1"#).as_bytes()), Err(RecordError::Version(2))));
        assert!(matches!(decode(line(1, r#","new":1"#).as_bytes()), Err(RecordError::Json(_))));
    }
}
