//! The holder's part: a thread that follows the ledger from the session's first record on.

use super::alert::{Announcement, Limiter, Refusal};
use super::sink::SinkError;
use super::{Audit, alert_record, entry, notification};
use crate::desk::Desk;
use remit_core::SessionId;
use remit_ledger::Door;
use remit_store::{Entry, LedgerError, Piece, Reader};
use rustix::fd::OwnedFd;
use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long one record may take, with all that was missing before it.
const SHORT: Duration = Duration::from_secs(1);
/// The same at the end of a session.
const LONG: Duration = Duration::from_secs(10);
/// How long a sink is left alone that somebody else holds.
const REST: Duration = Duration::from_secs(5);
/// How long what was appended before the end is waited for: only damage keeps it away.
const MISSING: Duration = Duration::from_secs(2);

/// Where a session's refusals are announced if no program is.
pub struct Place {
    /// As lines for a person, by this; at the end in any case.
    pub say: Box<dyn Fn(&str) + Send>,
    /// As notifications on the terminal that the session's program has, by way of who relays to it.
    pub notices: Option<OwnedFd>,
}

/// What was announced and could not be written, for the end of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audited {
    /// Whether refusals are announced.
    pub alert: bool,
    /// How many refusals there were.
    pub refusals: u64,
    /// How many of them were announced as lines.
    pub shown: u64,
    /// Why the sink lacks records.
    pub sink: Option<String>,
    /// What else of this could not be done, in words.
    pub failed: Option<String>,
}

/// A session that is watched.
pub struct Watch {
    /// The number of the last record, once it is known; 0 before.
    last: Arc<AtomicU64>,
    thread: JoinHandle<Audited>,
}

struct Watcher {
    audit: Arc<Audit>,
    desk: Arc<Desk>,
    session: SessionId,
    place: Place,
    limiter: Limiter,
    began: Instant,
    /// The next record.
    next: u64,
    /// Until when the sink is left alone, for somebody else holds it.
    resting: Option<Instant>,
    /// The latest record, and whether it stands in the chain.
    latest: Option<(Entry, bool)>,
    /// The sink has not got it.
    lacking: bool,
    started: Vec<Child>,
    audited: Audited,
}

impl Watch {
    /// Begins with record `from`, the session's first.
    pub(crate) fn start(
        audit: Arc<Audit>,
        (session, from): (SessionId, u64),
        desk: Arc<Desk>,
        place: Place,
    ) -> io::Result<Self> {
        let last = Arc::new(AtomicU64::new(0));
        let audited = Audited { alert: audit.alert, ..Audited::default() };
        let (limiter, began, started) = (Limiter::default(), Instant::now(), Vec::new());
        let watcher = Watcher {
            audit,
            desk,
            session,
            place,
            limiter,
            began,
            next: from,
            resting: None,
            latest: None,
            lacking: false,
            started,
            audited,
        };
        let ended = Arc::clone(&last);
        let serve = move || serve(watcher, &ended);
        let thread = std::thread::Builder::new().name("audit".into()).spawn(serve)?;
        Ok(Self { last, thread })
    }

    /// Ends it, with all announced up to record `last`.
    pub(crate) fn end(self, last: u64) -> Audited {
        self.last.store(last.max(1), Ordering::Release);
        self.thread.join().unwrap_or_default()
    }
}

fn serve(watcher: Watcher, last: &Arc<AtomicU64>) -> Audited {
    let watcher = Arc::new(Mutex::new(watcher));
    let followed = follow(&watcher, last);
    let mut watcher = lock(&watcher);
    // The terminal is the person's again.
    watcher.place.notices = None;
    if let Some(announcement) = watcher.limiter.end()
        && let Some(entry) = watcher.announce(&announcement)
    {
        watcher.keep(entry, true);
    }
    watcher.close();
    let failed = followed.err().map(|error| format!("the ledger cannot be followed: {error}"));
    watcher.audited.failed = failed.or(watcher.audited.failed.take());
    watcher.audited.clone()
}

fn follow(watcher: &Arc<Mutex<Watcher>>, last: &Arc<AtomicU64>) -> Result<(), LedgerError> {
    let (folder, from) = {
        let watcher = lock(watcher);
        (watcher.audit.ledger.clone(), watcher.next)
    };
    let (ticks, ended) = (Arc::clone(watcher), Arc::clone(last));
    let mut until = None;
    let follow = Reader::lenient(&folder, from)?.follow(move || {
        let next = {
            let mut watcher = lock(&ticks);
            watcher.tick();
            watcher.next
        };
        let last = ended.load(Ordering::Acquire);
        last > 0 && (next > last || Instant::now() >= *until.get_or_insert_with(|| Instant::now() + MISSING))
    })?;
    for piece in follow {
        lock(watcher).take(piece?);
    }
    Ok(())
}

fn lock(watcher: &Mutex<Watcher>) -> MutexGuard<'_, Watcher> {
    watcher.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watcher {
    fn take(&mut self, piece: Piece) {
        let (entry, chained) = match piece {
            Piece::Record(entry) => (entry, true),
            Piece::Unchained(entry) => (entry, false),
            // The session's own append tells of it.
            Piece::Damaged(_) => return,
        };
        self.next = entry.seq.saturating_add(1);
        let record = entry.decode();
        let (seq, hash) = (entry.seq, entry.hash);
        self.keep(entry, chained);
        // What cannot be read is damage, as above.
        let Ok(record) = record else { return };
        if !self.audit.alert || record.session.as_ref() != Some(&self.session) {
            return;
        }
        if let Some(refusal) = Refusal::of(seq, &hash, chained, &record) {
            self.audited.refusals = self.audited.refusals.saturating_add(refusal.times());
            let due = self.limiter.refused(self.moment(), refusal);
            due.iter().for_each(|announcement| drop(self.announce(announcement)));
        }
    }

    /// Writes to the sink; what it lacks is looked at again when the session ends.
    fn keep(&mut self, entry: Entry, chained: bool) {
        if self.audit.sink.is_none() {
            return;
        }
        let now = Instant::now();
        if self.resting.is_none_or(|until| now >= until) {
            let failed = self.write(&entry, chained, now + SHORT);
            self.resting = matches!(failed, Some(SinkError::Busy(_))).then(|| Instant::now() + REST);
            self.lacking = self.tell(failed).is_some() || self.resting.is_some();
        }
        self.latest = Some((entry, chained));
    }

    /// Writes what the sink still lacks.
    fn close(&mut self) {
        let Some((entry, chained)) = self.latest.take().filter(|_| self.lacking) else { return };
        let failed = self.write(&entry, chained, Instant::now() + LONG);
        self.audited.sink = self.tell(failed);
    }

    fn write(&self, entry: &Entry, chained: bool, until: Instant) -> Option<SinkError> {
        self.audit.sink.as_ref()?.take(entry, chained, until).err()
    }

    fn tell(&self, failed: Option<SinkError>) -> Option<String> {
        self.audit.told_of_sink(failed, &|record| self.desk.recorder().append(record, false).ok())
    }

    /// Milliseconds since the beginning.
    fn moment(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn tick(&mut self) {
        if let Some(announcement) = self.limiter.due(self.moment()) {
            drop(self.announce(&announcement));
        }
        self.started.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }

    /// Announces, and records that; the record.
    fn announce(&mut self, announcement: &Announcement) -> Option<Entry> {
        let words = announcement.words();
        let to = match (&self.audit.command, &self.place.notices) {
            (Some(command), _) => match self.audit.start(command, announcement) {
                Ok(child) => {
                    self.started.push(child);
                    "program"
                }
                Err(error) => {
                    self.audited.failed = Some(format!("the program of `audit.alert`: {error}"));
                    return None;
                }
            },
            (None, Some(notices)) => {
                // Who relays has more to show than it can: the end tells how many there were.
                if rustix::io::write(notices, notification(&words).as_bytes()).is_err() {
                    return None;
                }
                "terminal"
            }
            (None, None) => {
                (self.place.say)(&words);
                self.audited.shown = self.audited.shown.saturating_add(1);
                "standard error"
            }
        };
        let record = alert_record(announcement, to, Door::Holder);
        entry(self.desk.recorder().append(&record, false).ok()?, &record)
    }
}
