//! What a vendor's protocol must say to stand behind the server. To add one: a file with a unit struct that
//! implements [`Dialect`], and a line in [`ALL`].

use super::{
    anthropic::Anthropic,
    conversation::Conversation,
    http::{Reply, Request},
    script::Block,
};
use serde_json::Value;

/// The protocols that the server speaks; the first that knows a path has it.
pub(super) const ALL: [&dyn Dialect; 1] = [&Anthropic];

/// What a path of a protocol is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    /// The next turn.
    Converse,
    /// A count of tokens.
    Count,
    /// A list of models and the like.
    Probe,
}

/// One vendor's protocol. Stateless.
pub(super) trait Dialect: Sync {
    /// What this method and path are for; `None`: not of this protocol.
    fn door(&self, request: &Request) -> Option<Door>;

    /// The request in common words. `Err` says in words what is missing.
    fn read(&self, request: &Request, body: &Value) -> Result<Conversation, String>;

    /// The turn in this protocol. `id` is unique per marker and turn, and made of letters, digits, `_` and `-`;
    /// call ids are derived from it.
    fn turn(&self, conversation: &Conversation, id: &str, blocks: &[Block]) -> Reply;

    /// The answer to a count or probe.
    fn other(&self, door: Door) -> Reply;

    /// An error in this protocol.
    fn refuse(&self, status: u16, words: &str) -> Reply;
}
