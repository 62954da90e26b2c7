//! Which refusals are announced, and in what words: the first at once, then one in ten seconds at most, which says
//! how many there were since the one before it.

use crate::refusals::REFUSED;
use remit_core::Effect;
use remit_core::path::printable;
use remit_ledger::{Event, Hash, Record};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The least time between two announcements, in milliseconds.
const SPAN: u64 = 10_000;
/// How long an announcement is at most, in characters.
const LONGEST: usize = 300;

/// A record that says that something was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) seq: u64,
    pub(crate) hash: String,
    pub(crate) chained: bool,
    pub(crate) record: Box<Record>,
}

impl Refusal {
    /// None if nothing was refused.
    pub(crate) fn of(seq: u64, hash: &Hash, chained: bool, record: &Record) -> Option<Self> {
        let refuses = matches!(record.event, Event::Access | Event::Call | Event::Summary)
            && record.effect.is_some_and(|effect| effect != Effect::Allow);
        let (hash, record) = (hash.to_string(), Box::new(record.clone()));
        refuses.then_some(Self { seq, hash, chained, record })
    }

    /// How many refusals it stands for.
    pub(crate) fn times(&self) -> u64 {
        self.record.counts.get(REFUSED).copied().unwrap_or(1)
    }
}

/// Holds back what would be too much.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Limiter {
    /// When something was announced last, in milliseconds of one clock.
    last: Option<u64>,
    /// How many were refused since.
    count: u64,
    /// The latest of them.
    latest: Option<Refusal>,
}

impl Limiter {
    /// Something was refused; what is to be announced now.
    pub(crate) fn refused(&mut self, now: u64, refusal: Refusal) -> Option<Announcement> {
        self.count = self.count.saturating_add(refusal.times());
        self.latest = Some(refusal);
        self.due(now)
    }

    /// What was held back, if its time has come. A clock that went back holds nothing up.
    pub(crate) fn due(&mut self, now: u64) -> Option<Announcement> {
        let waits = self.last.and_then(|last| now.checked_sub(last)).is_some_and(|passed| passed < SPAN);
        if waits {
            return None;
        }
        let announcement = self.end()?;
        self.last = Some(now);
        Some(announcement)
    }

    /// What is still held back.
    pub(crate) fn end(&mut self) -> Option<Announcement> {
        let refusal = self.latest.take()?;
        Some(Announcement { refusal, count: std::mem::take(&mut self.count) })
    }
}

/// What is announced: a refusal, and how many there were since the announcement before, this one among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Announcement {
    pub(crate) refusal: Refusal,
    pub(crate) count: u64,
}

impl Announcement {
    /// How many more there were.
    pub(crate) fn held(&self) -> u64 {
        self.count.saturating_sub(1)
    }

    /// One line. What others wrote is escaped.
    pub(crate) fn words(&self) -> String {
        let record = &self.refusal.record;
        let agent = record.agent.as_ref().map_or("an agent", |agent| agent.as_str());
        let mut line = format!("remit: refused {agent}");
        match (record.verb, &record.path, &record.tool) {
            (Some(verb), Some(path), _) => line.push_str(&format!(" to {verb} {path}")),
            (.., Some(tool)) => line.push_str(&format!(" a call of {tool}")),
            _ => line.push_str(" a call"),
        }
        if let Some(to) = &record.to {
            line.push_str(&format!(" -> {to}"));
        }
        match (&record.rule, &record.rule_at) {
            (Some(rule), Some(at)) => line.push_str(&format!(" ({rule}, {at})")),
            (Some(rule), None) => line.push_str(&format!(" ({rule})")),
            _ => {}
        }
        let mut line: String = printable(&line);
        if let Some((end, _)) = line.char_indices().nth(LONGEST) {
            line.truncate(end);
            line.push('…');
        }
        match self.held() {
            0 => line,
            more => format!("{line}; {more} more since the last"),
        }
    }

    /// The record as `remit log --json` shows it.
    pub(crate) fn line(&self) -> String {
        let Refusal { seq, hash, chained, record } = &self.refusal;
        super::sink::json_line(*seq, hash, *chained, record)
    }

    /// What a program is told in its environment. No byte of it acts on a terminal.
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        let record = &self.refusal.record;
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let verb = record.verb.map(|verb| verb.to_string());
        let all = [
            ("REMIT_ALERT", self.words()),
            ("REMIT_AGENT", text(record.agent.as_ref().map(|agent| agent.as_str()))),
            ("REMIT_SESSION", text(record.session.as_ref().map(|session| session.as_str()))),
            ("REMIT_VERB", text(verb.as_deref())),
            ("REMIT_PATH", text(record.path.as_deref())),
            ("REMIT_RULE", text(record.rule.as_deref())),
            ("REMIT_SEQ", self.refusal.seq.to_string()),
            ("REMIT_MORE", self.held().to_string()),
        ];
        all.into_iter().map(|(name, value)| (name.to_owned(), printable(&value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::now;
    use remit_core::path::is_unprintable;

    fn refusal(seq: u64) -> Refusal {
        let mut record = Record::new(now(), Event::Access);
        record.effect = Some(Effect::Deny);
        record.path = Some(format!("/w/{seq}"));
        record.verb = Some(remit_core::Verb::Write);
        Refusal::of(seq, &Hash([0; 32]), true, &record).unwrap()
    }

    #[test]
    fn the_first_is_announced_at_once_and_then_one_in_ten_seconds_and_none_is_lost() {
        let mut limiter = Limiter::default();
        let said: Vec<(u64, u64)> = (0..25)
            .filter_map(|n| limiter.refused(n * 1000, refusal(n)).map(|a| (a.refusal.seq, a.count)))
            .collect();
        assert_eq!(said, [(0, 1), (10, 10), (20, 10)]);
        assert_eq!(limiter.due(29_999), None);
        let late = limiter.due(30_000).unwrap();
        assert_eq!((late.refusal.seq, late.held()), (24, 3));
        assert!(limiter.due(90_000).is_none() && limiter.end().is_none());
    }

    #[test]
    fn a_clock_that_went_back_holds_nothing_up_and_the_end_tells_what_is_left() {
        let mut limiter = Limiter::default();
        assert!(limiter.refused(50_000, refusal(1)).is_some());
        assert!(limiter.refused(50_001, refusal(2)).is_none());
        assert_eq!(limiter.end().map(|a| (a.refusal.seq, a.count)), Some((2, 1)));
        assert!(limiter.refused(3, refusal(3)).is_some());
    }

    #[test]
    fn what_is_allowed_or_only_told_is_no_refusal_and_a_count_stands_for_many() {
        let mut record = Record::new(now(), Event::Access);
        let none = |record: &Record| Refusal::of(1, &Hash([0; 32]), true, record).is_none();
        assert!(none(&record));
        record.effect = Some(Effect::Allow);
        assert!(none(&record));
        record.effect = Some(Effect::Deny);
        record.event = Event::Alert;
        assert!(none(&record));
        record.event = Event::Summary;
        record.counts = [(REFUSED.to_owned(), 40)].into();
        assert_eq!(Refusal::of(1, &Hash([0; 32]), true, &record).unwrap().times(), 40);
    }

    #[test]
    fn nothing_that_acts_on_a_terminal_is_announced() {
        let mut refusal = refusal(1);
        refusal.record.path = Some("/w/\u{1b}]0;x\u{7}\u{9b}2J\n\u{202e}".repeat(90));
        refusal.record.rule = Some("\u{1b}[2J".to_owned());
        let announcement = Announcement { refusal, count: 1 };
        let variables = announcement.variables();
        let texts = variables.values().chain([&variables["REMIT_ALERT"]]).cloned();
        for text in texts.chain([announcement.words(), announcement.line()]) {
            assert!(!text.chars().any(is_unprintable), "{text:?}");
        }
        assert!(announcement.words().chars().count() <= LONGEST + 1);
    }
}
