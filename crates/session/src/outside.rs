//! A hook outside a session: the host was started without `remit run`. It opens the workspace itself; the
//! host's conversation is the session, and it is known only by its own word.

use crate::audit::Audit;
use crate::desk::{Desk, unjudged};
use crate::environment::Environment;
use crate::facts::Sight;
use crate::recorder::{Recorder, bounded, now};
use crate::workspace::{OpenError, Workspace};
use remit_core::wire::{Answer, Request};
use remit_core::{AbsPath, Actor, AgentName, Assurance, SessionId};
use remit_ledger::{Door, Event, Record};
use std::sync::Arc;

/// Why a hook outside a session cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum OutsideError {
    /// The workspace.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The folder is no workspace.
    #[error("`{0}` has no remit.yaml of its own")]
    NoPolicy(AbsPath),
    /// Nobody said which agent it is.
    #[error(
        "the policy has several agents ({}); install the hooks again with `--agent {}`, or another of them",
        .0.join(", "),
        .0.first().map_or("", String::as_str)
    )]
    WhichAgent(Vec<String>),
    /// The policy has none.
    #[error("the policy has no agent: add one to `agents:`")]
    NoAgent,
    /// A name that is none.
    #[error("`{0}` is not the name of an agent")]
    Name(String, #[source] remit_core::name::NameError),
}

/// Answers one request of a hook outside a session; `agent` is what the registered command says. What the hook
/// refused by itself is recorded whatever the policy says, or if it says nothing.
pub fn answer(
    root: &AbsPath,
    environment: &Environment,
    agent: Option<&str>,
    request: &Request,
) -> Result<Answer, OutsideError> {
    let conversation = match request {
        Request::Call { conversation, .. }
        | Request::Moment { conversation, .. }
        | Request::Refused { conversation, .. } => conversation.as_deref(),
        Request::Done { .. } | Request::Explain { .. } | Request::Tell { .. } => None,
    };
    // A host's id that is no name is left out rather than bent.
    let session = conversation.and_then(|id| SessionId::new(id).ok());
    if matches!(request, Request::Refused { .. }) {
        return note(root, environment, agent, session, request);
    }
    let workspace = Workspace::open(root.as_path(), environment)?;
    if workspace.root != *root {
        return Err(OutsideError::NoPolicy(root.clone()));
    }
    let workspace = &workspace;
    let agent = which_agent(workspace, agent)?;
    let policy = workspace.policy_outside()?;
    workspace.has_what_it_needs(&policy, agent.as_str())?;
    let actor = Actor { agent, session, assurance: Assurance::Claimed };
    let state = workspace.state()?;
    let audit = Audit::of(workspace, &state);
    let recorder = Recorder::new(workspace.ledger(&state)?, actor, &policy);
    let recorder = if audit.is_some() { recorder.keeping() } else { recorder };
    let desk = Desk::new(Arc::new(policy), recorder, Sight::outside(state.listings()), None);
    let answer = desk.answer(request, None);
    if let Some(audit) = &audit {
        let recorder = desk.recorder();
        audit.after_hook(recorder.take_kept(), &|record| recorder.append(record, false).ok());
    }
    desk.recorder().settle().map_err(OpenError::Ledger)?;
    Ok(answer)
}

/// Records a call that was refused without being judged, in a ledger that is there or of a workspace that has a
/// policy, good or bad.
fn note(
    root: &AbsPath,
    environment: &Environment,
    agent: Option<&str>,
    session: Option<SessionId>,
    request: &Request,
) -> Result<Answer, OutsideError> {
    let known = remit_config::find(root.as_path()).is_ok_and(|found| found.workspace == *root);
    // A policy that cannot be used asks for nothing.
    let workspace = Workspace::open(root.as_path(), environment).ok().filter(|_| known);
    let workspace = workspace.map_or_else(|| Workspace::bare(root, environment), Ok)?;
    let place = workspace.state_place()?;
    if !known && !place.ledger().is_dir() {
        return Err(OutsideError::NoPolicy(root.clone()));
    }
    let state = workspace.state()?;
    let ledger = workspace.ledger(&state)?;
    let mut record = bounded(unjudged(Record::new(now(), Event::Call).at(Door::Hook), request));
    let variable = environment.get("REMIT_AGENT").map(|name| name.to_string_lossy());
    record.agent = agent.or(variable.as_deref()).and_then(|name| AgentName::new(name).ok());
    record.session = session;
    record.assurance = Some(Assurance::Claimed);
    let receipt = ledger.append_record(&record).map_err(OpenError::Ledger)?;
    if let Some(audit) = Audit::of(&workspace, &state) {
        audit.after_hook(vec![(receipt, record)], &|more| ledger.append_record(more).ok());
    }
    ledger.sync().map_err(OpenError::Ledger)?;
    Ok(Answer::Noted { context: None })
}

fn which_agent(workspace: &Workspace, registered: Option<&str>) -> Result<AgentName, OutsideError> {
    let named = |name: &str| AgentName::new(name).map_err(|e| OutsideError::Name(name.to_owned(), e));
    if let Some(name) = registered {
        return named(name);
    }
    if let Some(name) = workspace.environment().get("REMIT_AGENT") {
        return named(&name.to_string_lossy());
    }
    let agents = &workspace.source.agents;
    match agents.keys().collect::<Vec<_>>().as_slice() {
        [only] => named(only),
        [] => Err(OutsideError::NoAgent),
        _ => Err(OutsideError::WhichAgent(agents.keys().cloned().collect())),
    }
}
