//! Where a workspace's state lies: outside the tree, so that neither `git clean` nor an agent reaches it.
//!
//! ```text
//! $REMIT_STATE_DIR/<workspace>/, else $XDG_STATE_HOME/remit/<workspace>/, else ~/.local/state/remit/<workspace>/
//!   ledger/  keys/  homes/  snapshots/  ignored/  anchor.json
//! ```
//!
//! `<workspace>` is the base name of the main checkout and 12 hex digits of the hash of its path.

use remit_core::{AbsPath, PathError};
use remit_ledger::Hash;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// How many links may stand in a path, as for the kernel.
const LINKS: usize = 40;

/// Why there is no state folder.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The environment says nothing of use.
    #[error(
        "no folder for Remit's state: set `REMIT_STATE_DIR`, `XDG_STATE_HOME` or `HOME` to an absolute path"
    )]
    NoHome,
    /// A value of the environment is not an absolute path.
    #[error("`{variable}` is `{value}`, which is not an absolute path")]
    Relative {
        /// The variable.
        variable: &'static str,
        /// Its value, escaped.
        value: String,
    },
    /// The path is too long, or has a NUL byte.
    #[error("no folder for Remit's state: {0}")]
    Path(#[from] PathError),
    /// A folder on the way belongs to somebody else.
    #[error(
        "`{path}` belongs to user {owner}, who could exchange what is below it; set `REMIT_STATE_DIR` to a folder of your own"
    )]
    Foreign {
        /// The folder or link.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Others may write to a folder on the way.
    #[error(
        "others may write to `{path}` (mode {mode:04o}); `chmod go-w '{path}'`, or set `REMIT_STATE_DIR` to another folder"
    )]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Others may read the state folder.
    #[error("others may read `{path}` (mode {mode:04o}); `chmod 700 '{path}'`")]
    Readable {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Something on the way is neither folder nor link.
    #[error("`{0}` is not a folder")]
    NotAFolder(PathBuf),
    /// The operating system refused.
    #[error("cannot make `{path}`: {source}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
}

/// What the environment says about where state lies. An empty value counts as none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Environment<'a> {
    /// `REMIT_STATE_DIR`: the folder in which all workspaces have theirs.
    pub remit_state_dir: Option<&'a OsStr>,
    /// `XDG_STATE_HOME`.
    pub xdg_state_home: Option<&'a OsStr>,
    /// `HOME`.
    pub home: Option<&'a OsStr>,
}

/// The state folder of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// Says where it is; touches nothing. `checkout` is the main checkout's path with all links resolved, so that
    /// linked worktrees share one state.
    pub fn locate(environment: &Environment<'_>, checkout: &AbsPath) -> Result<Self, StateError> {
        let said = |value: Option<&'_ OsStr>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = if let Some(base) = said(environment.remit_state_dir) {
            if !base.is_absolute() {
                let value = remit_core::path::escape(base.as_os_str().as_bytes());
                return Err(StateError::Relative { variable: "REMIT_STATE_DIR", value });
            }
            base
        // The standard says that a relative value is to be ignored.
        } else if let Some(base) = said(environment.xdg_state_home).filter(|base| base.is_absolute()) {
            base.join("remit")
        } else {
            let home = said(environment.home).filter(|home| home.is_absolute()).ok_or(StateError::NoHome)?;
            home.join(".local/state/remit")
        };
        let root = AbsPath::lexical(&AbsPath::root(), base.join(workspace(checkout)).as_os_str().as_bytes())?;
        Ok(Self { root: root.as_path().to_owned() })
    }

    /// Creates what is missing, each folder for its owner alone, and checks every folder and link on the way:
    /// nobody else, but root, may be able to exchange or write any of them.
    pub fn create(&self) -> Result<(), StateError> {
        for path in [self.root(), &self.ledger(), &self.keys(), &self.homes(), &self.snapshots()] {
            let mode = Walk::new().to(path)?;
            if mode & 0o077 != 0 {
                return Err(StateError::Readable { path: path.to_owned(), mode });
            }
        }
        Ok(())
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where it is with all links resolved, also those that lead to what is not there yet: where
    /// [`StateDir::create`] would make it. Touches nothing.
    ///
    /// # Errors
    /// What the operating system says of a folder on the way; links that lead in a circle, or back out of what
    /// is not there.
    pub fn real(&self) -> std::io::Result<PathBuf> {
        let (mut at, mut missing, mut links) = (self.root.clone(), Vec::new(), 0);
        loop {
            match std::fs::canonicalize(&at) {
                Ok(real) => return Ok(missing.into_iter().rev().fold(real, |path, name| path.join(name))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
                return Err(Errno::NOENT.into());
            };
            let (parent, name) = (parent.to_owned(), name.to_owned());
            match std::fs::read_link(&at) {
                Ok(_) if links == LINKS => return Err(Errno::LOOP.into()),
                Ok(target) => {
                    links += 1;
                    at = parent.join(target);
                }
                Err(_) => {
                    missing.push(name);
                    at = parent;
                }
            }
        }
    }

    /// The ledger.
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger")
    }

    /// The keys that sign the ledger.
    pub fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// The private homes of sessions.
    pub fn homes(&self) -> PathBuf {
        self.root.join("homes")
    }

    /// Published versions of workspaces.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// What the folders of the workspace held at the last launch: only a memory, of no worth to anybody else.
    pub fn listings(&self) -> PathBuf {
        self.root.join("listings")
    }

    /// What counts as ignored in each work tree.
    pub fn ignored(&self) -> PathBuf {
        self.root.join("ignored")
    }

    /// What the gates of all sessions lock while they judge and change the tree.
    pub fn tree_lock(&self) -> PathBuf {
        self.root.join("tree.lock")
    }

    /// The ledger's last checkpoint, kept apart from the ledger.
    pub fn anchor(&self) -> PathBuf {
        self.root.join("anchor.json")
    }
}

/// The name of a workspace's folder.
fn workspace(checkout: &AbsPath) -> OsString {
    let hash = Hash::of(&[checkout.as_bytes()]).to_string();
    // The base name is for people; the hash tells workspaces apart.
    let plain = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => *byte,
        _ => b'_',
    };
    let mut name: Vec<u8> = checkout.file_name().unwrap_or(b"root").iter().take(64).map(plain).collect();
    name.push(b'-');
    name.extend(hash.bytes().take(12));
    OsString::from_vec(name)
}

/// A walk from the root down, one component after the other and never by a path, so that what was checked is what
/// is entered.
struct Walk {
    /// The folder that was reached, and its path without links.
    at: Option<OwnedFd>,
    path: PathBuf,
    links: usize,
    mode: u32,
}

impl Walk {
    fn new() -> Self {
        Self { at: None, path: PathBuf::from("/"), links: 0, mode: 0 }
    }

    /// Walks to `path`, creating what is missing, and answers the mode of the last folder.
    fn to(mut self, path: &Path) -> Result<u32, StateError> {
        let mut left: VecDeque<OsString> = components(path.as_os_str());
        self.enter_root()?;
        while let Some(name) = left.pop_front() {
            if name == ".." {
                self.enter(OsStr::new(".."))?;
                self.path.pop();
                continue;
            }
            self.path.push(&name);
            let stat = self.look_or_create(&name)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {
                    self.check(&stat)?;
                    self.enter(&name)?;
                }
                FileType::Symlink => {
                    self.check_owner(&stat)?;
                    let target = self.link(&name)?;
                    self.path.pop();
                    if target.as_bytes().starts_with(b"/") {
                        self.path = PathBuf::from("/");
                        self.enter_root()?;
                    }
                    for component in components(&target).into_iter().rev() {
                        left.push_front(component);
                    }
                }
                _ => return Err(StateError::NotAFolder(self.path)),
            }
        }
        Ok(self.mode)
    }

    fn enter_root(&mut self) -> Result<(), StateError> {
        let root = rustix::fs::open("/", FOLDER, Mode::empty()).map_err(|error| self.failed(error))?;
        let stat = rustix::fs::fstat(&root).map_err(|error| self.failed(error))?;
        self.check(&stat)?;
        self.at = Some(root);
        Ok(())
    }

    fn enter(&mut self, name: &OsStr) -> Result<(), StateError> {
        let at = rustix::fs::openat(self.here()?, name, FOLDER, Mode::empty()).map_err(|e| self.failed(e))?;
        // What was looked at by name and what was entered must be the same.
        let stat = rustix::fs::fstat(&at).map_err(|error| self.failed(error))?;
        self.check(&stat)?;
        self.at = Some(at);
        Ok(())
    }

    fn here(&self) -> Result<&OwnedFd, StateError> {
        self.at.as_ref().ok_or_else(|| self.failed(Errno::BADF))
    }

    fn look_or_create(&self, name: &OsStr) -> Result<Stat, StateError> {
        let look =
            || rustix::fs::statat(self.at.as_ref().ok_or(Errno::BADF)?, name, AtFlags::SYMLINK_NOFOLLOW);
        match look() {
            Err(Errno::NOENT) => match rustix::fs::mkdirat(self.here()?, name, Mode::RWXU) {
                // Somebody else may have made it just now; then it is checked like any other.
                Ok(()) | Err(Errno::EXIST) => look(),
                Err(error) => Err(error),
            },
            looked => looked,
        }
        .map_err(|error| self.failed(error))
    }

    fn link(&mut self, name: &OsStr) -> Result<OsString, StateError> {
        self.links = self.links.saturating_add(1);
        if self.links > LINKS {
            return Err(self.failed(Errno::LOOP));
        }
        let target = rustix::fs::readlinkat(self.here()?, name, Vec::new()).map_err(|e| self.failed(e))?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    fn check_owner(&self, stat: &Stat) -> Result<(), StateError> {
        if stat.st_uid != 0 && stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(StateError::Foreign { path: self.path.clone(), owner: stat.st_uid });
        }
        Ok(())
    }

    fn check(&mut self, stat: &Stat) -> Result<(), StateError> {
        self.check_owner(stat)?;
        self.mode = stat.st_mode & 0o7777;
        // In a sticky folder nobody can exchange what belongs to another.
        if self.mode & 0o022 != 0 && self.mode & 0o1000 == 0 {
            return Err(StateError::Open { path: self.path.clone(), mode: self.mode });
        }
        Ok(())
    }

    fn failed(&self, error: Errno) -> StateError {
        StateError::Io { path: self.path.clone(), source: error.into() }
    }
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The components of a path that mean something.
fn components(path: &OsStr) -> VecDeque<OsString> {
    path.as_bytes()
        .split(|byte| *byte == b'/')
        .filter(|component| !component.is_empty() && *component != b".")
        .map(|component| OsStr::from_bytes(component).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn checkout(path: &str) -> AbsPath {
        AbsPath::new(path).unwrap()
    }

    fn located(state: &str, xdg: &str, home: &str) -> Result<PathBuf, StateError> {
        let environment = Environment {
            remit_state_dir: Some(OsStr::new(state)),
            xdg_state_home: Some(OsStr::new(xdg)),
            home: Some(OsStr::new(home)),
        };
        StateDir::locate(&environment, &checkout("/src/app")).map(|dir| dir.root().to_owned())
    }

    fn in_folder(base: &Path) -> StateDir {
        let environment = Environment { remit_state_dir: Some(base.as_os_str()), ..Environment::default() };
        StateDir::locate(&environment, &checkout("/src/app")).unwrap()
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn the_first_variable_that_says_something_decides() {
        let name = format!("app-{}", &Hash::of(&[b"/src/app"]).to_string()[..12]);
        assert_eq!(located("/a", "/b", "/c").unwrap(), Path::new("/a").join(&name));
        assert_eq!(located("", "/b", "/c").unwrap(), Path::new("/b/remit").join(&name));
        assert_eq!(located("", "", "/c").unwrap(), Path::new("/c/.local/state/remit").join(&name));
        assert_eq!(located("", "relative", "/c").unwrap(), Path::new("/c/.local/state/remit").join(&name));
        assert!(matches!(located("relative", "/b", "/c"), Err(StateError::Relative { .. })));
        assert!(matches!(located("", "", "relative"), Err(StateError::NoHome)));
    }

    #[test]
    fn workspaces_of_one_name_have_two_folders_and_odd_names_a_plain_one() {
        assert_ne!(workspace(&checkout("/a/app")), workspace(&checkout("/b/app")));
        let odd = workspace(&AbsPath::new(b"/a/x y\n\xff").unwrap()).into_string().unwrap();
        assert!(odd.starts_with("x_y__-"), "{odd}");
        assert!(workspace(&AbsPath::root()).into_string().unwrap().starts_with("root-"));
        assert_eq!(workspace(&checkout(&format!("/{}", "n".repeat(200)))).len(), 64 + 13);
    }

    #[test]
    fn folders_are_made_for_their_owner_alone() {
        let base = tempfile::tempdir().unwrap();
        let state = in_folder(&base.path().join("deep/er"));
        state.create().unwrap();
        state.create().unwrap();
        for path in [state.root(), &state.ledger(), &state.keys(), &state.homes(), &state.snapshots()] {
            assert_eq!(mode(path), 0o700, "{}", path.display());
        }
        assert_eq!(mode(&base.path().join("deep")), 0o700);
    }

    #[test]
    fn a_folder_on_the_way_that_others_may_write_is_refused_unless_it_is_sticky() {
        let base = tempfile::tempdir().unwrap();
        let open = base.path().join("open");
        std::fs::create_dir(&open).unwrap();
        for bad in [0o770, 0o777, 0o702] {
            set_mode(&open, bad);
            let error = in_folder(&open).create().unwrap_err();
            assert!(
                matches!(&error, StateError::Open { path, mode } if path.ends_with("open") && *mode == bad)
            );
            assert!(error.to_string().contains("chmod go-w"), "{error}");
        }
        set_mode(&open, 0o1777);
        in_folder(&open).create().unwrap();
    }

    #[test]
    fn a_state_folder_that_others_may_read_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let state = in_folder(base.path());
        state.create().unwrap();
        set_mode(&state.keys(), 0o750);
        assert!(matches!(state.create(), Err(StateError::Readable { path, .. }) if path == state.keys()));
    }

    #[test]
    fn links_are_followed_and_what_they_lead_through_is_checked() {
        let base = tempfile::tempdir().unwrap();
        let (real, open) = (base.path().join("real"), base.path().join("open"));
        std::fs::create_dir(&real).unwrap();
        std::fs::create_dir_all(open.join("inner")).unwrap();
        std::fs::create_dir(base.path().join("x")).unwrap();
        symlink("x/../real", base.path().join("way")).unwrap();
        in_folder(&base.path().join("way")).create().unwrap();
        assert_eq!(std::fs::read_dir(&real).unwrap().count(), 1);

        set_mode(&open, 0o777);
        symlink(open.join("inner"), base.path().join("trap")).unwrap();
        assert!(matches!(in_folder(&base.path().join("trap")).create(), Err(StateError::Open { .. })));

        symlink("loop", base.path().join("loop")).unwrap();
        assert!(matches!(in_folder(&base.path().join("loop")).create(), Err(StateError::Io { .. })));
        std::fs::write(base.path().join("file"), "").unwrap();
        assert!(matches!(in_folder(&base.path().join("file")).create(), Err(StateError::NotAFolder(_))));
    }

    #[test]
    fn where_it_really_is_can_be_told_before_anything_is_there() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("tree")).unwrap();
        symlink("tree", base.join("whole")).unwrap();
        symlink(base.join("tree/not/yet"), base.join("dangling")).unwrap();
        symlink("dangling", base.join("chain")).unwrap();
        for (asked, really) in [
            ("tree/a", "tree/a"),
            ("whole/a/b", "tree/a/b"),
            ("dangling", "tree/not/yet"),
            ("chain/a", "tree/not/yet/a"),
        ] {
            let state = in_folder(&base.join(asked));
            let name = state.root().file_name().unwrap().to_owned();
            assert_eq!(state.real().unwrap(), base.join(really).join(&name), "{asked}");
            state.create().unwrap();
            assert_eq!(state.root().canonicalize().unwrap(), base.join(really).join(&name), "{asked}");
            std::fs::remove_dir_all(base.join("tree")).unwrap();
            std::fs::create_dir(base.join("tree")).unwrap();
        }
        symlink("circle", base.join("circle")).unwrap();
        assert!(in_folder(&base.join("circle")).real().is_err());
        symlink("gone/../tree", base.join("back")).unwrap();
        assert!(in_folder(&base.join("back")).real().is_err());
    }

    #[test]
    fn a_folder_or_link_of_somebody_else_is_refused() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give a folder away");
            return;
        }
        let base = tempfile::tempdir().unwrap();
        let theirs = base.path().join("theirs");
        std::fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(65_534), None).unwrap();
        assert!(matches!(in_folder(&theirs).create(), Err(StateError::Foreign { owner: 65_534, .. })));
        let link = base.path().join("link");
        symlink(base.path(), &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(65_534), None).unwrap();
        assert!(matches!(in_folder(&link).create(), Err(StateError::Foreign { owner: 65_534, .. })));
    }
}
