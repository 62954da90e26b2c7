//! What agents' programs send: hook inputs, and lines on a session's socket.

use super::world::path;
use remit_core::wire::{Answer, Request, Verdict};
use remit_core::{AbsPath, Effect, PathError};
use remit_hooks::door::Hook;
use remit_hooks::resolve::{Kind, ResolveError, Resolved};
use remit_hooks::{Asker, Event, Host, Resolver, serve};
use serde_json::Value;

/// Answers every request alike.
struct Always(Effect);

impl Asker for Always {
    fn ask(&self, request: &Request) -> Result<Answer, String> {
        Ok(match request {
            Request::Done { .. } => Answer::Noted { context: None },
            _ => Answer::Verdict(Verdict {
                effect: self.0,
                layer: None,
                rule: None,
                reason: "because".to_owned(),
            }),
        })
    }
}

/// A file system without links.
struct Plain(AbsPath);

impl Resolver for Plain {
    fn resolve(&self, path: &[u8], _follow: bool) -> Result<Resolved, ResolveError> {
        if path.first() != Some(&b'/') {
            return Err(PathError::Relative.into());
        }
        Ok(Resolved { path: AbsPath::lexical(&AbsPath::root(), path)?, kind: Kind::Absent })
    }
    fn home(&self) -> Option<&AbsPath> {
        Some(&self.0)
    }

    fn held(&self) -> bool {
        false
    }
}

/// The registered event on the first line, then the input. The exit code is 0 or 2; what blocks is refused
/// where the answer is no, and whatever the answer where the input is not JSON.
pub fn hook_input(bytes: &[u8]) {
    let line = bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len());
    let (event, input) = bytes.split_at(line);
    let input = input.strip_prefix(b"\n").unwrap_or_default();
    let event = String::from_utf8_lossy(event);
    let files = Plain(path("/home/p"));
    for host in Host::ALL {
        let dialect = host.dialect();
        let blocks = dialect.event(&event).is_some_and(Event::blocks);
        for effect in [Effect::Deny, Effect::Ask, Effect::Allow] {
            let hook = Hook { host, event: &event };
            let reply = serve(hook, Ok(input.to_vec()), &Always(effect), &files);
            assert!(matches!(reply.code, 0 | 2), "exit code {}", reply.code);
            assert!(reply.stdout.is_empty() || serde_json::from_slice::<Value>(&reply.stdout).is_ok());
            assert!(!String::from_utf8_lossy(&reply.stderr).contains("an internal error"), "it panicked");
            let must = blocks && (effect != Effect::Allow || serde_json::from_slice::<Value>(input).is_err());
            assert!(!must || reply.code == 2, "{event} was let through");
        }
    }
}

/// A line of a session's socket, either way: what is read is written as what is read again.
pub fn session_wire(bytes: &[u8]) {
    if let Ok(request) = serde_json::from_slice::<Request>(bytes) {
        let again = serde_json::to_vec(&request).ok().and_then(|line| serde_json::from_slice(&line).ok());
        assert_eq!(again, Some(request));
    }
    if let Ok(answer) = serde_json::from_slice::<Answer>(bytes) {
        let again = serde_json::to_vec(&answer).ok().and_then(|line| serde_json::from_slice(&line).ok());
        assert_eq!(again, Some(answer));
    }
}
