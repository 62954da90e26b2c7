//! What a person's git runs or obeys and a session must therefore not change, as far as names alone do not
//! tell it: git folders under another name, folders of hooks, included files, and programs of the work tree
//! that the configuration names. Only files are read; no program is started.
//!
//! Read are the configuration of the machine and of the person, of the repository, of its linked worktrees
//! and of its submodules, with all that they include, whatever the condition. Repositories that lie in the
//! work tree without being submodules are not looked for.

use crate::checkout::{Checkout, checkout};
use crate::config::{Setting, settings};
use crate::read::{self, small};
use remit_core::AbsPath;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// As many links as the kernel follows.
const LINKS: u8 = 40;
/// As deep as git itself follows includes.
const DEPTH: u8 = 10;
/// More worktrees, submodules or files than this are an error, never left out.
const MOST: usize = 4096;

/// Why a path is among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// A hook, or a folder of hooks.
    Hooks,
    /// A configuration file.
    Config,
    /// A program that the configuration names.
    Program,
}

impl Why {
    /// The name of the rule that protects it: `protected.git-hooks`.
    pub fn id(self) -> &'static str {
        match self {
            Why::Hooks => "protected.git-hooks",
            Why::Config => "protected.git-config",
            Why::Program => "protected.git-program",
        }
    }

    /// What it is, in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Why::Hooks => "what git runs by itself",
            Why::Config => "git's configuration (it can name programs to run)",
            Why::Program => "a program that git's configuration names",
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Protected {
    /// Git folders: in them lie hooks, configuration and links under their usual names.
    pub git_dirs: BTreeSet<AbsPath>,
    /// Single paths, each with all below it. They need not exist: what git would run if it were there, a
    /// session could make.
    pub paths: BTreeSet<(AbsPath, Why)>,
}

/// Looks at the checkout that `folder` lies in (if it lies in none, only at the machine's and the person's
/// configuration). `home` is the person's, `xdg_config` the value of `XDG_CONFIG_HOME`.
///
/// # Errors
/// A file that cannot be read, is no plain file, or has more than 1 MiB; more than 4,096 of something. What
/// is not known is never taken for harmless.
pub fn protected(folder: &Path, home: &Path, xdg_config: Option<&Path>) -> io::Result<Protected> {
    let mut search =
        Search { home, trees: BTreeSet::new(), seen: BTreeSet::new(), found: Protected::default() };
    let folder = fs::canonicalize(folder).map_err(|error| read::told(folder, error))?;
    let found = checkout(&folder)?;
    if let Some(checkout) = &found {
        search.add_trees(checkout)?;
    }
    let xdg = xdg_config.map_or_else(|| home.join(".config"), Path::to_owned);
    let trees = search.trees.clone();
    for file in [Path::new("/etc/gitconfig"), &xdg.join("git/config"), &home.join(".gitconfig")] {
        search.add(file, Why::Config)?;
        search.top(file, &trees)?;
    }
    if let Some(checkout) = &found {
        search.repository(checkout)?;
        let mut budget = MOST;
        search.submodules(&checkout.common_dir.join("modules"), &mut budget)?;
    }
    Ok(search.found)
}

struct Search<'a> {
    home: &'a Path,
    /// The work trees of the repository.
    trees: BTreeSet<PathBuf>,
    /// Files that were read, each with the folder that it was read for.
    seen: BTreeSet<(PathBuf, PathBuf)>,
    found: Protected,
}

impl Search<'_> {
    /// The work tree, the main one, and all that are linked.
    fn add_trees(&mut self, checkout: &Checkout) -> io::Result<()> {
        self.trees.extend([checkout.work_tree.clone(), checkout.main.clone()]);
        for admin in entries(&checkout.common_dir.join("worktrees"))? {
            if let Some(text) = small(&admin.join("gitdir"))? {
                let pointer = admin.join(OsStr::from_bytes(text.trim_ascii()));
                self.trees.extend(pointer.parent().map(Path::to_owned));
            }
        }
        Ok(())
    }

    fn repository(&mut self, checkout: &Checkout) -> io::Result<()> {
        for dir in [&checkout.git_dir, &checkout.common_dir] {
            self.found
                .git_dirs
                .extend(Some(resolved(dir)?).filter(|dir| !is_git(dir)).as_deref().and_then(named));
        }
        let trees = self.trees.clone();
        let mut files = vec![checkout.common_dir.join("config"), checkout.common_dir.join("config.worktree")];
        files.push(checkout.git_dir.join("config.worktree"));
        files.extend(
            entries(&checkout.common_dir.join("worktrees"))?.into_iter().map(|a| a.join("config.worktree")),
        );
        files.iter().try_for_each(|file| self.top(file, &trees))
    }

    /// Git folders of submodules, at any depth: a name may hold slashes.
    fn submodules(&mut self, folder: &Path, budget: &mut usize) -> io::Result<()> {
        for dir in entries(folder)? {
            *budget = budget.checked_sub(1).ok_or_else(|| too_many(folder))?;
            if fs::symlink_metadata(dir.join("HEAD")).is_err() {
                self.submodules(&dir, budget)?;
                continue;
            }
            let mut trees = BTreeSet::new();
            for setting in small(&dir.join("config"))?.map_or_else(Vec::new, |text| settings(&text)) {
                if setting.is("core", "worktree")
                    && let Some(value) = &setting.value
                {
                    trees.insert(resolved(&dir.join(OsStr::from_bytes(value)))?);
                }
            }
            self.add(&dir.join("hooks"), Why::Hooks)?;
            for file in ["config", "config.worktree"] {
                self.top(&dir.join(file), &trees)?;
            }
            self.submodules(&dir.join("modules"), budget)?;
        }
        Ok(())
    }

    /// A configuration file that git reads by itself, for commands in any of `trees`.
    fn top(&mut self, file: &Path, trees: &BTreeSet<PathBuf>) -> io::Result<()> {
        // Without a work tree there still is what does not hang on one.
        let nowhere = BTreeSet::from([PathBuf::from("/")]);
        let trees = if trees.is_empty() { &nowhere } else { trees };
        trees.iter().try_for_each(|tree| self.file(file, tree, 0))
    }

    fn file(&mut self, file: &Path, tree: &Path, depth: u8) -> io::Result<()> {
        // A link is followed: who may write its target writes what git reads.
        let real = resolved(file)?;
        if depth > DEPTH || !self.seen.insert((real.clone(), tree.to_owned())) || is_device(&real) {
            return Ok(());
        }
        if self.seen.len() > MOST {
            return Err(too_many(file));
        }
        if (depth > 0 || real != file) && !tree.starts_with(&real) {
            self.add(&real, Why::Config)?;
            self.add(file, Why::Config)?;
        }
        if fs::metadata(&real).is_ok_and(|seen| !seen.is_file()) {
            return Ok(());
        }
        for setting in small(&real)?.map_or_else(Vec::new, |text| settings(&text)) {
            self.setting(&setting, file, tree, depth)?;
        }
        Ok(())
    }

    fn setting(&mut self, setting: &Setting, file: &Path, tree: &Path, depth: u8) -> io::Result<()> {
        let Some(value) = setting.value.as_deref().filter(|value| !value.is_empty()) else { return Ok(()) };
        match (setting.section.as_str(), setting.key.as_str()) {
            ("include" | "includeif", "path") => {
                let folder = file.parent().unwrap_or(Path::new("/"));
                self.file(&self.at(folder, value), tree, depth.saturating_add(1))
            }
            ("core", "hookspath") => self.hooks(&self.at(tree, value), tree),
            ("init", "templatedir") => self.hooks(&self.at(tree, value).join("hooks"), tree),
            (section, key) if runs(section, setting.subsection.as_deref(), key) => self.programs(value, tree),
            _ => Ok(()),
        }
    }

    /// A path of the configuration, relative to `folder`.
    fn at(&self, folder: &Path, value: &[u8]) -> PathBuf {
        match value.strip_prefix(b"~/") {
            Some(rest) => self.home.join(OsStr::from_bytes(rest)),
            None => folder.join(OsStr::from_bytes(value)),
        }
    }

    fn hooks(&mut self, folder: &Path, tree: &Path) -> io::Result<()> {
        let real = resolved(folder)?;
        if is_device(&real) {
            // `/dev/null` is the usual word for: no hooks.
            return Ok(());
        }
        if tree.starts_with(&real) {
            // The hooks lie beside the work itself.
            return HOOKS.iter().try_for_each(|name| self.add(&real.join(name), Why::Hooks));
        }
        // Husky tells git of `.husky/_`, and what is run there runs what lies beside it.
        for path in [folder, &real] {
            let husky = path.file_name() == Some(OsStr::new("_"));
            let whole = path.parent().filter(|parent| husky && !tree.starts_with(parent)).unwrap_or(path);
            self.add(whole, Why::Hooks)?;
        }
        Ok(())
    }

    /// The words of a command that are files of the work tree, or would be if they existed; and programs
    /// elsewhere.
    fn programs(&mut self, command: &[u8], tree: &Path) -> io::Result<()> {
        let cut = |b: &u8| b.is_ascii_whitespace() || b"\"'`;|&()<>=!".contains(b);
        for word in command.split(cut).filter(|word| !word.is_empty() && !word.starts_with(b"%")) {
            let path = self.at(tree, word);
            let real = resolved(&path)?;
            let counts = match fs::metadata(&real) {
                Ok(seen) => seen.is_file(),
                Err(_) => word.contains(&b'/') && real.starts_with(tree) && tree != Path::new("/"),
            };
            if counts {
                self.add(&path, Why::Program)?;
                self.add(&real, Why::Program)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, why: Why) -> io::Result<()> {
        self.found.paths.extend(named(path).map(|path| (path, why)));
        if self.found.paths.len() > MOST { Err(too_many(path)) } else { Ok(()) }
    }
}

/// Settings whose value is a command that git runs while it does something else that was asked for.
fn runs(section: &str, subsection: Option<&[u8]>, key: &str) -> bool {
    match (section, key) {
        ("core", key) => matches!(
            key,
            "fsmonitor" | "sshcommand" | "editor" | "pager" | "askpass" | "gitproxy" | "alternaterefscommand"
        ),
        ("credential", "helper") | ("diff", "external" | "command" | "textconv") => true,
        ("filter", "clean" | "smudge" | "process") | ("merge", "driver") | ("hook", "command") => true,
        ("gpg", "program" | "defaultkeycommand") | ("sequence", "editor") => true,
        ("interactive", "difffilter")
        | ("uploadpack", "packobjectshook")
        | ("receive", "procreceiverefs") => true,
        ("trailer", "cmd" | "command") => subsection.is_some(),
        ("remote", "uploadpack" | "receivepack") => subsection.is_some(),
        ("submodule", "update") => subsection.is_some(),
        ("pager", _) => true,
        _ => false,
    }
}

#[rustfmt::skip]
/// The hooks that git knows, for the odd configuration that keeps them beside the work.
const HOOKS: [&str; 29] = [
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit",
    "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push",
    "pre-receive", "update", "proc-receive", "post-receive", "post-update", "reference-transaction",
    "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate", "fsmonitor-watchman",
    "p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit", "post-index-change",
    "query-watchman",
];

/// The path without links, as far as it exists; the rest as it is written.
///
/// # Errors
/// What keeps it from being looked at, with the path: where it leads is then not known.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..=LINKS {
        let mut rest = PathBuf::new();
        let mut at = path.as_path();
        let next = loop {
            match fs::canonicalize(at) {
                Ok(real) => return Ok(lexical(&joined(real, &rest))),
                Err(error) if !is_absence(&error) => return Err(read::told(at, error)),
                Err(_) => {}
            }
            // A link that leads nowhere yet leads somewhere all the same.
            match (fs::read_link(at), at.parent()) {
                (Ok(target), Some(folder)) => break joined(folder.join(target), &rest),
                (Err(error), _) if !is_absence(&error) && error.kind() != io::ErrorKind::InvalidInput => {
                    return Err(read::told(at, error));
                }
                _ => {}
            }
            let name = at.components().next_back().map(|last| Path::new(last.as_os_str()).to_owned());
            let (Some(name), Some(parent)) = (name, at.parent()) else { return Ok(lexical(&path)) };
            rest = joined(name, &rest);
            at = parent;
        };
        path = next;
    }
    Err(read::told(&path, rustix::io::Errno::LOOP.into()))
}

/// Without the slash that an empty rest would leave.
fn joined(path: PathBuf, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { path } else { path.join(rest) }
}

/// Whether an error says that nothing has the name, or could have it.
fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename | InvalidInput)
}

fn lexical(path: &Path) -> PathBuf {
    named(path).map_or_else(|| path.to_owned(), |path| path.as_path().to_owned())
}

/// The path as a session's actions name it; none if no file can have it.
fn named(path: &Path) -> Option<AbsPath> {
    AbsPath::lexical(&AbsPath::root(), path.as_os_str().as_bytes()).ok()
}

/// Whether the folder is known as a git folder by its name.
fn is_git(dir: &Path) -> bool {
    dir.as_os_str().as_bytes().ends_with(b".git")
}

/// `/dev/null` and the like: nothing can be put in its place, and everybody writes to it.
fn is_device(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|seen| seen.file_type().is_char_device() || seen.file_type().is_block_device())
}

/// What lies in a folder; nothing if there is none.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let found = match fs::read_dir(folder) {
        Ok(found) => found,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(read::told(folder, error)),
    };
    let paths: io::Result<Vec<PathBuf>> = found.take(MOST + 1).map(|entry| Ok(entry?.path())).collect();
    let paths = paths.map_err(|error| read::told(folder, error))?;
    if paths.len() > MOST {
        return Err(too_many(folder));
    }
    let mut folders = Vec::new();
    for path in paths {
        match fs::symlink_metadata(&path) {
            Ok(seen) if seen.is_dir() => folders.push(path),
            Ok(_) => {}
            Err(error) if is_absence(&error) => {}
            Err(error) => return Err(read::told(&path, error)),
        }
    }
    Ok(folders)
}

fn too_many(path: &Path) -> io::Error {
    read::told(path, io::Error::other(format!("more than {MOST} files or folders to look at")))
}

#[cfg(test)]
mod tests;
