//! The program of `audit.alert.command`. Whoever announces does not wait for it: a process of Remit's own starts it,
//! hands it the record, and ends it after ten seconds.

use super::alert::Announcement;
use super::told;
use crate::recorder::now;
use remit_ledger::{Door, Event, Record};
use remit_store::Ledger;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the program may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// The command of Remit's own that starts it.
pub const COMMAND: &str = "send-alert";

/// What is handed to [`COMMAND`] as its input.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// The program and its arguments; one with a `/` is looked for from the workspace on.
    pub command: Vec<String>,
    /// Where it runs.
    pub workspace: PathBuf,
    /// The state folder.
    pub state: PathBuf,
    /// The ledger's folder, in which a failure is told.
    pub ledger: PathBuf,
    /// What it is told in its environment.
    pub variables: BTreeMap<String, String>,
    /// The record, as it gets it as its input.
    pub line: String,
}

/// Has the program started by `remit`, Remit's own program.
pub(crate) fn start(remit: &Path, order: &Order) -> io::Result<Child> {
    let mut starter = Command::new(remit);
    starter.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = starter.current_dir("/").process_group(0).spawn()?;
    let order = serde_json::to_vec(order).map_err(io::Error::other)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&order)?;
    }
    Ok(child)
}

pub(crate) fn order(
    command: &[String],
    (workspace, state, ledger): (&Path, &Path, &Path),
    announcement: &Announcement,
) -> Order {
    let mut variables = announcement.variables();
    variables.insert("REMIT_WORKSPACE".to_owned(), remit_core::path::printable(&workspace.to_string_lossy()));
    Order {
        command: command.to_vec(),
        workspace: workspace.to_owned(),
        state: state.to_owned(),
        ledger: ledger.to_owned(),
        variables,
        line: announcement.line() + "\n",
    }
}

/// Does what an order says; that it failed is told in the ledger, once until it works again.
pub fn serve(mut input: impl Read) -> io::Result<()> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let order: Order = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
    let failure = order.run(LIMIT).err();
    let news = told::change(&order.state, |told| told.is_news("program", failure.as_deref()))?;
    if let Some(failure) = failure.filter(|_| news) {
        let mut record = Record::new(now(), Event::Alert).at(Door::Holder);
        record.why = Some(failure);
        let ledger = Ledger::create_or_open(&order.ledger).map_err(io::Error::other)?;
        ledger.append_record(&record).map_err(io::Error::other)?;
    }
    Ok(())
}

impl Order {
    /// Runs the program; says how it failed, if it did.
    fn run(&self, limit: Duration) -> Result<(), String> {
        let (name, arguments) = self.command.split_first().ok_or("`audit.alert.command` is empty")?;
        let program = match name.contains('/') {
            true => self.workspace.join(name),
            false => PathBuf::from(name),
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.workspace).envs(&self.variables).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let told = format!("the program `{name}` of `audit.alert`");
        let mut child = command.spawn().map_err(|error| format!("{told} cannot be started: {error}"))?;
        let (stdin, line) = (child.stdin.take(), self.line.clone());
        // One that does not read must not hold this up; one that has ended without reading has had its reasons.
        std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(line.as_bytes())));
        let in_time = ended(&child, limit).map_err(|error| format!("{told}: {error}"))?;
        // With whatever it has left running. Its number is its own until it is waited for.
        if let Some(group) = group(&child) {
            kill_process_group(group, Signal::KILL).ok();
        }
        let status = child.wait().map_err(|error| format!("{told}: {error}"))?;
        match (status.code(), status.signal()) {
            _ if !in_time => Err(format!("{told} was ended after {} seconds", limit.as_secs())),
            (Some(0), _) => Ok(()),
            (Some(code), _) => Err(format!("{told} failed with code {code}")),
            (None, signal) => Err(format!("{told} was ended by signal {}", signal.unwrap_or_default())),
        }
    }
}

fn group(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Whether it has ended within this time. It is not yet waited for.
fn ended(child: &Child, limit: Duration) -> io::Result<bool> {
    let until = Instant::now() + limit;
    let Some(id) = group(child) else { return Ok(false) };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        match retry_on_intr(|| waitid(WaitId::Pid(id), options))? {
            None if Instant::now() < until => std::thread::sleep(LOOK),
            status => return Ok(status.is_some()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &[&str]) -> (Result<(), String>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let order = Order {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            workspace: folder.path().to_owned(),
            state: folder.path().to_owned(),
            ledger: folder.path().join("ledger"),
            variables: [("REMIT_PATH".to_owned(), "/w/x".to_owned())].into(),
            line: "{\"seq\":1}\n".to_owned(),
        };
        (order.run(Duration::from_millis(300)), folder)
    }

    #[test]
    fn the_program_gets_the_record_and_runs_in_the_workspace() {
        let (ended, folder) = run(&["sh", "-c", "{ cat; echo $REMIT_PATH; } >got"]);
        assert_eq!(ended, Ok(()));
        assert_eq!(std::fs::read_to_string(folder.path().join("got")).unwrap(), "{\"seq\":1}\n/w/x\n");
    }

    #[test]
    fn one_that_takes_too_long_is_ended_with_all_that_it_has_started() {
        let (ended, _folder) = run(&["sh", "-c", "sleep 50 & sleep 50"]);
        assert!(ended.unwrap_err().contains("was ended after"));
    }

    #[test]
    fn how_it_failed_is_said() {
        assert!(run(&["sh", "-c", "exit 3"]).0.unwrap_err().ends_with("failed with code 3"));
        assert!(run(&["/no/such"]).0.unwrap_err().contains("cannot be started"));
        assert!(run(&[]).0.unwrap_err().contains("is empty"));
    }
}
