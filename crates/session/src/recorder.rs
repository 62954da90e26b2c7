//! Writes what somebody did or was refused into the ledger, for one actor under one policy.

use crate::calls::OpenCall;
use crate::refusals::REFUSED;
use crate::syncer::Syncer;
use remit_core::{Actor, Effect, SessionId};
use remit_ledger::{Door, Event, Record, Time};
use remit_store::{Ledger, LedgerError, Receipt, Reserve};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
/// The same for the name of a tool, a host, a conversation, a subagent.
const LONGEST_NAME: usize = 256;
/// The same for a path as it was asked for.
const LONGEST_PATH: usize = 4096;
/// The same for what somebody gives as a reason: a thousand characters.
const LONGEST_WHY: usize = 4000;

/// Appends records for one actor.
#[derive(Debug)]
pub struct Recorder {
    ledger: Arc<Ledger>,
    syncer: Arc<Syncer>,
    actor: Actor,
    digest: String,
    epoch: u64,
    /// How many refusals could not be recorded, and are not yet told.
    unrecorded: AtomicU64,
    /// What was appended, for who has asked for it.
    kept: Option<Mutex<Vec<(Receipt, Record)>>>,
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
            unrecorded: AtomicU64::new(0),
            kept: None,
        }
    }

    /// The same, which keeps what it appends until it is asked for.
    #[must_use]
    pub fn keeping(self) -> Self {
        Self { kept: Some(Mutex::default()), ..self }
    }

    /// What was appended since this was asked last; nothing if it is not kept.
    pub fn take_kept(&self) -> Vec<(Receipt, Record)> {
        let kept = self.kept.as_ref().map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default()
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

    /// Appends; on success the record survives the death of any process. `urgent`: synced to disk at once. What
    /// cannot be recorded is refused, so the next record that succeeds tells how often that was.
    pub fn append(&self, record: &Record, urgent: bool) -> Result<Receipt, LedgerError> {
        match self.ledger.append_record_using(record, reserve(record)) {
            Ok(receipt) => {
                self.syncer.appended(urgent);
                if let Some(kept) = &self.kept {
                    kept.lock().unwrap_or_else(PoisonError::into_inner).push((receipt, record.clone()));
                }
                self.tell_unrecorded();
                Ok(receipt)
            }
            Err(error) => {
                self.unrecorded.fetch_add(refusals(record), Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Says how many refusals could not be recorded, if there are such and it can be said now.
    pub fn tell_unrecorded(&self) {
        let count = self.unrecorded.swap(0, Ordering::Relaxed);
        if count == 0 {
            return;
        }
        let refusals = if count == 1 { "refusal" } else { "refusals" };
        let mut record = self.record(Event::Alert, Door::Holder);
        record.why = Some(format!("{count} {refusals} could not be recorded"));
        record.counts = [("unrecorded".to_owned(), count)].into();
        match self.ledger.append_record_using(&record, Reserve::Last) {
            Ok(_) => self.syncer.appended(true),
            Err(_) => drop(self.unrecorded.fetch_add(count, Ordering::Relaxed)),
        }
    }
}

/// What of the space that is kept on disk a record may use: a refusal must be told, and so must the end.
fn reserve(record: &Record) -> Reserve {
    match record.event {
        Event::SessionEnd => Reserve::Last,
        _ if record.effect.is_some_and(|effect| effect != Effect::Allow) => Reserve::Refusal,
        _ => Reserve::Plain,
    }
}

/// How many refusals it comes to if a record cannot be written: an allowed deed is refused then, too.
fn refusals(record: &Record) -> u64 {
    match record.event {
        Event::Access | Event::Call => 1,
        _ => record.counts.get(REFUSED).copied().unwrap_or(0),
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
    cut(command, LONGEST_COMMAND)
}

/// A record with whatever a hook may have said in its own words cut: hosts and agents are not to fill the ledger.
/// What is not text has bounds of its own.
pub fn bounded(mut record: Record) -> Record {
    let names = [&mut record.host, &mut record.conversation, &mut record.tool, &mut record.subagent];
    let names = names.map(|name| (name, LONGEST_NAME));
    let others = [
        (&mut record.command, LONGEST_COMMAND),
        (&mut record.asked, LONGEST_PATH),
        (&mut record.why, LONGEST_WHY),
    ];
    for (field, longest) in names.into_iter().chain(others) {
        *field = field.take().map(|text| cut(&text, longest));
    }
    record
}

/// What a host calls a tool, itself, a conversation or a subagent, as it is recorded.
pub fn short_name(name: &str) -> String {
    cut(name, LONGEST_NAME)
}

fn cut(text: &str, longest: usize) -> String {
    let mut end = text.len().min(longest);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match text.get(..end) {
        Some(head) if end < text.len() => {
            let hash = remit_ledger::Hash::of(&[text.as_bytes()]);
            format!("{head}… [{} bytes, sha256:{hash}]", text.len())
        }
        _ => text.to_owned(),
    }
}
