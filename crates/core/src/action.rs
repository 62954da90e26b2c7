//! What somebody wants to do: an actor, a verb, an object.

use crate::{AbsPath, AgentName, SessionId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How an actor is known; recorded with every action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Assurance {
    /// By its own word only.
    Claimed,
    /// By a secret that it showed.
    Token,
    /// By the kernel: the process lives in the session's view.
    Kernel,
}

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The member of the team.
    pub agent: AgentName,
    /// Its session, if it is in one.
    pub session: Option<SessionId>,
    /// How it is known.
    pub assurance: Assurance,
}

/// What is done, whatever the tool or system call is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Reading content or listing a folder.
    Read,
    /// Changing content, mode, owner, times or attributes of what exists.
    Write,
    /// Making a file, folder, link, socket or pipe.
    Create,
    /// Removing a name.
    Delete,
    /// Moving, or giving a second name to, what exists.
    Rename,
    /// Starting a program from a file.
    Execute,
    /// Opening a network connection.
    Connect,
    /// Calling a tool of the host's, whatever it does.
    Call,
}

impl Verb {
    /// Every verb of the file tree, in the order of the documentation.
    pub const FILES: [Verb; 6] =
        [Verb::Read, Verb::Write, Verb::Create, Verb::Delete, Verb::Rename, Verb::Execute];

    /// Whether the verb changes the file tree.
    pub fn changes(self) -> bool {
        matches!(self, Verb::Write | Verb::Create | Verb::Delete | Verb::Rename)
    }

    /// The verb as a word.
    pub fn word(self) -> &'static str {
        match self {
            Verb::Read => "read",
            Verb::Write => "write",
            Verb::Create => "create",
            Verb::Delete => "delete",
            Verb::Rename => "rename",
            Verb::Execute => "execute",
            Verb::Connect => "connect",
            Verb::Call => "call",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl std::str::FromStr for Verb {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Verb::FILES.as_slice(), &[Verb::Connect, Verb::Call]].concat();
        all.into_iter().find(|v| v.word() == text).ok_or_else(|| {
            format!("`{text}` is not a verb (read, write, create, delete, rename, execute, connect, call)")
        })
    }
}

/// What it is done to. Paths are resolved: no links, no dots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Object {
    /// A file or folder.
    Path(AbsPath),
    /// A rename or a hard link: both ends count.
    Move {
        /// The name that exists.
        from: AbsPath,
        /// The name that will exist.
        to: AbsPath,
    },
    /// A host and port.
    Host {
        /// Name or address.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// A tool, by the host's name.
    Tool(String),
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Object::Path(path) => write!(f, "{path}"),
            Object::Move { from, to } => write!(f, "{from} -> {to}"),
            Object::Host { host, port } => write!(f, "{}:{port}", crate::path::escape(host.as_bytes())),
            Object::Tool(name) => f.write_str(&crate::path::escape(name.as_bytes())),
        }
    }
}

/// Somebody wants to do something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Who.
    pub actor: Actor,
    /// What.
    pub verb: Verb,
    /// To what.
    pub object: Object,
}
