//! What is told beside the ledger: refusals are announced (`audit.alert_on_violation`, `audit.alert`), and records
//! are written to a file once more (`audit.log_file`). Both only look at what the ledger has got: they hold nobody
//! up, and what they cannot do is told and stops nothing.
//!
//! Of a session, the holder follows the ledger, in which the records of its gate stand as well. A hook outside of
//! sessions sees to what it has recorded itself.

mod alert;
pub mod program;
pub mod sink;
mod told;
mod watch;

pub use watch::{Audited, Place, Watch};

use crate::recorder::now;
use crate::trust;
use crate::workspace::Workspace;
use alert::{Announcement, Refusal};
use remit_ledger::{Door, Event, Record};
use remit_store::{Entry, Receipt, StateDir};
use rustix::fs::{Mode, OFlags};
use serde_json::json;
use sink::{Sink, SinkError};
use std::io;
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// How long a hook that is waited for sees to the sink.
const BRIEFLY: Duration = Duration::from_millis(500);

/// Records something more, if it can.
pub(crate) type Append<'a> = &'a dyn Fn(&Record) -> Option<Receipt>;

/// What a workspace's policy asks for.
#[derive(Debug)]
pub struct Audit {
    alert: bool,
    /// The program that is started; none if there is none, or if it may not be.
    command: Option<Vec<String>>,
    /// There is a program that may not be started.
    untrusted: bool,
    sink: Option<Sink>,
    /// Whether the sink has failed the last time, and whether that there is no failure is known outside.
    sink_failed: AtomicBool,
    sink_known: AtomicBool,
    workspace: PathBuf,
    state: PathBuf,
    ledger: PathBuf,
    remit: PathBuf,
}

impl Audit {
    /// None if the policy asks for nothing.
    pub fn of(workspace: &Workspace, state: &StateDir) -> Option<Self> {
        let source = &workspace.source.audit.value;
        let ledger = state.ledger();
        let root = workspace.root.as_path();
        let sink = source.log_file.as_ref().map(|file| Sink::new(root, &file.value, state.root(), &ledger));
        let words: Vec<String> = source.alert_command.iter().map(|word| word.value.clone()).collect();
        let named = source.alert_on_violation && !words.is_empty();
        let trusted = named && trust::is_pinned(workspace, workspace.environment());
        (source.alert_on_violation || sink.is_some()).then(|| Self {
            alert: source.alert_on_violation,
            command: trusted.then_some(words),
            untrusted: named && !trusted,
            sink,
            sink_failed: AtomicBool::new(false),
            sink_known: AtomicBool::new(false),
            workspace: root.to_owned(),
            state: state.root().to_owned(),
            ledger,
            remit: workspace.environment().exe.clone(),
        })
    }

    /// Makes the sink if it is not there. What cannot be done is answered in words.
    pub fn prepare(&self) -> Vec<String> {
        let sink = self.sink.as_ref().and_then(|sink| sink.prepare().err());
        let sink = sink.map(|error| format!("not held: `audit.log_file`: {}", whole(&error)));
        let program = self.untrusted.then(|| {
            "not held: the program of `audit.alert` is not started, since nobody has trusted this policy"
                .to_owned()
        });
        sink.into_iter().chain(program).collect()
    }

    /// Sees to what a hook outside of sessions has recorded; `append` records more, and answers whether it could.
    pub(crate) fn after_hook(&self, mut recorded: Vec<(Receipt, Record)>, append: Append<'_>) {
        for announcement in self.announced_outside(&recorded) {
            if let Some(to) = self.voice_outside(&announcement) {
                let record = alert_record(&announcement, to, Door::Hook);
                // It was announced, and the refusal stands in the ledger, whether this can be recorded or not.
                recorded.extend(append(&record).map(|receipt| (receipt, record)));
            }
        }
        let until = Instant::now() + BRIEFLY;
        for (receipt, record) in recorded {
            let (Some(sink), Some(entry)) = (&self.sink, entry(receipt, &record)) else { return };
            if self.told_of_sink(sink.take(&entry, true, until).err(), append).is_some() {
                return;
            }
        }
    }

    /// What of these is announced now, by the limit that hooks share.
    fn announced_outside(&self, kept: &[(Receipt, Record)]) -> Vec<Announcement> {
        if !self.alert {
            return Vec::new();
        }
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let moment = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let refusals =
            kept.iter().filter_map(|(receipt, record)| Refusal::of(receipt.seq, &receipt.hash, true, record));
        let told = told::change(&self.state, |told| {
            let mut due: Vec<_> = refusals.filter_map(|r| told.limiter.refused(moment, r)).collect();
            due.extend(told.limiter.due(moment));
            due
        });
        // Without a place to count nothing is announced: it would be too much at once.
        told.unwrap_or_default()
    }

    /// Announces; where. What the program's host has on its terminal, a hook cannot know: it sends a notification,
    /// which leaves the screen as it is.
    fn voice_outside(&self, announcement: &Announcement) -> Option<&'static str> {
        if let Some(command) = &self.command {
            return self.start(command, announcement).ok().map(|_| "program");
        }
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let terminal = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
        rustix::io::write(&terminal, notification(&announcement.words()).as_bytes()).ok().map(|_| "terminal")
    }

    fn start(&self, command: &[String], announcement: &Announcement) -> io::Result<Child> {
        let places = (self.workspace.as_path(), self.state.as_path(), self.ledger.as_path());
        program::start(&self.remit, &program::order(command, places, announcement))
    }

    /// What a sink's failure is remembered under: worktrees share the state, and each may have a sink.
    fn sink_key(&self) -> String {
        self.sink.as_ref().map(Sink::key).unwrap_or_default()
    }

    /// Tells in the ledger that the sink fails, once until it works again. In words, if it does.
    fn told_of_sink(&self, error: Option<SinkError>, append: Append<'_>) -> Option<String> {
        // It comes with the next writer.
        let error = error.filter(|error| !matches!(error, SinkError::Busy(_)));
        let words = error.as_ref().map(|error| format!("`audit.log_file`: {}", whole(error)));
        let news = match (&words, self.sink_failed.swap(words.is_some(), Ordering::Relaxed)) {
            // It is told by the first, and each record is written: the file is not asked for each.
            (None, false) if self.sink_known.swap(true, Ordering::Relaxed) => false,
            _ => told::change(&self.state, |told| told.is_news(&self.sink_key(), words.as_deref()))
                .unwrap_or(true),
        };
        if let Some(words) = words.clone().filter(|_| news) {
            let mut record = Record::new(now(), Event::Alert).at(Door::Holder);
            record.why = Some(words);
            // A ledger that cannot be written has other ways to say so.
            append(&record);
        }
        words
    }
}

/// What was appended, as the ledger has it; it was encoded before.
fn entry(receipt: Receipt, record: &Record) -> Option<Entry> {
    let record = remit_ledger::encode(record).ok()?;
    Some(Entry { seq: receipt.seq, hash: receipt.hash, record })
}

/// The record of an announcement: what was sent where. It is of whom the refusal is.
fn alert_record(announcement: &Announcement, to: &str, door: Door) -> Record {
    let Refusal { seq, record: refused, .. } = &announcement.refusal;
    let mut record = Record::new(now(), Event::Alert).at(door);
    (record.agent, record.session) = (refused.agent.clone(), refused.session.clone());
    (record.digest, record.epoch) = (refused.digest.clone(), refused.epoch);
    record.assurance = refused.assurance;
    record.why = Some(announcement.words());
    record.with("alert", json!({"to": to, "seq": seq, "refusals": announcement.count}))
}

/// A notification by the terminal (OSC 9): it leaves the screen and the cursor as they are.
fn notification(words: &str) -> String {
    format!("\u{1b}]9;{words}\u{1b}\\")
}

/// An error with its causes.
fn whole(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        words.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    words
}
