//! A session that runs beside the test, and whether any process of it is left.

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use test_support::TestEnv;

/// Seconds that no other program sleeps: they mark the processes of one session.
pub(crate) fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("77{}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A session that has said `ready`.
pub(crate) struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Session {
    /// Starts a shell script, which must print the line `ready`.
    pub(crate) fn start(env: &TestEnv, script: &str) -> Result<Self> {
        let mut command = env.remit(["run", "--", "/bin/sh", "-c", script])?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().context("a pipe")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        ensure!(line == "ready\n", "the session said {line:?}");
        Ok(Self { child, stdin, stdout })
    }

    /// Sends a signal to the process that was started: the holder, or what becomes the holder.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).context("a pid")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Closes its input, waits for the end, and answers the code, if it was not a signal, and the rest of what
    /// it said.
    pub(crate) fn end(mut self) -> Result<(Option<i32>, String)> {
        drop(self.stdin.take());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.stdout, &mut rest)?;
        Ok((self.child.wait()?.code(), rest))
    }
}

/// The processes with the mark in their command line, by number.
pub(crate) fn marked(mark: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        // Gone in the meantime.
        let Ok(line) = std::fs::read(format!("/proc/{name}/cmdline")) else { continue };
        if String::from_utf8_lossy(&line).contains(mark) {
            found.push(name);
        }
    }
    Ok(found)
}

/// Waits until something is so. Ten seconds are an error.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> Result<bool>) -> Result<()> {
    for _ in 0..1000 {
        if so()? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    anyhow::bail!("waited in vain until {what}")
}

/// Waits until no process has the mark: killing takes the kernel a moment.
pub(crate) fn all_gone(mark: &str) -> Result<()> {
    until("every process is gone", || Ok(marked(mark)?.is_empty()))
        .with_context(|| format!("still running: {:?}", marked(mark)))
}

/// The process with the mark that has become this program. Ten seconds without one are an error.
pub(crate) fn called(mark: &str, program: &str) -> Result<String> {
    for _ in 0..1000 {
        for pid in marked(mark)? {
            if std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == program) {
                return Ok(pid);
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    anyhow::bail!("no `{program}` with the mark")
}
