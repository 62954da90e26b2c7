//! [`TestEnv`]: folders, environment and user of one test.

use super::{leftovers, normal, outcome::Outcome, repo::Repo};
use anyhow::{Context as _, Result, bail, ensure};
use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// The user without rights, as numbered by Linux distributions.
pub const NOBODY: u32 = 65_534;

/// A scratch machine. All of it lies below one folder in the temporary folder; when it is dropped, what was
/// started with its environment is ended and the folder removed.
#[derive(Debug)]
pub struct TestEnv {
    root: PathBuf,
    remit: Option<PathBuf>,
    user: Option<u32>,
    closed: bool,
}

impl TestEnv {
    /// Makes the folders. Names are short, since the path of a socket has 107 bytes.
    pub fn new() -> Result<Self> {
        let scratch = tempfile::Builder::new().prefix("remit-").tempdir().context("no scratch folder")?;
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755))?;
        let root = scratch.path().canonicalize()?;
        let env = Self { root, remit: None, user: None, closed: false };
        // From here on, dropping `env` removes the folder.
        drop(scratch.keep());
        for folder in ["home", "config", "state", "data", "cache", "run", "tmp", "project", "bin"] {
            fs::create_dir(env.root.join(folder))?;
        }
        fs::set_permissions(env.root.join("run"), fs::Permissions::from_mode(0o700))?;
        env.write("home/.gitconfig", "[user]\n\tname = Test\n\temail = test@example.invalid\n")?;
        Ok(env)
    }

    /// Says where the program under test is: `env!("CARGO_BIN_EXE_remit")`.
    #[must_use]
    pub fn with_remit(mut self, program: impl Into<PathBuf>) -> Self {
        self.remit = Some(program.into());
        self
    }

    /// Runs everything from here on as `uid`, and gives it the folders. Only root can: anybody else keeps its own
    /// user, which has no rights to lose.
    pub fn as_user(mut self, uid: u32) -> Result<Self> {
        if rustix::process::geteuid().is_root() {
            self.user = Some(uid);
            give(&self.root, uid)?;
        }
        Ok(self)
    }

    /// The user that programs run as.
    pub fn uid(&self) -> u32 {
        self.user.unwrap_or_else(|| rustix::process::geteuid().as_raw())
    }

    /// The folder of everything.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `HOME`.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// `REMIT_STATE_DIR`.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// `TMPDIR`.
    pub fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The workspace, where programs start. Empty until [`repo`](Self::repo) or [`write`](Self::write).
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// A git repository in [`project`](Self::project), on branch `main`, with no commit.
    pub fn repo(&self) -> Result<Repo<'_>> {
        Repo::init(self, self.project())
    }

    /// Writes a file at `path` below the root, and its folders, for the user of the environment.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<PathBuf> {
        let path = self.root.join(path);
        ensure!(path.starts_with(&self.root), "`{}` lies outside the scratch folder", path.display());
        let parent = path.parent().context("a file has a folder")?;
        let new: Vec<&Path> = parent.ancestors().take_while(|folder| !folder.exists()).collect();
        fs::create_dir_all(parent)?;
        fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        if let Some(uid) = self.user {
            for made in new.into_iter().chain([path.as_path()]) {
                chown(made, Some(uid), Some(uid))?;
            }
        }
        Ok(path)
    }

    /// The environment of every program: nothing of the test's own but the end of `PATH`, which begins with a
    /// folder for [`install`](Self::install).
    pub fn vars(&self) -> Vec<(&'static str, OsString)> {
        let folder = |name: &str| self.root.join(name).into_os_string();
        let mut path = folder("bin");
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()));
        vec![
            ("PATH", path),
            ("HOME", folder("home")),
            ("XDG_CONFIG_HOME", folder("config")),
            ("XDG_STATE_HOME", folder("state")),
            ("XDG_DATA_HOME", folder("data")),
            ("XDG_CACHE_HOME", folder("cache")),
            ("XDG_RUNTIME_DIR", folder("run")),
            ("TMPDIR", folder("tmp")),
            (leftovers::MARK, folder("state")),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("TERM", "dumb".into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            ("NO_COLOR", "1".into()),
        ]
    }

    /// A program with this environment, in the project, as this user, with nothing to read.
    pub fn command(&self, program: impl AsRef<Path>) -> Result<Command> {
        let program = program.as_ref();
        let program = if program.is_absolute() { self.stage(program)? } else { program.to_path_buf() };
        let mut command = match self.user {
            None => Command::new(program),
            Some(uid) => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", &uid.to_string(), "--regid", &uid.to_string()]);
                command.args(["--clear-groups", "--inh-caps=-all", "--"]).arg(program);
                command
            }
        };
        command.env_clear().envs(self.vars()).current_dir(self.project()).stdin(Stdio::null());
        Ok(command)
    }

    /// The program under test with these arguments; see [`command`](Self::command).
    pub fn remit<A: Into<OsString>>(&self, args: impl IntoIterator<Item = A>) -> Result<Command> {
        let Some(program) = &self.remit else {
            bail!("the program under test is unknown: `with_remit` names it");
        };
        let mut command = self.command(program)?;
        command.args(args.into_iter().map(Into::into));
        Ok(command)
    }

    /// Runs a program to its end and keeps what it said, made the same for every run. Input is what the command
    /// has; two minutes are an error.
    pub fn run(&self, command: &mut Command) -> Result<Outcome> {
        Outcome::of(command, b"", |text| self.normal(text))
    }

    /// The same with `input` to read.
    pub fn feed(&self, command: &mut Command, input: &[u8]) -> Result<Outcome> {
        command.stdin(Stdio::piped());
        Outcome::of(command, input, |text| self.normal(text))
    }

    /// `text` with placeholders for what differs from run to run: this environment's paths, uuids, times, process
    /// ids, and the hash in the name of a workspace's state.
    pub fn normal(&self, text: &str) -> String {
        let mut paths = vec![
            (self.project(), "[PROJECT]"),
            (self.home(), "[HOME]"),
            (self.state(), "[STATE]"),
            (self.tmp(), "[TMP]"),
            (self.root.clone(), "[ROOT]"),
        ];
        if let Some(program) = &self.remit {
            paths.push((program.clone(), "[REMIT]"));
            // Where another user starts it.
            paths.extend(program.file_name().map(|name| (self.root.join("bin").join(name), "[REMIT]")));
        }
        normal::normal(text, &paths)
    }

    /// A place from which the user of the environment can start `program`: where it is, if that can be reached,
    /// else under its name in the first folder of `PATH`.
    pub fn stage(&self, program: &Path) -> Result<PathBuf> {
        let real = program.canonicalize().with_context(|| format!("no program `{}`", program.display()))?;
        if self.user.is_none() || reachable(&real)? {
            return Ok(program.to_path_buf());
        }
        let name = program.file_name().context("a program has a name")?;
        self.install(&name.to_string_lossy(), program)
    }

    /// Puts `program` into the first folder of `PATH` as `name`: a symbolic link where its user can follow one,
    /// else a second name or a copy. What has that name already is replaced.
    pub fn install(&self, name: &str, program: &Path) -> Result<PathBuf> {
        let real = program.canonicalize().with_context(|| format!("no program `{}`", program.display()))?;
        let at = self.root.join("bin").join(name);
        if at.symlink_metadata().is_ok() {
            fs::remove_file(&at)?;
        }
        if self.user.is_none() || reachable(&real)? {
            std::os::unix::fs::symlink(&real, &at)?;
        } else if !(others_may(&real, 0o005)? && fs::hard_link(&real, &at).is_ok()) {
            // The scratch folder is on another file system, or others may not read the file.
            fs::copy(&real, &at)?;
            fs::set_permissions(&at, fs::Permissions::from_mode(0o755))?;
        }
        Ok(at)
    }

    /// Ends what is still running and removes the folder, and says what could not be done. Dropping does the same.
    pub fn close(mut self) -> Result<()> {
        self.clear()
    }

    fn clear(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        leftovers::end(&self.state())?;
        // A process that was just ended may still be writing.
        let mut tries = 0;
        loop {
            open_up(&self.root)?;
            match fs::remove_dir_all(&self.root) {
                Ok(()) => return Ok(()),
                Err(_) if tries < 50 => thread::sleep(Duration::from_millis(20)),
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot remove `{}`", self.root.display()));
                }
            }
            tries += 1;
        }
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        let cleared = self.clear();
        // A test that leaves things behind has failed; one that has failed already keeps its own words.
        assert!(cleared.is_ok() || thread::panicking(), "{cleared:?}");
    }
}

/// Gives a tree to `uid`, links themselves included.
fn give(path: &Path, uid: u32) -> Result<()> {
    std::os::unix::fs::lchown(path, Some(uid), Some(uid))?;
    if path.symlink_metadata()?.is_dir() {
        for entry in path.read_dir()? {
            give(&entry?.path(), uid)?;
        }
    }
    Ok(())
}

/// Lets the owner remove all below `path`: a folder without write permission would keep its files.
fn open_up(path: &Path) -> Result<()> {
    // What a process that is ending takes away in the meantime needs no permission.
    let Ok(about) = path.symlink_metadata() else { return Ok(()) };
    if !about.is_dir() {
        return Ok(());
    }
    if about.mode() & 0o700 != 0o700 && about.uid() == rustix::process::geteuid().as_raw() {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    let Ok(entries) = path.read_dir() else { return Ok(()) };
    for entry in entries.flatten() {
        open_up(&entry.path())?;
    }
    Ok(())
}

fn reachable(program: &Path) -> Result<bool> {
    for folder in program.ancestors().skip(1) {
        if !others_may(folder, 0o001)? {
            return Ok(false);
        }
    }
    others_may(program, 0o005)
}

fn others_may(path: &Path, bits: u32) -> Result<bool> {
    Ok(path.metadata()?.mode() & bits == bits)
}
