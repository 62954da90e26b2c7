//! A hook outside a session: the host was started without `remit run`. It opens the workspace itself; the
//! host's conversation is the session, and it is known only by its own word.

use crate::desk::Desk;
use crate::recorder::Recorder;
use crate::workspace::{OpenError, Workspace};
use remit_core::wire::{Answer, Request};
use remit_core::{Actor, AgentName, Assurance, SessionId};
use std::sync::Arc;

/// Why a hook outside a session cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum OutsideError {
    /// The workspace.
    #[error(transparent)]
    Open(#[from] OpenError),
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

/// Answers one request of a hook outside a session; `agent` is what the registered command says.
pub fn answer(workspace: &Workspace, agent: Option<&str>, request: &Request) -> Result<Answer, OutsideError> {
    let agent = which_agent(workspace, agent)?;
    let policy = workspace.policy_outside()?;
    let conversation = match request {
        Request::Call { conversation, .. } | Request::Moment { conversation, .. } => conversation.as_deref(),
        Request::Done { .. } => None,
    };
    // A host's id that is no name is left out rather than bent.
    let session = conversation.and_then(|id| SessionId::new(id).ok());
    let actor = Actor { agent, session, assurance: Assurance::Claimed };
    let state = workspace.state()?;
    let recorder = Recorder::new(workspace.ledger(&state)?, actor, &policy);
    let desk = Desk::new(Arc::new(policy), recorder, None);
    let answer = desk.answer(request, None);
    desk.recorder().settle().map_err(OpenError::Ledger)?;
    Ok(answer)
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
