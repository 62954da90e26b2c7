//! Ends what a test left running. Processes are known by the environment they were started with, never by name,
//! and are ended through a descriptor, so that a number that was given away again hits nobody else.

use anyhow::{Context as _, Result, bail};
use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{fs, os::unix::ffi::OsStrExt as _, path::Path, thread, time::Duration};

/// The variable that marks the processes of a test, by its value.
pub(super) const MARK: &str = "REMIT_STATE_DIR";

/// How often to look before giving up.
const ROUNDS: usize = 400;

/// Ends every process that was started with `REMIT_STATE_DIR=state`.
pub(super) fn end(state: &Path) -> Result<()> {
    let mark = [MARK.as_bytes(), b"=", state.as_os_str().as_bytes()].concat();
    // A process may be starting another while we look, so look until a round finds none.
    for _ in 0..ROUNDS {
        if round(&mark)? == 0 {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
    bail!("processes of the test are still there after {ROUNDS} attempts to end them")
}

fn round(mark: &[u8]) -> Result<usize> {
    let mut found = 0;
    for entry in fs::read_dir("/proc").context("cannot list processes")? {
        let entry = entry?;
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
        else {
            continue;
        };
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        let Some(environment) = environment(&entry.path()) else {
            // It is becoming another program, whose environment is not there yet.
            found += 1;
            continue;
        };
        if !environment.split(|byte| *byte == 0).any(|variable| variable == mark) {
            continue;
        }
        match pidfd_send_signal(&process, Signal::KILL) {
            Ok(()) => found += 1,
            Err(Errno::SRCH) => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot end process {}", pid.as_raw_pid()));
            }
        }
    }
    Ok(found)
}

/// The environment a process was started with; empty for one that has ended, for one of another user, which is not
/// of this test, and for threads of the kernel. None in the middle of `execve`, where the kernel shows an empty one.
fn environment(process: &Path) -> Option<Vec<u8>> {
    let before = place_of_the_environment(process);
    let environment = fs::read(process.join("environ")).unwrap_or_default();
    // Whoever has an address space has the file it was started from.
    let alive = fs::read_link(process.join("exe")).is_ok();
    let known = before.is_some() && before == place_of_the_environment(process);
    (!environment.is_empty() || known || !alive).then_some(environment)
}

/// Where the environment of a process lies in its memory; none before it is laid out, and where it is not told.
fn place_of_the_environment(process: &Path) -> Option<(u64, u64)> {
    const START: usize = 50;
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The second field is a name with any bytes in parentheses; those behind it count from the third.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut numbers = fields.split_whitespace().skip(START - 3).map(|field| field.parse().ok());
    let (start, end) = (numbers.next()??, numbers.next()??);
    (end != 0).then_some((start, end))
}
