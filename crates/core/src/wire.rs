//! What goes over the session's socket: one JSON object a line, a request and its answer. Connecting is the
//! identity; nothing here says who is asking.

use crate::{AbsPath, AgentName, CallId, Effect, Layer, Object, Rule, Verb};
use serde::{Deserialize, Serialize};

/// Version of this wire; the holder refuses another one.
pub const VERSION: u32 = 1;

/// The longest line that is read, in bytes: the longest hook input and what wraps it.
pub const LONGEST_LINE: usize = 34 << 20;

/// The folder that exists only inside a view.
pub const INSIDE: &str = "/run/remit/session";

/// The session's socket, in [`INSIDE`].
pub const SOCKET: &str = "/run/remit/session/socket";

/// What the launch tries to make in [`INSIDE`] before the program starts, to see that it is refused.
pub const CANARY: &str = "/run/remit/session/canary";

/// The conversation that a call bears which only tests whether the hook refuses.
pub const CANARY_CONVERSATION: &str = "remit-canary";

/// One thing that a tool call will do, as far as its arguments show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// What.
    pub verb: Verb,
    /// The path as the agent wrote it.
    pub asked: String,
    /// The path as the kernel names it.
    pub path: AbsPath,
    /// The other end of a rename or link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AbsPath>,
}

/// A tool call as the agent's host described it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The host's number of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<CallId>,
    /// The tool, by the host's name.
    pub tool: String,
    /// The command line, for tools that run one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What it will do. May be empty: then only the kernel sees what it does.
    pub efforts: Vec<Effort>,
    /// The subagent within the session, if it is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
}

/// A moment in a session's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// The host started or resumed a conversation.
    SessionStart,
    /// A person sent a prompt.
    Prompt,
    /// The agent ended its turn.
    Stop,
    /// A subagent started.
    SubagentStart,
    /// A subagent ended its turn.
    SubagentStop,
    /// The host ended the conversation.
    SessionEnd,
}

/// What can be told of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Telling {
    /// What it needs, and whether its rules grant that.
    Requires,
    /// What the other agents offer, and whether its rules grant that.
    Provides,
    /// Its whole remit.
    Remit,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// May this tool call be made?
    Call {
        /// [`VERSION`] of the asker.
        version: u32,
        /// Which host: `claude`.
        host: String,
        /// The host's id of the conversation.
        conversation: Option<String>,
        /// The call.
        call: ToolCall,
    },
    /// The tool call has ended.
    Done {
        /// [`VERSION`] of the asker.
        version: u32,
        /// The host's number of the call.
        id: CallId,
        /// Whether it did what it should.
        ok: bool,
    },
    /// A call that the hook refuses by itself, since it cannot be judged. Noted once it is in the ledger.
    Refused {
        /// [`VERSION`] of the asker.
        version: u32,
        /// Which host.
        host: String,
        /// The host's id of the conversation, if it could be read.
        conversation: Option<String>,
        /// The tool, if it could be read.
        tool: Option<String>,
        /// The host's number of the call, if it could be read.
        id: Option<CallId>,
        /// What is wrong.
        why: String,
    },
    /// A moment in the session's life.
    Moment {
        /// [`VERSION`] of the asker.
        version: u32,
        /// Which host.
        host: String,
        /// The host's id of the conversation.
        conversation: Option<String>,
        /// Which moment.
        moment: Moment,
        /// The subagent that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subagent: Option<String>,
    },
    /// Why would the session's own agent be answered so? Nothing is done, and nothing recorded.
    Explain {
        /// [`VERSION`] of the asker.
        version: u32,
        /// The agent that is asked about; any other than the session's own is not told of.
        agent: AgentName,
        /// What it would do.
        verb: Verb,
        /// To what; paths as the kernel names them in the session.
        object: Object,
    },
    /// What does the policy say of the session's own agent, or to it? Nothing is done, and nothing recorded.
    Tell {
        /// [`VERSION`] of the asker.
        version: u32,
        /// The agent that is asked about, if not the session's own; of another one nothing is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentName>,
        /// What is asked.
        what: Telling,
    },
}

impl Request {
    /// [`VERSION`] of the asker.
    pub fn version(&self) -> u32 {
        match self {
            Request::Call { version, .. }
            | Request::Refused { version, .. }
            | Request::Done { version, .. }
            | Request::Moment { version, .. }
            | Request::Explain { version, .. }
            | Request::Tell { version, .. } => *version,
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// The verdict on a tool call.
    Verdict(Verdict),
    /// Noted; with words for the agent's context, if there are any.
    Noted {
        /// Text that the agent should read now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<String>,
    },
    /// The decision that would be given, explained.
    Explained {
        /// The policy's explanation as JSON text.
        explanation: String,
    },
    /// What was asked by [`Request::Tell`].
    Told {
        /// The policy's answer as JSON text.
        told: String,
    },
    /// The request could not be served: the asker must treat it as a denial.
    Failed {
        /// Why.
        why: String,
    },
}

/// The verdict on a tool call: the most restrictive of its efforts'.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Allow, ask or deny.
    pub effect: Effect,
    /// The layer that decided, when the answer is not allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// The rule that decided, when it is one rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// For the agent: what was refused, by which rule, what it may do instead. Empty when allowed.
    #[serde(default)]
    pub reason: String,
}
