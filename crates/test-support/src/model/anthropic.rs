//! The Anthropic Messages protocol, streamed and whole.

use super::{
    conversation::{Conversation, Message, ToolResult},
    dialect::{Dialect, Door},
    http::{Reply, Request},
    script::Block,
};
use serde_json::{Value, json};

/// `POST /v1/messages` and what lies around it.
pub(super) struct Anthropic;

impl Dialect for Anthropic {
    fn door(&self, request: &Request) -> Option<Door> {
        match (request.method.as_str(), request.path()) {
            ("POST", "/v1/messages") => Some(Door::Converse),
            ("POST", "/v1/messages/count_tokens") => Some(Door::Count),
            ("GET" | "HEAD", "/" | "/v1/models" | "/api/hello") => Some(Door::Probe),
            _ => None,
        }
    }

    fn read(&self, _request: &Request, body: &Value) -> Result<Conversation, String> {
        let messages = body["messages"].as_array().ok_or("`messages` is not a list")?;
        let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(Conversation {
            model: body["model"].as_str().ok_or("`model` is not text")?.to_owned(),
            stream: body["stream"].as_bool().unwrap_or(false),
            system: texts(&body["system"]).join("\n"),
            tools: tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect(),
            messages: messages.iter().map(message).collect(),
        })
    }

    fn turn(&self, conversation: &Conversation, id: &str, blocks: &[Block]) -> Reply {
        let content: Vec<Value> = blocks.iter().enumerate().map(|(n, block)| whole(id, n, block)).collect();
        let calls = blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        let stop = if calls { "tool_use" } else { "end_turn" };
        let head = json!({
            "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": conversation.model,
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 1},
        });
        if conversation.stream {
            return Reply::events(&stream(head, &content, stop));
        }
        let mut answer = head;
        answer["content"] = Value::Array(content);
        answer["stop_reason"] = json!(stop);
        Reply::json(200, &answer)
    }

    fn other(&self, door: Door) -> Reply {
        match door {
            Door::Count => Reply::json(200, &json!({"input_tokens": 10})),
            Door::Probe | Door::Converse => Reply::json(200, &json!({"data": [], "has_more": false})),
        }
    }

    fn refuse(&self, status: u16, words: &str) -> Reply {
        let kind = if status == 404 { "not_found_error" } else { "invalid_request_error" };
        Reply::json(status, &json!({"type": "error", "error": {"type": kind, "message": words}}))
    }
}

fn message(value: &Value) -> Message {
    let results = value["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    Message {
        assistant: value["role"] == "assistant",
        texts: texts(&value["content"]),
        results: results.iter().filter(|block| block["type"] == "tool_result").map(result).collect(),
    }
}

fn result(block: &Value) -> ToolResult {
    ToolResult {
        tool_use_id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
        is_error: block["is_error"].as_bool().unwrap_or(false),
        text: texts(&block["content"]).join("\n"),
    }
}

/// The texts of content, which is text or a list of blocks.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn whole(id: &str, n: usize, block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::ToolUse { name, input } => {
            json!({"type": "tool_use", "id": format!("toolu_{id}_{n}"), "name": name, "input": input})
        }
    }
}

/// The events of a streamed turn, each with its name.
fn stream(head: Value, content: &[Value], stop: &str) -> Vec<(&'static str, Value)> {
    let mut events = vec![("message_start", json!({"type": "message_start", "message": head}))];
    for (index, block) in content.iter().enumerate() {
        let mut empty = block.clone();
        let delta = if block["type"] == "text" {
            empty["text"] = json!("");
            json!({"type": "text_delta", "text": block["text"]})
        } else {
            empty["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
        };
        events.push((
            "content_block_start",
            json!({"type": "content_block_start", "index": index, "content_block": empty}),
        ));
        events.push((
            "content_block_delta",
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ));
        events.push(("content_block_stop", json!({"type": "content_block_stop", "index": index})));
    }
    let last = json!({
        "type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
        "usage": {"output_tokens": 10},
    });
    events.push(("message_delta", last));
    events.push(("message_stop", json!({"type": "message_stop"})));
    events
}
