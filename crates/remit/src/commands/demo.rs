//! `remit demo`: two scripted agents in a scratch repository, through the real doors: view, gate, hook, ledger.

use crate::cli::DemoArgs;
use crate::report::{self, BOLD, DIM, ERROR, Failure, OK};
use remit_core::Exit;
use remit_core::path::printable;
use remit_sandbox::plain::{Plain, spawn_plain};
use remit_session::environment::Environment;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

const POLICY: &str = include_str!("demo/remit.yaml");
const AGENT: &str = include_str!("demo/agent.sh");
const FILES: &[(&str, &str)] = &[
    ("frontend/app.js", "console.log('hello')\n"),
    ("backend/server.py", "print('hello')\n"),
    ("shared/api.md", "# The API\n"),
    ("secrets/token", "not-a-real-token\n"),
];

/// Runs the story. Exit 0 if it came out as it must, 1 if not.
pub(crate) fn run(args: &DemoArgs, environment: &Environment) -> Result<Exit, Failure> {
    let io = |what: &'static str| move |e: io::Error| Failure::because(Exit::Io, what, &e);
    let scratch = Scratch::named(environment).map_err(io("the scratch repository cannot be named"))?;
    let told = scratch.make().map_err(io("the scratch repository cannot be made"));
    let told = told.and_then(|()| tell(&scratch, environment));
    if args.keep {
        report::say(&scratch.look_around())?;
        report::say(&format!("{DIM}rm -r {} removes it all{DIM:#}\n", scratch.folder.display()))?;
    } else {
        if told.is_ok() && !args.once && io::stdin().is_terminal() {
            report::say(&scratch.look_around())?;
            report::say(&format!("{BOLD}Enter{BOLD:#} removes it all, Ctrl-C leaves it there. "))?;
            io::stdin().read_line(&mut String::new()).map_err(io("nobody can be waited for"))?;
        }
        scratch.remove().map_err(io("the scratch repository cannot be removed"))?;
    }
    told.map(|()| Exit::Yes)
}

/// Tells it, and fails if it did not come out as it must.
fn tell(scratch: &Scratch, environment: &Environment) -> Result<(), Failure> {
    let io = |what: &'static str| move |e: io::Error| Failure::because(Exit::Io, what, &e);
    report::say(&format!(
        "{BOLD}Two agents, one repository.{BOLD:#} {DIM}{}{DIM:#}\n\n{}\n",
        scratch.repository.display(),
        indented(POLICY)
    ))?;
    let start =
        |agent: &str| scratch.remit(environment, &["run", agent, "--", "sh", "-s", agent], Some(AGENT));
    let running = ["frontend", "backend"].map(|agent| (agent, start(agent)));
    for (agent, child) in running {
        let text = output(child.map_err(io("an agent cannot be started"))?)
            .map_err(io("an agent cannot be heard"))?;
        report::say(&format!("{BOLD}{agent}{BOLD:#}\n{}\n", painted(&text)))?;
    }
    report::say(&format!("{BOLD}What the ledger says was refused{BOLD:#}\n"))?;
    let refused = scratch.remit(environment, &["log", "--effect", "deny"], None).and_then(output);
    report::say(&indented(&refused.map_err(io("the ledger cannot be shown"))?))?;
    report::say(&format!(
        "  {DIM}The read of secrets/token is not among it: it lies out of sight, so there was nothing to refuse.{DIM:#}\n"
    ))?;
    report::say(&format!("\n{BOLD}And whether it can be trusted{BOLD:#}\n"))?;
    let verified = scratch
        .remit(environment, &["verify"], None)
        .and_then(output)
        .map_err(io("the ledger cannot be checked"))?;
    report::say(&indented(&verified))?;
    let as_told = scratch.as_it_must_be().map_err(io("the scratch repository cannot be read"))?
        && verified.contains("whole");
    if !as_told {
        return Err(Failure::new(Exit::No, "the story did not come out as it must").hint(
            "`remit doctor` shows what this machine can hold, `remit demo --keep` keeps what there is",
        ));
    }
    Ok(())
}

struct Scratch {
    folder: PathBuf,
    repository: PathBuf,
    state: PathBuf,
}

impl Scratch {
    fn named(environment: &Environment) -> io::Result<Self> {
        let id = remit_session::workspace::fresh()?;
        let base = environment.get("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let folder = base.join(format!("remit-demo-{}", id.as_str().get(..8).unwrap_or_default()));
        let (repository, state) = (folder.join("shop"), folder.join("state"));
        Ok(Self { folder, repository, state })
    }

    fn make(&self) -> io::Result<()> {
        for (name, text) in FILES.iter().chain(&[("remit.yaml", POLICY)]) {
            let file = self.repository.join(name);
            fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
            fs::write(file, text)?;
        }
        Ok(())
    }

    fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn look_around(&self) -> String {
        format!(
            "\n{OK}Look around, in another terminal:{OK:#}\n  export REMIT_STATE_DIR={}\n  cd {}\n  remit log\n  remit explain frontend write backend/server.py\n  remit run frontend -- sh\n",
            self.state.display(),
            self.repository.display()
        )
    }

    /// Starts this program in the scratch repository.
    fn remit(&self, environment: &Environment, args: &[&str], input: Option<&str>) -> io::Result<Child> {
        let arguments: Vec<OsString> = args.iter().map(OsString::from).collect();
        let mut vars = environment.vars.clone();
        vars.insert("REMIT_STATE_DIR".into(), self.state.clone().into());
        let vars: Vec<_> = vars.into_iter().collect();
        let input = match input {
            Some(text) => {
                let file = self.folder.join("agent.sh");
                fs::write(&file, text)?;
                Stdio::from(fs::File::open(file)?)
            }
            None => Stdio::null(),
        };
        spawn_plain(Plain {
            program: environment.exe.as_os_str(),
            arguments: &arguments,
            environment: &vars,
            cwd: Some(&self.repository),
            input,
            output: Stdio::piped(),
            error: Stdio::inherit(),
        })
    }

    /// Exactly what was allowed is there.
    fn as_it_must_be(&self) -> io::Result<bool> {
        let read = |name: &str| fs::read_to_string(self.repository.join(name));
        Ok(read("frontend/app.js")?.contains("cart")
            && read("backend/server.py")?.contains("orders")
            && read("secrets/token")? == "not-a-real-token\n"
            && read("shared/api.md")? == "# The API\n"
            && !self.repository.join("frontend/stolen").exists())
    }
}

fn output(mut child: Child) -> io::Result<String> {
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut text)?;
    }
    child.wait()?;
    Ok(text)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// The agents' own lines, with the answers in colour.
fn painted(text: &str) -> String {
    let text = text.lines().map(printable).collect::<Vec<_>>();
    let paint = |line: &str| match (line.strip_prefix("+ "), line.strip_prefix("- ")) {
        (Some(rest), _) => format!("  {OK}allowed{OK:#}  {rest}\n"),
        (_, Some(rest)) => format!("  {ERROR}refused{ERROR:#}  {rest}\n"),
        _ => format!("           {DIM}{line}{DIM:#}\n"),
    };
    text.iter().map(|line| paint(line)).collect()
}
