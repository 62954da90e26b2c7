//! The door itself: decode, ask, encode. Whatever goes wrong on the way (a panic, a broken input, no answer,
//! no time) comes out as a denial in the host's dialect wherever the event can block; and in the ledger, if whoever
//! is asked can still write that.

use crate::dialect::{About, Event, Host, LONGEST_INPUT, Outcome, Problem, Reply};
use crate::resolve::Resolver;
use remit_core::Effect;
use remit_core::wire::{Answer, Request, VERSION, Verdict};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long judging a call may take.
pub const JUDGING: Duration = Duration::from_millis(1500);

/// How long taking note of a call may take that could not be judged. Both together are 2 s.
pub const NOTING: Duration = Duration::from_millis(500);

/// How much of what is wrong with an input is recorded, in characters.
const LONGEST_WHY: usize = 1000;

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
        .unwrap_or_else(|_| unjudged(hook, "an internal error", asker))
}

/// The denial of a call that could not be judged, once it is recorded, if it can be.
pub fn unjudged(hook: Hook<'_>, why: &str, asker: &dyn Asker) -> Reply {
    let event = hook.host.dialect().event(hook.event);
    let refuse = || refuse(hook.host, event, About::default(), why, asker);
    catch_unwind(AssertUnwindSafe(refuse)).unwrap_or_else(|_| fail(hook.host, hook.event, why))
}

/// Does `work` (reading the input included) on a thread of its own; an error, for the agent, if it takes longer than
/// `budget` or ends without a reply. The thread is left behind: the process ends after the reply.
pub fn within(budget: Duration, work: impl FnOnce() -> Reply + Send + 'static) -> Result<Reply, String> {
    let (send, receive) = channel();
    std::thread::Builder::new()
        .name("hook".to_owned())
        .spawn(move || {
            // If nobody waits any more, the denial has been given.
            drop(send.send(work()));
        })
        .map_err(|e| format!("no thread could be started: {e}"))?;
    receive.recv_timeout(budget).map_err(|e| match e {
        RecvTimeoutError::Timeout => format!("no answer within {} ms", budget.as_millis()),
        RecvTimeoutError::Disconnected => "an internal error".to_owned(),
    })
}

/// The reply when there is no answer, whatever the reason.
pub fn fail(host: Host, event: &str, why: &str) -> Reply {
    let dialect = host.dialect();
    let event = dialect.event(event);
    dialect.encode(event, &Outcome::No(broken(event, why)))
}

/// A denial of what cannot be judged. Where the event can block, it is recorded first.
fn refuse(host: Host, event: Option<Event>, about: About, why: &str, asker: &dyn Asker) -> Reply {
    let mut text = broken(event, why);
    if event.is_none_or(Event::blocks) {
        let noted = asker.ask(&Request::Refused {
            version: VERSION,
            host: host.word().to_owned(),
            conversation: about.conversation,
            tool: about.tool,
            id: about.call,
            why: why.chars().take(LONGEST_WHY).collect(),
        });
        match noted {
            Ok(Answer::Noted { .. }) => {}
            Ok(Answer::Failed { why: same }) | Err(same) if same == why => {
                text.push_str("\nit is not recorded")
            }
            Ok(Answer::Failed { why }) | Err(why) => text.push_str(&format!("\nit is not recorded: {why}")),
            Ok(Answer::Verdict(_) | Answer::Explained { .. } | Answer::Told { .. }) => {
                text.push_str("\nit is not recorded: the answer does not fit")
            }
        }
    }
    host.dialect().encode(event, &Outcome::No(text))
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
        Err(problem) => return unjudged(hook, &problem.to_string(), asker),
    };
    let asked = match dialect.decode(hook.event, &input, resolver) {
        Ok(asked) => asked,
        Err(refused) => {
            return refuse(hook.host, refused.event, refused.about, &refused.problem.to_string(), asker);
        }
    };
    let outcome = match asker.ask(&asked.request) {
        Ok(answer) => outcome(&asked.request, answer),
        Err(why) => Err(why),
    };
    match outcome {
        Ok(Outcome::Tell(_)) if !asked.may_tell => dialect.encode(Some(asked.event), &Outcome::Quiet),
        Ok(outcome) => dialect.encode(Some(asked.event), &outcome),
        Err(why) => refuse(hook.host, Some(asked.event), About::of(&asked.request), &why, asker),
    }
}

/// What an answer means for the host; an error if it does not fit the request.
fn outcome(request: &Request, answer: Answer) -> Result<Outcome, String> {
    match (request, answer) {
        (Request::Call { .. } | Request::Moment { .. }, Answer::Verdict(verdict)) => Ok(ruled(verdict)),
        (Request::Done { .. } | Request::Moment { .. }, Answer::Noted { context }) => {
            Ok(context.filter(|text| !text.is_empty()).map_or(Outcome::Quiet, Outcome::Tell))
        }
        (_, Answer::Failed { why }) => Err(why),
        _ => Err("the answer does not fit the request".to_owned()),
    }
}

fn ruled(verdict: Verdict) -> Outcome {
    match verdict.effect {
        Effect::Allow => Outcome::Quiet,
        // Nobody can be asked yet, and the reason says so.
        Effect::Deny | Effect::Ask => Outcome::No(verdict.reason),
    }
}
