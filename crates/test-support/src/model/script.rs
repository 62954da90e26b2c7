//! What the model says. A run is picked by its marker in the client's text, and moved on by the number of
//! assistant turns since: so the server keeps no state, and a request that is sent again gets the same answer.

use super::conversation::Conversation;
use serde_json::Value;

/// What a side request gets: a title, a topic, a quota probe. Harmless wherever it is shown.
const SIDE: &str = "Scratch task";
/// What a run says when it has been played to its end and is asked again.
const OVER: &str = "The script is over.";
/// What a prompt gets that names no run.
const UNKNOWN: &str = "This prompt names no run of the script.";

/// One block of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Words.
    Text(String),
    /// A call of a tool of the client.
    ToolUse {
        /// The tool's name as the client offers it.
        name: String,
        /// Its arguments, a JSON object.
        input: Value,
    },
}

impl Block {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A call of `name` with `input`.
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::ToolUse { name: name.into(), input }
    }
}

/// Runs by marker. A marker is text that stands in the prompt, `RUN-A` say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    runs: Vec<Run>,
}

#[derive(Debug, Clone, PartialEq)]
struct Run {
    marker: String,
    turns: Vec<Vec<Block>>,
}

/// What a request was to the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A turn of a run, counted from 0.
    Turn {
        /// The run.
        marker: String,
        /// The turn.
        turn: usize,
    },
    /// A run that had no more turns.
    Over {
        /// The run.
        marker: String,
    },
    /// It offered tools but named no run: most often a mistake in the test.
    Unknown,
    /// It offered no tools: a title, a summary, a quota probe.
    Side,
    /// A count of tokens.
    Count,
    /// A look at the server: list of models, health.
    Probe,
}

impl Script {
    /// A script without runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a run: for a prompt that holds `marker`, these turns.
    #[must_use]
    pub fn run(mut self, marker: impl Into<String>, turns: impl IntoIterator<Item = Vec<Block>>) -> Self {
        self.runs.push(Run { marker: marker.into(), turns: turns.into_iter().collect() });
        self
    }

    /// What comes next in `conversation`.
    pub(super) fn next(&self, conversation: &Conversation) -> (Part, Vec<Block>) {
        if conversation.tools.is_empty() {
            return (Part::Side, vec![Block::text(SIDE)]);
        }
        let Some((run, turn)) = self.place(conversation) else {
            return (Part::Unknown, vec![Block::text(UNKNOWN)]);
        };
        let marker = run.marker.clone();
        match run.turns.get(turn) {
            Some(blocks) => (Part::Turn { marker, turn }, blocks.clone()),
            None => (Part::Over { marker }, vec![Block::text(OVER)]),
        }
    }

    /// The run that the newest marked message of the client names, and the assistant turns since.
    fn place(&self, conversation: &Conversation) -> Option<(&Run, usize)> {
        let mut turns = 0;
        for message in conversation.messages.iter().rev() {
            if message.assistant {
                turns += 1;
            } else if let Some(run) = message.texts.iter().rev().find_map(|text| self.named(text)) {
                return Some((run, turns));
            }
        }
        None
    }

    /// The run whose marker stands last in `text`; of two that begin at one place, the longer.
    fn named(&self, text: &str) -> Option<&Run> {
        self.runs
            .iter()
            .filter_map(|run| text.rfind(&run.marker).map(|at| (at, run.marker.len(), run)))
            .max_by_key(|(at, length, _)| (*at, *length))
            .map(|(_, _, run)| run)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::conversation::Message, *};

    fn said(assistant: bool, text: &str) -> Message {
        Message { assistant, texts: vec![text.to_owned()], results: Vec::new() }
    }

    fn asked(messages: Vec<Message>) -> Conversation {
        Conversation { tools: vec!["Write".to_owned()], messages, ..Conversation::default() }
    }

    fn script() -> Script {
        Script::new()
            .run("RUN-A", [vec![Block::text("a0")], vec![Block::text("a1")]])
            .run("RUN-AB", [vec![Block::text("ab0")]])
    }

    fn words(conversation: &Conversation) -> String {
        match script().next(conversation).1.as_slice() {
            [Block::Text(text)] => text.clone(),
            other => panic!("not one text: {other:?}"),
        }
    }

    #[test]
    fn a_run_moves_on_by_the_assistant_turns_in_the_request() {
        let first = asked(vec![said(false, "please RUN-A")]);
        assert_eq!(words(&first), "a0");
        assert_eq!(words(&first), "a0", "a request that is sent again gets the same answer");
        let second = asked(vec![said(false, "RUN-A"), said(true, "a0"), said(false, "tool came back")]);
        assert_eq!(words(&second), "a1");
    }

    #[test]
    fn a_second_prompt_in_one_conversation_starts_its_own_run() {
        let both = asked(vec![said(false, "RUN-A"), said(true, "a0"), said(false, "now RUN-AB")]);
        assert_eq!(words(&both), "ab0");
    }

    #[test]
    fn a_run_that_is_over_and_a_prompt_that_names_none_are_told_apart() {
        let over = asked(vec![said(false, "RUN-AB"), said(true, "ab0"), said(false, "go on")]);
        assert_eq!(script().next(&over).0, Part::Over { marker: "RUN-AB".to_owned() });
        assert_eq!(script().next(&asked(vec![said(false, "hello")])).0, Part::Unknown);
    }

    #[test]
    fn a_request_without_tools_never_uses_up_a_turn() {
        let title = Conversation { tools: Vec::new(), ..asked(vec![said(false, "title for: RUN-A")]) };
        assert_eq!(script().next(&title).0, Part::Side);
    }

    #[test]
    fn a_marker_said_by_the_model_picks_nothing() {
        assert_eq!(script().next(&asked(vec![said(true, "RUN-A")])).0, Part::Unknown);
    }
}
