//! The listener, a thread per connection, and the record of all that was asked.

use super::{
    conversation::{Conversation, ToolResult},
    dialect::{ALL, Dialect, Door},
    http::{self, Reply, Request},
    script::{Part, Script},
};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::{
    collections::HashSet,
    io::{self, BufReader},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

/// A request and what it was to the script.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// `POST`, `GET` or `HEAD`.
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// The body, as sent; null when there was none.
    pub body: Value,
    /// The body in common words; empty for what is no conversation.
    pub conversation: Conversation,
    /// What it was to the script.
    pub part: Part,
}

/// A model server on 127.0.0.1, at a port that the kernel picks. It ends when dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    exchanges: Vec<Exchange>,
    faults: Vec<String>,
    connections: Vec<(TcpStream, JoinHandle<()>)>,
    over: bool,
}

impl Model {
    /// Starts a server that plays `script`.
    pub fn start(script: Script) -> Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on loopback")?;
        let address = socket.local_addr()?;
        let shared = Arc::new(Shared { script, record: Mutex::default() });
        let listener = thread::Builder::new().name("model".into()).spawn({
            let shared = Arc::clone(&shared);
            move || listen(&socket, &shared)
        })?;
        Ok(Self { address, shared, listener: Some(listener) })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address as clients want it, `http://127.0.0.1:PORT`, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far, oldest first.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.record().exchanges.clone()
    }

    /// What the model was told about its tool calls, each call once, in the order of the telling.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        let mut seen = HashSet::new();
        let record = self.shared.record();
        let told = record.exchanges.iter().flat_map(|exchange| exchange.conversation.results());
        told.filter(|result| seen.insert(result.tool_use_id.clone())).cloned().collect()
    }

    /// The turns of the script that were played, as marker and turn, each once.
    pub fn played(&self) -> Vec<(String, usize)> {
        let mut played = Vec::new();
        for exchange in &self.shared.record().exchanges {
            if let Part::Turn { marker, turn } = &exchange.part {
                let turn = (marker.clone(), *turn);
                if !played.contains(&turn) {
                    played.push(turn);
                }
            }
        }
        played
    }

    /// What went wrong on the wire or was asked outside every protocol. A test of a whole run wants it empty.
    pub fn faults(&self) -> Vec<String> {
        self.shared.record().faults.clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.record().over = true;
        // A connection of our own wakes the listener. If none can be made, its thread is left to the process's end.
        if TcpStream::connect(self.address).is_ok()
            && let Some(listener) = self.listener.take()
        {
            join(listener);
        }
        let open = std::mem::take(&mut self.shared.record().connections);
        for (stream, thread) in open {
            // An error says that the client was quicker.
            drop(stream.shutdown(Shutdown::Both));
            join(thread);
        }
    }
}

/// Passes a panic of a thread on to the test, unless that is failing already.
fn join(thread: JoinHandle<()>) {
    if let Err(panic) = thread.join()
        && !thread::panicking()
    {
        std::panic::resume_unwind(panic);
    }
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fault(&self, words: String) {
        self.record().faults.push(words);
    }

    /// Records the request and finds its answer.
    fn answer(&self, request: &Request) -> Reply {
        let Some((dialect, door)) = ALL.iter().find_map(|it| it.door(request).map(|door| (*it, door))) else {
            let words = format!("no protocol has `{} {}`", request.method, request.target);
            let reply = ALL[0].refuse(404, &words);
            self.fault(words);
            return reply;
        };
        match self.play(dialect, door, request) {
            Ok(reply) => reply,
            Err(words) => {
                let words = format!("`{} {}`: {words}", request.method, request.target);
                let reply = dialect.refuse(400, &words);
                self.fault(words);
                reply
            }
        }
    }

    fn play(&self, dialect: &dyn Dialect, door: Door, request: &Request) -> Result<Reply, String> {
        let body = match request.body.as_slice() {
            [] => Value::Null,
            bytes => {
                serde_json::from_slice(bytes).map_err(|error| format!("the body is not JSON: {error}"))?
            }
        };
        let (conversation, part, reply) = match door {
            Door::Converse => {
                let conversation = dialect.read(request, &body)?;
                let (part, blocks) = self.script.next(&conversation);
                let reply = dialect.turn(&conversation, &name(&part), &blocks);
                (conversation, part, reply)
            }
            Door::Count => (Conversation::default(), Part::Count, dialect.other(door)),
            Door::Probe => (Conversation::default(), Part::Probe, dialect.other(door)),
        };
        let (method, target) = (request.method.clone(), request.target.clone());
        self.record().exchanges.push(Exchange { method, target, body, conversation, part });
        Ok(reply)
    }
}

/// A name for ids: letters, digits, `_` and `-`, the same for the same turn.
fn name(part: &Part) -> String {
    let (marker, turn) = match part {
        Part::Turn { marker, turn } => (marker.as_str(), turn.to_string()),
        Part::Over { marker } => (marker.as_str(), "over".into()),
        Part::Unknown | Part::Side | Part::Count | Part::Probe => ("side", "0".into()),
    };
    let marker: String = marker.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{marker}_{turn}")
}

fn listen(socket: &TcpListener, shared: &Arc<Shared>) {
    for stream in socket.incoming() {
        if shared.record().over {
            return;
        }
        if let Err(error) = stream.and_then(|stream| admit(stream, shared)) {
            shared.fault(format!("a connection could not be taken: {error}"));
        }
    }
}

fn admit(stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let ours = stream.try_clone()?;
    let theirs = Arc::clone(shared);
    let thread = thread::Builder::new().name("model-client".into()).spawn(move || serve(&stream, &theirs))?;
    shared.record().connections.push((ours, thread));
    Ok(())
}

fn serve(stream: &TcpStream, shared: &Shared) {
    let (mut input, mut output) = (BufReader::new(stream), stream);
    loop {
        match http::receive(&mut input, &mut output) {
            Ok(Some(request)) => {
                let sent = shared.answer(&request).send(&request.method, &mut output);
                if sent.is_err() || request.last {
                    // The client went away in the middle: its right, and nothing to tell it.
                    break;
                }
            }
            Ok(None) => break,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                shared.fault(error.to_string());
                break;
            }
            Err(_) => break,
        }
    }
    // Our second handle keeps the socket open, so the end must be said.
    drop(stream.shutdown(Shutdown::Both));
}
