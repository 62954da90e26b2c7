//! `remit hook HOST EVENT`: what agents' programs call. Exit code 0 or 2, never another: every failure is a
//! denial in the host's dialect.

use crate::cli::HookArgs;
use remit_core::AbsPath;
use remit_core::wire::{Answer, Request};
use remit_hooks::door::{self, Hook, JUDGING, NOTING};
use remit_hooks::socket::inside;
use remit_hooks::{Asker, Files, Host, Reply, SocketAsker};
use remit_sandbox::endings;
use remit_session::environment::Environment;
use remit_session::outside::{self, OutsideError};
use remit_session::workspace::OpenError;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// From the first moment on, a signal does not end a hook without an answer. `words` are those of the command line.
pub(crate) fn prepare(words: &[OsString]) {
    let word = |at| words.get(at).and_then(|word: &OsString| word.to_str()).unwrap_or_default();
    if word(1) == "hook" {
        outlive(word(2), word(3));
    }
}

fn outlive(host: &str, event: &str) {
    let event = host.parse::<Host>().ok().and_then(|host| host.dialect().event(event));
    if event.is_none_or(|event| event.blocks()) {
        endings::end_with(2, "remit was ended before it could judge this, so it is refused\n");
    } else {
        endings::end_with(0, "");
    }
}

/// Answers on standard output and standard error; the exit code.
pub(crate) fn run(args: &HookArgs, directory: Option<&Path>) -> u8 {
    outlive(&args.host, &args.event);
    // A panic is answered by a denial; its own message would only garble the host's view.
    std::panic::set_hook(Box::new(|_| {}));
    let Ok(host) = args.host.parse::<Host>() else {
        return write(&Reply {
            stdout: Vec::new(),
            stderr: format!("remit: `{}` is not a program whose hooks remit answers\n", args.host)
                .into_bytes(),
            code: 2,
        });
    };
    let judge = move |around: &Surroundings, event: &str| around.answer(host, event);
    let reply = within(JUDGING, host, args, directory, judge).or_else(|why| {
        within(NOTING, host, args, directory, move |around, event| around.refuse(host, event, &why))
    });
    write(&reply.unwrap_or_else(|why| door::fail(host, &args.event, &why)))
}

/// Does a part of the work in the time that it has; an error if it takes longer.
fn within(
    budget: Duration,
    host: Host,
    args: &HookArgs,
    directory: Option<&Path>,
    work: impl FnOnce(&Surroundings, &str) -> Reply + Send + 'static,
) -> Result<Reply, String> {
    let (args, directory) = (args.clone(), directory.map(Path::to_owned));
    door::within(budget, move || match Surroundings::find(&args, directory.as_deref()) {
        Ok(around) => work(&around, &args.event),
        Err(why) => door::fail(host, &args.event, &why),
    })
}

fn write(reply: &Reply) -> u8 {
    let out = std::io::stdout().write_all(&reply.stdout).and_then(|()| std::io::stdout().flush());
    // Standard error has the reason; without a reader there is nobody to tell.
    drop(std::io::stderr().write_all(&reply.stderr));
    // What could not be said cannot be an allowance.
    if out.is_err() { 2 } else { reply.code }
}

struct Surroundings {
    environment: Environment,
    root: AbsPath,
    agent: Option<String>,
}

impl Surroundings {
    fn find(args: &HookArgs, directory: Option<&Path>) -> Result<Self, String> {
        let mut environment = crate::read_environment().map_err(|e| format!("the surroundings: {e}"))?;
        // The root is what was registered, or what the host says; where the agent stands does not count, and may be
        // gone.
        let named = args.root.clone().or_else(|| environment.get("CLAUDE_PROJECT_DIR").map(PathBuf::from));
        let named =
            named.ok_or("the hook was registered without `--root`: run `remit hooks install` again")?;
        let lost = |e: std::io::Error| format!("the workspace `{}` cannot be found: {e}", named.display());
        let real = crate::place(directory, &named).and_then(std::fs::canonicalize).map_err(lost)?;
        let root = AbsPath::try_from(real.as_path()).map_err(|e| e.to_string())?;
        environment.cwd = real;
        Ok(Self { environment, root, agent: args.agent.clone() })
    }

    fn answer(&self, host: Host, event: &str) -> Reply {
        let home = self.environment.home().and_then(|h| AbsPath::try_from(h.as_path()).ok());
        let input = door::read_input(std::io::stdin().lock());
        let files = Files { home, held: inside() };
        let hook = Hook { host, event };
        door::serve(hook, input, self.asker(host).as_ref(), &files)
    }

    /// The denial of what was not judged in time.
    fn refuse(&self, host: Host, event: &str, why: &str) -> Reply {
        door::unjudged(Hook { host, event }, why, self.asker(host).as_ref())
    }

    fn asker(&self, host: Host) -> Box<dyn Asker + '_> {
        if inside() {
            Box::new(SocketAsker::default())
        } else {
            Box::new(Outside { host, surroundings: self })
        }
    }
}

/// Asks the workspace itself.
struct Outside<'a> {
    host: Host,
    surroundings: &'a Surroundings,
}

impl Asker for Outside<'_> {
    fn ask(&self, request: &Request) -> Result<Answer, String> {
        let Surroundings { environment, root, agent } = self.surroundings;
        outside::answer(root, environment, agent.as_deref(), request).map_err(|e| self.refused(&e))
    }
}

impl Outside<'_> {
    /// Why nothing is allowed; where that is for want of a policy, with the way out: whoever is refused everything
    /// must learn by what, and how it ends.
    fn refused(&self, why: &OutsideError) -> String {
        let (OutsideError::NoPolicy(_) | OutsideError::Open(OpenError::Find(_) | OpenError::Findings { .. })) =
            why
        else {
            return why.to_string();
        };
        let host = self.host.word();
        format!(
            "{why}. In `{}`, a person runs `remit check` and mends it, or `remit hooks uninstall {host}` if Remit is \
             not used there any more",
            self.surroundings.root
        )
    }
}
