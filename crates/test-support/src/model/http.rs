//! As much of HTTP/1.1 as a client library needs to be content: kept-alive connections, bodies by length or in
//! chunks, `Expect: 100-continue`, answers to `HEAD` without a body.

use serde_json::Value;
use std::io::{self, BufRead, Read, Write};

/// The longest head of a request, in bytes.
const HEAD: u64 = 64 * 1024;
/// The longest body of a request, in bytes.
const BODY: u64 = 64 * 1024 * 1024;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// Path and query, as sent.
    pub(super) target: String,
    pub(super) body: Vec<u8>,
    /// The client ends the connection after this answer.
    pub(super) last: bool,
}

impl Request {
    /// The path without the query.
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
}

impl Reply {
    /// A JSON document.
    pub(super) fn json(status: u16, value: &Value) -> Self {
        Self { status, kind: "application/json", body: value.to_string().into_bytes() }
    }

    /// Server-sent events: name and data.
    pub(super) fn events(events: &[(&str, Value)]) -> Self {
        let text: String =
            events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect();
        Self { status: 200, kind: "text/event-stream", body: text.into_bytes() }
    }

    /// Writes it; `HEAD` gets the head alone.
    pub(super) fn send(&self, to_method: &str, stream: &mut impl Write) -> io::Result<()> {
        let words = if self.status == 200 { "OK" } else { "Refused" };
        let mut bytes = format!(
            "HTTP/1.1 {} {words}\r\ncontent-type: {}\r\ncontent-length: {}\r\ncache-control: no-store\r\n\r\n",
            self.status,
            self.kind,
            self.body.len()
        )
        .into_bytes();
        if to_method != "HEAD" {
            bytes.extend_from_slice(&self.body);
        }
        stream.write_all(&bytes)?;
        stream.flush()
    }
}

/// Reads the next request of a connection; `None` when the client has hung up between two. `reply` is where a
/// client that waits for leave to send its body is told to go on.
pub(super) fn receive(from: &mut impl BufRead, reply: &mut impl Write) -> io::Result<Option<Request>> {
    let mut head = from.by_ref().take(HEAD);
    let mut line = String::new();
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_ascii_whitespace();
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0")) =
        (words.next(), words.next(), words.next())
    else {
        return Err(bad(format!("not a request line: `{}`", line.trim_end())));
    };
    let mut request = Request { method: method.into(), target: target.into(), ..Request::default() };
    let mut length = Length::Bytes(0);
    let mut waits = false;
    loop {
        line.clear();
        if head.read_line(&mut line)? == 0 {
            return Err(bad("the head ends early or is too long".into()));
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                length = Length::Bytes(value.parse().map_err(|_| bad(format!("a length of `{value}`")))?);
            }
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => length = Length::Chunked,
            "transfer-encoding" | "content-encoding" if !value.eq_ignore_ascii_case("identity") => {
                return Err(bad(format!("the encoding `{value}` is not spoken here")));
            }
            "expect" => waits = value.eq_ignore_ascii_case("100-continue"),
            "connection" => request.last = value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    if waits {
        reply.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    request.body = body(from, length)?;
    Ok(Some(request))
}

enum Length {
    Bytes(u64),
    Chunked,
}

fn body(from: &mut impl BufRead, length: Length) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    match length {
        Length::Bytes(length) => append(from, length, &mut body)?,
        Length::Chunked => loop {
            let mut line = String::new();
            from.by_ref().take(HEAD).read_line(&mut line)?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(digits, 16).map_err(|_| bad(format!("a chunk of `{digits}`")))?;
            append(from, size, &mut body)?;
            // Data ends with a line break; the last chunk with trailers, of which clients send none, and one.
            line.clear();
            from.by_ref().take(HEAD).read_line(&mut line)?;
            if size == 0 {
                break;
            }
        },
    }
    Ok(body)
}

fn append(from: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if length.saturating_add(body.len() as u64) > BODY {
        return Err(bad(format!("a body of more than {BODY} bytes")));
    }
    let read = from.by_ref().take(length).read_to_end(body)?;
    if read as u64 == length { Ok(()) } else { Err(bad("the body ends early".into())) }
}

fn bad(words: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<Option<Request>> {
        receive(&mut text.as_bytes(), &mut Vec::new())
    }

    #[test]
    fn two_requests_on_one_connection_keep_their_bodies_apart() {
        let text =
            "POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: 2\r\n\r\nhiHEAD / HTTP/1.1\r\n\r\n";
        let mut stream = text.as_bytes();
        let first = receive(&mut stream, &mut Vec::new()).unwrap().unwrap();
        assert_eq!((first.path(), first.body.as_slice()), ("/v1/messages", &b"hi"[..]));
        assert_eq!(receive(&mut stream, &mut Vec::new()).unwrap().unwrap().method, "HEAD");
        assert_eq!(receive(&mut stream, &mut Vec::new()).unwrap(), None);
    }

    #[test]
    fn a_chunked_body_is_put_together() {
        let text =
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
        assert_eq!(read(text).unwrap().unwrap().body, b"abcde");
    }

    #[test]
    fn a_client_that_waits_for_leave_is_told_to_go_on() {
        let text = "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx";
        let mut told = Vec::new();
        receive(&mut text.as_bytes(), &mut told).unwrap().unwrap();
        assert_eq!(told, b"HTTP/1.1 100 Continue\r\n\r\n");
    }

    #[test]
    fn cut_off_oversized_and_foreign_input_is_an_error() {
        for text in [
            "nonsense\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhi",
            "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "POST / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_answer_to_head_has_a_length_but_no_body() {
        let mut sent = Vec::new();
        Reply::json(200, &serde_json::json!({})).send("HEAD", &mut sent).unwrap();
        let sent = String::from_utf8(sent).unwrap();
        assert!(sent.contains("content-length: 2\r\n") && sent.ends_with("\r\n\r\n"), "{sent}");
    }
}
