//! `remit log`: what was done and refused, filtered.

use crate::cli::{EffectName, LogArgs};
use crate::events::{self, escaped, event};
use crate::report::{self, DIM, ERROR, Failure, style_of};
use clap::ValueEnum;
use remit_core::path::printable;
use remit_core::{Effect, Exit, Verb};
use remit_ledger::{Event, Record};
use remit_session::environment::Environment;
use remit_session::recorder::now;
use remit_session::refusals::REFUSED;
use remit_session::workspace::Workspace;
use remit_store::{Entry, LedgerError, Piece, Reader};
use serde_json::json;
use std::collections::{BTreeSet, VecDeque};
use std::os::unix::ffi::OsStrExt;

/// Shows the records that the filters let through.
pub(crate) fn run(args: &LogArgs, environment: &Environment) -> Result<Exit, Failure> {
    let filter = Filter::new(args, environment)?;
    let workspace = Workspace::open_state(&environment.cwd, environment)?;
    let folder = workspace.state_place()?.ledger();
    if args.follow {
        // Opening it makes an empty one, so that following can begin before the first session.
        drop(workspace.ledger(&workspace.state()?)?);
    }
    let reader = match Reader::lenient(&folder, 1) {
        Ok(reader) => reader,
        Err(LedgerError::NoLedger(_)) => {
            report::talk(NOTHING);
            return Ok(Exit::Yes);
        }
        Err(error) => return Err(unread(&error)),
    };
    let mut last = VecDeque::new();
    let mut seen = Seen::default();
    let mut next = 1;
    for piece in reader {
        let piece = piece.map_err(|e| unread(&e))?;
        if let Piece::Record(entry) | Piece::Unchained(entry) = &piece {
            next = entry.seq.saturating_add(1);
        }
        if let Some(shown) = filter.shown(piece, &mut seen)? {
            if args.lines > 0 && last.len() == args.lines {
                last.pop_front();
            }
            last.push_back(shown);
        }
    }
    for shown in &last {
        show(shown, args.json)?;
    }
    // Who follows an empty ledger waits for its first record, and knows.
    if last.is_empty() && (seen.records || !args.follow) {
        report::talk(&seen.nothing(args));
    }
    if args.follow {
        let follow = Reader::lenient(&folder, next).and_then(|r| r.follow(report::reader_gone));
        for piece in follow.map_err(|e| unread(&e))? {
            if let Some(shown) = filter.shown(piece.map_err(|e| unread(&e))?, &mut seen)? {
                show(&shown, args.json)?;
            }
        }
        // It waits for more as long as somebody reads.
        return Err(report::had_enough());
    }
    Ok(Exit::Yes)
}

const NOTHING: &str = "remit: nothing has been recorded here yet\n";

/// How many sessions are named where the one that was asked for never was.
const NAMED: usize = 3;

/// Who has left records, for those who ask for somebody else.
#[derive(Default)]
struct Seen {
    records: bool,
    agents: BTreeSet<String>,
    /// The last ones, the last of all at the end.
    sessions: VecDeque<String>,
    /// Whether the session that was asked for is among all.
    session: bool,
}

impl Seen {
    fn note(&mut self, record: &Record, filter: &Filter<'_>) {
        self.records = true;
        if let Some(agent) = record.agent.as_ref().filter(|a| !self.agents.contains(a.as_str())) {
            self.agents.insert(agent.as_str().to_owned());
        }
        let Some(session) = record.session.as_ref().map(|s| s.as_str()) else { return };
        self.session |= filter.is_session(session);
        if self.sessions.back().is_none_or(|last| last != session) {
            self.sessions.retain(|known| known != session);
            self.sessions.push_back(session.to_owned());
            if self.sessions.len() > NAMED {
                self.sessions.pop_front();
            }
        }
    }

    /// The line that is said where no record is shown.
    fn nothing(&self, args: &LogArgs) -> String {
        if !self.records {
            return NOTHING.to_owned();
        }
        let agent = args.agent.as_deref().filter(|name| !self.agents.contains(*name));
        let agents: Vec<&str> = self.agents.iter().map(String::as_str).collect();
        let mut line = format!("remit: no record matches `{}`", filters(args));
        if let Some(agent) = agent {
            line.push_str(&format!("; {}", remit_config::hint(agent, &agents)));
        }
        if args.session.is_some() && !self.session {
            let last: Vec<&str> = self.sessions.iter().rev().map(String::as_str).collect();
            line.push_str(&match last.as_slice() {
                [] => "; there was no session yet".to_owned(),
                last => format!("; the last sessions: {}", last.join(", ")),
            });
        }
        line + "\n"
    }
}

/// The filters as they were given.
fn filters(args: &LogArgs) -> String {
    let effect = args.effect.and_then(|e| e.to_possible_value()).map(|v| v.get_name().to_owned());
    let path = args.path.as_ref().map(|path| path.as_os_str().as_bytes());
    let given = [
        ("agent", args.agent.as_deref().map(str::as_bytes)),
        ("session", args.session.as_deref().map(str::as_bytes)),
        ("call", args.call.as_deref().map(str::as_bytes)),
        ("effect", effect.as_deref().map(str::as_bytes)),
        ("verb", args.verb.as_deref().map(str::as_bytes)),
        ("event", args.event.as_deref().map(str::as_bytes)),
        ("path", path),
        ("rule", args.rule.as_deref().map(str::as_bytes)),
        ("since", args.since.as_deref().map(str::as_bytes)),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, remit_core::path::escape(value?))));
    given.map(|(name, value)| format!("--{name} {value}")).collect::<Vec<_>>().join(" ")
}

fn unread(error: &dyn std::error::Error) -> Failure {
    Failure::because(Exit::Io, "the ledger cannot be read", error)
        .hint("`remit verify` says where it is damaged")
}

/// The kinds of record that could be meant.
fn kinds(name: &str) -> String {
    let words: Vec<String> = Event::ALL.into_iter().map(events::name).collect();
    remit_config::hint(name, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What is shown of a piece of the ledger.
enum Shown {
    /// A record; and whether it stands in the chain.
    Record(Entry, Box<Record>, bool),
    /// A place that is not as it was written.
    Damage(String),
}

struct Filter<'a> {
    args: &'a LogArgs,
    effect: Option<Effect>,
    verb: Option<Verb>,
    event: Option<Event>,
    path: Option<String>,
    since: Option<String>,
}

impl<'a> Filter<'a> {
    fn new(args: &'a LogArgs, environment: &Environment) -> Result<Self, Failure> {
        let usage = |e: String| Failure::new(Exit::Usage, e);
        let event = args.event.as_deref().map(|name| {
            serde_json::from_value(json!(name))
                .map_err(|_| usage(format!("`{name}` is not a kind of record")).hint(kinds(name)))
        });
        Ok(Self {
            args,
            effect: args.effect.map(|e| match e {
                EffectName::Allow => Effect::Allow,
                EffectName::Ask => Effect::Ask,
                EffectName::Deny => Effect::Deny,
            }),
            verb: args.verb.as_deref().map(str::parse).transpose().map_err(usage)?,
            event: event.transpose()?,
            path: match &args.path {
                Some(path) => {
                    let path = environment.cwd.join(path);
                    let base = remit_core::AbsPath::root();
                    let path = remit_core::AbsPath::lexical(&base, path.as_os_str().as_bytes());
                    Some(path.map_err(|e| usage(e.to_string()))?.to_string())
                }
                None => None,
            },
            since: args.since.as_deref().map(since).transpose()?,
        })
    }

    fn is_session(&self, id: &str) -> bool {
        self.args.session.as_deref().is_none_or(|wanted| id.starts_with(wanted))
    }

    fn shown(&self, piece: Piece, seen: &mut Seen) -> Result<Option<Shown>, Failure> {
        let (entry, chained) = match piece {
            Piece::Record(entry) => (entry, true),
            Piece::Unchained(entry) => (entry, false),
            Piece::Damaged(damaged) => return Ok(Some(Shown::Damage(damaged.to_string()))),
        };
        let record = entry.decode().map_err(|e| unread(&e))?;
        seen.note(&record, self);
        Ok(self.lets_through(&record).then(|| Shown::Record(entry, Box::new(record), chained)))
    }

    fn lets_through(&self, record: &Record) -> bool {
        let is =
            |wanted: &Option<String>, had: Option<&str>| wanted.as_deref().is_none_or(|w| had == Some(w));
        let below = |path: &Option<String>, root: &str| {
            path.as_deref().is_some_and(|p| {
                p == root || p.strip_prefix(root).is_some_and(|r| root == "/" || r.starts_with('/'))
            })
        };
        is(&self.args.agent, record.agent.as_ref().map(|a| a.as_str()))
            && (self.args.session.is_none()
                || record.session.as_ref().is_some_and(|s| self.is_session(s.as_str())))
            && is(&self.args.call, record.call.as_ref().map(|c| c.as_str()))
            && self.effect.is_none_or(|e| record.effect.is_some_and(|had| is_of(had, e)))
            && self.verb.is_none_or(|v| record.verb == Some(v))
            && self.event.is_none_or(|e| record.event == e)
            && self.path.as_deref().is_none_or(|p| below(&record.path, p) || below(&record.to, p))
            && self.args.rule.as_deref().is_none_or(|r| {
                [&record.rule, &record.rule_at, &record.rule_id]
                    .into_iter()
                    .flatten()
                    .any(|had| had.starts_with(r))
            })
            && self.since.as_deref().is_none_or(|s| record.time.to_string().as_str() >= s)
    }
}

/// What a person would have been asked is refused as long as nobody can be.
fn is_of(had: Effect, wanted: Effect) -> bool {
    had == wanted || (wanted, had) == (Effect::Deny, Effect::Ask)
}

/// A moment as records have it, from RFC 3339, a day (its beginning, in UTC), or a span back such as `30m`.
fn since(text: &str) -> Result<String, Failure> {
    let wrong = || {
        Failure::new(Exit::Usage, format!("`{text}` is neither a time nor a span"))
            .hint("such as 2026-11-30, 2026-11-30T12:00:00Z, 30m, 2h, 3d")
    };
    let day = if text.len() == 10 { format!("{text}T00:00:00Z") } else { String::new() };
    if let Ok(time) = text.parse::<jiff::Timestamp>().or_else(|_| day.parse()) {
        return Ok(remit_ledger::Time::from(time).to_string());
    }
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let number: i64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let back = number.checked_mul(seconds).map(jiff::SignedDuration::from_secs).ok_or_else(wrong)?;
    let time = now().timestamp().checked_sub(back).map_err(|_| wrong())?;
    Ok(remit_ledger::Time::from(time).to_string())
}

fn show(shown: &Shown, json: bool) -> Result<(), Failure> {
    match shown {
        Shown::Damage(what) if json => report::say_json(&json!({"damaged": what})),
        Shown::Damage(what) => report::say(&format!("{ERROR}damaged{ERROR:#}  {}\n", printable(what))),
        Shown::Record(entry, record, chained) if json => {
            report::say(&(remit_session::audit::sink::line(entry.seq, &entry.hash, *chained, record) + "\n"))
        }
        Shown::Record(entry, record, chained) => {
            let mark = if *chained { String::new() } else { format!("{ERROR}unchained{ERROR:#} ") };
            report::say(&(mark + &line(entry.seq, record)))
        }
    }
}

/// A record as one line, with the reason where something was refused. What others wrote stays on it: paths were escaped
/// when they were recorded, the rest is escaped here.
fn line(seq: u64, record: &Record) -> String {
    let time = record.time.to_string();
    let second = time.get(..19).unwrap_or(&time);
    let agent = record.agent.as_ref().map_or("–", |a| a.as_str());
    let effect = record.effect.map(|e| {
        let style = style_of(e);
        format!("{style}{:<5}{style:#} ", e.to_string())
    });
    let what = match record.verb {
        Some(verb) => format!("{verb} {}", printable(record.path.as_deref().unwrap_or_default())),
        None => event(record),
    };
    let session = record.session.as_ref().map(|id| format!(" {DIM}{}{DIM:#}", short(id.as_str())));
    let mut out = format!(
        "{DIM}{seq:>6} {second}Z{DIM:#}  {agent}{}  {}{what}",
        session.unwrap_or_default(),
        effect.unwrap_or_default()
    );
    if let Some(to) = &record.to {
        out.push_str(&format!(" -> {}", printable(to)));
    }
    let more = record.counts.get(REFUSED).filter(|_| record.verb.is_some()).map(|n| format!("{n} more"));
    let mut tail = Vec::new();
    tail.extend(more);
    tail.extend(record.tool.as_deref().map(escaped));
    tail.extend(record.syscall.as_deref().map(escaped));
    if !tail.is_empty() {
        out.push_str(&format!("  {DIM}[{}]{DIM:#}", tail.join(" ")));
    }
    if let (Some(why), Some(Effect::Deny | Effect::Ask)) = (&record.why, record.effect) {
        out.push_str(&format!("  {DIM}{}{DIM:#}", printable(why)));
    }
    out.push('\n');
    out
}

/// The beginning of a session's id, as `--session` takes it: 32 random bits.
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
