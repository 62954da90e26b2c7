//! A program run to its end.

use anyhow::{Context as _, Result, bail};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};
use std::{
    io::{self, Read, Write as _},
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// How long a program may run.
const LONGEST: Duration = Duration::from_secs(120);
/// How long its output may stay open after its end.
const HELD: Duration = Duration::from_secs(10);

/// What became of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit code; 128 and the signal's number if a signal ended it, as shells count.
    pub code: i32,
    /// What it wrote to standard output, with placeholders.
    pub stdout: String,
    /// What it wrote to standard error, with placeholders.
    pub stderr: String,
    /// What it wrote to standard output, byte for byte.
    pub raw: Vec<u8>,
}

impl Outcome {
    pub(super) fn of(command: &mut Command, input: &[u8], normal: impl Fn(&str) -> String) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start `{name}`"))?;
        if let Some(mut stdin) = child.stdin.take() {
            let input = input.to_vec();
            // A program may end, or answer, before it has read everything.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            bail!("`{name}` has no output");
        };
        let (stdout, stderr) = (drain(stdout), drain(stderr));
        let status = wait(&mut child).with_context(|| format!("`{name}`"))?;
        let raw = collect(&stdout).with_context(|| format!("standard output of `{name}`"))?;
        let errors = collect(&stderr).with_context(|| format!("standard error of `{name}`"))?;
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Ok(Self {
            code: code.context("a program ends by a code or a signal")?,
            stdout: normal(&String::from_utf8_lossy(&raw)),
            stderr: normal(&String::from_utf8_lossy(&errors)),
            raw,
        })
    }

    /// Itself if the code is `code`; else an error with all that was said.
    pub fn ended(self, code: i32) -> Result<Self> {
        if self.code == code {
            return Ok(self);
        }
        bail!("exit code {}, not {code}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// Reads on a thread of its own, which outlives us if somebody never closes the other end.
fn drain(mut from: impl Read + Send + 'static) -> Receiver<io::Result<Vec<u8>>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = from.read_to_end(&mut bytes).map(|_| bytes);
        // Nobody listens once the program was given up.
        drop(send.send(read));
    });
    receive
}

fn collect(from: &Receiver<io::Result<Vec<u8>>>) -> Result<Vec<u8>> {
    let bytes = from.recv_timeout(HELD).context("a process that the program left behind holds it open")?;
    Ok(bytes?)
}

fn wait(child: &mut Child) -> Result<ExitStatus> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a child has a number")?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let longest = Timespec::try_from(LONGEST)?;
    let ended = loop {
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&longest)) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    if ended == 0 {
        child.kill()?;
        child.wait()?;
        bail!("still running after {} s", LONGEST.as_secs());
    }
    Ok(child.wait()?)
}
