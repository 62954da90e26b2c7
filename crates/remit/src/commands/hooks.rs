//! `remit hooks install|uninstall|status|test HOST`.

use crate::cli::{HooksAction, HooksArgs, HooksTarget};
use crate::failures::no_agent;
use crate::report::{self, ERROR, Failure, HINT, OK, WAIT};
use remit_config::FindError;
use remit_core::path::printable;
use remit_core::{AbsPath, AgentName, Exit};
use remit_hooks::install::{self, Backup, Removal, State, Status};
use remit_hooks::{Command, Host, canary, file, is_denial};
use remit_ledger::{Door, Event, Record};
use remit_sandbox::plain::{Plain, spawn_plain};
use remit_session::environment::Environment;
use remit_session::recorder::now;
use remit_session::workspace::{OpenError, Workspace};
use serde_json::json;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Does one of the four.
pub(crate) fn run(args: &HooksArgs, environment: &Environment) -> Result<Exit, Failure> {
    let (HooksAction::Install(target)
    | HooksAction::Uninstall(target)
    | HooksAction::Status(target)
    | HooksAction::Test(target)) = &args.action;
    let place = Installation::find(target, environment)?;
    match &args.action {
        HooksAction::Install(_) => match place.broken {
            Some(error) => Err(error.into()),
            None => place.install(),
        },
        HooksAction::Uninstall(_) => place.uninstall(),
        HooksAction::Status(target) => place.status(target.agent.as_deref(), target.json),
        HooksAction::Test(target) => place.test(target.json),
    }
}

/// Where a host's hooks are registered.
struct Installation {
    host: Host,
    workspace: Workspace,
    /// Why there is no policy; hooks can be looked at and taken out all the same.
    broken: Option<OpenError>,
    /// The agent that was named, or could be meant.
    agent: Option<AgentName>,
    binary: AbsPath,
    settings: PathBuf,
}

impl Installation {
    fn find(target: &HooksTarget, environment: &Environment) -> Result<Self, Failure> {
        let host: Host = target.host.parse().map_err(|_| unknown_host(&target.host))?;
        let (workspace, broken) = governed(host, environment)?;
        let agent = agent(target, &workspace, broken.is_none())?;
        let binary = AbsPath::try_from(environment.exe.as_path()).map_err(|e| unregistered(&e))?;
        let settings = workspace.root.as_path().join(host.dialect().settings_file());
        Ok(Self { host, workspace, broken, agent, binary, settings })
    }

    fn command(&self, agent: Option<AgentName>) -> Result<Command, Failure> {
        Command::new(&self.binary, &self.workspace.root, agent).map_err(|e| unregistered(&e))
    }

    /// Keeps others out who would install or remove at the same time: they wait.
    fn lock(&self) -> Result<std::fs::File, Failure> {
        let file = self.workspace.state()?.root().join("hooks.lock");
        file::lock(&file).map_err(|e| Failure::because(Exit::Io, "the hooks cannot be locked", &e))
    }

    fn backup(&self) -> Result<PathBuf, Failure> {
        Ok(self.workspace.state_place()?.root().join(format!("hooks-{}.json", self.host.word())))
    }

    fn shown(&self) -> String {
        printable(&self.settings.display().to_string())
    }

    fn text(&self) -> Result<Option<String>, Failure> {
        file::read(&self.settings).map_err(|e| Failure::because(Exit::Io, "the settings cannot be read", &e))
    }

    fn kept(&self) -> Result<Option<Backup>, Failure> {
        let text = file::read(&self.backup()?)
            .map_err(|e| Failure::because(Exit::Io, "the backup cannot be read", &e))?;
        let parse = |t: String| {
            serde_json::from_str(&t)
                .map_err(|e| Failure::because(Exit::Io, "the backup cannot be understood", &e))
        };
        text.map(parse).transpose()
    }

    fn write(&self, seen: Option<&str>, new: Option<&str>) -> Result<(), Failure> {
        file::replace(&self.settings, seen, new).map_err(|e| self.unwritten(&e))
    }

    fn unwritten(&self, error: &file::FileError) -> Failure {
        Failure::because(Exit::Io, "the settings cannot be written", error)
    }

    fn install(&self) -> Result<Exit, Failure> {
        let _lock = self.lock()?;
        let text = self.text()?;
        let command = self.command(self.agent.clone())?;
        let (new, mut backup) = install::install(self.host, text.as_deref(), &command, self.kept()?.as_ref())
            .map_err(|e| self.malformed(&e))?;
        backup.made_folder |= !file::has_folder(&self.settings).map_err(|e| self.unwritten(&e))?;
        let kept = serde_json::to_string(&backup)
            .map_err(|e| Failure::because(Exit::Io, "the backup cannot be written", &e))?;
        let place = self.backup()?;
        let seen =
            file::read(&place).map_err(|e| Failure::because(Exit::Io, "the backup cannot be read", &e))?;
        // The backup first: what cannot be undone is not done.
        file::replace(&place, seen.as_deref(), Some(&kept))
            .map_err(|e| Failure::because(Exit::Io, "the backup cannot be written", &e))?;
        let shown = self.shown();
        if text.as_deref() == Some(new.as_str()) {
            report::say(&format!("{OK}ok{OK:#}  {shown} has the hooks already\n"))?;
            return Ok(Exit::Yes);
        }
        self.write(text.as_deref(), Some(&new))?;
        self.record("installed")?;
        report::say(&format!("{OK}ok{OK:#}  {shown} asks remit before every tool call\n"))?;
        report::talk(
            "remit: hooks are advice that the program can lose; `remit run` lets the kernel hold the session\n",
        );
        self.unruled(Some(self.agent.as_ref().map(AgentName::as_str)));
        Ok(Exit::Yes)
    }

    fn uninstall(&self) -> Result<Exit, Failure> {
        // Where there is nothing to do, no state is made.
        if install::uninstall(self.host, self.text()?.as_deref(), None) == Ok(Removal::Unchanged) {
            report::say(&format!("{OK}ok{OK:#}  {} has no hooks of remit\n", self.shown()))?;
            return Ok(Exit::Yes);
        }
        let _lock = self.lock()?;
        let (text, kept) = (self.text()?, self.kept()?);
        let removal =
            install::uninstall(self.host, text.as_deref(), kept.as_ref()).map_err(|e| self.malformed(&e))?;
        let shown = self.shown();
        match removal {
            Removal::Unchanged => report::say(&format!("{OK}ok{OK:#}  {shown} has no hooks of remit\n"))?,
            Removal::Write(new) => {
                self.write(text.as_deref(), Some(&new))?;
                self.record("removed")?;
                report::say(&format!("{OK}ok{OK:#}  {shown} is without remit's hooks\n"))?;
            }
            Removal::Delete => {
                self.write(text.as_deref(), None)?;
                if kept.is_some_and(|backup| backup.made_folder) {
                    file::remove_empty_folder(&self.settings).map_err(|e| self.unwritten(&e))?;
                }
                self.record("removed")?;
                report::say(&format!("{OK}ok{OK:#}  {shown} was remit's alone, and is gone\n"))?;
            }
        }
        Ok(Exit::Yes)
    }

    fn status(&self, named: Option<&str>, as_json: bool) -> Result<Exit, Failure> {
        let text = self.text()?;
        // Whoever is registered, is; the question is whether as it was installed for that agent.
        let registered = install::registered_agent(self.host, text.as_deref());
        let command = self.command(registered.clone().unwrap_or_else(|| self.agent.clone()))?;
        let status = install::status(self.host, text.as_deref(), &command).map_err(|e| self.malformed(&e))?;
        let agent = registered.as_ref().map(|agent| agent.as_ref().map(AgentName::as_str));
        let other = named.is_some_and(|named| agent.is_some_and(|agent| agent != Some(named)));
        let in_force = status.in_force() && !other;
        if as_json {
            let events: serde_json::Map<_, _> =
                status.events.iter().map(|(name, state)| ((*name).to_owned(), json!(word(*state)))).collect();
            report::say_json(&json!({
                "version": 1,
                "host": self.host.word(),
                "settings": self.settings,
                "agent": agent.flatten(),
                "in_force": in_force,
                "disabled": status.disabled,
                "events": events,
            }))?;
        } else {
            let head = self.head(&status, agent, named.filter(|_| other));
            let rows: Vec<_> = status.events.iter().map(|(name, state)| row(name, *state)).collect();
            report::say(&format!("{head}\n{}", report::table(&rows)))?;
        }
        self.unruled(agent);
        Ok(if in_force { Exit::Yes } else { Exit::No })
    }

    /// Whether they are in force, where, as which agent, and what would change it. `other`: the agent that was asked for,
    /// where it is not the one that is registered.
    fn head(&self, status: &Status, agent: Option<Option<&str>>, other: Option<&str>) -> String {
        let settings = self.shown();
        let as_whom = match agent {
            Some(Some(agent)) => format!(", as the agent `{agent}`"),
            Some(None) => ", as the only agent".to_owned(),
            None => String::new(),
        };
        let how = match (status.disabled, other) {
            (true, _) => format!("{ERROR}switched off{ERROR:#} by `disableAllHooks`"),
            (_, Some(other)) => {
                format!("{WAIT}not in force for `{other}`{WAIT:#}: `{}`", self.installation(Some(other)))
            }
            (false, None) if status.in_force() => format!("{OK}in force{OK:#}"),
            (false, None) => {
                let agent = agent.unwrap_or(self.agent.as_ref().map(AgentName::as_str));
                format!("{WAIT}not in force{WAIT:#}: `{}`", self.installation(agent))
            }
        };
        format!("{how}  {settings}{as_whom}")
    }

    /// The command that registers the hooks for this agent; one that has the program's own name need not be named.
    fn installation(&self, agent: Option<&str>) -> String {
        let host = self.host.word();
        let agent =
            agent.filter(|name| *name != host).map_or(String::new(), |name| format!(" --agent {name}"));
        format!("remit hooks install {host}{agent}")
    }

    /// Says where hooks that are registered refuse everything.
    fn unruled(&self, agent: Option<Option<&str>>) {
        let Some(agent) = agent else { return };
        let agents = &self.workspace.source.agents;
        let tested = || {
            let policy = self.workspace.policy_outside()?;
            agent.map_or(Ok(()), |name| self.workspace.has_what_it_needs(&policy, name))
        };
        let tested = || tested().err().map(|error| error.to_string());
        let why = match (&self.broken, agent) {
            (Some(error), _) => Some(error.to_string()),
            (None, Some(name)) if !agents.contains_key(name) => {
                Some(format!("the policy has no agent `{name}`"))
            }
            (None, _) => tested(),
        };
        let Some(why) = why else { return };
        let host = self.host.word();
        report::talk(&format!(
            "{WAIT}remit: every call is refused until this is mended, or `remit hooks uninstall {host}`: {}{WAIT:#}\n",
            printable(&why)
        ));
    }

    fn test(&self, as_json: bool) -> Result<Exit, Failure> {
        let text = self.text()?.unwrap_or_default();
        let environment: Vec<_> = self.workspace.environment().vars.clone().into_iter().collect();
        let tested = send_canary(self.host, &text, &self.workspace.root, &environment)?;
        let (refused, why) = match &tested {
            Tested::Refused => (true, String::new()),
            Tested::Passed(why) => (false, why.clone()),
        };
        if as_json {
            report::say_json(
                &json!({"version": 1, "host": self.host.word(), "refused": refused, "why": why}),
            )?;
        } else if refused {
            report::say(&format!("{OK}ok{OK:#}  the registered hook refused a call that must be refused\n"))?;
        } else {
            report::say(&format!("{ERROR}not held{ERROR:#}  {}\n", printable(&why)))?;
            if install::registered(self.host, &text).is_none() && !install::switched_off(&text) {
                let how = self.installation(self.agent.as_ref().map(AgentName::as_str));
                report::talk(&format!("{HINT}hint{HINT:#}: `{how}` registers it\n"));
            }
        }
        Ok(if refused { Exit::Yes } else { Exit::No })
    }

    fn malformed(&self, error: &install::InstallError) -> Failure {
        let message = format!("`{}` was left as it is", self.settings.display());
        Failure::because(Exit::Config, message, error).hint("mend the file, then try again")
    }

    fn record(&self, what: &str) -> Result<(), Failure> {
        let ledger = self.workspace.ledger(&self.workspace.state()?)?;
        let record = Record::new(now(), Event::Hooks).at(Door::Shell).with("hooks", what);
        let record = Record { host: Some(self.host.word().to_owned()), ..record };
        let appended = ledger.append_record(&record).and_then(|_| ledger.sync());
        appended.map_err(|e| Failure::because(Exit::Io, "the ledger cannot be written", &e))
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Current => "current",
        State::Stale => "stale",
        State::Absent => "absent",
    }
}

fn row(event: &str, state: State) -> Vec<String> {
    let style = if state == State::Current { OK } else { WAIT };
    vec![format!("  {event}"), format!("{style}{}{style:#}", word(state))]
}

fn unregistered(error: &dyn std::error::Error) -> Failure {
    Failure::because(Exit::Config, "the hooks cannot be registered", error)
}

/// The workspace that this folder belongs to: the nearest with a policy, or with hooks that were registered when there
/// was one. The second says why the policy cannot be read.
fn governed(host: Host, environment: &Environment) -> Result<(Workspace, Option<OpenError>), Failure> {
    let hooked = |folder: &&Path| {
        let text = file::read(&folder.join(host.dialect().settings_file()));
        text.is_ok_and(|text| install::registered_agent(host, text.as_deref()).is_some())
    };
    let hooked = environment.cwd.ancestors().find(hooked).map(Path::to_owned);
    let ruled = remit_config::find::nearest(&environment.cwd);
    // Both lead from here upwards, so the longer one is the nearer.
    let nearest = [hooked, ruled].into_iter().flatten().max_by_key(|folder| folder.as_os_str().len());
    let root = nearest.unwrap_or_else(|| environment.cwd.clone());
    let error = match Workspace::open(&root, environment) {
        Ok(workspace) if workspace.root.as_path() == root => return Ok((workspace, None)),
        Ok(_) => OpenError::Find(FindError::Missing(root.clone())),
        Err(error @ (OpenError::Find(_) | OpenError::Findings { .. })) => error,
        Err(error) => return Err(error.into()),
    };
    let path = AbsPath::try_from(root.as_path()).map_err(|e| OpenError::Path(root, e))?;
    Ok((Workspace::bare(&path, environment)?, Some(error)))
}

fn unknown_host(name: &str) -> Failure {
    let known: Vec<&str> = Host::ALL.into_iter().map(Host::word).collect();
    let shown = remit_core::path::escape(name.as_bytes());
    Failure::new(Exit::NotFound, format!("there are no hooks for a program `{shown}`"))
        .hint(remit_config::hint(name, &known))
}

/// The agent that the host's sessions are: the one that was named, or the only one that could be meant.
fn agent(target: &HooksTarget, workspace: &Workspace, policy: bool) -> Result<Option<AgentName>, Failure> {
    let agents = &workspace.source.agents;
    let name = match &target.agent {
        Some(name) => Some(name.clone()),
        None if agents.contains_key(&target.host) => Some(target.host.clone()),
        None => None,
    };
    let Some(name) = name else { return Ok(None) };
    if policy && !agents.contains_key(&name) {
        return Err(no_agent(&name, agents.keys().map(String::as_str)));
    }
    AgentName::new(&name)
        .map(Some)
        .map_err(|e| Failure::because(Exit::Usage, format!("`{name}` is no name"), &e))
}

/// What became of a call that must be refused.
pub(crate) enum Tested {
    /// It was refused, in the host's dialect.
    Refused,
    /// It was not.
    Passed(String),
}

/// Runs the hook that a settings text registers for the event before a tool call, with a call that every
/// policy refuses.
pub(crate) fn send_canary(
    host: Host,
    settings: &str,
    root: &AbsPath,
    environment: &[(OsString, OsString)],
) -> Result<Tested, Failure> {
    let Some((program, arguments)) = install::registered(host, settings) else {
        let why = match install::switched_off(settings) {
            true => "hooks are switched off by `disableAllHooks`",
            false => "no hook of remit is registered for the event before a tool call",
        };
        return Ok(Tested::Passed(why.to_owned()));
    };
    let payload =
        canary(host, root).map_err(|e| Failure::because(Exit::Config, "the test call cannot be made", &e))?;
    let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
    let child = spawn_plain(Plain {
        program: program.as_ref(),
        arguments: &arguments,
        environment,
        cwd: None,
        input: Stdio::piped(),
        output: Stdio::piped(),
        error: Stdio::piped(),
    });
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return Ok(Tested::Passed(format!("`{program}` cannot be started: {error}"))),
    };
    let failed = |e: std::io::Error| Failure::because(Exit::Io, "the hook cannot be run", &e);
    if let Some(mut input) = child.stdin.take() {
        // A hook that does not read its input is judged by its answer.
        drop(input.write_all(&payload));
    }
    let (mut out, mut err) = (Vec::new(), String::new());
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_end(&mut out).map_err(failed)?;
    }
    if let Some(mut pipe) = child.stderr.take() {
        pipe.read_to_string(&mut err).map_err(failed)?;
    }
    let code = child.wait().map_err(failed)?.code().and_then(|c| u8::try_from(c).ok());
    Ok(match code {
        Some(code) if is_denial(host, &out, code) => Tested::Refused,
        Some(code) => Tested::Passed(format!("it answered with exit code {code} {}", err.trim())),
        None => Tested::Passed("it was ended by a signal".to_owned()),
    })
}
