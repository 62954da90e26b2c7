//! A scratch machine for one case: a work tree, a home, a state folder, and a policy.

use remit_core::{AbsPath, Place, Verb};
use remit_policy::source::At;
use remit_policy::source::{AgentSource, PolicySource, RuleSource};
use remit_policy::{Access, AgentPolicy, BaseRule, Policy, World};
use remit_sandbox::launch::{ChildExit, LaunchError, Running, Spec, Stdio, launch};
use remit_sandbox::plan::{Extra, HostDisk, Plan, Request, Source, Tracked, plan};
use remit_sandbox::view::{SessionFile, What};
use remit_sandbox::{Authority, Operation, Ruling};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) struct Scene {
    _folder: tempfile::TempDir,
    pub(crate) work: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) rules: Vec<(String, Access)>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) files: Vec<SessionFile>,
    pub(crate) hardlinks_allowed: bool,
    /// What git tracks in the work tree.
    pub(crate) tracked: Vec<&'static [u8]>,
    /// What the authority wrote down.
    pub(crate) log: File,
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) exit: ChildExit,
    pub(crate) output: String,
}

/// Allows what the policy grants for writing, and answers messages.
struct Judge(AgentPolicy, File);

impl Authority for Judge {
    fn start(&self) {
        (&self.1).write_all(b"start\n").expect("a line");
    }
    fn finish(&self) {
        (&self.1).write_all(b"finish\n").expect("a line");
    }
    fn judge(&self, operation: &Operation<'_>) -> Ruling {
        let both = [Some(operation.path), operation.to.as_ref().map(|to| to.path)];
        let granted = both.into_iter().flatten().all(|path| self.may(operation.verb, path));
        if granted && operation.below.is_none() { Ruling::Allow } else { Ruling::Deny }
    }
    fn may(&self, verb: Verb, path: &AbsPath) -> bool {
        self.0.access(path).has(if verb == Verb::Read { Access::READ } else { Access::WRITE })
    }
    fn control(&self, message: &[u8]) -> Vec<u8> {
        [b"answer to ", message].concat()
    }
}

pub(crate) fn abs(path: impl AsRef<std::path::Path>) -> AbsPath {
    AbsPath::try_from(path.as_ref()).expect("an absolute path")
}

fn at<T>(value: T) -> At<T> {
    At { value, place: Place::file("remit.yaml") }
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::new_in(&std::env::temp_dir())
    }

    /// The same in this folder; in `/tmp` the session has a folder of its own around the work tree.
    pub(crate) fn new_in(folder: &std::path::Path) -> Self {
        let folder = tempfile::Builder::new().prefix("remit-scene-").tempdir_in(folder).expect("a folder");
        let below = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).expect("a folder");
            path
        };
        let (work, home, state) = (below("w"), below("home"), below("state"));
        let environment = [("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"), ("LC_ALL", "C")];
        Self {
            _folder: folder,
            work,
            home,
            state,
            rules: Vec::new(),
            environment: environment.map(|(name, value)| (name.into(), value.into())).to_vec(),
            files: vec![SessionFile { name: "settings".to_owned(), what: What::Content(b"held\n".to_vec()) }],
            hardlinks_allowed: false,
            tracked: Vec::new(),
            log: tempfile::tempfile().expect("a file"),
        }
    }

    /// Adds a rule; a pattern without a leading `/` is relative to the work tree.
    pub(crate) fn rule(mut self, pattern: &str, access: &str) -> Self {
        self.rules.push((pattern.to_owned(), Access::word(access).expect("an access")));
        self
    }

    /// Makes a file in the work tree, and the folders on its way.
    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        let path = self.work.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, content).expect("a file");
        self
    }

    pub(crate) fn policy(&self) -> AgentPolicy {
        let rule = |(index, (path, access)): (usize, &(String, Access))| RuleSource {
            path: at(path.clone()),
            access: at(*access),
            id: format!("agents.a.permissions[{index}]").into(),
        };
        let agent = AgentSource {
            permissions: self.rules.iter().enumerate().map(rule).collect(),
            ..AgentSource::named(Place::file("remit.yaml"))
        };
        let source = PolicySource {
            agents: BTreeMap::from([("a".to_owned(), agent)]),
            ..PolicySource::empty("remit.yaml".into())
        };
        let run = Access::READ.union(Access::EXECUTE);
        let base = [
            ("/usr", run),
            ("/bin", run),
            ("/lib", run),
            ("/lib64", run),
            ("/etc", Access::READ),
            ("/home/agent", Access::ALL),
            ("/tmp", Access::ALL),
            ("/dev/shm", Access::READ.union(Access::WRITE)),
        ];
        let base = base.map(|(path, access)| BaseRule {
            path: abs(path),
            access,
            id: format!("base.{path}").into(),
            why: "needed".into(),
        });
        let world = World {
            workspace: abs(&self.work),
            home: abs("/root"),
            base: base.to_vec(),
            sealed: Vec::new(),
            protected: Vec::new(),
            git_dirs: Vec::new(),
            linked: None,
            private: Vec::new(),
            single_files: Default::default(),
        };
        let compiled = Policy::compile(&source, &world).expect("a policy").policy;
        compiled.agent("a").expect("the agent").clone()
    }

    pub(crate) fn plan(&self) -> Plan {
        let rules = self.policy();
        let extras = [
            Extra { target: abs("/home/agent"), source: Source::Host(abs(&self.home)) },
            Extra { target: abs("/tmp"), source: Source::Memory },
        ];
        let top = abs(&self.work);
        let tracked = Tracked { top: &top, paths: &self.tracked, repositories: &[] };
        let request = Request {
            rules: &rules,
            extras: &extras,
            sealed: &[abs(&self.state)],
            requestable: &[],
            tracked: Some(tracked),
            hardlinks_allowed: self.hardlinks_allowed,
            advisory: false,
        };
        plan(&request, &HostDisk)
    }

    pub(crate) fn spec(&self, command: &[&str], stdio: Stdio) -> Spec {
        Spec {
            plan: self.plan(),
            arguments: command.iter().map(OsString::from).collect(),
            environment: self.environment.clone(),
            cwd: abs(&self.work),
            stdio,
            authority: Arc::new(Judge(self.policy(), self.log.try_clone().expect("a descriptor"))),
            session_files: self.files.clone(),
            placeholder_record: self.state.join("placeholders"),
        }
    }

    /// Runs what is specified, with its output read here.
    pub(crate) fn run_spec(&self, mut spec: Spec) -> Outcome {
        let (stdio, file) = pipe();
        spec.stdio = stdio;
        let running = launch(spec).unwrap_or_else(|error| panic!("{error}"));
        outcome(running, file)
    }

    /// Starts a program; its output and errors go where the file is.
    pub(crate) fn start(&self, command: &[&str]) -> Result<(Running, File), LaunchError> {
        let (stdio, file) = pipe();
        Ok((launch(self.spec(command, stdio))?, file))
    }

    /// Runs a program to its end.
    pub(crate) fn run(&self, command: &[&str]) -> Outcome {
        let (running, file) = self.start(command).unwrap_or_else(|error| panic!("{error}"));
        outcome(running, file)
    }

    /// Runs a shell script in the work tree.
    pub(crate) fn sh(&self, script: &str) -> Outcome {
        self.run(&["sh", "-c", script])
    }
}

/// The one line that a script writes.
pub(crate) fn line(outcome: &Outcome) -> &str {
    outcome.output.trim_end()
}

/// No input; output and errors are read from the file.
fn pipe() -> (Stdio, File) {
    let (read, write) = std::io::pipe().expect("a pipe");
    let again = write.try_clone().expect("a descriptor");
    let null = File::open("/dev/null").expect("/dev/null");
    (Stdio::Given([null.into(), write.into(), again.into()]), File::from(OwnedFd::from(read)))
}

fn outcome(running: Running, mut file: File) -> Outcome {
    let mut output = String::new();
    file.read_to_string(&mut output).expect("text");
    Outcome { exit: running.wait(), output }
}
