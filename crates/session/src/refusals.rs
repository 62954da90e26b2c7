//! Refusals, one record each. A program that is refused the very same thing over and over is a flood: from the
//! hundred and first time within a second on they are counted, until a second has fewer, and each second's count is
//! a record of its own.

use crate::recorder::Recorder;
use remit_core::{CallId, Effect, Verb};
use remit_ledger::{Event, Record};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many refusals that are alike, within [`SPAN`], have records of their own.
const MOST_ALIKE: u64 = 100;
/// How long refusals are compared, and how long a count waits at most.
const SPAN: Duration = Duration::from_secs(1);
/// How many different refusals are remembered.
const MOST: usize = 1024;
/// What a count of refusals is called in a record.
pub const REFUSED: &str = "refused";

/// What is alike: the call, the path, what was to be done, and the rule that stands against it. How the path was
/// spelled, and by which process, makes no difference.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Kind {
    call: Option<CallId>,
    path: Option<String>,
    to: Option<String>,
    verb: Option<Verb>,
    rule: Option<String>,
    why: Option<String>,
}

impl Kind {
    fn of(record: &Record) -> Self {
        Self {
            call: record.call.clone(),
            path: record.path.clone(),
            to: record.to.clone(),
            verb: record.verb,
            rule: record.rule_id.clone(),
            why: record.why.clone(),
        }
    }
}

/// One kind of refusal.
#[derive(Debug)]
struct Seen {
    /// When the second began in which `times` are counted.
    since: Instant,
    times: u64,
    floods: bool,
    /// The last one that has no record of its own, and how many have none.
    counted: Option<(Box<Record>, u64)>,
}

impl Seen {
    fn new(now: Instant) -> Self {
        Self { since: now, times: 0, floods: false, counted: None }
    }

    /// Whether one more is part of a flood.
    fn one_more(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.since);
        if passed >= SPAN {
            self.floods = self.times > MOST_ALIKE && passed < 2 * SPAN;
            (self.since, self.times) = (now, 0);
        }
        self.times = self.times.saturating_add(1);
        self.floods |= self.times > MOST_ALIKE;
        self.floods
    }
}

#[derive(Debug, Default)]
struct State {
    seen: HashMap<Kind, Seen>,
    waiting: bool,
    ended: bool,
}

/// The refusals of one session's gate.
#[derive(Debug)]
pub struct Refusals {
    recorder: Arc<Recorder>,
    state: Mutex<State>,
    wake: Condvar,
}

impl Refusals {
    /// Written by this recorder.
    pub fn new(recorder: Arc<Recorder>) -> Self {
        Self { recorder, state: Mutex::default(), wake: Condvar::new() }
    }

    /// Starts the thread that writes counts when their time has come. Without it they wait for the next refusal of
    /// another kind, or for the end.
    pub fn start(self: &Arc<Self>) -> std::io::Result<()> {
        let this = Arc::clone(self);
        std::thread::Builder::new().name("refusals".into()).spawn(move || this.serve()).map(drop)
    }

    /// Records a refusal, or counts it. `now` never goes back.
    pub fn add(&self, record: Record, now: Instant) {
        let mut state = self.state();
        let kind = Kind::of(&record);
        if state.seen.len() >= MOST && !state.seen.contains_key(&kind) {
            self.write_counts(&mut state);
            state.seen.clear();
        }
        let seen = state.seen.entry(kind).or_insert_with(|| Seen::new(now));
        if seen.one_more(now) {
            let before = seen.counted.take().map_or(0, |(_, count)| count);
            seen.counted = Some((Box::new(record), before.saturating_add(1)));
            if !std::mem::replace(&mut state.waiting, true) {
                self.wake.notify_one();
            }
            return;
        }
        self.write_counts(&mut state);
        // Refused it is, recorded or not; the recorder knows how many it could not record.
        drop(self.recorder.append(&record, true));
    }

    /// Writes what was only counted, and ends the thread.
    pub fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        self.write_counts(&mut state);
        self.wake.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted becomes records.
    fn write_counts(&self, state: &mut State) {
        if !std::mem::take(&mut state.waiting) {
            return;
        }
        for (record, count) in state.seen.values_mut().filter_map(|seen| seen.counted.take()) {
            drop(self.recorder.append(&summary(*record, count), true));
        }
    }

    fn serve(&self) {
        let mut state = self.state();
        while !state.ended {
            if !state.waiting {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = self.wake.wait_timeout_while(state, SPAN, |state| !state.ended);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            self.write_counts(&mut state);
        }
    }
}

/// The record that says how many more there were like this one.
fn summary(mut record: Record, count: u64) -> Record {
    record.event = Event::Summary;
    record.effect = Some(Effect::Deny);
    record.counts = [(REFUSED.to_owned(), count)].into();
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these refusals, given by their milliseconds, are only counted.
    fn counted(times: impl Iterator<Item = u64>) -> Vec<u64> {
        let start = Instant::now();
        let mut seen = Seen::new(start);
        times.filter(|at| seen.one_more(start + Duration::from_millis(*at))).collect()
    }

    #[test]
    fn a_hundred_alike_in_a_second_are_no_flood_and_a_steady_trickle_never_is() {
        assert_eq!(counted((0..100).map(|n| n * 9)), Vec::<u64>::new());
        assert_eq!(counted((0..10_000).map(|n| n * 10)), Vec::<u64>::new());
    }

    #[test]
    fn a_flood_is_counted_until_a_second_has_fewer() {
        // One each millisecond for three seconds, then one each half second.
        let flood = (0..3000).chain((0..6).map(|n| 3500 + n * 500));
        let counted = counted(flood);
        assert_eq!(counted.first(), Some(&100));
        assert_eq!(counted.iter().filter(|at| **at < 3000).count(), 2900);
        // The second in which it ends is still its own.
        assert!(counted.iter().all(|at| *at < 4500), "{:?}", counted.last());
    }
}
