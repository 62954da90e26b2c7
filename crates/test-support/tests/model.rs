//! The model server over a real socket, as a client library sees it.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};
use test_support::{Block, Model, Part, Script};

fn model() -> Result<Model> {
    let call = Block::tool("Write", json!({"file_path": "/a", "content": "é\n"}));
    let turns = [vec![Block::text("Now."), call], vec![Block::text("Done.")]];
    Model::start(Script::new().run("RUN-A", turns))
}

fn ask(model: &Model, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", model.port()))?;
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}");
    write!(stream, "{head}\r\n\r\n{body}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no head")?;
    Ok((head.split(' ').nth(1).context("no status")?.parse()?, body.to_owned()))
}

fn converse(model: &Model, stream: bool, messages: &Value) -> Result<String> {
    let body = json!({"model": "m", "stream": stream, "tools": [{"name": "Write"}], "messages": messages});
    let (status, answer) = ask(model, "POST", "/v1/messages?beta=true", &body.to_string())?;
    ensure!(status == 200, "{answer}");
    Ok(answer)
}

#[test]
fn a_whole_answer_has_the_turn_and_says_why_it_stops() {
    let answer = converse(&model().unwrap(), false, &json!([{"role": "user", "content": "RUN-A"}])).unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["stop_reason"], "tool_use");
    assert_eq!(answer["content"][0], json!({"type": "text", "text": "Now."}));
    assert_eq!(answer["content"][1]["input"]["content"], "é\n");
}

#[test]
fn a_streamed_answer_puts_together_to_the_same_turn() {
    let answer = converse(&model().unwrap(), true, &json!([{"role": "user", "content": "RUN-A"}])).unwrap();
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let names: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let want = [&["message_start"][..], &block, &block, &["message_delta", "message_stop"]].concat();
    assert_eq!(names, want);
    let input = events[5]["delta"]["partial_json"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(input).unwrap(), json!({"file_path": "/a", "content": "é\n"}));
}

#[test]
fn what_the_model_is_told_is_recorded_once_though_clients_repeat_it() {
    let model = model().unwrap();
    let told = json!([
        {"role": "user", "content": "RUN-A"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Write", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": true,
            "content": [{"type": "text", "text": "refused:"}, {"type": "text", "text": "RUN-A is no reason"}]}]},
    ]);
    let answers = [converse(&model, false, &told).unwrap(), converse(&model, false, &told).unwrap()];
    assert!(answers.iter().all(|answer| answer.contains("Done.")), "{answers:?}");
    let results = model.tool_results();
    assert_eq!(results.len(), 1);
    assert_eq!((results[0].is_error, results[0].text.as_str()), (true, "refused:\nRUN-A is no reason"));
    assert_eq!(model.exchanges()[0].body["messages"], told);
}

#[test]
fn side_requests_counts_and_probes_are_answered_and_told_apart() {
    let model = model().unwrap();
    let title = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "RUN-A"}]});
    assert_eq!(ask(&model, "POST", "/v1/messages", &title.to_string()).unwrap().0, 200);
    assert!(ask(&model, "POST", "/v1/messages/count_tokens", "{}").unwrap().1.contains("input_tokens"));
    assert_eq!(ask(&model, "HEAD", "/", "").unwrap().0, 200);
    let parts: Vec<Part> = model.exchanges().into_iter().map(|exchange| exchange.part).collect();
    assert_eq!(parts, [Part::Side, Part::Count, Part::Probe]);
    assert!(model.played().is_empty() && model.faults().is_empty());
}

#[test]
fn what_no_protocol_knows_is_refused_and_shows_up_as_a_fault() {
    let model = model().unwrap();
    assert_eq!(ask(&model, "POST", "/v1/telemetry", "{}").unwrap().0, 404);
    assert_eq!(ask(&model, "POST", "/v1/messages", "not json").unwrap().0, 400);
    assert_eq!(ask(&model, "POST", "/v1/messages", "{\"messages\": 1}").unwrap().0, 400);
    assert_eq!(model.faults().len(), 3, "{:?}", model.faults());
}

#[test]
fn dropping_the_server_ends_connections_that_clients_keep_open() {
    let model = model().unwrap();
    let mut kept = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
    kept.write_all(b"GET /v1/models HTTP/1.1\r\n\r\n").unwrap();
    let mut first = [0; 15];
    kept.read_exact(&mut first).unwrap();
    drop(model);
    let mut rest = Vec::new();
    kept.read_to_end(&mut rest).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
}
