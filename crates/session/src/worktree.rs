//! What git tracks, as a launch needs it. An agent who has a part of the work tree and git's records sees that the
//! rest is there, and git inside finds it unchanged by what the index remembers of each file. Where the index itself
//! does not vouch for a file, git would read it, which it cannot do inside: so git is asked to look once, outside.

use crate::environment::Environment;
use remit_core::{AbsPath, PathError};
use remit_git::{Checkout, Entry, Tracked, tracked};
use remit_policy::{Access, AgentPolicy};
use remit_sandbox::plain::{Plain, spawn_plain};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// So many files that are out of reach are compared with what the index remembers: where a work tree has been copied
/// or moved, the first one tells.
const SAMPLES: usize = 1;
/// Among so many entries they are looked for.
const LOOKED_AT: usize = 4096;

/// The times of files lag behind the clock by as much.
const TICK: Duration = Duration::from_millis(20);

/// The git work tree that a workspace lies in.
#[derive(Debug)]
pub(crate) struct WorkTree {
    /// Its top.
    pub(crate) top: AbsPath,
    /// What git tracks; none if that cannot be told.
    pub(crate) tracked: Option<Tracked>,
    git_dir: PathBuf,
    /// Why the index cannot be read, if that is why.
    unread: Option<io::Error>,
}

impl WorkTree {
    /// Reads the index of a checkout. If it cannot be read, what is tracked is unknown; whoever needs to know asks git.
    pub(crate) fn of(checkout: &Checkout) -> Result<Self, PathError> {
        let top = AbsPath::try_from(checkout.work_tree.as_path())?;
        let (tracked, unread) = match tracked(&checkout.git_dir) {
            Ok(tracked) => (tracked, None),
            Err(error) => (None, Some(error)),
        };
        Ok(Self { top, tracked, git_dir: checkout.git_dir.clone(), unread })
    }

    /// What is to be said if it is not known what git tracks, since its index cannot be read.
    pub(crate) fn unknown(&self) -> Option<String> {
        let error = self.unread.as_ref().filter(|_| self.tracked.is_none())?;
        Some(format!(
            "not known: what git tracks, since its index cannot be read ({error}); all of the work tree is recorded as work"
        ))
    }

    /// Makes sure that what git tracks is known, and that the index vouches for what this agent cannot read, if git
    /// would otherwise take it for deleted or changed in its sessions. What could not be done, in words.
    pub(crate) fn settle(&mut self, agent: &AgentPolicy, environment: &Environment) -> Option<String> {
        if !self.is_narrowed(agent) {
            return None;
        }
        match &self.tracked {
            Some(tracked) if !self.is_racy(tracked, agent) && !self.is_stale(tracked, agent) => return None,
            Some(tracked) => rest_of_the_second(tracked.written()),
            None => match self.git(environment, &["ls-files", "-z", "--stage"]) {
                Ok(listed) => self.tracked = Some(Tracked::listed(&listed)),
                Err(error) => {
                    return Some(format!(
                        "what git tracks cannot be told ({error}): git inside takes files that no rule grants for deleted"
                    ));
                }
            },
        }
        let mut looked = self.look(environment);
        // What was changed in this very second is as doubtful as before.
        if looked.is_ok()
            && let Ok(Some(tracked)) = tracked(&self.git_dir)
            && self.is_racy(&tracked, agent)
        {
            rest_of_the_second(tracked.written());
            looked = self.look(environment);
        }
        let error = looked.err()?;
        Some(format!(
            "git could not look at the work tree ({error}): git inside may take files that no rule grants for changed"
        ))
    }

    /// Whether an agent has git's records and not the whole work tree, so that files which git knows are out of its
    /// sight.
    pub(crate) fn is_narrowed(&self, agent: &AgentPolicy) -> bool {
        let records = self.top.join(b".git").is_ok_and(|records| agent.access(&records).has(Access::READ));
        records && !agent.access(&self.top).has(Access::READ)
    }

    /// Lets git look at all that it tracks, and write down what it has seen.
    fn look(&self, environment: &Environment) -> io::Result<()> {
        let status =
            ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all", "--no-ahead-behind"];
        self.git(environment, &status).map(drop)
    }

    /// What git neither tracks nor ignores, each with a zero behind it, relative to the top. A person's own list of what
    /// to ignore everywhere is not known inside, so it does not count.
    pub(crate) fn untracked(&self, environment: &Environment) -> io::Result<Vec<u8>> {
        let list = ["-c", "core.excludesFile=/dev/null", "ls-files", "-z", "--others", "--exclude-standard"];
        self.git(environment, &list)
    }

    /// The path of an entry that an agent cannot read, but sees.
    fn out_of_reach(&self, entry: &Entry<'_>, agent: &AgentPolicy) -> Option<AbsPath> {
        let path = AbsPath::lexical(&self.top, entry.path).ok()?;
        let none = agent.access(&path).is_none() && agent.none_rule(&path).is_none();
        (none && !entry.repository).then_some(path)
    }

    /// Whether git would read a file that is out of reach since it was changed as the index was written.
    fn is_racy(&self, tracked: &Tracked, agent: &AgentPolicy) -> bool {
        tracked.entries().any(|entry| entry.racy && self.out_of_reach(&entry, agent).is_some())
    }

    /// Whether git would read files that are out of reach since the index knows them by other times or inodes.
    fn is_stale(&self, tracked: &Tracked, agent: &AgentPolicy) -> bool {
        let known = |entry: Entry<'_>| Some((self.out_of_reach(&entry, agent)?, entry.known));
        let changed = |(path, (modified, inode)): (AbsPath, (u32, u32))| {
            std::fs::symlink_metadata(path.as_path())
                .is_ok_and(|seen| seen.mtime() as u32 != modified || seen.ino() as u32 != inode)
        };
        tracked.entries().take(LOOKED_AT).filter_map(known).take(SAMPLES).any(changed)
    }

    /// The first git in `PATH` that does not lie in the work tree, where agents write.
    fn program(&self, environment: &Environment) -> Option<PathBuf> {
        let outside = |file: &PathBuf| {
            let real = std::fs::canonicalize(file).ok().filter(|real| !real.starts_with(self.top.as_path()));
            real.and_then(|real| std::fs::metadata(real).ok()).is_some_and(|seen| seen.mode() & 0o111 != 0)
        };
        environment.path().into_iter().map(|folder| folder.join("git")).find(outside)
    }

    /// What git says, outside and as the person: without hooks, and without a watcher that the configuration names.
    fn git(&self, environment: &Environment, arguments: &[&str]) -> io::Result<Vec<u8>> {
        let always = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
        let arguments: Vec<OsString> = always.iter().chain(arguments).map(OsString::from).collect();
        let own = |(name, _): &(&OsString, &OsString)| !name.as_bytes().starts_with(b"GIT_");
        let vars = environment.vars.iter().filter(own);
        let own = vars.map(|(name, value)| (name.clone(), value.clone()));
        // What is not here is not fetched.
        let vars: Vec<(OsString, OsString)> = own.chain([("GIT_NO_LAZY_FETCH".into(), "1".into())]).collect();
        let program = self.program(environment).ok_or(io::ErrorKind::NotFound)?;
        let mut child = spawn_plain(Plain {
            program: program.as_os_str(),
            arguments: &arguments,
            environment: &vars,
            cwd: Some(self.top.as_path()),
            input: Stdio::null(),
            output: Stdio::piped(),
            error: Stdio::null(),
        })?;
        let mut said = Vec::new();
        if let Some(mut output) = child.stdout.take() {
            output.read_to_end(&mut said)?;
        }
        let status = child.wait()?;
        if status.success() { Ok(said) } else { Err(io::Error::other(format!("git: {status}"))) }
    }
}

/// Waits until the second of an index is over, so that the next one says more of files that were changed in it.
fn rest_of_the_second(written: u32) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let over = Duration::from_secs(u64::from(written).saturating_add(1)).saturating_add(TICK);
    // An index from the future is no reason to wait for it.
    std::thread::sleep(over.saturating_sub(now).min(Duration::from_secs(1).saturating_add(TICK)));
}
