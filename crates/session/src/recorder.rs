//! Writes what somebody did or was refused into the ledger, for one actor under one policy.

use crate::calls::OpenCall;
use crate::syncer::Syncer;
use remit_core::{Actor, SessionId};
use remit_ledger::{Door, Event, Record, Time};
use remit_store::{Ledger, LedgerError, Receipt};
use std::sync::Arc;
use std::time::SystemTime;

/// The present moment.
pub fn now() -> Time {
    Time::from(SystemTime::now())
}

/// A fresh UUID (version 4).
pub fn fresh_session() -> std::io::Result<SessionId> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let text = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    SessionId::new(&text).map_err(std::io::Error::other)
}

/// How much of a command line is recorded, in bytes; its hash and length stand for the rest.
const LONGEST_COMMAND: usize = 16 << 10;

/// Appends records for one actor.
#[derive(Debug)]
pub struct Recorder {
    ledger: Arc<Ledger>,
    syncer: Arc<Syncer>,
    actor: Actor,
    digest: String,
    epoch: u64,
}

impl Recorder {
    /// For an actor under a policy.
    pub fn new(ledger: Ledger, actor: Actor, policy: &remit_policy::Policy) -> Self {
        Self {
            ledger: Arc::new(ledger),
            syncer: Arc::default(),
            actor,
            digest: policy.digest().to_string(),
            epoch: policy.epoch(),
        }
    }

    /// The actor.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Starts syncing beside. Without it, [`Recorder::settle`] must be called before an answer that counts.
    pub fn start(&self) -> std::io::Result<()> {
        self.syncer.start(Arc::clone(&self.ledger))
    }

    /// Ends the syncing, with everything on disk.
    pub fn settle(&self) -> Result<(), LedgerError> {
        self.syncer.end();
        self.ledger.sync()
    }

    /// A record of this actor that is not about a decision.
    pub fn record(&self, event: Event, door: Door) -> Record {
        let mut record = Record::new(now(), event).at(door).by(&self.actor);
        record.digest = Some(self.digest.clone());
        record.epoch = Some(self.epoch);
        record
    }

    /// Ends the syncing; the caller sees to what is not yet on disk.
    pub fn end(&self) {
        self.syncer.end();
    }

    /// Appends; on success the record survives the death of any process. `urgent`: synced to disk at once.
    pub fn append(&self, record: &Record, urgent: bool) -> Result<Receipt, LedgerError> {
        let receipt = self.ledger.append_record(record)?;
        self.syncer.appended(urgent);
        Ok(receipt)
    }
}

/// Says which tool call it belongs to.
pub fn in_call(mut record: Record, call: Option<&OpenCall>) -> Record {
    if let Some(call) = call {
        record.call = Some(call.id.clone());
        record.tool = Some(call.tool.clone());
        record.command = call.command.clone();
        record.subagent = call.subagent.clone();
    }
    record
}

/// A command line as it is recorded.
pub fn shortened(command: &str) -> String {
    let mut end = command.len().min(LONGEST_COMMAND);
    while !command.is_char_boundary(end) {
        end -= 1;
    }
    match command.get(..end) {
        Some(head) if end < command.len() => {
            let hash = remit_ledger::Hash::of(&[command.as_bytes()]);
            format!("{head}… [{} bytes, sha256:{hash}]", command.len())
        }
        _ => command.to_owned(),
    }
}
