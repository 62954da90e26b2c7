//! What an agent's program is handed of the policy, beside what holds it: the system message, and the names of the
//! tools that it need not offer. Nothing rests on it: a program that does not heed it meets the hook.

use crate::choose::Chosen;
use remit_policy::Policy;
use remit_policy::source::AgentSource;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// The variable by which a program without a flag of its own is handed the system message.
pub const SYSTEM_MESSAGE: &str = "REMIT_SYSTEM_MESSAGE";

/// Arguments and variables for one start.
#[derive(Debug, Default)]
pub(crate) struct Handed {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) vars: BTreeMap<OsString, OsString>,
}

impl Handed {
    /// What the chosen agent's program is handed.
    pub(crate) fn to(chosen: &Chosen, policy: &Policy) -> Self {
        let mut handed = Self::default();
        let agent = chosen.agent.as_str();
        let message = policy.source().agents.get(agent).and_then(message);
        let adapter = chosen.adapter.as_ref();
        match (message, adapter.and_then(|adapter| adapter.prompt.as_ref())) {
            (Some(message), Some(prompt)) => handed.arguments.extend([(&prompt.flag).into(), message.into()]),
            (Some(message), None) => drop(handed.vars.insert(SYSTEM_MESSAGE.into(), message.into())),
            (None, _) => {}
        }
        if let Some(tools) = adapter.and_then(|adapter| adapter.tools.as_ref()) {
            // What a `*` means there is not known.
            let names: Vec<&str> = policy.denied_tools(agent).filter(|name| !name.contains('*')).collect();
            if !names.is_empty() {
                handed.arguments.push(format!("{}={}", tools.deny, names.join(",")).into());
            }
        }
        handed
    }
}

/// The agent's system message, if it has one that says something.
pub fn message(agent: &AgentSource) -> Option<&str> {
    agent.system_message.as_deref().filter(|message| !message.trim().is_empty())
}
