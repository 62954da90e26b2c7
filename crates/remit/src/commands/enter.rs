//! `remit enter-session`: the first program in a view whose agent has hooks. It sends the registered hook a
//! call that must be refused, and becomes the agent's program only if it was.

use crate::cli::EnterArgs;
use crate::commands::hooks::{Tested, send_canary};
use crate::report::Failure;
use remit_core::{AbsPath, Exit};
use remit_hooks::Host;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Tests the hooks, then never returns unless the program cannot be started.
pub(crate) fn run(args: &EnterArgs) -> Result<u8, Failure> {
    let host: Host = args.host.parse().map_err(|e: String| Failure::new(Exit::Usage, e))?;
    let root = AbsPath::try_from(args.root.as_path())
        .map_err(|e| Failure::because(Exit::Usage, "the workspace cannot be used", &e))?;
    let text = std::fs::read_to_string(&args.settings)
        .map_err(|e| Failure::because(Exit::Io, "the session's settings cannot be read", &e))?;
    let environment: Vec<_> = std::env::vars_os().collect();
    match send_canary(host, &text, &root, &environment)? {
        Tested::Refused => {}
        Tested::Passed(why) => {
            return Err(Failure::new(
                Exit::NeverStarted,
                format!("the registered hook did not refuse a call that must be refused, so the agent was not started: {why}"),
            )
            .hint("`remit run --no-hooks` lets only the kernel hold the session"));
        }
    }
    let (program, rest) = args
        .command
        .split_first()
        .ok_or_else(|| Failure::new(Exit::Usage, "there is no program to start"))?;
    let error = Command::new(program).args(rest).exec();
    let message = format!("`{}` cannot be started in the session", program.display());
    Err(Failure::because(Exit::NeverStarted, message, &error))
}
