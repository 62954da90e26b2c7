//! `remit hook HOST EVENT`: what agents' programs call. Exit code 0 or 2, never another: every failure is a
//! denial in the host's dialect.

use crate::cli::HookArgs;
use remit_core::AbsPath;
use remit_core::wire::{Answer, Request};
use remit_hooks::door::{self, DEADLINE, Hook};
use remit_hooks::socket::inside;
use remit_hooks::{Asker, Files, Host, Reply, SocketAsker};
use remit_session::environment::Environment;
use remit_session::outside;
use remit_session::workspace::Workspace;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Answers on standard output and standard error; the exit code.
pub(crate) fn run(args: &HookArgs, directory: Option<&Path>) -> u8 {
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
    let (event, root, agent) = (args.event.clone(), args.root.clone(), args.agent.clone());
    let directory = directory.map(Path::to_owned);
    let reply = door::within(host, &args.event, DEADLINE, move || {
        match Surroundings::find(root, directory.as_deref()) {
            Ok(around) => around.answer(host, &event, agent),
            Err(why) => door::fail(host, &event, &why),
        }
    });
    write(&reply)
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
}

impl Surroundings {
    fn find(root: Option<PathBuf>, directory: Option<&Path>) -> Result<Self, String> {
        let environment = crate::read_environment(directory).map_err(|e| e.to_string())?;
        // The root is what was registered, or what the host says; where the agent stands does not count.
        let named = root.or_else(|| environment.get("CLAUDE_PROJECT_DIR").map(PathBuf::from));
        let named =
            named.ok_or("the hook was registered without `--root`: run `remit hooks install` again")?;
        let real = std::fs::canonicalize(&named)
            .map_err(|e| format!("the workspace `{}` cannot be found: {e}", named.display()))?;
        let root = AbsPath::try_from(real.as_path()).map_err(|e| e.to_string())?;
        Ok(Self { environment, root })
    }

    fn answer(self, host: Host, event: &str, agent: Option<String>) -> Reply {
        let home = self.environment.home().and_then(|h| AbsPath::try_from(h.as_path()).ok());
        let input = door::read_input(std::io::stdin().lock());
        let hook = Hook { host, event, root: &self.root };
        let files = Files { home };
        if inside() {
            door::serve(hook, input, &SocketAsker::default(), &files)
        } else {
            let asker = Outside { environment: &self.environment, root: &self.root, agent };
            door::serve(hook, input, &asker, &files)
        }
    }
}

/// Asks the workspace itself.
struct Outside<'a> {
    environment: &'a Environment,
    root: &'a AbsPath,
    agent: Option<String>,
}

impl Asker for Outside<'_> {
    fn ask(&self, request: &Request) -> Result<Answer, String> {
        let workspace = Workspace::open(self.root.as_path(), self.environment).map_err(|e| e.to_string())?;
        if workspace.root != *self.root {
            return Err(format!("`{}` has no remit.yaml of its own", self.root));
        }
        outside::answer(&workspace, self.agent.as_deref(), request).map_err(|e| e.to_string())
    }
}
