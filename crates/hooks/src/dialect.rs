//! What every host's dialect has in common: the events, the reply, and what can be wrong with an input.

use crate::install::Command;
use crate::resolve::{ResolveError, Resolver};
use remit_core::wire::Request;
use remit_core::{AbsPath, CallId, Verb};
use serde_json::Value;

/// The longest hook input that is decided, in bytes. A longer one is denied.
pub const LONGEST_INPUT: usize = 32 << 20;

/// The agent programs whose hooks are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Host {
    /// Claude Code.
    Claude,
}

impl Host {
    /// Every host.
    pub const ALL: [Host; 1] = [Host::Claude];

    /// The word for it on the command line and on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Host::Claude => "claude",
        }
    }

    /// Its dialect.
    pub fn dialect(self) -> &'static dyn Dialect {
        match self {
            Host::Claude => &crate::host::Claude,
        }
    }
}

impl std::str::FromStr for Host {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Host::ALL
            .into_iter()
            .find(|h| h.word() == text)
            .ok_or_else(|| format!("`{text}` is not a host (claude)"))
    }
}

/// The moments at which a host calls, whatever it calls them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// Before a tool call; can block.
    BeforeTool,
    /// After a tool call that worked.
    AfterTool,
    /// After a tool call that failed.
    ToolFailed,
    /// A conversation starts or is resumed.
    SessionStart,
    /// A prompt was sent; can block.
    Prompt,
    /// The agent ended its turn.
    Stop,
    /// A subagent starts.
    SubagentStart,
    /// A subagent ended its turn.
    SubagentStop,
    /// The conversation ends.
    SessionEnd,
}

impl Event {
    /// Every event, in the order in which they are registered.
    pub const ALL: [Event; 9] = [
        Event::BeforeTool,
        Event::AfterTool,
        Event::ToolFailed,
        Event::SessionStart,
        Event::Prompt,
        Event::Stop,
        Event::SubagentStart,
        Event::SubagentStop,
        Event::SessionEnd,
    ];

    /// Whether a refusal here keeps something from happening. Where a turn ends, "blocking" would only make
    /// the agent go on, so that does not count.
    pub fn blocks(self) -> bool {
        matches!(self, Event::BeforeTool | Event::Prompt)
    }
}

/// What the hook process answers its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Exit code: 0 or 2.
    pub code: u8,
}

impl Reply {
    /// No words, exit 0: the host goes on as it would without us.
    pub fn quiet() -> Self {
        Self { stdout: Vec::new(), stderr: Vec::new(), code: 0 }
    }
}

/// What is to be said, before it is put in a dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// No opinion.
    Quiet,
    /// Words for the agent's context.
    Tell(String),
    /// Refused, with the reason. Where the event cannot block, only told.
    No(String),
}

/// A decoded input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Which event it is.
    pub event: Event,
    /// The question for the session.
    pub request: Request,
    /// Whether words may be put into the context now. Not when the turn is already prolonged by such words:
    /// it would never end.
    pub may_tell: bool,
}

/// An input that could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The event, as far as it is known. Unknown counts as one that blocks.
    pub event: Option<Event>,
    /// What is wrong.
    pub problem: Problem,
    /// What could be read all the same.
    pub about: About,
}

/// What a payload says of itself, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// The host's id of the conversation.
    pub conversation: Option<String>,
    /// The tool, by the host's name.
    pub tool: Option<String>,
    /// The host's number of the call.
    pub call: Option<CallId>,
}

impl About {
    /// What a request says.
    pub(crate) fn of(request: &Request) -> Self {
        match request {
            Request::Call { conversation, call, .. } => Self {
                conversation: conversation.clone(),
                tool: Some(call.tool.clone()),
                call: call.id.clone(),
            },
            Request::Moment { conversation, .. } => {
                Self { conversation: conversation.clone(), ..Self::default() }
            }
            Request::Done { .. }
            | Request::Refused { .. }
            | Request::Explain { .. }
            | Request::Tell { .. } => Self::default(),
        }
    }
}

/// One host's dialect.
pub trait Dialect: Send + Sync {
    /// The settings file of a workspace in which hooks are registered: one that is not shared, since the entry
    /// names this machine's paths.
    fn settings_file(&self) -> &'static str;

    /// The host's name of an event.
    fn name(&self, event: Event) -> &'static str;

    /// The event that the host calls so.
    fn event(&self, name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|e| self.name(*e) == name)
    }

    /// Decodes what the host wrote for the event that was registered as `event`.
    fn decode(&self, event: &str, input: &[u8], resolver: &dyn Resolver) -> Result<Asked, Refused>;

    /// Puts an outcome into the dialect; `None` is an event that is not known, and blocks.
    fn encode(&self, event: Option<Event>, outcome: &Outcome) -> Reply;

    /// The group to register for an event, as JSON text on one line, in the order in which it should read.
    fn entry(&self, event: Event, command: &Command) -> String;

    /// Whether a registered handler of this event is one that Remit made, by any version, for any root.
    fn is_ours(&self, event: Event, handler: &Value) -> bool;

    /// A call that every policy must deny: a write of `path`, asked from `cwd`.
    fn canary(&self, cwd: &AbsPath, path: &AbsPath) -> Vec<u8>;

    /// Whether what a hook process answered to [`Dialect::canary`] is a denial in this dialect.
    fn is_denial(&self, stdout: &[u8], code: u8) -> bool;
}

/// Why an input could not be decoded. Each is answered with a denial where the event can block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Nothing came.
    #[error("the hook input is empty")]
    Empty,
    /// More than [`LONGEST_INPUT`] came.
    #[error("the hook input is longer than {} MiB", LONGEST_INPUT >> 20)]
    TooLong,
    /// Standard input could not be read.
    #[error("the hook input could not be read: {0}")]
    Unread(String),
    /// Bytes that are not UTF-8.
    #[error("the hook input is not UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// Text that is not JSON.
    #[error("the hook input is not JSON: {0}")]
    NotJson(String),
    /// JSON in which something is missing, doubled or of the wrong kind.
    #[error("the hook input has not the shape that is expected: {0}")]
    Shape(String),
    /// An event that is not known.
    #[error("`{0}` is not an event that is known here")]
    UnknownEvent(String),
    /// The payload is of another event than the one that was registered.
    #[error("the hook is registered for `{registered}`, but the input is of `{sent}`")]
    OtherEvent {
        /// From the command line.
        registered: String,
        /// From the input.
        sent: String,
    },
    /// A tool's input lacks what it needs, or has it in the wrong kind.
    #[error("the input of `{tool}` {what}")]
    Tool {
        /// The tool, by the host's name.
        tool: String,
        /// What is wrong: `has no string \`file_path\``.
        what: String,
    },
    /// A path that cannot be named.
    #[error("`{asked}` cannot be resolved: {why}")]
    Path {
        /// As the agent wrote it.
        asked: String,
        /// Why.
        why: ResolveError,
    },
    /// More paths than are judged in one call.
    #[error("the call names more than {0} paths")]
    TooMany(usize),
    /// A command line that is longer than any shell takes.
    #[error("the command is longer than {0} bytes")]
    LongCommand(usize),
}

/// The verb for opening a file for writing.
pub(crate) fn write_or_create(exists: bool) -> Verb {
    if exists { Verb::Write } else { Verb::Create }
}
