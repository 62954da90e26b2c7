//! A person at a shell: a program that has a terminal of its own as its controlling one, and what is on the screen.

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getpgid, kill_process};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcgetpgrp, tcsetwinsize};
use std::os::fd::OwnedFd;
use std::process::Child;
use test_support::TestEnv;

/// Seconds without a word are an error.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

pub(crate) struct Shell {
    master: OwnedFd,
    child: Child,
    /// What was on the screen since the last thing that was expected.
    unseen: String,
}

impl Shell {
    /// An interactive shell with job control, in which `$R` is the program under test.
    pub(crate) fn start(env: &TestEnv, shell: &str) -> Result<Self> {
        let plain: &[&str] = if shell == "bash" { &["--norc", "--noprofile", "-i"] } else { &["-i"] };
        let mut started = Self::run(env, &[&[shell], plain].concat())?;
        started.expect("% ")?;
        Ok(started)
    }

    /// This program as the only one at the terminal.
    pub(crate) fn run(env: &TestEnv, words: &[&str]) -> Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        unlockpt(&master)?;
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size)?;
        let slave = ioctl_tiocgptpeer(&master, flags)?;
        let mut command = env.command("setsid")?;
        command.arg("--ctty").args(words).env("R", env.stage(env!("CARGO_BIN_EXE_remit").as_ref())?);
        command.env("PS1", "% ").env("ENV", "").env("HISTFILE", "");
        let (input, output) = (slave.try_clone()?, slave.try_clone()?);
        let child = command.stdin(input).stdout(output).stderr(slave).spawn()?;
        Ok(Self { master, child, unseen: String::new() })
    }

    /// Types these keys.
    pub(crate) fn keys(&self, keys: &str) -> Result<()> {
        let written = rustix::io::write(&self.master, keys.as_bytes())?;
        anyhow::ensure!(written == keys.len(), "the terminal took only {written} keys");
        Ok(())
    }

    /// Waits for this on the screen; what stood there before it.
    pub(crate) fn expect(&mut self, word: &str) -> Result<String> {
        loop {
            if let Some(at) = self.unseen.find(word) {
                let rest = self.unseen.split_off(at + word.len());
                return Ok(std::mem::replace(&mut self.unseen, rest));
            }
            let mut files = [PollFd::new(&self.master, PollFlags::IN)];
            if poll(&mut files, Some(&PATIENCE))? == 0 {
                bail!("no `{word}` in {:?}", self.unseen);
            }
            let mut buffer = [0; 4096];
            let length = rustix::io::read(&self.master, &mut buffer)
                .with_context(|| format!("no `{word}` in {:?}", self.unseen))?;
            self.unseen += &String::from_utf8_lossy(&buffer[..length]);
        }
    }

    /// Waits until the shell says that the job was stopped, and wants a command.
    pub(crate) fn sees_it_stopped(&mut self) -> Result<()> {
        self.expect("Stopped")?;
        self.expect("% ").map(drop)
    }

    /// Types a command, and waits for this on the screen after it.
    pub(crate) fn line(&mut self, command: &str, word: &str) -> Result<String> {
        self.keys(&format!("{command}\r"))?;
        self.expect(command)?;
        self.expect(word).with_context(|| format!("after `{command}`"))
    }

    /// Whether the terminal is as a shell leaves it to a command: lines, echo, and keys that are signals.
    pub(crate) fn is_as_usual(&self) -> Result<bool> {
        let usual = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        Ok(tcgetattr(&self.master)?.local_modes.contains(usual))
    }

    /// Whether the terminal is this process's group's: keys are, too, that come from here on.
    pub(crate) fn is_used_by(&self, process: Pid) -> Result<bool> {
        Ok(tcgetpgrp(&self.master)? == getpgid(Some(process))?)
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, rows: u16, columns: u16) -> Result<()> {
        Ok(tcsetwinsize(&self.master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?)
    }

    /// Sends a signal to the program at the terminal.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).context("a pid")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Closes the terminal and waits for the program that had it.
    pub(crate) fn close(self) -> Result<()> {
        let Self { master, mut child, .. } = self;
        drop(master);
        child.wait()?;
        Ok(())
    }

    /// The code of the program when it has ended, and the rest of what it said.
    pub(crate) fn end(mut self) -> Result<(Option<i32>, String)> {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = rustix::io::read(&self.master, &mut buffer) {
            self.unseen += &String::from_utf8_lossy(&buffer[..length]);
        }
        Ok((self.child.wait()?.code(), self.unseen))
    }
}
