//! The holder: starts a session and owns it until it ends. It makes the home, compiles the policy, plans the
//! view, launches the gate with a warden, serves the session's socket, and writes the first and last record.
//!
//! Order matters: everything that the gate needs is opened before the launch, since the gate is a copy of this
//! process and the launch needs it to have one thread; threads start only afterwards.

use crate::audit::{self, Audit, Audited, Watch};
use crate::caches::Found;
use crate::calls::Control;
use crate::choose::Chosen;
use crate::desk::{Desk, Tell};
use crate::facts::Sight;
use crate::git_hooks::hooks_around;
use crate::handed::Handed;
use crate::home::{Home, HomeError};
use crate::ignored::{self, Ignored};
use crate::lease::{self, Lease};
use crate::listings::remembering;
use crate::recorder::{self, Recorder, fresh_session, now};
use crate::scratch::Scratch;
use crate::socket::Socket;
use crate::warden::Warden;
use crate::workspace::{OpenError, Workspace};
use crate::worktree::WorkTree;
use crate::{base, home};
use remit_core::wire::{INSIDE, SOCKET};
use remit_core::{AbsPath, Actor, Assurance, Diagnostic, Place, SessionId};
use remit_ledger::{Door, Event, Record};
use remit_policy::source::{LogAccess, Sandbox};
use remit_policy::{AgentPolicy, Policy};
use remit_sandbox::launch::{
    ChildExit, LaunchError, Measured, Running, Spec, Stdio, WindowSize, launch_noting,
};
use remit_sandbox::plan::{Disk, Extra, Plan, Request, Source, Tracked, plan};
use remit_sandbox::signals::Signals;
use remit_sandbox::view::{SessionFile, What};
use remit_sandbox::{attend, pty};
use remit_store::{Keys, LedgerError, StateDir, StateError};
use rustix::fd::{AsFd, OwnedFd};
use rustix::pipe::{PipeFlags, pipe_with};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a session did not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The workspace.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The private home.
    #[error("the session's private home cannot be made")]
    Home(#[from] HomeError),
    /// The policy has rules that this kernel cannot hold.
    #[error("this kernel cannot hold the policy")]
    Refused(Vec<String>),
    /// A step of the launch.
    #[error(transparent)]
    Launch(LaunchError),
    /// The session's socket.
    #[error("the session's socket cannot be made")]
    Socket(#[source] io::Error),
    /// The ledger.
    #[error("the ledger cannot be written, so nothing may start")]
    Ledger(#[from] LedgerError),
    /// The state folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// The session's own folder.
    #[error("the session's own folder cannot be made")]
    Lease(#[source] io::Error),
    /// The layers over the person's caches.
    #[error("the layers over package caches cannot be made")]
    Layers(#[source] io::Error),
    /// What is ignored cannot be looked at, or not be kept.
    #[error("the ignored files of the work tree cannot be told")]
    Ignored(#[source] io::Error),
    /// What sessions lock while names move.
    #[error("the lock that the workspace's sessions share cannot be opened")]
    Tree(#[source] io::Error),
    /// No randomness for a session's id.
    #[error("no fresh session id can be made")]
    Fresh(#[source] io::Error),
    /// The folder in which the command was given is not part of the view.
    #[error("the session cannot start in `{}`", .0.display())]
    Cwd(PathBuf),
    /// The signals to the holder could not be taken.
    #[error("signals cannot be handed on to the program")]
    Signals(#[source] io::Error),
    /// A thread could not be started.
    #[error("a thread cannot be started")]
    Thread(#[source] io::Error),
}

/// The hooks that a session's program is given.
#[derive(Debug, Clone)]
pub struct HookFile {
    /// The host's name.
    pub host: String,
    /// The flag that takes the settings file.
    pub flag: String,
    /// The settings file's content.
    pub settings: String,
}

/// Where Remit's own program stands inside a view.
pub const INNER_REMIT: &str = "/run/remit/session/remit";
const INNER_SETTINGS: &str = "/run/remit/session/settings.json";

/// What is noted where sessions have changed what is ignored.
pub const DISPUTED: &str = "not taken over: what sessions have written to .gitignore; what it names anew is recorded like \
                            all other work until a person changes or touches the file outside of a session";

/// A session that runs.
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// What the kernel holds, and what it only notes.
    pub notes: Vec<String>,
    /// Whether it starts in its home, since the agent may see nothing of the workspace.
    pub elsewhere: bool,
    /// Its program has a terminal of its own, which is relayed to this one.
    terminal: bool,
    running: Arc<Running>,
    signals: Signals,
    desk: Arc<Desk>,
    state: StateDir,
    /// What the policy wants to be told beside the ledger, and the session's first record.
    audit: Option<(Arc<Audit>, u64)>,
    watch: Option<Watch>,
    /// Where notifications for the terminal come from.
    notices: Option<OwnedFd>,
    lease: Lease,
    _socket: Socket,
}

/// How a session has ended.
#[derive(Debug)]
pub struct Ended {
    /// How its program has.
    pub exit: ChildExit,
    /// What was told beside the ledger, if the policy asks for it.
    pub audited: Option<Audited>,
}

/// Starts a session. Must be called before the process has other threads, and by the thread that will live as
/// long as the session.
pub fn start(
    workspace: &Workspace,
    chosen: &Chosen,
    hooks: Option<&HookFile>,
    terminal: Option<WindowSize>,
) -> Result<Session, RunError> {
    let environment = workspace.environment();
    let id = fresh_session().map_err(RunError::Fresh)?;
    let state = workspace.state()?;
    let sockets = environment.runtime(rustix::process::getuid().as_raw()).join(short(&state));
    lease::collect(&state.homes(), &sockets);
    let lease =
        Lease::take(&state.homes(), id.as_str(), chosen.adapter.is_some()).map_err(RunError::Lease)?;
    let root = lease.root().to_owned();
    let home = Home::make(&root, &workspace.root, chosen.adapter.as_ref(), environment)?;
    let caches = workspace.caches();
    let parts = Parts { workspace, chosen, hooks, terminal, id, state, home, caches, lease, sockets };
    let started = parts.start();
    if started.is_err() {
        // It is new and ours alone; nothing has run in it.
        drop(std::fs::remove_dir_all(&root));
    }
    started
}

/// What a session is put together from.
struct Parts<'a> {
    workspace: &'a Workspace,
    chosen: &'a Chosen,
    hooks: Option<&'a HookFile>,
    terminal: Option<WindowSize>,
    id: SessionId,
    state: StateDir,
    home: Home,
    caches: Found,
    lease: Lease,
    sockets: PathBuf,
}

impl Parts<'_> {
    fn start(self) -> Result<Session, RunError> {
        // The sink is there before the view is made, which shows it as it may be changed by nobody inside.
        let audit = Audit::of(self.workspace, &self.state).map(Arc::new);
        let unwritten = audit.as_ref().map(|audit| audit.prepare()).unwrap_or_default();
        let memory = self.state.listings();
        let checkout = self.workspace.checkout()?;
        let top = |error| OpenError::Path(self.workspace.root.as_path().to_owned(), error);
        let mut tree = checkout.map(WorkTree::of).transpose().map_err(top)?;
        let mut unsettled = None;
        let (policy, plan) = remembering(&memory, |disk| {
            let policy = self.policy(disk)?;
            let agent = self.agent(&policy)?;
            unsettled = tree.as_mut().and_then(|tree| tree.settle(agent, self.workspace.environment()));
            let plan = self.plan(&policy, agent, tree.as_ref(), disk)?;
            Ok::<_, RunError>((Arc::new(policy), plan))
        })?;
        let unknown = tree.as_ref().and_then(WorkTree::unknown);
        let mut notes: Vec<String> =
            plan.notes.iter().cloned().chain(unsettled).chain(unknown).chain(unwritten).collect();
        let socket = Socket::bind(&self.sockets, self.id.as_str()).map_err(RunError::Socket)?;
        let alone = !lease::others_live(&self.state.homes(), self.lease.root());
        let ignored =
            Ignored::look(&self.state.ignored(), &self.workspace.root, alone).map_err(RunError::Ignored)?;
        if ignored.disputed {
            notes.push(DISPUTED.to_owned());
        }
        notes.extend(self.tools_not_held(&policy));
        let (rules, marks) = ignored.into_parts();
        let (recorder, scratch) = (self.recorder(&policy)?, self.scratch(&policy, tree, &rules));
        let warden = Warden::new(Arc::clone(&policy), recorder, scratch, marks, self.tree_lock()?);
        let holder = self.recorder(&policy)?;
        let sight = Sight::of_session(&plan);
        let spec = self.spec(&policy, plan, Arc::new(warden), &socket)?;
        let elsewhere = spec.cwd.as_bytes() == base::HOME.as_bytes();
        // The first record comes before the first deed.
        let first = holder.append(&self.begun(&policy, &holder, &notes), false)?.seq;
        // So does this: what is measured is told before the program begins.
        let launched = |seen: &Measured| -> io::Result<()> {
            let record = holder.record(Event::Moment, Door::Holder).with("moment", "launched");
            holder.append(&record.with("measured", measured(seen)), false).map_err(io::Error::other)?;
            Ok(())
        };
        let running = match launch_noting(spec, launched) {
            Ok(running) => {
                notes.extend(unseen(&running));
                Arc::new(running)
            }
            Err(error) => {
                let record = holder.record(Event::SessionEnd, Door::Holder).with("exit", "never started");
                holder.append(&record.with("why", error.to_string()), false)?;
                return Err(refused(error));
            }
        };
        let signals = Signals::hold(&running).map_err(RunError::Signals)?;
        holder.start().map_err(RunError::Thread)?;
        let desk = Arc::new(Desk::new(policy, holder, sight, Some(teller(&running))));
        socket.serve(Arc::clone(&desk), running.gate()).map_err(RunError::Socket)?;
        let terminal = self.terminal.is_some();
        let (lease, state, id) = (self.lease, self.state, self.id);
        let audit = audit.map(|audit| (audit, first));
        let (watch, notices) = (None, None);
        Ok(Session {
            id,
            notes,
            elsewhere,
            terminal,
            running,
            signals,
            desk,
            state,
            audit,
            watch,
            notices,
            lease,
            _socket: socket,
        })
    }

    /// The record of the start.
    fn begun(&self, policy: &Policy, holder: &Recorder, notes: &[String]) -> Record {
        let mut record = holder.record(Event::SessionStart, Door::Holder);
        record.program = Some(self.chosen.program.display().to_string());
        record.path = Some(self.workspace.root.to_string());
        record.host = self.hooks.map(|h| h.host.clone());
        record.command = Some(self.words());
        if let Some(key) = reads_by(policy) {
            record = record.with("reads", key);
        }
        record.with("hooked", self.hooks.is_some()).with("notes", notes.to_vec())
    }

    /// Only a hook sees which tool is called.
    fn tools_not_held(&self, policy: &Policy) -> Option<String> {
        let rule = policy.tool_rule(self.chosen.agent.as_str()).filter(|_| self.hooks.is_none())?;
        Some(format!("not held: {rule}, since no hook of this program's calls Remit"))
    }

    /// The program and its arguments, as they are recorded.
    fn words(&self) -> String {
        let args = self.chosen.args.iter().map(|a| a.to_string_lossy());
        let words: Vec<_> = std::iter::once(self.chosen.program.to_string_lossy()).chain(args).collect();
        recorder::shortened(&words.join(" "))
    }

    fn policy(&self, disk: &dyn Disk) -> Result<Policy, OpenError> {
        let mut rules = self.home.rules.clone();
        rules.extend(base::installation(&self.chosen.program));
        rules.extend(self.caches.rules());
        let policy = self.workspace.policy_inside(disk, rules, self.home.single_files.clone())?;
        self.workspace.has_what_it_needs(&policy, self.chosen.agent.as_str())?;
        Ok(policy)
    }

    fn agent<'p>(&self, policy: &'p Policy) -> Result<&'p AgentPolicy, RunError> {
        let agent = self.chosen.agent.as_str();
        policy
            .agent(agent)
            .ok_or_else(|| RunError::Refused(vec![format!("the policy has no agent `{agent}`")]))
    }

    fn plan(
        &self,
        policy: &Policy,
        rules: &AgentPolicy,
        tree: Option<&WorkTree>,
        disk: &dyn Disk,
    ) -> Result<Plan, RunError> {
        let path = |p: &Path| AbsPath::try_from(p).map_err(|e| OpenError::Path(p.to_owned(), e));
        let extra = |shown: &home::Shown| -> Result<Extra, OpenError> {
            Ok(Extra { target: path(&shown.target)?, source: Source::Host(path(&shown.source)?) })
        };
        let own = |shown: &&home::Shown| shown.source != shown.target;
        let mut extras = self.home.shown.iter().filter(own).map(extra).collect::<Result<Vec<_>, _>>()?;
        let layers = self.lease.root().join(lease::LAYERS);
        let (seen, withheld) =
            self.caches.offered(&layers, rules, policy.world()).map_err(RunError::Layers)?;
        extras.extend(seen);
        let narrowed = tree.filter(|tree| tree.is_narrowed(rules));
        let known = narrowed.and_then(|tree| Some((&tree.top, tree.tracked.as_ref()?)));
        let entries = || known.iter().flat_map(|(_, tracked)| tracked.entries());
        let paths: Vec<&[u8]> = entries().map(|entry| entry.path).collect();
        let repositories: Vec<&[u8]> = entries().filter(|entry| entry.repository).map(|e| e.path).collect();
        let tracked = known.map(|(top, _)| Tracked { top, paths: &paths, repositories: &repositories });
        let mut plan = planned(policy, rules, (&extras, tracked), disk);
        plan.notes.extend(withheld);
        if plan.refused.is_empty() {
            return Ok(plan);
        }
        Err(RunError::Refused(plan.refused.iter().map(ToString::to_string).collect()))
    }

    /// A recorder with a ledger of its own: the gate's and the holder's must not share a lock.
    fn recorder(&self, policy: &Policy) -> Result<Recorder, OpenError> {
        let agent = self.chosen.agent.clone();
        let actor = Actor { agent, session: Some(self.id.clone()), assurance: Assurance::Kernel };
        Ok(Recorder::new(self.workspace.ledger(&self.state)?, actor, policy))
    }

    /// What the gates of the workspace's sessions lock. Each gate has it open by itself.
    fn tree_lock(&self) -> Result<File, RunError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.open(self.state.tree_lock()).map_err(RunError::Tree)
    }

    fn scratch(&self, policy: &Arc<Policy>, tree: Option<WorkTree>, ignored: &str) -> Scratch {
        let exclude = ignored::text(&self.workspace.root.as_path().join(".git/info/exclude"));
        let folders = base::session_rules(&self.workspace.root).into_iter().map(|rule| rule.path).collect();
        // An index that cannot be read makes everything work: more is recorded, never less.
        let tracked = tree.filter(|tree| tree.top == self.workspace.root).and_then(|tree| tree.tracked);
        Scratch::new(Arc::clone(policy), folders, tracked, &[&exclude, ignored])
    }

    fn spec(
        &self,
        policy: &Policy,
        plan: Plan,
        warden: Arc<Warden>,
        socket: &Socket,
    ) -> Result<Spec, RunError> {
        let environment = self.workspace.environment();
        let mut vars: BTreeMap<OsString, OsString> = match &self.chosen.adapter {
            Some(adapter) => environment.for_session(&adapter.environment),
            None => environment.for_session(&Default::default()),
        };
        vars.extend(self.home.vars.clone());
        vars.extend(self.caches.vars.clone());
        let handed = Handed::to(self.chosen, policy);
        vars.extend(handed.vars);
        let cwd = self.cwd(&plan)?;
        vars.insert("PWD".into(), cwd.as_path().into());
        let mut files = vec![
            SessionFile { name: name_in_session(SOCKET), what: What::Shown(socket.path().to_owned()) },
            SessionFile { name: name_in_session(INNER_REMIT), what: What::Shown(environment.exe.clone()) },
        ];
        let mut arguments: Vec<OsString> = vec![self.chosen.program.clone().into()];
        if let Some(hooks) = self.hooks {
            let content = What::Content(hooks.settings.clone().into_bytes());
            files.push(SessionFile { name: name_in_session(INNER_SETTINGS), what: content });
            let enter: [&str; 8] = [
                INNER_REMIT,
                "enter-session",
                "--settings",
                INNER_SETTINGS,
                "--host",
                &hooks.host,
                "--root",
                "",
            ];
            let mut wrapped: Vec<OsString> = enter.iter().take(7).map(OsString::from).collect();
            wrapped.push(self.workspace.root.as_path().into());
            wrapped.push("--".into());
            wrapped.append(&mut arguments);
            wrapped.extend([OsString::from(&hooks.flag), INNER_SETTINGS.into()]);
            arguments = wrapped;
        }
        arguments.extend(handed.arguments);
        arguments.extend(self.chosen.args.iter().cloned());
        let front = pty::in_foreground(std::io::stdin());
        let stdio = self.terminal.map_or(Stdio::Inherit, |size| Stdio::Pty { size, front });
        Ok(Spec {
            plan,
            arguments,
            environment: vars.into_iter().collect(),
            cwd,
            stdio,
            authority: warden,
            session_files: files,
            placeholder_record: self.state.root().join("placeholders.json"),
        })
    }

    /// Where the command was given, if the view has it; else the workspace.
    fn cwd(&self, plan: &Plan) -> Result<AbsPath, RunError> {
        let here = &self.workspace.environment().cwd;
        let here = AbsPath::try_from(here.as_path()).map_err(|_| RunError::Cwd(here.clone()))?;
        for folder in [here, self.workspace.root.clone()] {
            let covered = plan.masks.iter().any(|mask| mask.covers(&folder));
            if plan.shown_by(&folder).is_some() && !covered {
                return Ok(folder);
            }
        }
        let rules = plan.binds.iter().find(|bind| self.workspace.root.covers(&bind.target));
        match rules {
            Some(_) => Ok(self.workspace.root.clone()),
            None => AbsPath::new(base::HOME).map_err(|_| RunError::Cwd(base::HOME.into())),
        }
    }
}

pub(crate) fn planned(
    policy: &Policy,
    rules: &AgentPolicy,
    (extras, tracked): (&[Extra], Option<Tracked<'_>>),
    disk: &dyn Disk,
) -> Plan {
    plan(
        &Request {
            rules,
            extras,
            sealed: &policy.world().sealed,
            requestable: &[],
            tracked,
            hardlinks_allowed: false,
            advisory: policy.source().sandbox == Sandbox::Advisory,
        },
        disk,
    )
}

/// The rules for which no session of their agent would start, since this kernel cannot hold them.
pub fn unholdable(policy: &Policy, state: &StateDir) -> Vec<Diagnostic> {
    let file = Place::file(Arc::clone(&policy.source().file));
    let of_agent = |disk: &dyn Disk, (name, rules): (&str, &AgentPolicy)| {
        let refused = planned(policy, rules, (&[], None), disk).refused;
        let findings = refused.into_iter().map(|refusal| {
            let rule = refusal.rule.as_ref();
            let place = rule.and_then(|rule| rule.place.clone()).unwrap_or_else(|| file.clone());
            let message = format!("this kernel cannot hold it for `{name}`: {}", refusal.why);
            let advisory = "`sandbox: advisory` starts without what cannot be held, and says so";
            match rule.and_then(|rule| hooks_around(policy, rules, rule)) {
                Some(hooks) => Diagnostic::error("not-holdable", place, format!("{message}; {hooks}"))
                    .help(format!("remove the rule, or keep git's hooks apart from other files; {advisory}")),
                None => Diagnostic::error("not-holdable", place, message).help(advisory),
            }
        });
        findings.collect::<Vec<_>>()
    };
    remembering(&state.listings(), |disk| policy.agents().flat_map(|agent| of_agent(disk, agent)).collect())
}

/// What tells the gate that a call begins or ends.
fn teller(running: &Arc<Running>) -> Tell {
    // Weak: the session ends with its value, whatever threads still hold the desk.
    let gate = Arc::downgrade(running);
    Box::new(move |control: &Control| -> Result<(), String> {
        let gate = gate.upgrade().ok_or("the session has ended")?;
        let message = serde_json::to_vec(control).map_err(|e| e.to_string())?;
        match gate
            .control(&message)
            .map_err(|e| format!("the session's gate does not answer: {e}"))?
            .as_slice()
        {
            b"" => Ok(()),
            complaint => Err(String::from_utf8_lossy(complaint).into_owned()),
        }
    })
}

/// Which key makes a session record what it reads and starts; none if nothing does.
pub fn reads_by(policy: &Policy) -> Option<&'static str> {
    let log = policy.source().audit.value.log_access_attempts;
    (log == LogAccess::All).then_some("audit.log_access_attempts: all")
}

/// What was planned and could not be shown, in words.
fn unseen(running: &Running) -> impl Iterator<Item = String> {
    let unmade = running.unmade().iter();
    let unmade = unmade.map(|(path, error)| format!("{path} cannot be made, and is not seen: {error}"));
    let unlayered = running.measured().unlayered.iter().map(|(path, error)| {
        format!("{path} is empty at the start: no layer can be put over the person's cache ({error})")
    });
    unmade.chain(unlayered)
}

fn refused(error: LaunchError) -> RunError {
    match error {
        LaunchError::Refused(rules) => RunError::Refused(rules.iter().map(ToString::to_string).collect()),
        error => RunError::Launch(error),
    }
}

/// The 12 hex digits that tell workspaces apart: the end of the state folder's name.
fn short(state: &StateDir) -> String {
    let name = state.root().file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.rsplit('-').next().unwrap_or(&name).to_owned()
}

fn name_in_session(path: &str) -> String {
    path.strip_prefix(INSIDE).unwrap_or(path).trim_start_matches('/').to_owned()
}

fn measured(measured: &Measured) -> serde_json::Value {
    let mut said = json!({
        "landlock_abi": measured.landlock_abi,
        "floor_complete": measured.floor_complete,
        "user_map": format!("{:?}", measured.user_map).to_lowercase(),
        "self_test": measured.checks.iter().map(|c| c.what.clone()).collect::<Vec<_>>(),
        "network": "not held",
    });
    if !measured.unlayered.is_empty() {
        said["unlayered"] = json!(measured.unlayered);
    }
    said
}

impl Session {
    /// Announces refusals and fills the sink from now on, if the policy asks for it: by `say`, a line each; while the
    /// program has the `terminal` that this process's standard error is, as notifications on it.
    pub fn watch(&mut self, say: Box<dyn Fn(&str) + Send>, terminal: bool) -> Result<(), RunError> {
        let Some((audit, first)) = &self.audit else { return Ok(()) };
        let mut place = audit::Place { say, notices: None };
        if terminal && self.terminal {
            let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK | PipeFlags::DIRECT;
            let (read, write) = pipe_with(flags).map_err(|e| RunError::Thread(e.into()))?;
            (self.notices, place.notices) = (Some(read), Some(write));
        }
        let (audit, from) = (Arc::clone(audit), (self.id.clone(), *first));
        let watch = Watch::start(audit, from, Arc::clone(&self.desk), place).map_err(RunError::Thread)?;
        self.watch = Some(watch);
        Ok(())
    }

    /// Attends the program until its end, at the terminal that this process's input and output are, if the session
    /// has one. If that fails, the session is ended.
    pub fn attend(&self) -> io::Result<()> {
        let notices = self.notices.as_ref().map(AsFd::as_fd);
        attend::attend_noticing(&self.running, &self.signals, &io::stdin(), &io::stdout(), notices)
            .inspect_err(|_| self.running.kill())
    }

    /// Waits for the end, writes the last record and a signed checkpoint, and removes what was only for this
    /// run.
    pub fn finish(self) -> Result<Ended, RunError> {
        let exit = self.running.wait();
        // What a program left that cannot be removed is collected by a later run. It comes first: on a full disk
        // the last records need the room.
        drop(lease::clear(self.lease.root()));
        let recorder = self.desk.recorder();
        let how = match exit {
            ChildExit::Code(code) => json!({"code": code}),
            ChildExit::Signal(signal) => json!({"signal": signal}),
            ChildExit::Lost => json!("lost"),
        };
        let end = recorder.record(Event::SessionEnd, Door::Holder).with("exit", how);
        let last = recorder.append(&end, false)?.seq;
        // What it still has to tell comes after the end, and before the checkpoint.
        let audited = self.watch.map(|watch| watch.end(last));
        recorder.end();
        let keys = Keys::load_or_create(&self.state.keys())?;
        remit_store::checkpoint(recorder.ledger(), &keys, now(), &self.state.anchor())?;
        Ok(Ended { exit, audited })
    }
}
