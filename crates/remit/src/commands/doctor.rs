//! `remit doctor`: what this machine can hold, measured, and what is missing.

use crate::cli::DoctorArgs;
use crate::failures::STATE_OUTSIDE;
use crate::report::{self, DIM, ERROR, Failure, OK, WAIT};
use remit_core::Exit;
use remit_core::path::printable;
use remit_sandbox::probe::probe;
use remit_session::adapter::Adapter;
use remit_session::base::find_program;
use remit_session::environment::Environment;
use remit_session::workspace::{OpenError, Workspace};
use serde_json::json;
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Ok,
    Warn,
    Fail,
}

struct Check {
    name: String,
    mark: Mark,
    found: String,
    mend: Option<String>,
}

fn check(name: &str, mark: Mark, found: impl Into<String>) -> Check {
    Check { name: name.to_owned(), mark, found: found.into(), mend: None }
}

impl Check {
    fn mend(mut self, mend: &str) -> Self {
        self.mend = Some(mend.to_owned());
        self
    }
}

/// Shows each check. Exit 0 if sessions can be held, 5 if not.
pub(crate) fn run(args: &DoctorArgs, environment: &Environment) -> Result<Exit, Failure> {
    let mut checks = kernel();
    checks.push(
        check("network", Mark::Warn, "not held; loopback is shared")
            .mend("a later version brings it; until then use the host's firewall"),
    );
    // What would be found inside is a folder of the session's own home.
    if !remit_hooks::socket::inside() {
        let (state, layers) = state(environment);
        checks.push(state);
        checks.extend(layers);
    }
    checks.extend(programs(environment));
    if args.json {
        let rows: Vec<_> = checks
            .iter()
            .map(|c| json!({"check": c.name, "state": word(c.mark), "found": c.found, "mend": c.mend}))
            .collect();
        report::say_json(&json!({"version": 1, "checks": rows}))?;
    } else {
        let mut out = String::new();
        let width = checks.iter().map(|c| c.name.chars().count()).max().unwrap_or(0);
        for c in &checks {
            let style = match c.mark {
                Mark::Ok => OK,
                Mark::Warn => WAIT,
                Mark::Fail => ERROR,
            };
            out.push_str(&format!(
                "{style}{:<4}{style:#}  {:<width$}  {}\n",
                word(c.mark),
                c.name,
                printable(&c.found)
            ));
            if let (Some(mend), true) = (&c.mend, c.mark != Mark::Ok) {
                out.push_str(&format!("      {:<width$}  {DIM}{mend}{DIM:#}\n", ""));
            }
        }
        report::say(&out)?;
    }
    let failed = checks.iter().any(|c| c.mark == Mark::Fail);
    Ok(if failed { Exit::Sandbox } else { Exit::Yes })
}

fn word(mark: Mark) -> &'static str {
    match mark {
        Mark::Ok => "ok",
        Mark::Warn => "warn",
        Mark::Fail => "fail",
    }
}

fn kernel() -> Vec<Check> {
    if remit_hooks::socket::inside() {
        return vec![check(
            "session",
            Mark::Ok,
            "this is inside a session: ask outside what the machine can hold, and where the state is",
        )];
    }
    let found = probe();
    let mut checks = vec![check("kernel", Mark::Ok, format!("Linux {}", found.release))];
    let obstacles = found.obstacles();
    if let Ok(abi) = found.landlock_abi {
        checks.push(check("landlock", Mark::Ok, format!("ABI {abi}, errata {:#b}", found.landlock_errata)));
    }
    if found.namespaces.is_ok() {
        checks.push(check("namespaces", Mark::Ok, "user, mount and PID namespaces can be made"));
    }
    if found.listener.is_ok() {
        checks.push(check("gate", Mark::Ok, "system calls can be answered by another process"));
    }
    for obstacle in obstacles {
        checks.push(check("sandbox", Mark::Fail, obstacle));
    }
    if rustix::process::geteuid().is_root() {
        checks.push(check(
            "user",
            Mark::Warn,
            "root: inside a session it has no capability, so it is not above file modes",
        ));
    }
    checks
}

/// The state, and whether package caches can be put under layers that lie there.
fn state(environment: &Environment) -> (Check, Option<Check>) {
    let found = match Workspace::open(&environment.cwd, environment).and_then(|w| w.state()) {
        Ok(state) => {
            let found = check("state", Mark::Ok, state.root().display().to_string());
            return (found, Some(layers(state.root())));
        }
        Err(OpenError::Find(error)) => {
            check("workspace", Mark::Warn, error.to_string()).mend("`remit init` writes a policy")
        }
        Err(error @ OpenError::Findings { .. }) => {
            check("workspace", Mark::Fail, error.to_string()).mend("`remit check` shows what is wrong")
        }
        Err(error @ (OpenError::StateInside { .. } | OpenError::StateAround { .. })) => {
            check("state", Mark::Fail, error.to_string()).mend(STATE_OUTSIDE)
        }
        Err(error) => check("state", Mark::Fail, error.to_string()),
    };
    (found, None)
}

fn layers(state: &Path) -> Check {
    match remit_sandbox::probe::layers(state) {
        Ok(()) => check("caches", Mark::Ok, "package caches serve in sessions, under private layers"),
        Err(error) => check(
            "caches",
            Mark::Warn,
            format!("package caches do not serve in sessions: no layer can be put over a folder ({error})"),
        )
        .mend("the state must lie on a file system of the machine's own (ext4, xfs, btrfs, tmpfs): set REMIT_STATE_DIR"),
    }
}

fn programs(environment: &Environment) -> Vec<Check> {
    Adapter::names()
        .map(|name| {
            let adapter = Adapter::named(name).and_then(Result::ok);
            let installed =
                |a: &Adapter| a.programs.iter().find_map(|program| find_program(program, environment));
            match adapter.as_ref().and_then(installed) {
                Some(path) => check(name, Mark::Ok, path.display().to_string()),
                None => {
                    let how = adapter.map(|a| format!("`{}` installs it; ", a.install)).unwrap_or_default();
                    check(name, Mark::Warn, "not installed")
                        .mend(&format!("{how}any other program can be held, too: `remit run -- CMD`"))
                }
            }
        })
        .collect()
}
