//! Which tool call a system call belongs to. The hook announces a call before the agent's host makes it. What a
//! call named is its own. What else happens belongs to a call only if a command is running and the process that
//! acts was started by it; a background command, a server, the host itself, or two commands at once, stay
//! unassigned rather than guessed.

use crate::lineage;
use remit_core::{AbsPath, CallId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

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
    /// The host's process, as the session numbers it, if it is known.
    pub host: Option<u32>,
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
    open: Vec<(OpenCall, u64)>,
    /// Which of the open commands a process belongs to, as far as it was asked; forgotten when one begins or
    /// ends.
    processes: HashMap<u32, Option<usize>>,
    counts: BTreeMap<Option<CallId>, BTreeMap<String, u64>>,
}

impl Calls {
    /// A call begins. Announced twice (two hooks of one host), it is one call. Beyond [`MOST`] the oldest is
    /// taken as ended: its end was never told.
    pub fn open(&mut self, call: OpenCall, now: u64) {
        if self.open.iter().any(|(open, _)| open.id == call.id) {
            return;
        }
        self.processes.clear();
        if self.open.len() >= MOST {
            self.open.remove(0);
        }
        self.open.push((call, now));
    }

    /// A call has ended; what it did that was only counted.
    pub fn close(&mut self, id: &CallId) -> Option<(OpenCall, BTreeMap<String, u64>)> {
        let at = self.open.iter().position(|(open, _)| open.id == *id)?;
        self.processes.clear();
        let (call, _) = self.open.remove(at);
        let counts = self.counts.remove(&Some(call.id.clone())).unwrap_or_default();
        Some((call, counts))
    }

    /// The call that a change of `path` by the process `pid` belongs to.
    pub fn owner(&mut self, path: &AbsPath, pid: u32) -> Option<&OpenCall> {
        let mut naming =
            self.open.iter().enumerate().filter(|(_, (o, _))| o.paths.iter().any(|p| belongs(p, path)));
        let at = match (naming.next(), naming.next()) {
            (Some((at, _)), None) => at,
            (Some(_), Some(_)) => return None,
            (None, _) => self.command_of(pid)?,
        };
        self.open.get(at).map(|(call, _)| call)
    }

    /// The only open command that started this process.
    fn command_of(&mut self, pid: u32) -> Option<usize> {
        if let Some(known) = self.processes.get(&pid) {
            return *known;
        }
        let started_by = |(call, since): &(OpenCall, u64)| {
            let host = call.host.unwrap_or(lineage::FIRST);
            call.command.is_some() && lineage::started_since(pid, host, *since, lineage::of)
        };
        let mut commands = self.open.iter().enumerate().filter(|(_, open)| started_by(open));
        let found = match (commands.next(), commands.next()) {
            (Some((at, _)), None) => Some(at),
            _ => None,
        };
        self.processes.insert(pid, found);
        found
    }

    /// Counts something that gets no record of its own.
    pub fn count(&mut self, path: &AbsPath, pid: u32, what: &str) {
        let owner = self.owner(path, pid).map(|o| o.id.clone());
        let counts = self.counts.entry(owner).or_default();
        match counts.get_mut(what) {
            Some(n) => *n += 1,
            None => drop(counts.insert(what.to_owned(), 1)),
        }
    }

    /// Takes counts back that could not be told.
    pub fn give_back(&mut self, call: Option<CallId>, counts: BTreeMap<String, u64>) {
        let kept = self.counts.entry(call).or_default();
        for (what, count) in counts {
            let sum = kept.entry(what).or_default();
            *sum = sum.saturating_add(count);
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
            host: None,
        }
    }

    /// The owner of a change by this process: started by this test, so in the course of nothing older.
    fn owner(calls: &mut Calls, p: &str) -> Option<String> {
        calls.owner(&path(p), std::process::id()).map(|o| o.id.to_string())
    }

    #[test]
    fn what_a_call_named_is_its_own_and_nothing_else_is() {
        let mut calls = Calls::default();
        assert_eq!(owner(&mut calls, "/x"), None);
        calls.open(call("w", None, &["/a/f.txt"]), u64::MAX);
        calls.open(call("w", None, &["/a/f.txt"]), u64::MAX);
        calls.open(call("b", Some("make"), &[]), u64::MAX);
        for own in ["/a/f.txt", "/a/f.txt.tmp.12", "/a"] {
            assert_eq!(owner(&mut calls, own).as_deref(), Some("w"), "{own}");
        }
        for other in ["/a/f.txtx", "/z"] {
            assert_eq!(owner(&mut calls, other), None, "{other}");
        }
        calls.open(call("w2", None, &["/a/f.txt"]), u64::MAX);
        assert_eq!(owner(&mut calls, "/a/f.txt"), None, "two calls named it");
        calls.close(&CallId::new("w2").unwrap());
        assert_eq!(owner(&mut calls, "/a/f.txt").as_deref(), Some("w"));
    }

    #[test]
    fn what_a_running_command_started_belongs_to_it_unless_two_could_be_meant() {
        let parent = std::os::unix::process::parent_id();
        let mut calls = Calls::default();
        let command = |id| OpenCall { host: Some(parent), ..call(id, Some("make"), &[]) };
        calls.open(command("b"), 0);
        assert_eq!(owner(&mut calls, "/z").as_deref(), Some("b"));
        calls.open(command("c"), 0);
        assert_eq!(owner(&mut calls, "/z"), None);
        calls.close(&CallId::new("b").unwrap());
        assert_eq!(owner(&mut calls, "/z").as_deref(), Some("c"));
        calls.close(&CallId::new("c").unwrap());
        calls.open(command("d"), u64::MAX);
        assert_eq!(owner(&mut calls, "/z"), None, "it was running before");
    }

    #[test]
    fn counts_go_to_their_call() {
        let mut calls = Calls::default();
        let me = std::process::id();
        calls.count(&path("/t"), me, "create");
        calls.open(call("1", None, &["/t"]), 0);
        calls.count(&path("/t"), me, "create");
        calls.count(&path("/t"), me, "create");
        let (_, counts) = calls.close(&CallId::new("1").unwrap()).unwrap();
        assert_eq!(counts["create"], 2);
        assert_eq!(calls.drain()[&None]["create"], 1);
    }

    #[test]
    fn calls_whose_end_is_never_told_are_bounded() {
        let mut calls = Calls::default();
        for n in 0..MOST * 2 {
            calls.open(call(&format!("c{n}"), None, &[]), 0);
        }
        assert_eq!(calls.open.len(), MOST);
    }
}
