//! Answers tool calls: every effort of a call is decided, the most restrictive answer counts, and the answer
//! is in the ledger before it is given. The same desk serves the session's socket and a hook outside a session.

use crate::calls::{Control, MOST_PATHS, OpenCall};
use crate::facts::Sight;
use crate::recorder::{Recorder, bounded, now, short_name, shortened};
use crate::words;
use remit_core::wire::{
    self, Answer, CANARY_CONVERSATION, Effort, Moment, Request, Telling, ToolCall, Verdict,
};
use remit_core::{AbsPath, Action, AgentName, CallId, Decision, Effect, Object, Verb};
use remit_ledger::{Door, Event, Record};
use remit_policy::{Facts, Policy, decide, overview};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many answered calls are remembered, so that a call announced by two hooks is recorded once.
const REMEMBERED: usize = 4096;

/// Tells the gate that a call begins or ends; an error is the caller's denial.
pub type Tell = Box<dyn Fn(&Control) -> Result<(), String> + Send + Sync>;

/// What was asked for, as it was spelled; what that means, and the answer.
type Refused = (Option<String>, Action, Decision);

/// Answers for one actor.
pub struct Desk {
    policy: Arc<Policy>,
    recorder: Recorder,
    sight: Sight,
    tell: Option<Tell>,
    answered: Mutex<BTreeMap<CallId, Verdict>>,
    /// Whether the call that only tests the hook has been made: it is no deed of the agent's.
    tested: AtomicBool,
}

impl Desk {
    /// For an actor; `sight` tells the facts, `tell` leads to the gate, if there is one.
    pub fn new(policy: Arc<Policy>, recorder: Recorder, sight: Sight, tell: Option<Tell>) -> Self {
        Self { policy, recorder, sight, tell, answered: Mutex::default(), tested: AtomicBool::new(false) }
    }

    /// The recorder.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Answers a request; `pid` is the process that runs the hook, as the session numbers it. Whatever cannot be served answers `Failed`, which the asker treats as a denial.
    pub fn answer(&self, request: &Request, pid: Option<u32>) -> Answer {
        let version = request.version();
        if version != wire::VERSION {
            return Answer::Failed {
                why: format!(
                    "the asker speaks version {version} of the session's wire, the session {}; restart the session",
                    wire::VERSION
                ),
            };
        }
        let answered = match request {
            Request::Call { host, conversation, call, .. } => {
                self.call(host, conversation.as_deref(), call, pid).map(Answer::Verdict)
            }
            Request::Done { id, ok, .. } => self.done(id, *ok),
            Request::Refused { .. } => {
                let record = self.recorder.record(Event::Call, Door::Hook);
                self.write(unjudged(record, request), true).map(|()| Answer::Noted { context: None })
            }
            Request::Moment { host, conversation, moment, subagent, .. } => {
                self.moment(host, conversation.as_deref(), *moment, subagent.as_deref())
            }
            Request::Explain { agent, verb, object, .. } => self.explained(agent, *verb, object),
            Request::Tell { agent, what, .. } => self.told(agent.as_ref(), *what),
        };
        answered.unwrap_or_else(|why| Answer::Failed { why })
    }

    fn call(
        &self,
        host: &str,
        conversation: Option<&str>,
        call: &ToolCall,
        pid: Option<u32>,
    ) -> Result<Verdict, String> {
        let known =
            |answered: &BTreeMap<CallId, Verdict>| call.id.as_ref().and_then(|id| answered.get(id).cloned());
        if let Some(verdict) = known(&self.answered.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(verdict);
        }
        let verdict = match self.tool(call).or_else(|| self.worst(call)) {
            Some((asked, action, decision)) => {
                let mut record = Record::access(now(), Door::Hook, &action, &decision);
                if let Some(asked) = asked {
                    record = record.spelled(asked.as_bytes(), None);
                }
                if conversation == Some(CANARY_CONVERSATION) && !self.tested.swap(true, Ordering::Relaxed) {
                    record =
                        self.recorder.record(Event::Hooks, Door::Hook).with("hooks", "refused a test call");
                }
                self.write(said(record, host, conversation, call), true)?;
                let deciding = decision.deciding();
                Verdict {
                    effect: decision.effect,
                    layer: deciding.map(|r| r.layer),
                    rule: deciding.and_then(|r| r.rule.as_deref().cloned()),
                    reason: words::refusal(&action, &decision),
                }
            }
            None => {
                self.allowed(host, conversation, call, pid)?;
                Verdict { effect: Effect::Allow, layer: None, rule: None, reason: String::new() }
            }
        };
        if let Some(id) = &call.id {
            let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
            if answered.len() >= REMEMBERED {
                answered.clear();
            }
            answered.insert(id.clone(), verdict.clone());
        }
        Ok(verdict)
    }

    /// What the policy of this session, and no later one, says of its own agent.
    fn explained(&self, agent: &AgentName, verb: Verb, object: &Object) -> Result<Answer, String> {
        let actor = self.recorder.actor();
        if *agent != actor.agent {
            return Err(format!("this is a session of `{}`, which is told of no other agent", actor.agent));
        }
        let action = Action { actor: actor.clone(), verb, object: object.clone() };
        let explanation = self.sight.explain(&self.policy, &action);
        let explanation = serde_json::to_string(&explanation).map_err(|e| e.to_string())?;
        Ok(Answer::Explained { explanation })
    }

    /// The answer to the call itself, whatever it does, unless it is allowed.
    fn tool(&self, call: &ToolCall) -> Option<Refused> {
        let actor = self.recorder.actor().clone();
        self.policy.agent(actor.agent.as_str())?;
        let action = Action { actor, verb: Verb::Call, object: Object::Tool(call.tool.clone()) };
        let decision = decide(&self.policy, &Facts::default(), &action);
        (decision.effect != Effect::Allow).then_some((None, action, decision))
    }

    /// The same for what is told of an agent as a whole.
    fn told(&self, agent: Option<&AgentName>, what: Telling) -> Result<Answer, String> {
        let own = &self.recorder.actor().agent;
        if agent.is_some_and(|agent| agent != own) {
            return Err(format!("this is a session of `{own}`, which is told of no other agent"));
        }
        let (policy, own) = (&self.policy, own.as_str());
        let told = match what {
            Telling::Requires => serde_json::to_string(&remit_config::requires(policy, own)),
            Telling::Provides => serde_json::to_string(&remit_config::provides(policy, Some(own))),
            Telling::Remit => serde_json::to_string(&overview(policy, own)),
        };
        told.map(|told| Answer::Told { told }).map_err(|e| e.to_string())
    }

    /// The first effort with the most restrictive answer, unless all are allowed. A call that shows no effort
    /// is still somebody's: an agent that the policy does not know may make none.
    fn worst(&self, call: &ToolCall) -> Option<Refused> {
        let root = AbsPath::root();
        let nothing = Effort { verb: Verb::Read, asked: String::new(), path: root, to: None };
        let unknown = self.policy.agent(self.recorder.actor().agent.as_str()).is_none();
        let efforts = call.efforts.iter().cloned().chain(unknown.then_some(nothing));
        let judged = efforts.map(|effort| {
            let object = match &effort.to {
                Some(to) => Object::Move { from: effort.path.clone(), to: to.clone() },
                None => Object::Path(effort.path.clone()),
            };
            let action = Action { actor: self.recorder.actor().clone(), verb: effort.verb, object };
            let facts = self.sight.facts(&self.policy, &action);
            let decision = decide(&self.policy, &facts, &action);
            (Some(effort.asked), action, decision)
        });
        let refused = judged.filter(|(_, _, decision)| decision.effect != Effect::Allow);
        refused.reduce(|worst, next| if next.2.effect > worst.2.effect { next } else { worst })
    }

    fn allowed(
        &self,
        host: &str,
        conversation: Option<&str>,
        call: &ToolCall,
        pid: Option<u32>,
    ) -> Result<(), String> {
        let mut record = self.recorder.record(Event::Call, Door::Hook);
        record.effect = Some(Effect::Allow);
        if let Some(first) = call.efforts.first() {
            record.verb = Some(first.verb);
            record.path = Some(first.path.to_string());
            record.asked = Some(first.asked.clone());
        }
        self.write(said(record, host, conversation, call), false)?;
        match (&self.tell, open_call(call, pid)) {
            (Some(tell), Some(open)) => tell(&Control::Open(open)),
            _ => Ok(()),
        }
    }

    fn done(&self, id: &CallId, ok: bool) -> Result<Answer, String> {
        if let Some(tell) = &self.tell {
            tell(&Control::Close(id.clone()))?;
        }
        let mut record = self.recorder.record(Event::CallEnd, Door::Hook).with("ok", ok);
        record.call = Some(id.clone());
        self.write(record, true)?;
        Ok(Answer::Noted { context: None })
    }

    fn moment(
        &self,
        host: &str,
        conversation: Option<&str>,
        moment: Moment,
        subagent: Option<&str>,
    ) -> Result<Answer, String> {
        let name = serde_json::to_value(moment).map_err(|e| e.to_string())?;
        let mut record = self.recorder.record(Event::Moment, Door::Hook).with("moment", name);
        record.host = Some(host.to_owned());
        record.conversation = conversation.map(str::to_owned);
        record.subagent = subagent.map(str::to_owned);
        let ends = matches!(moment, Moment::Stop | Moment::SubagentStop | Moment::SessionEnd);
        self.write(record, ends)?;
        let context = (moment == Moment::SessionStart).then(|| self.offers()).flatten();
        Ok(Answer::Noted { context })
    }

    /// For the agent, where others offer it something: how it finds out what.
    fn offers(&self) -> Option<String> {
        let own = self.recorder.actor().agent.as_str();
        let mut agents = self.policy.source().agents.iter();
        let offered = agents.any(|(name, agent)| name != own && !agent.provides.is_empty());
        let command = match self.tell {
            Some(_) => "remit explain --provides".to_owned(),
            None => format!("remit explain {} --provides", words::word(own)),
        };
        offered.then(|| words::offers(&command))
    }

    /// Whatever is recorded here was said by somebody else, so it is cut here.
    fn write(&self, record: Record, urgent: bool) -> Result<(), String> {
        let appended = self.recorder.append(&bounded(record), urgent);
        appended.map(drop).map_err(|e| format!("the ledger cannot be written, so nothing may be done: {e}"))
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("actor", self.recorder.actor()).finish_non_exhaustive()
    }
}

/// Says who makes which call.
fn said(mut record: Record, host: &str, conversation: Option<&str>, call: &ToolCall) -> Record {
    record.host = Some(host.to_owned());
    record.conversation = conversation.map(str::to_owned);
    record.tool = Some(call.tool.clone());
    record.call.clone_from(&call.id);
    record.command.clone_from(&call.command);
    record.subagent.clone_from(&call.subagent);
    record
}

/// A record of a call that the hook refused by itself, with all that it says of it, however long.
pub fn unjudged(mut record: Record, request: &Request) -> Record {
    if let Request::Refused { host, conversation, tool, id, why, .. } = request {
        record.effect = Some(Effect::Deny);
        record.host = Some(host.clone());
        record.conversation.clone_from(conversation);
        record.tool.clone_from(tool);
        record.call.clone_from(id);
        record.why = Some(why.clone());
    }
    record
}

fn open_call(call: &ToolCall, host: Option<u32>) -> Option<OpenCall> {
    let named = call.efforts.iter().flat_map(|e| std::iter::once(&e.path).chain(&e.to));
    let paths = named.take(MOST_PATHS).cloned().collect();
    Some(OpenCall {
        id: call.id.clone()?,
        tool: short_name(&call.tool),
        command: call.command.as_deref().map(shortened),
        paths,
        subagent: call.subagent.as_deref().map(short_name),
        host,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_writes_to_the_socket_itself_cannot_fill_the_ledger() {
        let long = |letter: &str| letter.repeat(5 << 20);
        let mut request = Request::Refused {
            version: wire::VERSION,
            host: long("h"),
            conversation: Some(long("c")),
            tool: Some(long("t")),
            id: CallId::new("one").ok(),
            why: long("ü"),
        };
        let record = bounded(unjudged(Record::new(now(), Event::Call), &request));
        assert!(serde_json::to_vec(&record).unwrap().len() < 8 << 10);
        assert!(record.why.unwrap().contains("üü… [10485760 bytes, sha256:"));
        if let Request::Refused { why, .. } = &mut request {
            *why = "ü".repeat(1000);
        }
        assert_eq!(bounded(unjudged(Record::new(now(), Event::Call), &request)).why.unwrap().len(), 2000);
        let call = ToolCall {
            id: None,
            tool: long("t"),
            command: Some(long("c")),
            efforts: Vec::new(),
            subagent: Some(long("s")),
        };
        let record = said(Record::new(now(), Event::Call), &long("h"), Some(&long("c")), &call);
        let record = bounded(record.spelled(long("\n").as_bytes(), None));
        assert!(serde_json::to_vec(&record).unwrap().len() < 32 << 10);
    }
}
