//! What a policy document says, as values with positions; not yet compiled, not yet checked for sense.

use crate::Access;
use remit_core::{Effect, Place, Verb};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub place: Place,
}

/// What a leading `/` in a pattern means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Root {
    /// The host's root.
    #[default]
    Host,
    /// The workspace.
    Workspace,
}

/// What any program needs to run, offered where no rule speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Base {
    /// System folders, toolchains, caches.
    #[default]
    Standard,
    /// System folders only.
    Minimal,
    /// Nothing.
    None,
}

/// Whether work must be declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intents {
    /// No.
    #[default]
    Off,
    /// It is said, not held.
    Advise,
    /// It is held.
    Require,
}

/// What holds the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sandbox {
    /// The kernel; what it cannot hold is refused.
    #[default]
    Enforce,
    /// As much as the kernel here can hold; the rest is said.
    Advisory,
}

/// One rule on paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSource {
    /// The pattern as written.
    pub path: At<String>,
    /// What it grants (empty: `none`).
    pub access: At<Access>,
    /// Where it stands in the document: `agents.frontend.permissions[1]`.
    pub id: Arc<str>,
}

/// Whom a global rule binds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum For {
    /// Everybody.
    All,
    /// These agents and roles.
    These(Vec<At<String>>),
}

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskMode {
    /// A person is asked.
    Ask,
    /// Granted once a session without asking.
    Once,
    /// Refused without asking.
    Never,
}

/// Something that may be asked for at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestSource {
    /// Pattern and access.
    pub rule: RuleSource,
    /// How it is answered.
    pub answer: AskMode,
}

/// A need or an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilitySource {
    /// Pattern and access.
    pub rule: RuleSource,
    /// Why it is needed, or what it is.
    pub text: String,
}

/// A role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoleSource {
    /// Roles that it adds to.
    pub extends: Vec<At<String>>,
    /// Its rules.
    pub permissions: Vec<RuleSource>,
    /// Tools that its agents may not use, by the host's name.
    pub deny_tools: Vec<At<String>>,
    /// The only tools that its agents may use; empty: not said.
    pub allow_tools: Vec<At<String>>,
    /// Verbs that its agents may not use, whatever the path.
    pub deny_verbs: Vec<At<Verb>>,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSource {
    /// Where its name stands.
    pub place: Place,
    /// An adapter's name, or a command and its arguments; none: any command.
    pub cli: Option<Cli>,
    /// Its roles.
    pub roles: Vec<At<String>>,
    /// What relative patterns are relative to; `.` if not given.
    pub base_workspace: Option<At<String>>,
    /// Its rules.
    pub permissions: Vec<RuleSource>,
    /// What it may ask for.
    pub requests: Vec<RequestSource>,
    /// What it needs.
    pub requires: Vec<CapabilitySource>,
    /// What it offers.
    pub provides: Vec<CapabilitySource>,
    /// Hosts and ports that it may reach, as written.
    pub network: Vec<At<String>>,
    /// The ceiling of any rule and grant.
    pub max_access: Option<At<Access>>,
    /// Handed to the CLI.
    pub system_message: Option<String>,
    /// Tools that it may not use, by the host's name.
    pub deny_tools: Vec<At<String>>,
    /// The only tools that it may use; empty: not said.
    pub allow_tools: Vec<At<String>>,
    /// Verbs that it may not use, whatever the path.
    pub deny_verbs: Vec<At<Verb>>,
    /// What it has of git's records, if not what goes with the work tree.
    pub git: Option<At<Git>>,
    /// How much of the machine its sessions may use.
    pub limits: Option<At<Limits>>,
}

/// What an agent has of git's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Git {
    /// Nothing: no `.git` of the checkout is there for it.
    None,
}

/// How much of the machine a session may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Bytes.
    pub memory: Option<u64>,
    /// How many at once.
    pub processes: Option<u64>,
    /// Hundredths of a core.
    pub cpu: Option<u64>,
}

impl AgentSource {
    /// An agent of whom only the name is known; `place` is where it stands.
    pub fn named(place: Place) -> Self {
        Self {
            place,
            cli: None,
            roles: Vec::new(),
            base_workspace: None,
            permissions: Vec::new(),
            requests: Vec::new(),
            requires: Vec::new(),
            provides: Vec::new(),
            network: Vec::new(),
            max_access: None,
            system_message: None,
            deny_tools: Vec::new(),
            allow_tools: Vec::new(),
            deny_verbs: Vec::new(),
            git: None,
            limits: None,
        }
    }
}

/// How an agent's program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cli {
    /// An adapter by name.
    Adapter(At<String>),
    /// A program and its arguments.
    Command(Vec<At<String>>),
}

/// Which accesses are recorded one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogAccess {
    /// Everything, reads included.
    All,
    /// Changes and refusals.
    #[default]
    Denied,
    /// Refusals only as counts.
    None,
}

/// What is recorded and announced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditSource {
    /// Which accesses are recorded one by one.
    pub log_access_attempts: LogAccess,
    /// An extra plain sink.
    pub log_file: Option<At<String>>,
    /// Whether a refusal is announced.
    pub alert_on_violation: bool,
    /// The program that announces it.
    pub alert_command: Vec<At<String>>,
}

/// What a person must confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSource {
    /// The verb.
    pub verb: At<Verb>,
    /// The pattern.
    pub path: At<String>,
    /// Where it stands in the document.
    pub id: Arc<str>,
}

/// One of the policy's own tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSource {
    /// The agent.
    pub agent: At<String>,
    /// The verb.
    pub verb: At<Verb>,
    /// A path, relative to the agent's `base_workspace` or absolute as `root` says.
    pub path: At<String>,
    /// What must come out.
    pub expect: At<Effect>,
}

/// A whole policy document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySource {
    /// The file, as it should be shown.
    pub file: Arc<str>,
    /// What a leading `/` means; `None`: not said.
    pub root: Option<At<Root>>,
    /// What happens where no rule speaks.
    pub default_policy: Option<At<Effect>>,
    /// Whether a default other than deny was confirmed.
    pub allow_insecure_default: bool,
    /// What any program needs.
    pub base: Base,
    /// Whether work must be declared.
    pub intents: At<Intents>,
    /// What holds the session.
    pub sandbox: Sandbox,
    /// Paths whose allowed changes are only counted.
    pub scratch: Vec<At<String>>,
    /// Rules for many.
    pub global_rules: Vec<(RuleSource, For)>,
    /// Roles.
    pub roles: BTreeMap<String, RoleSource>,
    /// Agents.
    pub agents: BTreeMap<String, AgentSource>,
    /// What a person must confirm.
    pub approvals: Vec<ApprovalSource>,
    /// What is recorded and announced.
    pub audit: At<AuditSource>,
    /// The policy's own tests.
    pub tests: Vec<TestSource>,
}

impl PolicySource {
    /// A document that says nothing. `file` is its name, as it should be shown.
    pub fn empty(file: Arc<str>) -> Self {
        let nowhere = Place::file(Arc::clone(&file));
        Self {
            file,
            root: None,
            default_policy: None,
            allow_insecure_default: false,
            base: Base::default(),
            intents: At { value: Intents::default(), place: nowhere.clone() },
            sandbox: Sandbox::default(),
            scratch: Vec::new(),
            global_rules: Vec::new(),
            roles: BTreeMap::new(),
            agents: BTreeMap::new(),
            approvals: Vec::new(),
            audit: At { value: AuditSource::default(), place: nowhere },
            tests: Vec::new(),
        }
    }
}
