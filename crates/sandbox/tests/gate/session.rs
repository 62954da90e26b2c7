//! A minimal launcher. The test's process starts the test's own program again, for this one test, on one thread;
//! there [`Session::run`] makes the namespaces, becomes gate and agent, and the agent runs the closure.

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use remit_core::{AbsPath, Verb};
use remit_sandbox::{Authority, Operation, Ruling, gate};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// The test that is running, as the test program names it.
macro_rules! here {
    () => {{
        fn here() {}
        let name = std::any::type_name_of_val(&here);
        name.trim_end_matches("::here").split_once("::").unwrap().1
    }};
}
pub(crate) use here;

const ROLE: &str = "REMIT_GATE_TEST_ROLE";
const FOLDER: &str = "REMIT_GATE_TEST_FOLDER";
/// The role of who keeps leases.
const KEEPER: &str = "keeper";
const MARK: &str = "\n\u{2}";

/// What one run inside came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What the closure answered.
    pub(crate) said: String,
    /// What the authority was asked: `allow write openat asked path`, or `deny …`, then the other end.
    pub(crate) records: Vec<String>,
    /// The session's exit code; 137 if it was killed.
    pub(crate) code: i32,
    /// Its folder, as it was left.
    pub(crate) folder: PathBuf,
    /// Keeps the folder.
    _kept: Kept,
}

/// A folder that is removed with all that was left in it, whatever its modes are.
#[derive(Debug)]
struct Kept(tempfile::TempDir);

impl Drop for Kept {
    fn drop(&mut self) {
        Command::new("chmod").args(["-R", "u+rwx"]).arg(self.0.path()).stderr(Stdio::null()).status().ok();
    }
}

/// What is allowed and denied: paths and all below, relative to the session's folder; the longest match wins.
#[derive(Clone, Copy)]
pub(crate) struct Rules(pub(crate) &'static [(&'static str, bool)]);

/// All but the folders `shut`.
pub(crate) const ALL_BUT_SHUT: Rules =
    Rules(&[("", true), ("/dev/shm", true), ("shut", false), ("top/shut", false), ("later/shut", false)]);

/// The number under which the agent has `shut/held` open for writing from the start.
pub(crate) const HELD: i32 = 100;

/// The numbers under which the agent has descriptors that were opened outside its mount namespace.
pub(crate) struct Outside {
    /// The folder `top`.
    pub(crate) folder: i32,
    /// `top/outside`, for reading.
    pub(crate) read: i32,
    /// The same, for writing.
    pub(crate) write: i32,
}

/// See there.
pub(crate) const OUTSIDE: Outside = Outside { folder: 101, read: 102, write: 103 };

/// Asking for this name makes the judge panic.
pub(crate) const FATAL: &str = "fatal";

struct Scripted {
    rules: Vec<(AbsPath, bool)>,
    records: Mutex<Vec<String>>,
}

impl Scripted {
    fn new(folder: &Path, rules: Rules) -> Self {
        let rule = |(path, allow): &(&str, bool)| (AbsPath::try_from(&*folder.join(path)).unwrap(), *allow);
        Self { rules: rules.0.iter().map(rule).collect(), records: Mutex::default() }
    }

    fn allows(&self, path: &AbsPath) -> bool {
        let covering = self.rules.iter().filter(|(rule, _)| rule.covers(path));
        covering.max_by_key(|(rule, _)| rule.as_bytes().len()).is_some_and(|(_, allow)| *allow)
    }
}

impl Authority for Scripted {
    fn judge(&self, operation: &Operation<'_>) -> Ruling {
        assert!(!operation.asked.ends_with(FATAL.as_bytes()), "a judge that fails");
        let ends = [Some(operation.path), operation.to.as_ref().map(|to| to.path), operation.below];
        let reads_secretly = operation.verb == Verb::Read && !self.may(Verb::Read, operation.path);
        let fixed = operation.below.is_some() || operation.fixed.is_some() || reads_secretly;
        let allow = !fixed && ends.into_iter().flatten().all(|end| self.allows(end));
        let words = [
            if allow { "allow" } else { "deny" }.to_owned(),
            operation.verb.to_string(),
            operation.syscall.to_owned(),
            String::from_utf8_lossy(operation.asked).into_owned(),
            operation.path.to_string(),
            ends[1].map(|to| to.to_string()).unwrap_or_default(),
        ];
        self.records.lock().unwrap().push(words.join(" ").trim_end().to_owned());
        if allow { Ruling::Allow } else { Ruling::Deny }
    }

    /// Files named `unread` may not be read.
    fn may(&self, verb: Verb, path: &AbsPath) -> bool {
        self.allows(path) && !(verb == Verb::Read && path.file_name() == Some(b"unread"))
    }

    fn control(&self, message: &[u8]) -> Vec<u8> {
        message.to_vec()
    }

    fn finish(&self) {
        self.records.lock().unwrap().push("finished".into());
    }
}

/// The files on which a process outside keeps leases, until there is a folder `free`.
pub(crate) const LEASED: [&str; 4] = ["a", "b", "c", "d"];

/// One test's sessions.
pub(crate) struct Session {
    test: &'static str,
    rules: Rules,
    leases: bool,
}

impl Session {
    /// Sessions of the test [`here!`] with these rules.
    pub(crate) fn new(test: &'static str, rules: Rules) -> Self {
        Self { test, rules, leases: false }
    }

    /// Has a process outside keep leases; see [`LEASED`].
    pub(crate) fn with_leases(self) -> Self {
        Self { leases: true, ..self }
    }

    /// Runs `inside` in a session per user, with a folder of its own as its working folder, in which are
    /// `shut/secret`, `shut/held`, `top/outside` and `top/shut/key`. Panics if the closure did.
    pub(crate) fn run(&self, inside: impl FnOnce() -> String) -> Vec<Outcome> {
        let outcomes = self.start("gate", inside);
        for outcome in &outcomes {
            assert_eq!(outcome.code, 0, "the session failed: {}", outcome.said);
        }
        outcomes
    }

    /// The same, but the session may end as it likes.
    pub(crate) fn run_to_any_end(&self, inside: impl FnOnce() -> String) -> Vec<Outcome> {
        self.start("gate", inside)
    }

    /// Runs `inside` with and without the gate; it must say the same, and leave the same tree.
    pub(crate) fn compare(&self, inside: impl FnOnce() -> String) {
        if let Ok(role) = std::env::var(ROLE) {
            become_role(&role, self.rules, inside);
        }
        let with = self.start("gate", String::new);
        let without = self.start("plain", String::new);
        for (with, without) in with.iter().zip(&without) {
            assert_eq!((with.code, without.code), (0, 0), "{} / {}", with.said, without.said);
            let place = |o: &Outcome| o.said.replace(&*o.folder.to_string_lossy(), "<folder>");
            let (with_it, without_it) = (place(with), place(without));
            let differs: Vec<_> =
                with_it.lines().zip(without_it.lines()).filter(|(with, without)| with != without).collect();
            assert!(differs.is_empty(), "with the gate and without: {differs:#?}");
            assert_eq!(with_it.lines().count(), without_it.lines().count());
            assert_eq!(tree(&with.folder), tree(&without.folder));
        }
    }

    fn start(&self, role: &str, inside: impl FnOnce() -> String) -> Vec<Outcome> {
        if let Ok(role) = std::env::var(ROLE) {
            become_role(&role, self.rules, inside);
        }
        let root = rustix::process::getuid().is_root();
        let users: &[Option<u32>] = if root { &[None, Some(65534)] } else { &[None] };
        users.iter().map(|user| start(self.test, role, *user, self.leases)).collect()
    }
}

fn start(test: &str, role: &str, user: Option<u32>, leases: bool) -> Outcome {
    let kept = Kept(tempfile::Builder::new().prefix("gate").tempdir().unwrap());
    let folder = kept.0.path().canonicalize().unwrap();
    std::fs::create_dir_all(folder.join("shut")).unwrap();
    std::fs::create_dir_all(folder.join("top/shut")).unwrap();
    for path in ["shut/secret", "shut/held", "top/shut/key", "top/outside"] {
        std::fs::write(folder.join(path), "secret").unwrap();
    }
    for path in ["", "shut", "shut/secret", "shut/held", "top", "top/shut", "top/shut/key", "top/outside"] {
        std::os::unix::fs::chown(folder.join(path), user, user).unwrap();
    }
    if user.is_some() {
        // Another's program that may be run but not read.
        let program = folder.join("unreadable");
        std::fs::copy("/bin/touch", &program).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o711)).unwrap();
    }
    let command = |role: &str| {
        let mut command = Command::new("/proc/self/exe");
        command.args([test, "--exact", "--test-threads=1", "--nocapture"]).current_dir(&folder);
        command.env(ROLE, role).env(FOLDER, &folder).env("HOME", &folder).env("TMPDIR", &folder);
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.stdin(Stdio::null());
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        command
    };
    let keeper = leases.then(|| {
        let keeper = command(KEEPER).stdout(Stdio::null()).spawn().unwrap();
        while !folder.join("leased").exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        keeper
    });
    let output = command(role).output().unwrap();
    if let Some(mut keeper) = keeper {
        keeper.kill().ok();
        keeper.wait().unwrap();
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut parts = text.split(MARK).skip(1);
    let said = parts.next().unwrap_or_default().to_owned();
    let records = parts.next().unwrap_or_default().lines().map(str::to_owned).collect();
    let code = output.status.code().unwrap_or(137);
    let said = match code {
        0 => said,
        _ => format!("{said}\nuser {user:?}\n{}", String::from_utf8_lossy(&output.stderr)),
    };
    Outcome { said, records, code, folder, _kept: kept }
}

/// Every entry below a folder: name, mode, size or link text.
fn tree(folder: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        // Nobody can look into some of those that a mode mask has made.
        for entry in std::fs::read_dir(next).into_iter().flatten() {
            use std::os::unix::fs::MetadataExt;
            let path = entry.unwrap().path();
            let data = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            // Git's objects hold times.
            if name.contains(".git/") {
                continue;
            }
            let text = std::fs::read_link(&path).unwrap_or_default();
            // Bits that no session may set.
            let never = if data.is_file() { 0o6000 } else { 0o4000 };
            let size = if data.is_file() { data.len() } else { 0 };
            let text = text.to_string_lossy().replace(&*folder.to_string_lossy(), "<folder>");
            lines.push(format!("{name} {:o} {size} {text}", data.mode() & !never));
            if data.is_dir() {
                pending.push(path);
            }
        }
    }
    lines.sort();
    lines
}

/// The second start: never returns.
fn become_role(role: &str, rules: Rules, inside: impl FnOnce() -> String) -> ! {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    if role == KEEPER {
        keep_leases();
    }
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    // The test's own thread is not the only one of the process, but the other one only waits.
    // SAFETY: so no lock is held that the child would miss.
    let holder = unsafe { libc::fork() };
    if holder != 0 {
        let code = wait_for(holder);
        // SAFETY: nothing of this process is to be run at the end.
        unsafe { libc::_exit(code) };
    }
    open_outside(&folder);
    let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID;
    // SAFETY: this process has one thread.
    assert_eq!(unsafe { libc::unshare(flags) }, 0, "no namespaces: {}", std::io::Error::last_os_error());
    std::fs::write("/proc/self/setgroups", "deny").unwrap();
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1")).unwrap();
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1")).unwrap();
    // SAFETY: this process has one thread.
    let first = unsafe { libc::fork() };
    if first == 0 {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
        let code = first_process(role == "gate", &folder, rules, inside);
        // SAFETY: nothing of the parent's is to be run at the end.
        unsafe { libc::_exit(code) };
    }
    let code = wait_for(first);
    // SAFETY: the same.
    unsafe { libc::_exit(code) };
}

/// Takes leases and gives them up when it is told to; the kernel's own end of them is far off.
fn keep_leases() -> ! {
    let files = LEASED.map(|file| {
        std::fs::write(file, "content").unwrap();
        let file = open(file, libc::O_RDONLY).unwrap();
        // SAFETY: plain calls. The signal that says that somebody waits is ignored.
        unsafe {
            libc::signal(libc::SIGIO, libc::SIG_IGN);
            assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK), 0);
        }
        file
    });
    std::fs::create_dir("leased").unwrap();
    while !std::fs::exists("free").unwrap() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(files);
    // SAFETY: nothing of this process is to be run at the end.
    unsafe { libc::_exit(0) };
}

fn open_outside(folder: &Path) {
    let open = |path: &str, flags: i32, number: i32| {
        let file = open(&folder.join(path).to_string_lossy(), flags).unwrap();
        // SAFETY: nothing of this process has that number.
        assert_eq!(unsafe { libc::dup2(file.as_raw_fd(), number) }, number);
    };
    open("top", libc::O_RDONLY, OUTSIDE.folder);
    open("top/outside", libc::O_RDONLY, OUTSIDE.read);
    open("top/outside", libc::O_WRONLY, OUTSIDE.write);
}

fn wait_for(process: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the kernel writes one number.
    while unsafe { libc::waitpid(process, &raw mut status, 0) } < 0 {}
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) }
}

fn first_process(gated: bool, folder: &Path, rules: Rules, inside: impl FnOnce() -> String) -> i32 {
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).unwrap();
    std::env::set_current_dir(folder).unwrap();
    let (from_agent, to_gate) = std::io::pipe().unwrap();
    let (from_gate, to_agent) = std::io::pipe().unwrap();
    // SAFETY: this process has one thread.
    let agent = unsafe { libc::fork() };
    if agent == 0 {
        drop((from_agent, to_agent));
        let code = agent_process(gated, folder, to_gate, from_gate, inside);
        // SAFETY: nothing of the parent's is to be run at the end.
        unsafe { libc::_exit(code) };
    }
    drop((to_gate, from_gate));
    if !gated {
        to_agent_go(to_agent);
        return reap(agent);
    }
    serve(agent, from_agent, to_agent, Scripted::new(folder, rules))
}

fn to_agent_go(mut to_agent: PipeWriter) {
    to_agent.write_all(b"g").unwrap();
}

/// Waits until all children are gone; answers the agent's code.
fn reap(agent: i32) -> i32 {
    let mut code = 0;
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes one number.
        let ended = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if ended < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) {
            return code;
        }
        if ended == agent {
            let exited = libc::WIFEXITED(status);
            code = if exited { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) };
        }
    }
}

fn serve(agent: i32, mut from_agent: PipeReader, to_agent: PipeWriter, authority: Scripted) -> i32 {
    drop_capabilities(CapabilitySet::SYS_PTRACE);
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).unwrap();
    let mut number = [0; 4];
    if from_agent.read_exact(&mut number).is_err() {
        return reap(agent);
    }
    let handle = pidfd_open(Pid::from_raw(agent).unwrap(), PidfdFlags::empty()).unwrap();
    let listener = pidfd_getfd(handle.as_fd(), i32::from_ne_bytes(number), PidfdGetfdFlags::empty()).unwrap();
    let authority = Arc::new(authority);
    let gate = Arc::new(gate::Gate::new(listener, Arc::clone(&authority) as Arc<dyn Authority>).unwrap());
    let threads = gate.serve(2);
    assert_eq!(threads.len(), 2);
    to_agent_go(to_agent);
    let code = reap(agent);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    tell(&authority.records.lock().unwrap().join("\n"));
    code
}

fn agent_process(
    gated: bool,
    folder: &Path,
    mut to_gate: PipeWriter,
    mut from_gate: PipeReader,
    inside: impl FnOnce() -> String,
) -> i32 {
    drop_capabilities(CapabilitySet::empty());
    let held = std::fs::File::options().append(true).open(folder.join("shut/held")).unwrap();
    // SAFETY: nothing of this process has that number.
    assert_eq!(unsafe { libc::dup2(held.as_raw_fd(), HELD) }, HELD);
    drop(held);
    if gated {
        floor();
        let program = gate::program(gate::Stops::default());
        let listener = gate::install(&program).unwrap();
        to_gate.write_all(&listener.to_ne_bytes()).unwrap();
        from_gate.read_exact(&mut [0]).unwrap();
        // SAFETY: the number is that of the listener, and nothing else owns it.
        drop(unsafe { OwnedFd::from_raw_fd(listener) });
    } else {
        from_gate.read_exact(&mut [0]).unwrap();
    }
    drop((to_gate, from_gate));
    let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(inside));
    tell(said.as_deref().unwrap_or("panicked"));
    i32::from(said.is_err())
}

/// Hands a text to the test's first process.
fn tell(text: &str) {
    let mut stdout = std::io::stdout().lock();
    write!(stdout, "{MARK}{text}").unwrap();
    stdout.flush().unwrap();
}

fn drop_capabilities(kept: CapabilitySet) {
    rustix::thread::set_no_new_privs(true).unwrap();
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets).unwrap();
}

/// As every session's: no right to write any file.
fn floor() {
    let abi = ABI::V6;
    let all = AccessFs::from_all(abi);
    let reading = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)
        .unwrap()
        .scope(Scope::from_all(abi))
        .unwrap()
        .create()
        .unwrap();
    rules = rules.add_rule(PathBeneath::new(PathFd::new("/").unwrap(), reading)).unwrap();
    for path in gate::device_rules() {
        if let Ok(path) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(path, device)).unwrap();
        }
    }
    assert_eq!(rules.restrict_self().unwrap().ruleset, RulesetStatus::FullyEnforced);
}

/// Runs a shell command inside; answers its code and all that it said.
pub(crate) fn shell(command: &str) -> String {
    let output = Command::new("/bin/sh").args(["-c", command]).output().unwrap();
    let code = output.status.code().map_or_else(|| format!("{:?}", output.status), |code| code.to_string());
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{code}\n{out}{err}")
}

/// The name of an answer of a raw call: `ok`, or the error's.
pub(crate) fn answer(result: libc::c_long) -> String {
    if result >= 0 {
        return "ok".into();
    }
    let error = std::io::Error::last_os_error().raw_os_error().unwrap();
    let names = [
        (libc::EACCES, "EACCES"),
        (libc::EPERM, "EPERM"),
        (libc::ENOENT, "ENOENT"),
        (libc::EEXIST, "EEXIST"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::EXDEV, "EXDEV"),
        (libc::ENXIO, "ENXIO"),
        (libc::EBADF, "EBADF"),
        (libc::ENOTDIR, "ENOTDIR"),
        (libc::EISDIR, "EISDIR"),
        (libc::ELOOP, "ELOOP"),
        (libc::EINVAL, "EINVAL"),
        (libc::EBUSY, "EBUSY"),
        (libc::ENOTEMPTY, "ENOTEMPTY"),
    ];
    names.iter().find(|name| name.0 == error).map_or_else(|| format!("E{error}"), |name| name.1.into())
}

/// A path for a raw call.
pub(crate) fn c(path: &str) -> std::ffi::CString {
    std::ffi::CString::new(path).unwrap()
}

/// Opens by the raw call; the error by name.
pub(crate) fn open(path: &str, flags: i32) -> Result<OwnedFd, String> {
    let path = c(path);
    // SAFETY: the path ends in NUL, and the descriptor that comes back is ours.
    unsafe {
        let fd = libc::open(path.as_ptr(), flags, 0o666);
        if fd < 0 { Err(answer(-1)) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// What opening came to, in a word.
pub(crate) fn opens(path: &str, flags: i32) -> String {
    open(path, flags).map_or_else(|error| error, |_| "ok".into())
}

/// `/proc/self/fd/N` of a descriptor.
pub(crate) fn magic(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}
