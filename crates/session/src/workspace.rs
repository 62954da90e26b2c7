//! The workspace as a command sees it: the policy document that governs a folder, what is wrong with it, and
//! where its state lies.

use crate::caches::Found;
use crate::environment::Environment;
use crate::links::{self, LinkError};
use crate::listings::remembering;
use crate::{base, recorder};
use remit_core::{AbsPath, Diagnostic, Severity};
use remit_git::Checkout;
use remit_policy::{Access, BaseRule, LinkedTree, Policy, PolicySource, ProtectedPath, World};
use remit_sandbox::plan::Disk;
use remit_store::{Ledger, LedgerError, StateDir, StateError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Why a workspace could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no policy, or it cannot be read.
    #[error(transparent)]
    Find(#[from] remit_config::FindError),
    /// The policy is wrong, or its own tests say so.
    #[error("{}", wrong(file, findings))]
    Findings {
        /// The file, as it should be shown.
        file: String,
        /// Its text.
        text: String,
        /// What is wrong.
        findings: Vec<Diagnostic>,
    },
    /// The environment has no usable HOME.
    #[error("HOME is not set to an absolute path")]
    NoHome,
    /// A path that cannot be used.
    #[error("`{}` cannot be used", .0.display())]
    Path(PathBuf, #[source] remit_core::PathError),
    /// Git's files could not be read.
    #[error("cannot read the git files of `{}`", .0.display())]
    Git(PathBuf, #[source] std::io::Error),
    /// What protected links lead to.
    #[error(transparent)]
    Links(#[from] LinkError),
    /// The state folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// The state folder lies in the tree that agents work on.
    #[error(
        "the state folder `{}` lies inside `{}`, where `git clean` and agents can reach it",
        state.display(),
        tree.display()
    )]
    StateInside {
        /// The state folder, resolved.
        state: PathBuf,
        /// The workspace or work tree.
        tree: PathBuf,
    },
    /// The workspace lies where the states of all workspaces do, which no session may touch.
    #[error("the workspace `{tree}` lies inside `{}`, the folder of all states", parent.display())]
    StateAround {
        /// The folder of all states, resolved.
        parent: PathBuf,
        /// The workspace.
        tree: AbsPath,
    },
    /// A folder on the way to the state could not be looked at.
    #[error("cannot look at `{}`", .0.display())]
    Look(PathBuf, #[source] std::io::Error),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// How many errors a policy has, and the first of them.
fn wrong(file: &str, findings: &[Diagnostic]) -> String {
    let mut errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let Some(first) = errors.next() else { return format!("`{file}` cannot be used") };
    let (place, message) = (&first.place, &first.message);
    match errors.count() {
        0 => format!("`{file}` has 1 error ({place}: {message}); nothing runs under it"),
        more => format!("`{file}` has {} errors (first {place}: {message}); nothing runs under it", more + 1),
    }
}

/// What git writes in the folder that worktrees share.
const FOLDERS: [&str; 3] = ["objects", "refs", "logs"];
/// The files among it, each of which it replaces by way of a lock file beside it.
const FILES: [&str; 4] = ["packed-refs", "shallow", "gc.pid", "gc.log"];

/// A workspace whose policy document was read.
#[derive(Debug)]
pub struct Workspace {
    /// Its folder, resolved.
    pub root: AbsPath,
    /// The policy file's name.
    pub file: String,
    /// The policy file's text.
    pub text: String,
    /// What it says.
    pub source: PolicySource,
    /// The person's home folder.
    pub home: AbsPath,
    environment: Environment,
    checkout: OnceLock<Option<Checkout>>,
}

impl Workspace {
    /// Reads the policy that governs `folder` (found by walking up). Errors in it are [`OpenError::Findings`].
    pub fn open(folder: &Path, environment: &Environment) -> Result<Self, OpenError> {
        let found = remit_config::find(folder)?;
        Self::read(found.workspace, found.file.to_owned(), &found.text, environment)
    }

    /// The same for those who only read the workspace's state, which it has whatever is wrong with its policy.
    pub fn open_state(folder: &Path, environment: &Environment) -> Result<Self, OpenError> {
        match Self::open(folder, environment) {
            Err(OpenError::Findings { .. }) => {
                Self::bare(&remit_config::find(folder)?.workspace, environment)
            }
            opened => opened,
        }
    }

    /// A folder without its policy: for what must be possible where no policy can be read.
    pub fn bare(root: &AbsPath, environment: &Environment) -> Result<Self, OpenError> {
        let nothing = format!("version: \"{}\"\n", remit_config::VERSION);
        Self::read(root.clone(), "remit.yaml".to_owned(), nothing.as_bytes(), environment)
    }

    /// Takes a policy document for a workspace.
    pub fn read(
        root: AbsPath,
        file: String,
        bytes: &[u8],
        environment: &Environment,
    ) -> Result<Self, OpenError> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let home = environment.home().ok_or(OpenError::NoHome)?;
        let home = AbsPath::try_from(home.as_path()).map_err(|e| OpenError::Path(home, e))?;
        let source = remit_config::load_in(&file, bytes, root.as_path(), home.as_path());
        let source = source.map_err(|findings| OpenError::Findings {
            file: file.clone(),
            text: text.clone(),
            findings,
        })?;
        let (environment, checkout) = (environment.clone(), OnceLock::new());
        Ok(Self { root, file, text, source, home, environment, checkout })
    }

    fn sound(
        &self,
        judged: (Option<Policy>, Vec<Diagnostic>),
    ) -> Result<(Policy, Vec<Diagnostic>), OpenError> {
        match judged {
            (Some(policy), findings) if findings.iter().all(|f| f.severity != Severity::Error) => {
                Ok((policy, findings))
            }
            (_, findings) => Err(self.wrong(findings)),
        }
    }

    /// The policy for this machine, if it can be compiled, and all that was found: with an error among that, nothing may
    /// run under it. `more` and `single_files` come with a session's home.
    pub fn judge(
        &self,
        disk: &dyn Disk,
        more: Vec<BaseRule>,
        single_files: BTreeSet<AbsPath>,
    ) -> Result<(Option<Policy>, Vec<Diagnostic>), OpenError> {
        let (world, findings) = self.world(disk, more, single_files)?;
        Ok(self.judge_in(&world, findings))
    }

    /// `findings` came with the world.
    fn judge_in(&self, world: &World, findings: Vec<Diagnostic>) -> (Option<Policy>, Vec<Diagnostic>) {
        let (policy, more) = match Policy::compile(&self.source, world) {
            Ok(compiled) => (Some(compiled.policy), compiled.notes),
            Err(errors) => (None, errors),
        };
        (policy, remit_config::merged(findings, more))
    }

    /// Where things are on this machine, and what was found about the policy on the way.
    fn world(
        &self,
        disk: &dyn Disk,
        more: Vec<BaseRule>,
        mut single_files: BTreeSet<AbsPath>,
    ) -> Result<(World, Vec<Diagnostic>), OpenError> {
        let mut rules = base::rules(self.source.base, &self.environment);
        rules.extend(more);
        let linked = self.linked()?;
        let file = |p: &&AbsPath| FILES.iter().any(|name| p.file_name() == Some(name.as_bytes()));
        single_files.extend(linked.iter().flat_map(|l| &l.written).filter(file).cloned());
        let ground = remit_config::ground(&self.source, self.root.as_path(), self.home.as_path());
        single_files.extend(ground.single_files);
        let runtime = self.environment.runtime(rustix::process::getuid().as_raw());
        let runtime = std::fs::canonicalize(&runtime).unwrap_or(runtime);
        // Another session's socket is another session's identity.
        let sealed =
            self.state_parent().into_iter().chain(AbsPath::try_from(runtime.as_path()).ok()).collect();
        let (root, home) = (self.root.as_path(), self.home.as_path());
        let xdg = self.environment.get("XDG_CONFIG_HOME").map(Path::new);
        let git = remit_git::protected(root, home, xdg).map_err(|e| OpenError::Git(root.to_owned(), e))?;
        let obeyed = |(path, why): &(AbsPath, remit_git::Why)| ProtectedPath {
            path: path.clone(),
            id: why.id().into(),
            words: why.words().into(),
            link: None,
        };
        let private = base::session_rules(&self.root).into_iter().filter(|r| r.access.has(Access::ALL));
        let mut world = World {
            workspace: self.root.clone(),
            home: self.home.clone(),
            base: rules,
            sealed,
            protected: git.paths.iter().map(obeyed).chain(self.sink()).chain(self.own_settings()?).collect(),
            git_dirs: git.git_dirs.into_iter().collect(),
            linked,
            private: private.map(|rule| rule.path).collect(),
            single_files,
        };
        links::follow(&mut world, &self.git_elsewhere()?, disk)?;
        Ok((world, ground.findings))
    }

    /// The file of `audit.log_file`.
    fn sink(&self) -> Option<ProtectedPath> {
        let file = self.source.audit.value.log_file.as_ref()?;
        let path = AbsPath::lexical(&self.root, file.value.as_bytes()).ok()?;
        let (id, words) = ("protected.log-file".into(), "the file to which records are written".into());
        Some(ProtectedPath { path, id, words, link: None })
    }

    /// The folders of Remit's own settings, which no session may change.
    fn own_settings(&self) -> Result<Option<ProtectedPath>, OpenError> {
        let Some(folder) = self.environment.config() else { return Ok(None) };
        // Its usual place is among the names that are always protected.
        if folder.parent() == Some(&self.home.as_path().join(".config")) {
            return Ok(None);
        }
        let path = AbsPath::lexical(&AbsPath::root(), folder.as_os_str().as_encoded_bytes());
        let path = path.map_err(|e| OpenError::Path(folder, e))?;
        let (id, words) = ("protected.remit-settings".into(), "your own settings of Remit".into());
        Ok(Some(ProtectedPath { path, id, words, link: None }))
    }

    /// The git folders of this checkout that lie outside the workspace.
    fn git_elsewhere(&self) -> Result<Vec<AbsPath>, OpenError> {
        let root = self.root.as_path();
        let Some(found) = self.checkout()? else { return Ok(Vec::new()) };
        let both = [&found.common_dir, &found.git_dir].into_iter().filter(|dir| !dir.starts_with(root));
        let path = |p: &PathBuf| AbsPath::try_from(p.as_path()).map_err(|e| OpenError::Path(p.clone(), e));
        let mut dirs = both.map(path).collect::<Result<Vec<_>, _>>()?;
        dirs.dedup_by(|inner, outer| outer.covers(inner));
        Ok(dirs)
    }

    /// The policy as `explain` and `check` see it: with what every session has, without a session.
    pub fn policy(&self) -> Result<(Policy, Vec<Diagnostic>), OpenError> {
        let memory = self.state_place()?.listings();
        let mut rules = base::session_rules(&self.root);
        rules.extend(self.caches().rules());
        self.sound(remembering(&memory, |disk| self.judge(disk, rules, BTreeSet::new()))?)
    }

    /// The package caches that sessions here may get.
    pub fn caches(&self) -> Found {
        Found::look(self.source.base, &self.root, &self.environment)
    }

    /// The policy for a session, whose home brings `more` and `single_files`. As all that somebody acts under, it passes
    /// the tests of its own.
    pub fn policy_inside(
        &self,
        disk: &dyn Disk,
        more: Vec<BaseRule>,
        single_files: BTreeSet<AbsPath>,
    ) -> Result<Policy, OpenError> {
        let (mut world, findings) = self.world(disk, Vec::new(), BTreeSet::new())?;
        let every = base::session_rules(&self.root);
        let own: Vec<BaseRule> = more.iter().filter(|rule| !every.contains(rule)).cloned().collect();
        // Each rule that every session has must be among them, or the tests are about something else.
        let whole = every.iter().all(|rule| more.contains(rule));
        let own_paths = own.iter().map(|rule| &rule.path).chain(&single_files);
        let same = whole && self.tests_are_apart_from(own_paths, &world);
        let common = (!same).then(|| world.clone());
        world.base.extend(more);
        world.single_files.extend(single_files);
        let (policy, _) = self.sound(self.judge_in(&world, findings))?;
        self.passes(&policy, common).map(|()| policy)
    }

    /// Fails if one of the policy's own tests comes out otherwise than it says. They are about what every session has,
    /// so that `check` and all who act under the policy see the same. `common` is the world without what a session
    /// has beside; none if that makes no difference to them, so that `policy` answers them as well.
    fn passes(&self, policy: &Policy, common: Option<World>) -> Result<(), OpenError> {
        let failed = match common {
            _ if self.source.tests.is_empty() => return Ok(()),
            None => remit_config::run_tests(policy),
            Some(mut world) => {
                world.base.extend(base::session_rules(&self.root));
                let compiled = Policy::compile(&self.source, &world).map_err(|errors| self.wrong(errors))?;
                remit_config::run_tests(&compiled.policy)
            }
        };
        if failed.is_empty() { Ok(()) } else { Err(self.wrong(failed)) }
    }

    /// Fails if the rules of an agent do not grant what it needs, or what it offers to others.
    pub fn has_what_it_needs(&self, policy: &Policy, agent: &str) -> Result<(), OpenError> {
        let unmet = remit_config::unmet(policy, agent);
        if unmet.is_empty() { Ok(()) } else { Err(self.wrong(unmet)) }
    }

    /// Whether what is said of `paths` alone, and of all below them, can make no difference to a test: none of them
    /// holds the path of a test or its folder, or lies in that folder; nor so for the workspace, since what an agent has
    /// of it decides on more than paths.
    fn tests_are_apart_from<'p>(&self, paths: impl Iterator<Item = &'p AbsPath>, world: &World) -> bool {
        let mut around: Vec<AbsPath> = remit_config::tested_folders(&self.source, world);
        around.push(self.root.clone());
        let mut paths = paths;
        paths.all(|path| !around.iter().any(|folder| folder.covers(path) || path.covers(folder)))
    }

    /// The policy for a program that no session holds: its `/tmp` is the machine's own, in which the names that are
    /// protected everywhere are protected, too.
    pub fn policy_outside(&self) -> Result<Policy, OpenError> {
        let memory = self.state_place()?.listings();
        let of_all = |disk: &dyn Disk| self.world(disk, Vec::new(), BTreeSet::new());
        let (mut world, findings) = remembering(&memory, of_all)?;
        let same = self.tests_are_apart_from(world.private.iter(), &world);
        let common = (!same).then(|| world.clone());
        world.base.extend(base::session_rules(&self.root));
        world.private.clear();
        let (policy, _) = self.sound(self.judge_in(&world, findings))?;
        self.passes(&policy, common).map(|()| policy)
    }

    /// Where a linked worktree has its records.
    fn linked(&self) -> Result<Option<LinkedTree>, OpenError> {
        let root = self.root.as_path();
        let Some(checkout) =
            self.checkout()?.filter(|c| c.work_tree == root && !c.common_dir.starts_with(root))
        else {
            return Ok(None);
        };
        let path = |p: &Path| AbsPath::try_from(p).map_err(|e| OpenError::Path(p.to_owned(), e));
        let shared = FOLDERS.iter().chain(&FILES).map(|name| checkout.common_dir.join(name));
        let written = shared.chain([checkout.git_dir.clone()]).map(|p| path(&p)).collect::<Result<_, _>>()?;
        Ok(Some(LinkedTree { common: path(&checkout.common_dir)?, written }))
    }

    /// The git work tree that the workspace lies in, as it was when somebody first asked.
    pub(crate) fn checkout(&self) -> Result<Option<&Checkout>, OpenError> {
        if let Some(known) = self.checkout.get() {
            return Ok(known.as_ref());
        }
        let root = self.root.as_path();
        let found = remit_git::checkout(root).map_err(|e| OpenError::Git(root.to_owned(), e))?;
        Ok(self.checkout.get_or_init(|| found).as_ref())
    }

    /// Findings as an error.
    pub fn wrong(&self, findings: Vec<Diagnostic>) -> OpenError {
        OpenError::Findings { file: self.file.clone(), text: self.text.clone(), findings }
    }

    /// The main checkout, which all linked worktrees share; the workspace itself where there is no git.
    pub fn main_checkout(&self) -> Result<PathBuf, OpenError> {
        let root = self.root.as_path();
        Ok(match self.checkout()? {
            // A workspace below the top of its checkout keeps a state of its own.
            Some(checkout) if checkout.work_tree == root => checkout.main.clone(),
            _ => root.to_owned(),
        })
    }

    /// The state folder, made if it is not there.
    pub fn state(&self) -> Result<StateDir, OpenError> {
        let state = self.state_place()?;
        state.create()?;
        Ok(state)
    }

    /// Where the state folder is, or would be; for those who only read. It must not lie in the workspace, nor
    /// in the checkout that the workspace belongs to, nor in the one that a worktree is linked to.
    pub fn state_place(&self) -> Result<StateDir, OpenError> {
        let main = self.main_checkout()?;
        let main = AbsPath::try_from(main.as_path()).map_err(|e| OpenError::Path(main, e))?;
        let located = StateDir::locate(&self.state_environment(), &main)?;
        let state = located.real().map_err(|e| OpenError::Look(located.root().to_owned(), e))?;
        if let Some(tree) = self.trees()?.into_iter().find(|tree| state.starts_with(tree)) {
            return Err(OpenError::StateInside { state, tree });
        }
        match state.parent() {
            Some(parent) if self.root.as_path().starts_with(parent) => {
                Err(OpenError::StateAround { parent: parent.to_owned(), tree: self.root.clone() })
            }
            _ => Ok(located),
        }
    }

    /// The trees that agents work on: the workspace, and the checkouts that it belongs to. A checkout of the
    /// person's whole home folder is none, else nothing in there could keep a state.
    fn trees(&self) -> Result<Vec<PathBuf>, OpenError> {
        let root = self.root.as_path();
        let home = std::fs::canonicalize(self.home.as_path()).unwrap_or_else(|_| self.home.as_path().into());
        let checkouts = self.checkout()?.into_iter().flat_map(|c| [&c.work_tree, &c.main]);
        let checkouts = checkouts.filter(|tree| !home.starts_with(tree)).cloned();
        Ok(std::iter::once(root.to_owned()).chain(checkouts).collect())
    }

    /// The ledger, made if it is not there.
    pub fn ledger(&self, state: &StateDir) -> Result<Ledger, OpenError> {
        Ok(Ledger::create_or_open(&state.ledger())?)
    }

    /// The environment that was handed in.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    fn state_environment(&self) -> remit_store::Environment<'_> {
        let get = |name: &str| self.environment.get(name);
        remit_store::Environment {
            remit_state_dir: get("REMIT_STATE_DIR"),
            xdg_state_home: get("XDG_STATE_HOME"),
            home: get("HOME"),
        }
    }

    /// The folder in which the states of all workspaces lie.
    fn state_parent(&self) -> Option<AbsPath> {
        let located = StateDir::locate(&self.state_environment(), &self.root).ok()?;
        let parent = located.root().parent()?;
        let real = std::fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
        AbsPath::try_from(real.as_path()).ok()
    }
}

/// The name of this run of an agent.
pub fn fresh() -> std::io::Result<remit_core::SessionId> {
    recorder::fresh_session()
}
