//! What a launched child can and cannot do, tried from inside. Each case runs in a process of its own, since a
//! launch wants one thread; as root each runs a second time as an ordinary user.
//!
//! `cargo test -p remit-sandbox --test confinement [PART OF A NAME]`; `--list` lists.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test, which the lints do not see"
)]

mod boundaries;
mod lifecycle;
mod placeholders;
mod scene;
mod terminal;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

type Case = (&'static str, fn());

/// The ordinary user.
const NOBODY: &str = "65534";
const LIMIT: Duration = Duration::from_secs(60);

fn cases() -> Vec<Case> {
    [boundaries::CASES, lifecycle::CASES, placeholders::CASES, terminal::CASES].concat()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = arguments.as_slice()
        && flag == "--case"
    {
        let case = cases().into_iter().find(|(known, _)| known == name);
        case.expect("a known case").1();
        return ExitCode::SUCCESS;
    }
    if arguments.iter().any(|argument| argument == "--list") {
        // Runners also ask for the ignored ones, of which there are none.
        if arguments.iter().any(|argument| argument == "--ignored") {
            return ExitCode::SUCCESS;
        }
        cases().iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let exact = arguments.iter().any(|argument| argument == "--exact");
    let wanted =
        |name: &str, filter: &String| if exact { name == filter } else { name.contains(filter.as_str()) };
    let failed = run_all(|name| filter.is_none_or(|filter| wanted(name, filter)));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the wanted cases, and says how many failed.
fn run_all(wanted: impl Fn(&str) -> bool) -> usize {
    // The ordinary user must be able to read the program.
    let scratch = tempfile::Builder::new().prefix("remit-cases-").tempdir().expect("a folder");
    let program = scratch.path().join("confinement");
    std::fs::copy(std::env::current_exe().expect("a name"), &program).expect("a copy");
    open_to_all(scratch.path());
    open_to_all(&program);
    let users: &[Option<&str>] =
        if rustix::process::geteuid().is_root() { &[None, Some(NOBODY)] } else { &[None] };
    let (mut passed, mut failed) = (0, 0);
    for (name, _) in cases().into_iter().filter(|(name, _)| wanted(name)) {
        for user in users {
            let mut command =
                Command::new(if user.is_some() { "setpriv".as_ref() } else { program.as_os_str() });
            if let Some(user) = user {
                command.args(["--reuid", user, "--regid", user, "--clear-groups", "--"]).arg(&program);
            }
            // It names folders of cargo's that the ordinary user may not search.
            command.args(["--case", name]).current_dir("/").env_remove("LD_LIBRARY_PATH");
            let who = user.map_or(String::new(), |user| format!(" (user {user})"));
            match outcome(command) {
                Ok(()) => {
                    passed += 1;
                    println!("test {name}{who} ... ok");
                }
                Err(text) => {
                    failed += 1;
                    println!("test {name}{who} ... FAILED\n{text}");
                }
            }
        }
    }
    println!("\nconfinement: {passed} passed, {failed} failed");
    failed
}

fn open_to_all(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

fn outcome(mut command: Command) -> Result<(), String> {
    let log = tempfile::tempfile().map_err(|e| e.to_string())?;
    let clone = || log.try_clone().map_err(|e| e.to_string());
    command.stdin(std::process::Stdio::null()).stdout(clone()?).stderr(clone()?);
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let until = Instant::now() + LIMIT;
    let status = loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status,
            None if Instant::now() > until => {
                child.kill().map_err(|e| e.to_string())?;
                child.wait().map_err(|e| e.to_string())?;
                return Err(format!("it took longer than {LIMIT:?}"));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    if status.success() {
        return Ok(());
    }
    use std::os::unix::fs::FileExt;
    let mut text = vec![0; 20_000];
    let length = log.read_at(&mut text, 0).map_err(|e| e.to_string())?;
    Err(format!("{status}\n{}", String::from_utf8_lossy(&text[..length])))
}
