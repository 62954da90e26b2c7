//! What a record that is not about one path says, in words. What others wrote stays on its line: it is escaped here.

use remit_core::Effect;
use remit_core::path::{escape, printable};
use remit_core::wire::Moment;
use remit_ledger::{Event, Record};
use serde_json::Value;

/// So much of a command is shown; `--json` has all that was recorded.
const LONGEST_COMMAND: usize = 80;

/// What an agent or its program wrote.
pub(crate) fn escaped(text: &str) -> String {
    escape(text.as_bytes())
}

/// A kind of record as `--event` takes it.
pub(crate) fn name(event: Event) -> String {
    serde_json::to_value(event).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

/// What happened.
pub(crate) fn event(record: &Record) -> String {
    match record.event {
        Event::SessionStart => start(record),
        Event::SessionEnd => end(record),
        Event::Moment => moment(record),
        Event::CallEnd => call_end(record),
        Event::Summary => counted(record),
        _ => named(record),
    }
}

fn start(record: &Record) -> String {
    let session = record.session.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    format!("session{session} started: {}", clipped(record.command.as_deref().unwrap_or_default()))
}

fn clipped(command: &str) -> String {
    let mut rest = command.chars();
    let head: String = rest.by_ref().take(LONGEST_COMMAND).collect();
    let dots = if rest.next().is_some() { "…" } else { "" };
    escaped(&head) + dots
}

fn end(record: &Record) -> String {
    let exit = record.detail.get("exit").unwrap_or(&Value::Null);
    let how = match (exit.get("code"), exit.get("signal"), exit.as_str()) {
        (Some(code), ..) => format!("ended with code {code}"),
        (_, Some(signal), _) => format!("was ended by signal {signal}"),
        (.., Some("lost")) => "ended with its gate, and how its program ended is not known".to_owned(),
        (.., Some(other)) => escaped(other),
        _ => "ended".to_owned(),
    };
    let why = record.detail.get("why").and_then(Value::as_str);
    let why = why.map(|why| format!(": {}", printable(why))).unwrap_or_default();
    format!("session {how}{why}")
}

/// A moment in a session's life: its program was started, or what its host tells of itself.
fn moment(record: &Record) -> String {
    let moment = record.detail.get("moment").cloned().unwrap_or_default();
    let words = match serde_json::from_value(moment.clone()) {
        Ok(Moment::SessionStart) => "conversation opened",
        Ok(Moment::Prompt) => "prompt sent",
        Ok(Moment::Stop) => "turn ended",
        Ok(Moment::SubagentStart) => "subagent started",
        Ok(Moment::SubagentStop) => "subagent ended its turn",
        Ok(Moment::SessionEnd) => "conversation closed",
        Err(_) if moment == "launched" => "program launched",
        Err(_) => return named(record),
    };
    let subagent = record.subagent.as_deref().map(|id| format!(": {}", escaped(id))).unwrap_or_default();
    format!("{words}{subagent}")
}

fn call_end(record: &Record) -> String {
    let call = record.call.as_ref().map(|id| format!(" {}", escaped(id.as_str()))).unwrap_or_default();
    match record.detail.get("ok").and_then(Value::as_bool) {
        Some(false) => format!("call{call} failed"),
        _ => format!("call{call} ended"),
    }
}

/// What is only counted.
fn counted(record: &Record) -> String {
    let counts = record.counts.iter().map(|(what, count)| format!("{count} {}", escaped(what)));
    let command = record.command.as_deref().map(|c| format!(" by {}", clipped(c))).unwrap_or_default();
    format!("counted in scratch: {}{command}", counts.collect::<Vec<_>>().join(", "))
}

/// The event by its name, with what belongs to it.
fn named(record: &Record) -> String {
    let mut words = name(record.event);
    for (key, value) in &record.counts {
        words.push_str(&format!(" {} {value}", escaped(key)));
    }
    if let Some(command) = record.command.as_ref().or(record.program.as_ref()) {
        words.push_str(&format!(" {}", escaped(command)));
    }
    // Why something was refused stands behind every refusal.
    let refused = matches!(record.effect, Some(Effect::Deny | Effect::Ask));
    if let Some(why) = record.why.as_ref().filter(|_| !refused) {
        words.push_str(&format!(" {}", printable(why)));
    }
    for key in ["moment", "exit", "why", "ok", "hooks"] {
        if let Some(value) = record.detail.get(key) {
            let said = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            words.push_str(&format!(" {}", printable(&said)));
        }
    }
    words
}
