//! `remit hooks install|uninstall|status|test HOST`.

use crate::cli::{HooksAction, HooksArgs, HooksTarget};
use crate::failures::no_agent;
use crate::report::{self, ERROR, Failure, OK, WAIT};
use remit_core::{AbsPath, AgentName, Exit};
use remit_hooks::install::{self, Backup, Removal, State};
use remit_hooks::{Command, Host, canary, file, is_denial};
use remit_ledger::{Door, Event, Record};
use remit_sandbox::plain::{Plain, spawn_plain};
use remit_session::environment::Environment;
use remit_session::recorder::now;
use remit_session::workspace::Workspace;
use serde_json::json;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Stdio;

/// Does one of the four.
pub(crate) fn run(args: &HooksArgs, environment: &Environment) -> Result<Exit, Failure> {
    let (HooksAction::Install(target)
    | HooksAction::Uninstall(target)
    | HooksAction::Status(target)
    | HooksAction::Test(target)) = &args.action;
    let place = Installation::find(target, environment)?;
    match &args.action {
        HooksAction::Install(_) => place.install(),
        HooksAction::Uninstall(_) => place.uninstall(),
        HooksAction::Status(target) => place.status(target.json),
        HooksAction::Test(target) => place.test(target.json),
    }
}

/// Where a host's hooks are registered.
struct Installation {
    host: Host,
    workspace: Workspace,
    command: Command,
    settings: PathBuf,
    backup: PathBuf,
}

impl Installation {
    fn find(target: &HooksTarget, environment: &Environment) -> Result<Self, Failure> {
        let host: Host = target.host.parse().map_err(|_| unknown_host(&target.host))?;
        let workspace = Workspace::open(&environment.cwd, environment)?;
        let agent = agent(target, &workspace)?;
        let wrong =
            |e: &dyn std::error::Error| Failure::because(Exit::Config, "the hooks cannot be registered", e);
        let binary = AbsPath::try_from(environment.exe.as_path()).map_err(|e| wrong(&e))?;
        let command = Command::new(&binary, &workspace.root, agent).map_err(|e| wrong(&e))?;
        let settings = workspace.root.as_path().join(host.dialect().settings_file());
        let backup = workspace.state()?.root().join(format!("hooks-{}.json", host.word()));
        Ok(Self { host, workspace, command, settings, backup })
    }

    fn text(&self) -> Result<Option<String>, Failure> {
        file::read(&self.settings).map_err(|e| Failure::because(Exit::Io, "the settings cannot be read", &e))
    }

    fn kept(&self) -> Result<Option<Backup>, Failure> {
        let text = file::read(&self.backup)
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
        let text = self.text()?;
        let (new, mut backup) =
            install::install(self.host, text.as_deref(), &self.command, self.kept()?.as_ref())
                .map_err(|e| self.malformed(&e))?;
        backup.made_folder |= !file::has_folder(&self.settings).map_err(|e| self.unwritten(&e))?;
        let kept = serde_json::to_string(&backup)
            .map_err(|e| Failure::because(Exit::Io, "the backup cannot be written", &e))?;
        let seen = file::read(&self.backup)
            .map_err(|e| Failure::because(Exit::Io, "the backup cannot be read", &e))?;
        // The backup first: what cannot be undone is not done.
        file::replace(&self.backup, seen.as_deref(), Some(&kept))
            .map_err(|e| Failure::because(Exit::Io, "the backup cannot be written", &e))?;
        let shown = self.settings.display();
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
        Ok(Exit::Yes)
    }

    fn uninstall(&self) -> Result<Exit, Failure> {
        let text = self.text()?;
        let kept = self.kept()?;
        let removal =
            install::uninstall(self.host, text.as_deref(), kept.as_ref()).map_err(|e| self.malformed(&e))?;
        let shown = self.settings.display();
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

    fn status(&self, as_json: bool) -> Result<Exit, Failure> {
        let text = self.text()?;
        let status =
            install::status(self.host, text.as_deref(), &self.command).map_err(|e| self.malformed(&e))?;
        let word = |state: &State| match state {
            State::Current => "current",
            State::Stale => "stale",
            State::Absent => "absent",
        };
        if as_json {
            let events: serde_json::Map<_, _> =
                status.events.iter().map(|(name, state)| ((*name).to_owned(), json!(word(state)))).collect();
            report::say_json(&json!({
                "version": 1,
                "host": self.host.word(),
                "settings": self.settings,
                "in_force": status.in_force(),
                "disabled": status.disabled,
                "events": events,
            }))?;
        } else {
            let rows: Vec<_> = status
                .events
                .iter()
                .map(|(name, state)| {
                    let style = if *state == State::Current { OK } else { WAIT };
                    vec![format!("  {name}"), format!("{style}{}{style:#}", word(state))]
                })
                .collect();
            let head = match (status.in_force(), status.disabled) {
                (true, _) => format!("{OK}in force{OK:#}"),
                (_, true) => format!("{ERROR}switched off{ERROR:#} by `disableAllHooks`"),
                _ => format!("{WAIT}not in force{WAIT:#}: `remit hooks install {}`", self.host.word()),
            };
            report::say(&format!("{head}  {}\n{}", self.settings.display(), report::table(&rows)))?;
        }
        Ok(if status.in_force() { Exit::Yes } else { Exit::No })
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
            report::say(&format!("{ERROR}not held{ERROR:#}  {why}\n"))?;
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

fn unknown_host(name: &str) -> Failure {
    let known: Vec<&str> = Host::ALL.into_iter().map(Host::word).collect();
    let shown = remit_core::path::escape(name.as_bytes());
    Failure::new(Exit::NotFound, format!("there are no hooks for a program `{shown}`"))
        .hint(remit_config::hint(name, &known))
}

/// The agent that the host's sessions are: the one that was named, or the only one that could be meant.
fn agent(target: &HooksTarget, workspace: &Workspace) -> Result<Option<AgentName>, Failure> {
    let agents = &workspace.source.agents;
    let name = match &target.agent {
        Some(name) => Some(name.clone()),
        None if agents.contains_key(&target.host) => Some(target.host.clone()),
        None => None,
    };
    let Some(name) = name else { return Ok(None) };
    if !agents.contains_key(&name) {
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
