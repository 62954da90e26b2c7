//! What a client asked, in one shape for every vendor's protocol.

/// A request for the next turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conversation {
    /// The model that was asked for.
    pub model: String,
    /// The answer is wanted as a stream of events.
    pub stream: bool,
    /// The system prompt, its parts joined by newlines.
    pub system: String,
    /// Names of the tools on offer.
    pub tools: Vec<String>,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// The model said it; otherwise the client did.
    pub assistant: bool,
    /// Its text blocks.
    pub texts: Vec<String>,
    /// What its tool calls returned.
    pub results: Vec<ToolResult>,
}

/// What the model was told about one tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The call.
    pub tool_use_id: String,
    /// It failed or was refused.
    pub is_error: bool,
    /// Its text blocks, joined by newlines.
    pub text: String,
}

impl Conversation {
    /// The messages' results, oldest first.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.messages.iter().flat_map(|message| &message.results)
    }
}
