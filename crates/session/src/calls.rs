//! Which tool call a system call belongs to. The hook announces a call before the agent's host makes it; what
//! the kernel sees meanwhile is the call's. With several calls open, a path that a call named is its own; the
//! rest is a command's, if only one command is open; else it stays unassigned rather than guessed.

use remit_core::{AbsPath, CallId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many calls are open at once.
const MOST: usize = 256;

/// How many paths of a call are kept to tell it from others.
pub const MOST_PATHS: usize = 64;

/// A call that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The host's number.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// The command line, for tools that run one.
    pub command: Option<String>,
    /// The paths that it named.
    pub paths: Vec<AbsPath>,
    /// The subagent that makes it, if it is one's.
    pub subagent: Option<String>,
}

/// What the holder tells the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// A call begins.
    Open(OpenCall),
    /// A call has ended.
    Close(CallId),
}

/// The calls that are open, and what each did that is only counted.
#[derive(Debug, Default)]
pub struct Calls {
    open: Vec<OpenCall>,
    counts: BTreeMap<Option<CallId>, BTreeMap<String, u64>>,
}

impl Calls {
    /// A call begins. Announced twice (two hooks of one host), it is one call. Beyond [`MOST`] the oldest is
    /// taken as ended: its end was never told.
    pub fn open(&mut self, call: OpenCall) {
        if self.open.iter().any(|o| o.id == call.id) {
            return;
        }
        if self.open.len() >= MOST {
            self.open.remove(0);
        }
        self.open.push(call);
    }

    /// A call has ended; what it did that was only counted.
    pub fn close(&mut self, id: &CallId) -> Option<(OpenCall, BTreeMap<String, u64>)> {
        let at = self.open.iter().position(|o| o.id == *id)?;
        let call = self.open.remove(at);
        let counts = self.counts.remove(&Some(call.id.clone())).unwrap_or_default();
        Some((call, counts))
    }

    /// The call that a change of `path` belongs to.
    pub fn owner(&self, path: &AbsPath) -> Option<&OpenCall> {
        if let [only] = self.open.as_slice() {
            return Some(only);
        }
        let mut naming = self.open.iter().filter(|o| o.paths.iter().any(|p| belongs(p, path)));
        match (naming.next(), naming.next()) {
            (Some(one), None) => return Some(one),
            (Some(_), Some(_)) => return None,
            _ => {}
        }
        let mut commands = self.open.iter().filter(|o| o.command.is_some());
        match (commands.next(), commands.next()) {
            (Some(one), None) => Some(one),
            _ => None,
        }
    }

    /// Counts something that gets no record of its own.
    pub fn count(&mut self, path: &AbsPath, what: &str) {
        let owner = self.owner(path).map(|o| o.id.clone());
        let counts = self.counts.entry(owner).or_default();
        match counts.get_mut(what) {
            Some(n) => *n += 1,
            None => drop(counts.insert(what.to_owned(), 1)),
        }
    }

    /// All that was counted and not yet told, by call.
    pub fn drain(&mut self) -> BTreeMap<Option<CallId>, BTreeMap<String, u64>> {
        std::mem::take(&mut self.counts)
    }
}

/// Whether a change of `path` serves a call that named `named`: the path itself, what lies below it, a folder
/// that leads to it, or a temporary sibling (`<name>.<anything>`).
fn belongs(named: &AbsPath, path: &AbsPath) -> bool {
    let sibling = || {
        let rest = path.as_bytes().strip_prefix(named.as_bytes());
        rest.is_some_and(|r| r.first() == Some(&b'.') && !r.contains(&b'/'))
    };
    named.covers(path) || path.covers(named) || sibling()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).unwrap()
    }

    fn call(id: &str, command: Option<&str>, paths: &[&str]) -> OpenCall {
        OpenCall {
            id: CallId::new(id).unwrap(),
            tool: "T".into(),
            command: command.map(str::to_owned),
            paths: paths.iter().map(|p| path(p)).collect(),
            subagent: None,
        }
    }

    fn owner(calls: &Calls, p: &str) -> Option<String> {
        calls.owner(&path(p)).map(|o| o.id.to_string())
    }

    #[test]
    fn a_single_open_call_owns_everything() {
        let mut calls = Calls::default();
        assert_eq!(owner(&calls, "/x"), None);
        calls.open(call("1", None, &["/a"]));
        calls.open(call("1", None, &["/a"]));
        assert_eq!(owner(&calls, "/x").as_deref(), Some("1"));
        calls.close(&CallId::new("1").unwrap());
        assert_eq!(owner(&calls, "/x"), None);
    }

    #[test]
    fn parallel_calls_are_told_apart_by_path_and_never_guessed() {
        let mut calls = Calls::default();
        calls.open(call("w", None, &["/a/f.txt"]));
        calls.open(call("b", Some("make"), &[]));
        assert_eq!(owner(&calls, "/a/f.txt.tmp.12").as_deref(), Some("w"));
        assert_eq!(owner(&calls, "/a").as_deref(), Some("w"));
        assert_eq!(owner(&calls, "/a/f.txtx").as_deref(), Some("b"));
        calls.open(call("c", Some("make"), &[]));
        assert_eq!(owner(&calls, "/z"), None);
        calls.open(call("w2", None, &["/a/f.txt"]));
        assert_eq!(owner(&calls, "/a/f.txt"), None);
    }

    #[test]
    fn counts_go_to_their_call() {
        let mut calls = Calls::default();
        calls.count(&path("/t"), "create");
        calls.open(call("1", Some("x"), &[]));
        calls.count(&path("/t"), "create");
        calls.count(&path("/t"), "create");
        let (_, counts) = calls.close(&CallId::new("1").unwrap()).unwrap();
        assert_eq!(counts["create"], 2);
        assert_eq!(calls.drain()[&None]["create"], 1);
    }
}
