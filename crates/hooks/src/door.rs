//! The door itself: decode, ask, encode. Whatever goes wrong on the way (a panic, a broken input, no answer,
//! no time) comes out as a denial in the host's dialect wherever the event can block.

use crate::dialect::{Event, Host, LONGEST_INPUT, Outcome, Problem, Reply};
use crate::resolve::Resolver;
use remit_core::path::escape;
use remit_core::wire::{Answer, Effort, Request, Verdict};
use remit_core::{AbsPath, Effect};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long a hook may take, all in all.
pub const DEADLINE: Duration = Duration::from_secs(2);

/// How many paths are shown with the command that asks for them.
const SHOWN: usize = 3;

/// Whoever answers requests: the session's socket, or the workspace itself.
pub trait Asker {
    /// The answer, or why there is none.
    fn ask(&self, request: &Request) -> Result<Answer, String>;
}

/// Which hook is being served.
#[derive(Clone, Copy)]
pub struct Hook<'a> {
    /// Whose dialect.
    pub host: Host,
    /// The event by the host's name, as it was registered.
    pub event: &'a str,
    /// The workspace's root as it was registered; never searched for.
    pub root: &'a AbsPath,
}

/// Reads standard input to its end. Above [`LONGEST_INPUT`] the rest is read and dropped, so that the host
/// does not fail at writing it.
pub fn read_input(mut input: impl Read) -> Result<Vec<u8>, Problem> {
    let unread = |e: std::io::Error| Problem::Unread(e.to_string());
    let mut bytes = Vec::new();
    input.by_ref().take(LONGEST_INPUT as u64 + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() > LONGEST_INPUT {
        std::io::copy(&mut input, &mut std::io::sink()).map_err(unread)?;
        return Err(Problem::TooLong);
    }
    Ok(bytes)
}

/// Answers one hook call. Never panics; the reply's code is 0 or 2.
pub fn serve(
    hook: Hook<'_>,
    input: Result<Vec<u8>, Problem>,
    asker: &dyn Asker,
    resolver: &dyn Resolver,
) -> Reply {
    catch_unwind(AssertUnwindSafe(|| answer(hook, input, asker, resolver)))
        .unwrap_or_else(|_| fail(hook.host, hook.event, "an internal error"))
}

/// Does `work` (reading the input included) on a thread of its own, and denies if it takes longer than
/// `budget` or ends without a reply. The thread is left behind: the process ends after the reply.
pub fn within(
    host: Host,
    event: &str,
    budget: Duration,
    work: impl FnOnce() -> Reply + Send + 'static,
) -> Reply {
    let (send, receive) = channel();
    let started = std::thread::Builder::new().name("hook".to_owned()).spawn(move || {
        // If nobody waits any more, the denial has been given.
        drop(send.send(work()));
    });
    if let Err(e) = started {
        return fail(host, event, &format!("no thread could be started: {e}"));
    }
    match receive.recv_timeout(budget) {
        Ok(reply) => reply,
        Err(RecvTimeoutError::Timeout) => {
            fail(host, event, &format!("no answer within {} ms", budget.as_millis()))
        }
        Err(RecvTimeoutError::Disconnected) => fail(host, event, "an internal error"),
    }
}

/// The reply when there is no answer, whatever the reason.
pub fn fail(host: Host, event: &str, why: &str) -> Reply {
    let dialect = host.dialect();
    let event = dialect.event(event);
    dialect.encode(event, &Outcome::No(broken(event, why)))
}

fn broken(event: Option<Event>, why: &str) -> String {
    if event.is_none_or(Event::blocks) {
        format!("remit could not judge this, so it is refused: {why}")
    } else {
        format!("remit could not take note of this: {why}")
    }
}

fn answer(
    hook: Hook<'_>,
    input: Result<Vec<u8>, Problem>,
    asker: &dyn Asker,
    resolver: &dyn Resolver,
) -> Reply {
    let dialect = hook.host.dialect();
    let input = match input {
        Ok(input) => input,
        Err(problem) => return fail(hook.host, hook.event, &problem.to_string()),
    };
    let asked = match dialect.decode(hook.event, &input, resolver) {
        Ok(asked) => asked,
        Err(refused) => {
            let why = broken(refused.event, &refused.problem.to_string());
            return dialect.encode(refused.event, &Outcome::No(why));
        }
    };
    let outcome = match asker.ask(&asked.request) {
        Ok(answer) => outcome(&asked.request, answer, hook.root),
        Err(why) => Err(why),
    };
    let outcome = match outcome {
        Ok(Outcome::Tell(_)) if !asked.may_tell => Outcome::Quiet,
        Ok(outcome) => outcome,
        Err(why) => Outcome::No(broken(Some(asked.event), &why)),
    };
    dialect.encode(Some(asked.event), &outcome)
}

/// What an answer means for the host; an error if it does not fit the request.
fn outcome(request: &Request, answer: Answer, root: &AbsPath) -> Result<Outcome, String> {
    match (request, answer) {
        (Request::Call { call, .. }, Answer::Verdict(verdict)) => Ok(ruled(verdict, &call.efforts, root)),
        (Request::Moment { .. }, Answer::Verdict(verdict)) => Ok(ruled(verdict, &[], root)),
        (Request::Done { .. } | Request::Moment { .. }, Answer::Noted { context }) => {
            Ok(context.filter(|text| !text.is_empty()).map_or(Outcome::Quiet, Outcome::Tell))
        }
        (_, Answer::Failed { why }) => Err(why),
        (Request::Call { .. }, Answer::Noted { .. }) | (Request::Done { .. }, Answer::Verdict(_)) => {
            Err("the answer does not fit the request".to_owned())
        }
    }
}

fn ruled(verdict: Verdict, efforts: &[Effort], root: &AbsPath) -> Outcome {
    match verdict.effect {
        Effect::Allow => Outcome::Quiet,
        Effect::Deny => Outcome::No(verdict.reason),
        Effect::Ask => Outcome::No(how_to_ask(&verdict.reason, efforts, root)),
    }
}

/// A refusal of what a person may allow, with the command that asks.
fn how_to_ask(reason: &str, efforts: &[Effort], root: &AbsPath) -> String {
    let reason = if reason.trim().is_empty() { "a person must allow this first" } else { reason.trim() };
    let mut text = format!("{reason}\nto ask for it, run:");
    for effort in efforts.iter().take(SHOWN) {
        for path in [Some(&effort.path), effort.to.as_ref()].into_iter().flatten() {
            let path = match root.strip(path) {
                Some(b"") | None => path.to_string(),
                Some(rest) => escape(rest),
            };
            text.push_str(&format!("\n  remit grant request {} {}", effort.verb, quoted(&path)));
        }
    }
    match efforts.len() {
        0 => text.push_str("\n  remit grant request"),
        n if n > SHOWN => text.push_str(&format!("\n  and so for {} more", n.saturating_sub(SHOWN))),
        _ => {}
    }
    text
}

/// One word for the shell.
fn quoted(text: &str) -> String {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',' | ':' | '@');
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
