//! Decides and records every system call that changes the file tree. Lives in the gate's process, with the
//! policy that it was born with and a ledger of its own; it needs nobody to answer.

use crate::calls::{Calls, Control, OpenCall};
use crate::ignored::Marks;
use crate::lineage;
use crate::reads::{Reads, Told};
use crate::recorder::{Recorder, in_call, now};
use crate::refusals::{REFUSED, Refusals};
use crate::scratch::Scratch;
use remit_core::wire::CANARY;
use remit_core::{AbsPath, Action, CallId, Decision, Effect, Object, Verb, Why};
use remit_ledger::{Door, Event, Record};
use remit_policy::source::LogAccess;
use remit_policy::{Facts, Policy, decide};
use remit_sandbox::authority::{Authority, Fixed, Operation, Ruling};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The authority of one session.
#[derive(Debug)]
pub struct Warden {
    policy: Arc<Policy>,
    recorder: Arc<Recorder>,
    refusals: Arc<Refusals>,
    scratch: Scratch,
    marks: Marks,
    tree: File,
    calls: Mutex<Calls>,
    /// Which allowed reads are told already.
    reads: Reads,
    /// Temporary siblings that this session made and has not yet renamed or deleted.
    provisional: Mutex<HashSet<AbsPath>>,
    /// Whether the launch's own try, before the program was started, has been refused: it is no deed of the
    /// agent's, and the first record of the session tells of it.
    tried: AtomicBool,
    /// Whether anything but reading and that try has been asked: the program has been started, then. What is read
    /// before is the launch's own self-test.
    begun: AtomicBool,
}

/// Why something may not be made, changed or removed where no mount of the view lets it.
pub const FIXED_VIEW: &str = "nothing can be made or changed at this place of the session's view";

/// Why something may not take a single file's name.
pub const NOT_PLAIN: &str = "nothing but a plain file may take the name of a file that may be written";

/// Why something may not take a name on the way to what a rule speaks of.
pub const NO_FOLDER: &str = "a rule speaks of what lies below, so only a folder may take the name";

/// Why a temporary sibling of a file may not be touched by everybody who may write the file.
pub const FOREIGN_SIBLING: &str = "a temporary sibling may be touched only by the session that made it";

/// What is counted where a session has read, or started, more than has records.
pub const LEFT_OUT: &str = "left out";

/// The calls that make plain files.
const PLAIN: [&str; 3] = ["open", "openat", "creat"];
/// The calls that move a name.
const RENAMES: [&str; 3] = ["rename", "renameat", "renameat2"];

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Warden {
    /// For a session; `tree` is the file that the gates of all sessions of the workspace lock.
    pub fn new(policy: Arc<Policy>, recorder: Recorder, scratch: Scratch, marks: Marks, tree: File) -> Self {
        let recorder = Arc::new(recorder);
        Self {
            policy,
            refusals: Arc::new(Refusals::new(Arc::clone(&recorder))),
            recorder,
            scratch,
            marks,
            tree,
            calls: Mutex::default(),
            reads: Reads::default(),
            provisional: Mutex::default(),
            tried: AtomicBool::new(false),
            begun: AtomicBool::new(false),
        }
    }

    fn log(&self) -> LogAccess {
        self.policy.source().audit.value.log_access_attempts
    }

    fn action(&self, verb: Verb, object: Object) -> Action {
        Action { actor: self.recorder.actor().clone(), verb, object }
    }

    /// The decision on an operation: on what is asked, and for a folder that moves on what may not move with it.
    fn decide(&self, operation: &Operation<'_>) -> (Action, Decision) {
        let object = match &operation.to {
            Some(to) => Object::Move { from: operation.path.clone(), to: to.path.clone() },
            None => Object::Path(operation.path.clone()),
        };
        let action = self.action(operation.verb, object);
        let facts = match operation.fixed {
            _ if let Some(below) = operation.below => self.below(operation.verb, below),
            Some(Fixed::Outside) => {
                Facts::against("it was opened outside the session, and only its name says otherwise")
            }
            Some(Fixed::Foreign) => Facts::against(
                "a process changes only itself, and process 1 is the gate that holds the session",
            ),
            Some(Fixed::View) | None => Facts::default(),
        };
        let mut decision = decide(&self.policy, &facts, &action);
        if decision.effect == Effect::Allow
            && let Some(why) = self.stands_against(operation, &decision)
        {
            decision = decide(&self.policy, &Facts::against(why), &action);
        }
        (action, decision)
    }

    /// What stands against the move of a folder, by an entry below it that may not move.
    fn below(&self, verb: Verb, entry: &AbsPath) -> Facts {
        let alone = decide(&self.policy, &Facts::default(), &self.action(verb, Object::Path(entry.clone())));
        match alone.deciding().filter(|reason| reason.effect != Effect::Allow) {
            Some(reason) => Facts::below(entry, reason),
            None => Facts::against(format!(
                "{entry} would go with it, and cannot be looked into, stands in for what a rule hides, or is one \
                 too many"
            )),
        }
    }

    /// Why it cannot be, although the rules allow it.
    fn stands_against(&self, operation: &Operation<'_>, decision: &Decision) -> Option<&'static str> {
        if operation.fixed == Some(Fixed::View) {
            return Some(FIXED_VIEW);
        }
        if !self.sibling_holds(operation, decision) {
            return Some(FOREIGN_SIBLING);
        }
        self.misshapen(operation)
    }

    /// A temporary sibling of a single granted file is provisional: made new by this session, then renamed
    /// onto the file or deleted. Another file that only bears such a name is not opened by it.
    fn sibling_holds(&self, operation: &Operation<'_>, decision: &Decision) -> bool {
        let of = decision.reasons.iter().find_map(|r| match &r.why {
            Why::Sibling(of) => Some(of),
            _ => None,
        });
        let Some(of) = of else { return true };
        let mut mine = held(&self.provisional);
        // What it made has one name; another file that took the place by a second name is somebody's.
        if operation.verb != Verb::Delete && operation.links > 1 {
            return false;
        }
        match operation.verb {
            Verb::Create => {
                // Only a plain file can become what the rule grants.
                if operation.is_dir || !PLAIN.contains(&operation.syscall) {
                    return false;
                }
                if operation.exists {
                    return mine.contains(operation.path);
                }
                mine.insert(operation.path.clone());
                true
            }
            Verb::Delete => mine.remove(operation.path),
            Verb::Rename => {
                let Some(to) = operation.to.as_ref().map(|t| t.path) else { return false };
                let from_mine = operation.path == of || mine.contains(operation.path);
                let onto = to == of
                    || mine.contains(to)
                    || (!operation.to.as_ref().is_some_and(|t| t.exists) && belongs(of, to));
                if from_mine && onto {
                    mine.remove(operation.path);
                    if to != of {
                        mine.insert(to.clone());
                    }
                }
                from_mine && onto
            }
            _ => mine.contains(operation.path),
        }
    }

    /// Why what the rules allow would still leave something that sessions to come, or people, could not rely on.
    fn misshapen(&self, operation: &Operation<'_>) -> Option<&'static str> {
        if operation.closes && self.policy.leans_on(operation.path) {
            return Some("what is held below the folder could not be found any more by the next session");
        }
        let agent = self.policy.agent(self.recorder.actor().agent.as_str())?;
        let swaps = operation.syscall.ends_with(" exchange");
        let takes = |path: &AbsPath| agent.is_single_file(path);
        let plain = match (&operation.to, operation.verb) {
            _ if swaps => !takes(operation.path) && !operation.to.as_ref().is_some_and(|to| takes(to.path)),
            (Some(to), _) if takes(to.path) => operation.is_file && RENAMES.contains(&operation.syscall),
            (None, Verb::Rename) => !takes(operation.path),
            (None, Verb::Create) if takes(operation.path) => {
                operation.is_dir || PLAIN.contains(&operation.syscall)
            }
            _ => true,
        };
        if !plain {
            return Some(NOT_PLAIN);
        }
        // What is no folder would keep the folder from being made that a rule speaks of.
        let made = operation.verb == Verb::Create && !operation.is_dir && !operation.exists;
        (made && agent.narrows_below(operation.path)).then_some(NO_FOLDER)
    }

    fn is_self_test(&self, operation: &Operation<'_>) -> bool {
        operation.path.as_bytes() == CANARY.as_bytes() && !self.tried.swap(true, Ordering::Relaxed)
    }

    /// Whether it is a read of the launch, which comes before the program.
    fn is_before(&self, operation: &Operation<'_>) -> bool {
        if operation.verb != Verb::Read {
            self.begun.store(true, Ordering::Relaxed);
        }
        !self.begun.load(Ordering::Relaxed)
    }

    fn refused(&self, operation: &Operation<'_>, action: &Action, decision: &Decision) {
        if self.log() == LogAccess::None {
            held(&self.calls).count(operation.path, operation.pid, REFUSED);
            return;
        }
        let mut calls = held(&self.calls);
        let record = self.access(operation, action, decision, calls.owner(operation.path, operation.pid));
        drop(calls);
        self.refusals.add(record, Instant::now());
    }

    fn access(
        &self,
        operation: &Operation<'_>,
        action: &Action,
        decision: &Decision,
        call: Option<&OpenCall>,
    ) -> Record {
        let to = operation.to.as_ref().map(|t| t.asked);
        let mut record = Record::access(now(), Door::Kernel, action, decision).spelled(operation.asked, to);
        if let Some(below) = operation.below {
            record = record.with("below", below.to_string());
        }
        record.pid = Some(operation.pid);
        record.syscall = Some(operation.syscall.to_owned());
        in_call(record, call)
    }

    /// Whether an allowed deed is only counted, and as what. Reads are told once a call; what is scratch is not told.
    fn counts_as(&self, operation: &Operation<'_>, calls: &mut Calls) -> Option<&'static str> {
        let verb = operation.verb;
        let looks = matches!(verb, Verb::Read | Verb::Execute);
        let scratch = match looks {
            true => self.scratch.is_private(operation.path),
            false => self.scratch.takes(operation),
        };
        if scratch {
            return Some(verb.word());
        }
        if !looks {
            return None;
        }
        let call = calls.owner(operation.path, operation.pid).map(|call| call.id.clone());
        match self.reads.note(call.as_ref(), verb, operation.path) {
            Told::First => None,
            Told::Again => Some(verb.word()),
            Told::LeftOut => Some(LEFT_OUT),
        }
    }

    fn counted(&self, call: Option<&OpenCall>, id: Option<&CallId>, counts: BTreeMap<String, u64>) {
        if counts.is_empty() {
            return;
        }
        let mut record = self.recorder.record(Event::Summary, Door::Kernel);
        record.counts = counts;
        let mut record = in_call(record, call);
        record.call = record.call.or_else(|| id.cloned());
        // What has already happened; a ledger that cannot take it refuses the next change, and takes it later.
        if self.recorder.append(&record, false).is_err() {
            held(&self.calls).give_back(record.call, record.counts);
        }
    }
}

fn belongs(of: &AbsPath, path: &AbsPath) -> bool {
    path.as_bytes()
        .strip_prefix(of.as_bytes())
        .is_some_and(|r| r.first() == Some(&b'.') && !r.contains(&b'/'))
}

impl Authority for Warden {
    fn start(&self) {
        // Without the threads, records still reach the kernel before each answer; only the disk comes later, and
        // the counts of a flood.
        drop(self.recorder.start());
        drop(self.refusals.start());
    }

    fn tree(&self) -> Option<BorrowedFd<'_>> {
        Some(self.tree.as_fd())
    }

    fn records_reads(&self) -> bool {
        self.log() == LogAccess::All
    }

    fn judge(&self, operation: &Operation<'_>) -> Ruling {
        let (action, decision) = self.decide(operation);
        if decision.effect != Effect::Allow {
            if self.is_self_test(operation) || self.is_before(operation) {
                return Ruling::Deny;
            }
            self.refused(operation, &action, &decision);
            return Ruling::Deny;
        }
        if self.is_before(operation) {
            return Ruling::Allow;
        }
        if self.marks.note(operation).is_err() {
            let facts = Facts::against("that it may change what is ignored cannot be noted");
            let decision = decide(&self.policy, &facts, &action);
            self.refused(operation, &action, &decision);
            return Ruling::Deny;
        }
        let mut calls = held(&self.calls);
        if let Some(what) = self.counts_as(operation, &mut calls) {
            calls.count(operation.path, operation.pid, what);
            return Ruling::Allow;
        }
        let record = self.access(operation, &action, &decision, calls.owner(operation.path, operation.pid));
        drop(calls);
        match self.recorder.append(&record, false) {
            Ok(_) => Ruling::Allow,
            Err(_) => Ruling::Deny,
        }
    }

    fn may(&self, verb: Verb, path: &AbsPath) -> bool {
        let action = self.action(verb, Object::Path(path.clone()));
        decide(&self.policy, &Facts::default(), &action).effect == Effect::Allow
    }

    fn control(&self, message: &[u8]) -> Vec<u8> {
        match serde_json::from_slice(message) {
            Ok(Control::Open(call)) => held(&self.calls).open(call, lineage::now()),
            Ok(Control::Close(id)) => {
                let closed = held(&self.calls).close(&id);
                if let Some((call, counts)) = closed {
                    self.counted(Some(&call), None, counts);
                }
            }
            Err(error) => return format!("not a message of the holder: {error}").into_bytes(),
        }
        Vec::new()
    }

    fn finish(&self) {
        // The session's open files are closed. A mark that cannot be left was left when the first one was.
        drop(self.marks.end());
        self.refusals.end();
        let rest = held(&self.calls).drain();
        for (id, counts) in rest {
            self.counted(None, id.as_ref(), counts);
        }
        self.recorder.tell_unrecorded();
        // The session is over; what the disk did not take, `verify` says.
        drop(self.recorder.settle());
    }
}
