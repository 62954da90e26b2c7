//! `remit run`: one governed session in this terminal.

use crate::cli::RunArgs;
use crate::report::{self, DIM, Failure, WAIT};
use remit_core::exit::by_signal;
use remit_core::path::printable;
use remit_core::{AbsPath, AgentName, Exit, SessionId};
use remit_hooks::{Command, Host, install::settings_json};
use remit_policy::source::Cli;
use remit_sandbox::launch::{ChildExit, LaunchError, WindowSize};
use remit_sandbox::{endings, pty};
use remit_session::adapter::Adapter;
use remit_session::audit::Audited;
use remit_session::base::find_program;
use remit_session::choose::{ChooseError, Chosen, DEFAULT, choose};
use remit_session::environment::Environment;
use remit_session::holder::{self, HookFile, INNER_REMIT, RunError, Session};
use remit_session::words::word;
use remit_session::workspace::Workspace;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;

/// Runs the session; answers with the child's code, 125 if it never started. If a signal ended the child, the same
/// one ends this process, or the answer is 128+n.
pub(crate) fn run(args: &RunArgs, environment: &Environment) -> Result<u8, Failure> {
    // A program may end with any code: only this one says that there was none.
    let mut session = start(args, environment).map_err(|failure| failure.ends(Exit::NeverStarted))?;
    // What is held from the start only is in the session's first record; what is not held at all, or not known, is said.
    for note in session.notes.iter().filter(|n| n.starts_with("not held") || n.starts_with("not known")) {
        report::talk(&format!("{DIM}remit: {}{DIM:#}\n", printable(note)));
    }
    let say = |line: &str| report::talk(&format!("{WAIT}{line}{WAIT:#}\n"));
    let id = session.id.clone();
    session.watch(Box::new(say), std::io::stderr().is_terminal())?;
    let attended = session.attend();
    let ended = session.finish().map_err(|e| {
        Failure::because(Exit::Io, "the program has ended, but its last records cannot be written", &e)
            .hint("`remit verify` says what the ledger holds")
    })?;
    attended.map_err(|e| Failure::because(Exit::Io, "the terminal cannot be relayed", &e))?;
    if let Some(audited) = &ended.audited {
        tell(audited, &id);
    }
    match ended.exit {
        ChildExit::Code(code) => Ok(code),
        ChildExit::Signal(signal) => {
            endings::end_by(signal);
            Ok(by_signal(signal))
        }
        ChildExit::Lost => Err(Failure::new(
            Exit::Sandbox,
            "the session ended with its gate, so how the program ended is not known",
        )),
    }
}

/// What was refused, and what of it could not be told.
fn tell(audited: &Audited, id: &SessionId) {
    let refusals = match audited.refusals {
        1 => "1 refusal".to_owned(),
        count => format!("{count} refusals"),
    };
    if audited.alert && audited.refusals > 0 {
        let session = id.as_str().get(..8).unwrap_or_default();
        report::talk(&format!(
            "{WAIT}remit: {refusals}: `remit log --effect deny --session {session}`{WAIT:#}\n"
        ));
    }
    for failure in audited.sink.iter().chain(&audited.failed) {
        report::talk(&format!("{WAIT}remit: {}{WAIT:#}\n", printable(failure)));
    }
}

fn start(args: &RunArgs, environment: &Environment) -> Result<Session, Failure> {
    let workspace = Workspace::open(&environment.cwd, environment)?;
    let words = [args.more.as_slice(), args.command.as_slice()].concat();
    let chosen = match choose(&workspace, args.agent.as_deref(), &words) {
        Err(error @ ChooseError::NoAgent(..)) => {
            return Err(no_such_agent(error, args, &words, &workspace));
        }
        Err(error @ ChooseError::NotFound(_)) => {
            return Err(installs(error.into(), adapter_of(&workspace, args), &workspace));
        }
        _ if !args.more.is_empty() => return Err(misplaced(args, &words)),
        chosen => chosen?,
    };
    let hooks = if args.no_hooks { None } else { hook_file(&workspace, &chosen)? };
    let session = holder::start(&workspace, &chosen, hooks.as_ref(), terminal_size())
        .map_err(|error| not_started(error, &chosen))?;
    if session.elsewhere {
        report::talk(&format!(
            "{WAIT}remit: {} may see nothing of this folder, so it starts in its own home{WAIT:#}\n",
            chosen.agent
        ));
    }
    Ok(session)
}

/// What a shell would take for these words.
fn line(words: &[OsString]) -> String {
    words.iter().map(|w| word(&w.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// A program in an agent's place, or an agent's name that is misspelt.
fn no_such_agent(error: ChooseError, args: &RunArgs, words: &[OsString], workspace: &Workspace) -> Failure {
    let failure = Failure::from(error);
    let Some(name) = &args.agent else {
        return failure.hint(format!("`remit run AGENT -- {}` runs it as one of these", line(words)));
    };
    let environment = workspace.environment();
    let adapter = Adapter::named(name).and_then(Result::ok);
    let mut programs = adapter.iter().flat_map(|a| &a.programs);
    let there = match &adapter {
        Some(_) => programs.any(|program| find_program(program, environment).is_some()),
        None if name.contains('/') => environment.cwd.join(name).exists(),
        None => find_program(name, environment).is_some(),
    };
    let all = line(&[&[name.into()], words].concat());
    let failure = match there {
        true => failure.hint(format!("`remit run -- {all}` runs a program as `{DEFAULT}`")),
        false => installs(failure, adapter, workspace),
    };
    match AgentName::new(name) {
        Ok(name) => failure.hint(format!(
            "an agent has a name of its own under `agents:` in remit.yaml, such as `{name}: {{cli: {name}, permissions: [{{path: ., access: all}}]}}`"
        )),
        Err(_) => failure,
    }
}

/// What Remit knows of the program that the agent runs.
fn adapter_of(workspace: &Workspace, args: &RunArgs) -> Option<Adapter> {
    let agent = args.agent.as_deref()?;
    let named = |name: &str| Adapter::named(name).and_then(Result::ok);
    match workspace.source.agents.get(agent).map(|source| &source.cli) {
        Some(Some(Cli::Adapter(cli))) => named(&cli.value),
        Some(_) => None,
        // It was named by its program.
        None => named(agent),
    }
}

/// The same with the command that installs the program, and what works without it.
fn installs(failure: Failure, adapter: Option<Adapter>, workspace: &Workspace) -> Failure {
    let Some(adapter) = adapter else { return failure };
    let failure = failure.hint(format!("`{}` installs {}", adapter.install, adapter.title));
    match workspace.source.agents.get(DEFAULT).is_some_and(|agent| agent.cli.is_none()) {
        true => {
            failure.hint(format!("`remit run -- sh` runs a shell as `{DEFAULT}`, without any agent program"))
        }
        false => failure,
    }
}

/// Words for an agent's program that clap took for words of this one.
fn misplaced(args: &RunArgs, words: &[OsString]) -> Failure {
    let agent = args.agent.as_deref().unwrap_or(DEFAULT);
    let first = args.more.first().map(|w| w.to_string_lossy()).unwrap_or_default();
    let flag = if args.no_hooks { "--no-hooks " } else { "" };
    Failure::new(Exit::Usage, format!("`{first}` is no word for `remit run`, which has its agent"))
        .hint(format!("`remit run {flag}{} -- {}` hands it to the program", word(agent), line(words)))
}

/// A failure to start, with the question that tells whether it was the policy.
fn not_started(error: RunError, chosen: &Chosen) -> Failure {
    let program = matches!(error, RunError::Launch(LaunchError::Program { .. }));
    let failure = Failure::from(error);
    if !program {
        return failure;
    }
    let path = word(&chosen.program.to_string_lossy());
    let mode = std::fs::metadata(&chosen.program).map(|found| (found.is_file(), found.mode() & 0o111));
    if let Ok((true, 0)) = mode {
        return failure.hint(format!("no one may run this file: `chmod +x {path}`"));
    }
    failure.hint(format!("`remit explain {} execute {path}` says whether the agent may run it", chosen.agent))
}

/// A terminal of the session's own, if this is a terminal on both sides. One that does not know its size is a
/// terminal, too: the program inside must not get hold of it.
fn terminal_size() -> Option<WindowSize> {
    let both = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let usual = WindowSize { rows: 24, columns: 80 };
    both.then(|| pty::window_size(std::io::stdin()).unwrap_or(usual))
}

fn hook_file(workspace: &Workspace, chosen: &Chosen) -> Result<Option<HookFile>, Failure> {
    let Some(spec) = chosen.adapter.as_ref().and_then(|a| a.hooks.as_ref()) else { return Ok(None) };
    let wrong = |e: &dyn std::error::Error| Failure::because(Exit::Config, "the hooks cannot be written", e);
    let host: Host = spec.host.parse().map_err(|e: String| Failure::new(Exit::Config, e))?;
    let binary = AbsPath::new(INNER_REMIT).map_err(|e| wrong(&e))?;
    let command =
        Command::new(&binary, &workspace.root, Some(chosen.agent.clone())).map_err(|e| wrong(&e))?;
    let settings = settings_json(host, &command);
    Ok(Some(HookFile { host: spec.host.clone(), flag: spec.flag.clone(), settings }))
}
