//! Scratch places to measure in, and the two ways to start a program in them: in a session and plainly.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use rustix::fs::statfs;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The number by which Linux names a tmpfs.
const TMPFS: i64 = 0x0102_1994;

/// What every measurement is given.
#[derive(Debug)]
pub(crate) struct Bench {
    /// The program that is measured.
    pub(crate) remit: PathBuf,
    /// Fewer rounds.
    pub(crate) quick: bool,
    /// This program, which also runs inside sessions.
    pub(crate) own: PathBuf,
    disk: TempDir,
    memory: Result<Memory, String>,
}

impl Bench {
    /// With scratch on the disk below `disk`, and in memory below `memory`, else where this machine has a tmpfs.
    pub(crate) fn new(remit: PathBuf, quick: bool, disk: &Path, memory: Option<&Path>) -> Result<Self> {
        let own = std::env::current_exe().context("this program does not know where it lies")?;
        ensure!(!is_memory(disk)?, "`{}` is no disk: name one by `--disk`", disk.display());
        let disk = scratch(disk)?;
        let memory = Memory::find(memory, disk.path()).map_err(|error| format!("{error:#}"));
        Ok(Self { remit, quick, own, disk, memory })
    }

    /// A scratch folder on the disk.
    pub(crate) fn disk(&self) -> &Path {
        self.disk.path()
    }

    /// A scratch folder in memory.
    pub(crate) fn memory(&self) -> Result<&Path> {
        self.memory.as_ref().map(|memory| memory.folder.path()).map_err(|why| anyhow!("{why}"))
    }

    /// How many rounds: `many`, or few if it is only for a look.
    pub(crate) fn rounds(&self, many: usize) -> usize {
        if self.quick { many.div_ceil(5).max(3) } else { many }
    }

    /// Removes the scratch folders.
    pub(crate) fn close(self) -> Result<()> {
        self.memory.map_or(Ok(()), Memory::close).context("cannot remove the scratch folder in memory")?;
        self.disk.close().context("cannot remove the scratch folder on the disk")
    }
}

/// A scratch folder in memory. What is mounted goes before the folder that it is mounted on.
#[derive(Debug)]
struct Memory {
    mounted: Option<Mounted>,
    folder: TempDir,
}

impl Memory {
    /// Below `named`; else below `XDG_RUNTIME_DIR`; else root mounts one in `disk`. A session has a `/dev/shm` of its
    /// own, so a workspace cannot lie there.
    fn find(named: Option<&Path>, disk: &Path) -> Result<Self> {
        if let Some(named) = named {
            ensure!(is_memory(named)?, "`{}` is no tmpfs", named.display());
            return Ok(Self { mounted: None, folder: scratch(named)? });
        }
        let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        if let Some(own) = own.filter(|own| is_memory(own).is_ok_and(|is| is)) {
            return Ok(Self { mounted: None, folder: scratch(&own)? });
        }
        let folder = scratch(disk)?;
        mount("tmpfs", folder.path(), "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, None)
            .context("no tmpfs but /dev/shm, and none can be mounted: name one by `--memory`")?;
        Ok(Self { mounted: Some(Mounted(Some(folder.path().to_owned()))), folder })
    }

    fn close(self) -> Result<()> {
        self.mounted.map_or(Ok(()), |mut mounted| mounted.end())?;
        Ok(self.folder.close()?)
    }
}

/// A mount of our own, undone at the latest when it is dropped.
#[derive(Debug)]
struct Mounted(Option<PathBuf>);

impl Mounted {
    fn end(&mut self) -> Result<()> {
        let at = self.0.take();
        at.map_or(Ok(()), |at| unmount(at, UnmountFlags::empty())).context("cannot unmount it")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("bench: the scratch folder in memory: {error:#}");
        }
    }
}

fn scratch(below: &Path) -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix("remit-bench-").tempdir_in(below);
    made.with_context(|| format!("cannot make a folder in `{}`", below.display()))
}

fn is_memory(folder: &Path) -> Result<bool> {
    let about = statfs(folder).with_context(|| format!("cannot look at `{}`", folder.display()))?;
    Ok(about.f_type == TMPFS)
}

/// A workspace with its state beside it, and what a plain run of the same programs gets instead.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    bench: &'a Bench,
    folder: TempDir,
    sockets: TempDir,
}

impl<'a> Scene<'a> {
    /// Below `under`, with a git repository as the workspace and no policy yet.
    pub(crate) fn new(bench: &'a Bench, under: &Path) -> Result<Self> {
        let folder = scratch(under)?;
        // The path of a socket has at most 107 bytes.
        let sockets = tempfile::Builder::new().prefix("rb").tempdir().context("no folder for sockets")?;
        let scene = Self { bench, folder, sockets };
        for name in ["w", "state", "plain", "plain-home"] {
            fs::create_dir(scene.folder.path().join(name))?;
        }
        fs::copy(&bench.own, scene.own()).context("this program cannot be copied")?;
        done(scene.plain("git").args(["init", "--quiet"]))?;
        Ok(scene)
    }

    /// The same with the policy that `remit init` writes.
    pub(crate) fn with_first_policy(bench: &'a Bench, under: &Path) -> Result<Self> {
        let scene = Self::new(bench, under)?;
        done(scene.remit().arg("init"))?;
        Ok(scene)
    }

    /// The workspace.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("w")
    }

    /// This program, where a session sees it too.
    pub(crate) fn own(&self) -> PathBuf {
        self.work().join("remit-bench")
    }

    /// Scratch of a plain run, on the file system where a session's `/tmp` lies.
    pub(crate) fn plain_scratch(&self) -> PathBuf {
        self.folder.path().join("plain")
    }

    /// The session's program `program`, ready for its arguments.
    pub(crate) fn session(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.remit();
        command.args(["run", "--"]).arg(program);
        command
    }

    /// The program that is measured, in the workspace. It gets the person's own HOME, where toolchains lie, and
    /// keeps its state here.
    pub(crate) fn remit(&self) -> Command {
        self.remit_like(&self.bench.remit)
    }

    /// Another program in the same surroundings, which will start the one that is measured.
    pub(crate) fn remit_like(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.start(program.as_ref(), home());
        command.env("REMIT_STATE_DIR", self.folder.path().join("state"));
        command.env("XDG_RUNTIME_DIR", self.sockets.path());
        command
    }

    /// A program in the workspace without Remit, with a HOME and a TMPDIR of its own, as in a session.
    pub(crate) fn plain(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.start(program.as_ref(), Some(self.folder.path().join("plain-home").into()));
        command.env("TMPDIR", self.plain_scratch());
        let rustup = home().map(|home| Path::new(&home).join(".rustup")).filter(|folder| folder.is_dir());
        if let (Some(folder), None) = (rustup, std::env::var_os("RUSTUP_HOME")) {
            command.env("RUSTUP_HOME", folder);
        }
        command
    }

    fn start(&self, program: &OsStr, home: Option<OsString>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.work()).stdin(Stdio::null());
        let kept = ["PATH", "LANG", "RUSTUP_HOME"].map(|name| (name, std::env::var_os(name)));
        let home = [("HOME", home)];
        for (name, value) in kept.into_iter().chain(home) {
            command.envs(value.map(|value| (name, value)));
        }
        command
    }
}

fn home() -> Option<OsString> {
    std::env::var_os("HOME")
}

/// Runs to the end and answers standard output; wants success.
pub(crate) fn done(command: &mut Command) -> Result<String> {
    let name = words(command);
    let output = command.output().with_context(|| format!("cannot start `{name}`"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("`{name}`: {}: {}", output.status, errors.trim().replace('\n', " / "));
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{name}` did not print UTF-8"))
}

/// Runs to the end with no output; wants success. For what is timed: nothing is read meanwhile.
pub(crate) fn quiet(command: &mut Command) -> Result<()> {
    let name = words(command);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot start `{name}`"))?;
    ensure!(status.success(), "`{name}`: {status}");
    Ok(())
}

/// Where `program` lies in PATH.
pub(crate) fn find(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").context("PATH is not set")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
    found.with_context(|| format!("`{program}` is not installed"))
}

/// The command, short enough for a line of the table.
fn words(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args()).map(OsStr::to_string_lossy);
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(30) {
        Some((at, _)) => format!("{} …", line.get(..at).unwrap_or_default()),
        None => line,
    }
}
