//! What any program needs to run: system folders, toolchains, the private home. These are offered where no
//! rule of a person speaks (`base:` in `remit.yaml`), and `explain` lists each with its reason.

use crate::environment::Environment;
use remit_core::AbsPath;
use remit_core::wire::INSIDE;
use remit_policy::source::Base;
use remit_policy::{Access, BaseRule};
use std::path::{Path, PathBuf};

/// Where a session's own home lies inside its view.
pub const HOME: &str = "/home/agent";

const READ_EXECUTE: Access = Access::READ.union(Access::EXECUTE);

/// System folders: path, id, what for.
const SYSTEM: &[(&str, &str, &str)] = &[
    ("/usr", "usr", "system programs and libraries"),
    ("/bin", "bin", "system programs"),
    ("/sbin", "sbin", "system programs"),
    ("/lib", "lib", "system libraries"),
    ("/lib32", "lib32", "system libraries"),
    ("/lib64", "lib64", "system libraries and the program loader"),
    ("/libx32", "libx32", "system libraries"),
    ("/opt", "opt", "programs of the machine"),
    ("/nix/store", "nix", "programs and libraries of Nix"),
    ("/snap", "snap", "programs of snap"),
];

/// What may be read, not run.
const READ_ONLY: &[(&str, &str, &str)] = &[
    ("/etc", "etc", "the machine's settings, without its secrets"),
    ("/sys/fs/cgroup", "cgroup", "how much memory and how many processors there are"),
    ("/sys/devices/system/cpu", "cpu", "how many processors there are"),
    ("/sys/kernel/mm/transparent_hugepage", "hugepage", "memory settings that allocators ask for"),
];

/// Secrets of the machine below `/etc` and the like; hidden from everybody, root included.
const SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/docker",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/letsencrypt",
    "/etc/security/opasswd",
    "/etc/remit",
    "/etc/mysql/debian.cnf",
    "/etc/netplan",
    "/etc/ppp",
    "/etc/machine-id",
];

/// Toolchains below the person's home: path, what for.
const TOOLCHAINS: &[(&str, &str)] = &[
    (".rustup", "Rust toolchains"),
    (".cargo/bin", "Cargo and its programs"),
    (".cargo/config.toml", "Cargo's settings"),
    (".nvm", "Node versions"),
    (".volta", "Node versions"),
    (".fnm", "Node versions"),
    (".local/share/fnm", "Node versions"),
    (".local/share/mise", "tool versions"),
    (".asdf", "tool versions"),
    (".pyenv", "Python versions"),
    (".local/share/uv", "Python versions"),
    (".local/share/pipx", "Python programs"),
    (".rbenv", "Ruby versions"),
    (".sdkman", "Java versions"),
    (".bun", "Bun"),
    (".deno", "Deno"),
    ("go/bin", "Go programs"),
    (".local/bin", "the person's programs"),
    (".local/lib", "the person's libraries"),
    ("bin", "the person's programs"),
    (".local/share/claude", "Claude Code's own installation"),
];

/// Folders that are toolchains as a whole: a program folder of `PATH` below one needs all of it.
const WHOLE: &[&str] =
    &[".rustup", ".nvm", ".volta", ".fnm", ".asdf", ".pyenv", ".rbenv", ".sdkman", ".bun", ".deno"];

fn rule(path: &Path, access: Access, id: &str, why: &str) -> Option<BaseRule> {
    let path = AbsPath::try_from(path).ok()?;
    Some(BaseRule { path, access, id: id.into(), why: why.into() })
}

/// The base rules for this machine: only what exists here, at its canonical place and at the place where it
/// is asked for.
pub fn rules(base: Base, environment: &Environment) -> Vec<BaseRule> {
    let mut found = Vec::new();
    if base == Base::None {
        return found;
    }
    let system = SYSTEM.iter().map(|(path, id, why)| (path, READ_EXECUTE, id, why));
    let read = READ_ONLY.iter().map(|(path, id, why)| (path, Access::READ, id, why));
    // The first version of control groups is a dozen file systems, and programs do without.
    let there = |path: &str| match path {
        "/sys/fs/cgroup" => std::fs::symlink_metadata("/sys/fs/cgroup/cgroup.controllers").is_ok(),
        path => std::fs::symlink_metadata(path).is_ok(),
    };
    for (path, access, id, why) in system.chain(read) {
        if there(path) {
            found.extend(rule(Path::new(path), access, &format!("base.{id}"), why));
        }
    }
    for path in SECRETS {
        if std::fs::symlink_metadata(path).is_ok() {
            found.extend(rule(Path::new(path), Access::NONE, "base.secret", "a secret of the machine"));
        }
    }
    found.extend(resolver());
    if base == Base::Standard {
        toolchains(environment, &mut found);
    }
    found
}

/// `/etc/resolv.conf` is often a link out of `/etc`.
fn resolver() -> Option<BaseRule> {
    let target = std::fs::canonicalize("/etc/resolv.conf").ok()?;
    if target.starts_with("/etc") {
        return None;
    }
    rule(&target, Access::READ, "base.resolver", "how names are resolved")
}

/// The kernel's name of what a path leads to: three calls, however deep it lies.
pub(crate) fn real(path: &Path) -> Option<PathBuf> {
    use rustix::fs::{Mode, OFlags, open};
    use std::os::fd::AsRawFd;
    let file = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

fn toolchains(environment: &Environment, found: &mut Vec<BaseRule>) {
    let Some(home) = environment.home() else { return };
    let mut add = |path: PathBuf, id: &str, why: &str| {
        let Some(real) = real(&path) else { return };
        let known = |found: &[BaseRule], p: &Path| {
            found.iter().any(|r| r.access.has(READ_EXECUTE) && p.starts_with(r.path.as_path()))
        };
        for place in [path, real] {
            // A link that leads to the home folder itself, or above it, must not open it.
            if !known(found, &place) && !home.starts_with(&place) {
                found.extend(rule(&place, READ_EXECUTE, id, why));
            }
        }
    };
    for (below, why) in TOOLCHAINS {
        add(home.join(below), &format!("base.{}", below.replace(['/', '.'], "-").trim_matches('-')), why);
    }
    for variable in ["RUSTUP_HOME", "PYENV_ROOT", "NVM_DIR", "VOLTA_HOME"] {
        if let Some(folder) = environment.get(variable) {
            add(folder.into(), "base.toolchain", "a toolchain that the environment names");
        }
    }
    for folder in environment.path() {
        let whole = |a: &&Path| a.file_name().and_then(|n| n.to_str()).is_some_and(|n| WHOLE.contains(&n));
        if let Some(root) = folder.ancestors().find(whole) {
            add(root.to_owned(), "base.toolchain", "a toolchain in PATH");
        }
        add(folder, "base.path", "a folder of programs in PATH");
    }
}

/// A folder for temporary files, on the session's side: `/tmp` and `/var/tmp`, unless the workspace lies in
/// them. A private folder in front of the workspace would open, for reading, all that lies behind it.
pub fn temporary(workspace: &AbsPath) -> [(&'static str, &'static str); 2] {
    let inside = |folder: &str| AbsPath::new(folder).is_ok_and(|f| f.covers(workspace));
    [
        ("tmp", if inside("/tmp") { "/home/agent/tmp" } else { "/tmp" }),
        ("var-tmp", if inside("/var/tmp") { "/home/agent/var-tmp" } else { "/var/tmp" }),
    ]
}

/// What a session has of its own.
pub fn session_rules(workspace: &AbsPath) -> Vec<BaseRule> {
    let [(_, tmp), (_, var_tmp)] = temporary(workspace);
    let own = [
        (HOME, Access::ALL, "session.home", "the session's private home"),
        (tmp, Access::ALL, "session.tmp", "the session's private temporary files"),
        (var_tmp, Access::ALL, "session.var-tmp", "the session's private temporary files"),
        ("/dev/shm", Access::ALL, "session.shm", "the session's private shared memory"),
        (INSIDE, READ_EXECUTE, "session.door", "the session's socket and settings"),
    ];
    own.into_iter().filter_map(|(path, access, id, why)| rule(Path::new(path), access, id, why)).collect()
}

/// The program of this name in `PATH`, as asked for; and whether it can be run.
pub fn find_program(name: &str, environment: &Environment) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    environment.path().into_iter().map(|dir| dir.join(name)).find(|file| {
        std::fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    })
}

/// Rules that show a program's own installation: its folder, or the package tree that it belongs to.
pub fn installation(program: &Path) -> Vec<BaseRule> {
    let Some(real) = real(program) else { return Vec::new() };
    let package = real
        .ancestors()
        .filter(|a| a.file_name().is_some_and(|n| n == "node_modules"))
        .last()
        .map(Path::to_owned);
    let root = package.or_else(|| real.parent().map(Path::to_owned));
    let beside = program.parent().map(Path::to_owned);
    root.into_iter()
        .chain(beside)
        .filter(|p| p.components().count() > 2)
        .filter_map(|p| rule(&p, READ_EXECUTE, "base.cli", "the agent program's own installation"))
        .collect()
}
