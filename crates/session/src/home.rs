//! A session's private home: made before it starts, below the state folder, seeded by the adapter so that a
//! person who is logged in stays logged in and nothing of the original is harmed.

use crate::adapter::{Adapter, CopySpec};
use crate::base;
use crate::environment::Environment;
use remit_core::AbsPath;
use remit_policy::{Access, BaseRule};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why a home could not be made.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// A folder or file.
    #[error("cannot make `{}`", .0.display())]
    Make(PathBuf, #[source] io::Error),
    /// The person's own file is malformed; it is not replaced by an empty one.
    #[error("`{}` is not valid JSON", .0.display())]
    Malformed(PathBuf, #[source] serde_json::Error),
    /// The person's own file could not be read.
    #[error("cannot read `{}`", .0.display())]
    Read(PathBuf, #[source] io::Error),
}

/// A folder of the host that a session sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The host's file or folder.
    pub source: PathBuf,
    /// Where it stands in the view.
    pub target: PathBuf,
    /// Whether the mount itself refuses changes.
    pub read_only: bool,
}

/// A private home that is ready.
#[derive(Debug)]
pub struct Home {
    /// `<state>/homes/<uuid>`.
    pub root: PathBuf,
    /// What the view shows, the home itself first.
    pub shown: Vec<Shown>,
    /// What the policy offers for it.
    pub rules: Vec<BaseRule>,
    /// Files outside the home whose temporary siblings may be written.
    pub single_files: BTreeSet<AbsPath>,
    /// Variables that lead the CLI to it.
    pub vars: BTreeMap<OsString, OsString>,
}

fn make_dir(path: &Path) -> Result<(), HomeError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|e| HomeError::Make(path.to_owned(), e))
}

fn make_file(path: &Path, bytes: &[u8]) -> Result<(), HomeError> {
    let write = || -> io::Result<()> {
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
    };
    write().map_err(|e| HomeError::Make(path.to_owned(), e))
}

impl Home {
    /// Fills the home `root`, which exists and is empty but for its lease. On failure it is removed.
    pub fn make(
        root: &Path,
        workspace: &AbsPath,
        adapter: Option<&Adapter>,
        environment: &Environment,
    ) -> Result<Home, HomeError> {
        let made = Self::fill(root, workspace, adapter, environment);
        if made.is_err() && root.is_dir() {
            // The folder is new and ours alone; what cannot be removed is collected by a later run.
            drop(fs::remove_dir_all(root));
        }
        made
    }

    fn fill(
        root: &Path,
        workspace: &AbsPath,
        adapter: Option<&Adapter>,
        environment: &Environment,
    ) -> Result<Home, HomeError> {
        let inside = Path::new(base::HOME);
        let mut home = Home {
            root: root.to_owned(),
            shown: Vec::new(),
            rules: base::session_rules(workspace),
            single_files: BTreeSet::new(),
            vars: BTreeMap::new(),
        };
        let temporary = base::temporary(workspace);
        for (name, target) in [("home", base::HOME)].into_iter().chain(temporary) {
            let source = root.join(name);
            make_dir(&source)?;
            if let Ok(below) = Path::new(target).strip_prefix(inside) {
                make_dir(&root.join("home").join(below))?;
            }
            home.shown.push(Shown { source, target: target.into(), read_only: false });
        }
        home.vars.insert("HOME".into(), inside.into());
        home.vars.insert("TMPDIR".into(), temporary[0].1.into());
        home.identity(environment)?;
        home.toolchains(environment);
        if let Some(adapter) = adapter {
            home.seed(adapter, workspace.as_path(), environment)?;
        }
        Ok(home)
    }

    /// `user.name` and `user.email`, so that a first commit works; and no tracking by itself, which git would write
    /// into its configuration, so that a new branch from a remote one can be checked out.
    fn identity(&self, environment: &Environment) -> Result<(), HomeError> {
        let Some(real) = environment.home() else { return Ok(()) };
        let xdg = environment.get("XDG_CONFIG_HOME").map(Path::new);
        let found =
            remit_git::identity(&real, xdg).map_err(|e| HomeError::Read(real.join(".gitconfig"), e))?;
        let mut text = String::from("[user]\n");
        for (key, value) in [("name", found.name), ("email", found.email)] {
            if let Some(value) = value {
                text.push_str(&format!(
                    "\t{key} = \"{}\"\n",
                    value.replace('\\', "\\\\").replace('"', "\\\"")
                ));
            }
        }
        text.push_str("[branch]\n\tautoSetupMerge = false\n");
        make_file(&self.root.join("home/.gitconfig"), text.as_bytes())
    }

    /// Toolchains that lie in the person's home are found there although HOME is another folder.
    fn toolchains(&mut self, environment: &Environment) {
        let Some(real) = environment.home() else { return };
        for (variable, below) in [
            ("RUSTUP_HOME", ".rustup"),
            ("PYENV_ROOT", ".pyenv"),
            ("NVM_DIR", ".nvm"),
            ("VOLTA_HOME", ".volta"),
        ] {
            let folder = environment.get(variable).map_or_else(|| real.join(below), PathBuf::from);
            if folder.is_dir() {
                self.vars.insert(variable.into(), folder.into());
            }
        }
    }

    fn seed(
        &mut self,
        adapter: &Adapter,
        workspace: &Path,
        environment: &Environment,
    ) -> Result<(), HomeError> {
        let Some(person) = environment.home() else { return Ok(()) };
        let spec = &adapter.home;
        let lever = environment.get(&spec.lever).map(PathBuf::from);
        let real = lever.clone().unwrap_or_else(|| person.join(&spec.folder));
        let mine = self.root.join("home").join(&spec.folder);
        make_dir(&mine)?;
        let inside = Path::new(base::HOME).join(&spec.folder);
        self.vars.insert(spec.lever.clone().into(), inside.clone().into());
        for name in &spec.shared {
            self.share(&real.join(name), &mine.join(name), &inside.join(name))?;
        }
        for copy in &spec.copies {
            let from = if copy.beside_folder && lever.is_none() {
                person.join(&copy.file)
            } else {
                real.join(&copy.file)
            };
            let bytes = edited(copy, &from, workspace)?;
            make_file(&mine.join(&copy.file), &bytes)?;
        }
        if let Some(login) = &adapter.login {
            self.login(login, &real);
        }
        Ok(())
    }

    /// Shows a file or folder of the person's, read-only, at its place in the private folder.
    fn share(&mut self, real: &Path, mine: &Path, inside: &Path) -> Result<(), HomeError> {
        let Ok(source) = fs::canonicalize(real) else { return Ok(()) };
        if source.is_dir() {
            make_dir(mine)?;
        } else {
            make_file(mine, b"")?;
        }
        if let Ok(path) = AbsPath::try_from(inside) {
            let access = Access::READ.union(Access::EXECUTE);
            let why = "the person's own settings, read-only".into();
            self.rules.push(BaseRule { path, access, id: "session.shared".into(), why });
        }
        self.shown.push(Shown { source, target: inside.to_owned(), read_only: true });
        Ok(())
    }

    /// Shows the person's credential folder with everything hidden but the credential file, its temporary
    /// siblings and its locks.
    fn login(&mut self, login: &crate::adapter::LoginSpec, real: &Path) {
        let (Ok(folder), Ok(file)) = (fs::canonicalize(real), fs::canonicalize(real.join(&login.file)))
        else {
            return;
        };
        // A credential that is itself a link elsewhere is not followed out of the folder.
        let Ok(path) = AbsPath::try_from(folder.as_path()) else { return };
        if file.parent() != Some(folder.as_path()) {
            return;
        }
        let mut add = |path: AbsPath, access: Access, why: &str| {
            self.rules.push(BaseRule { path, access, id: "session.login".into(), why: why.into() });
        };
        let read_write = Access::READ.union(Access::WRITE);
        add(path.clone(), Access::READ, "the folder of the person's login");
        let open: Vec<&String> = std::iter::once(&login.file).chain(&login.locks).collect();
        for name in &open {
            if let Ok(path) = path.join(name.as_bytes()) {
                add(path.clone(), read_write, "the person's login");
                self.single_files.insert(path);
            }
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            use std::os::unix::ffi::OsStrExt;
            let name = entry.file_name();
            if !open.iter().any(|o| o.as_bytes() == name.as_bytes())
                && let Ok(path) = path.join(name.as_bytes())
            {
                let why = "the person's own conversations and settings".into();
                self.rules.push(BaseRule { path, access: Access::NONE, id: "session.login".into(), why });
            }
        }
        self.shown.push(Shown { source: folder.clone(), target: folder.clone(), read_only: false });
        self.vars.insert(login.variable.clone().into(), folder.into());
    }
}

/// The copy's bytes: the original cut down and edited, or only the edits if there is no original.
fn edited(copy: &CopySpec, from: &Path, workspace: &Path) -> Result<Vec<u8>, HomeError> {
    let mut bytes = Vec::new();
    let read = remit_config::find::open(from).and_then(|mut file| file.read_to_end(&mut bytes));
    let mut value = match read {
        Ok(_) => serde_json::from_slice(&bytes).map_err(|e| HomeError::Malformed(from.to_owned(), e))?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => Value::Object(serde_json::Map::new()),
        Err(e) => return Err(HomeError::Read(from.to_owned(), e)),
    };
    let place = workspace.to_string_lossy();
    let named =
        |keys: &[String]| -> Vec<String> { keys.iter().map(|k| k.replace("{workspace}", &place)).collect() };
    for keys in &copy.only {
        keep_only(&mut value, &named(keys));
    }
    for set in &copy.set {
        put(&mut value, &named(&set.at), set.to.clone());
    }
    serde_json::to_vec_pretty(&value).map_err(|e| HomeError::Malformed(from.to_owned(), e))
}

fn keep_only(value: &mut Value, keys: &[String]) {
    let Some((last, path)) = keys.split_last() else { return };
    let parent = path.iter().try_fold(value, |v, key| v.get_mut(key));
    if let Some(Value::Object(map)) = parent {
        map.retain(|key, _| key == last);
    }
}

fn put(value: &mut Value, keys: &[String], to: Value) {
    let Some((first, rest)) = keys.split_first() else {
        *value = to;
        return;
    };
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(map) = value {
        put(map.entry(first.clone()).or_insert(Value::Null), rest, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Scratch {
        dir: tempfile::TempDir,
    }

    impl Scratch {
        fn new() -> Self {
            Self { dir: tempfile::tempdir().unwrap() }
        }
        fn person(&self) -> PathBuf {
            self.dir.path().join("person")
        }
        fn write(&self, name: &str, text: &str) {
            let file = self.person().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        fn make(&self) -> Result<Home, HomeError> {
            fs::create_dir_all(self.person()).unwrap();
            let vars = BTreeMap::from([("HOME".into(), self.person().into())]);
            let environment = Environment { vars, cwd: "/".into(), exe: "/remit".into() };
            let claude = Adapter::named("claude").unwrap().unwrap();
            Home::make(
                &self.dir.path().join("homes/1"),
                &AbsPath::new("/w s").unwrap(),
                Some(&claude),
                &environment,
            )
        }
        fn copy(&self) -> Value {
            let file = self.dir.path().join("homes/1/home/.claude/.claude.json");
            serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
        }
    }

    #[test]
    fn a_first_start_needs_no_onboarding_and_trusts_this_workspace() {
        let scratch = Scratch::new();
        let home = scratch.make().unwrap();
        assert_eq!(scratch.copy()["hasCompletedOnboarding"], true);
        assert_eq!(scratch.copy()["projects"]["/w s"]["hasTrustDialogAccepted"], true);
        assert_eq!(home.vars[std::ffi::OsStr::new("CLAUDE_CONFIG_DIR")], "/home/agent/.claude");
        assert!(!home.vars.contains_key(std::ffi::OsStr::new("CLAUDE_SECURESTORAGE_CONFIG_DIR")));
        assert_eq!(fs::metadata(&home.root).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn other_workspaces_stay_out_of_the_copy_and_the_original_is_left_alone() {
        let scratch = Scratch::new();
        let original = r#"{"theme":"dark","projects":{"/other":{"history":["x"]},"/w s":{"n":1}}}"#;
        scratch.write(".claude.json", original);
        scratch.make().unwrap();
        let copy = scratch.copy();
        assert_eq!(copy["theme"], "dark");
        assert!(copy["projects"].get("/other").is_none());
        assert_eq!(copy["projects"]["/w s"]["n"], 1);
        assert_eq!(fs::read_to_string(scratch.person().join(".claude.json")).unwrap(), original);
    }

    #[test]
    fn a_malformed_original_is_named_and_nothing_is_left_behind() {
        let scratch = Scratch::new();
        scratch.write(".claude.json", "{broken");
        assert!(
            matches!(scratch.make(), Err(HomeError::Malformed(file, _)) if file.ends_with(".claude.json"))
        );
        assert!(!scratch.dir.path().join("homes/1").exists());
    }

    #[test]
    fn of_the_real_folder_only_the_login_is_open() {
        let scratch = Scratch::new();
        scratch.write(".claude/.credentials.json", "{}");
        scratch.write(".claude/history.jsonl", "private");
        scratch.write(".claude/settings.json", "{}");
        let home = scratch.make().unwrap();
        let real = fs::canonicalize(scratch.person().join(".claude")).unwrap();
        let access = |name: &str| {
            let path = AbsPath::try_from(real.join(name).as_path()).unwrap();
            home.rules.iter().filter(|r| r.path == path).map(|r| r.access).collect::<Vec<_>>()
        };
        assert_eq!(access(".credentials.json"), [Access::READ.union(Access::WRITE)]);
        assert_eq!(access("history.jsonl"), [Access::NONE]);
        assert_eq!(access("settings.json"), [Access::NONE]);
        assert_eq!(access(".oauth_refresh.lock"), [Access::READ.union(Access::WRITE)]);
        let settings = home.shown.iter().find(|s| s.target.ends_with(".claude/settings.json")).unwrap();
        assert!(settings.read_only);
        assert_eq!(home.vars[std::ffi::OsStr::new("CLAUDE_SECURESTORAGE_CONFIG_DIR")], real.into_os_string());
    }
}
