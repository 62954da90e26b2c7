//! The self-test: what must not work is tried, by the process that will be the program, after every restriction
//! and before the program. What is shown to people is what was measured here, never what was configured.

use super::spec::Check;
use crate::plan::{Kind, Plan};
use crate::raw;
use remit_core::wire::CANARY;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::process::Pid;
use std::path::Path;

/// A call of the x32 world: another number for a call that is known by its own.
const X32_GETPID: i64 = 0x4000_0000 + 39;

fn check<T>(what: impl Into<String>, tried: Result<T, Errno>, expected: &[Errno]) -> Check {
    let (held, seen) = match tried {
        Ok(_) => (false, "it worked".to_owned()),
        Err(error) => (expected.contains(&error), error.to_string()),
    };
    Check { what: what.into(), held, seen }
}

fn open(path: impl AsRef<Path>, flags: OFlags) -> Result<(), Errno> {
    fs::open(path.as_ref(), flags | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK, Mode::RUSR).map(drop)
}

const REFUSED: &[Errno] = &[Errno::ACCESS, Errno::PERM];
const NOT_WRITTEN: &[Errno] = &[Errno::ACCESS, Errno::PERM, Errno::ROFS, Errno::NOENT];

/// With the floor and without the filter: the floor alone must refuse to write.
pub(super) fn floor(plan: &Plan) -> Vec<Check> {
    let mut checks = vec![
        check(
            "write to shared memory without the gate",
            open("/dev/shm", OFlags::TMPFILE | OFlags::WRONLY),
            REFUSED,
        ),
        check("signal the gate", rustix::process::test_kill_process(Pid::INIT), REFUSED),
    ];
    if !plan.listed && !plan.floor.iter().any(|rule| rule.path.as_bytes() == b"/" && rule.rights.read) {
        checks.push(check("list the root folder", open("/", OFlags::RDONLY | OFlags::DIRECTORY), REFUSED));
    }
    checks
}

/// The number of this process's IPC namespace.
pub(super) fn ipc_namespace() -> Result<u64, Errno> {
    Ok(fs::stat("/proc/self/ns/ipc")?.st_ino)
}

/// With everything in place. `ipc`: the holder's IPC namespace.
pub(super) fn all(plan: &Plan, ipc: u64) -> Vec<Check> {
    let mount_call = mount("none", "/", "tmpfs", MountFlags::empty(), None);
    let mut checks = vec![
        check(
            "make a file that the policy denies",
            open(CANARY, OFlags::WRONLY | OFlags::CREATE),
            NOT_WRITTEN,
        ),
        check("mount a file system", mount_call, REFUSED),
        check("make a user namespace", raw::try_user_namespace(), &[Errno::PERM, Errno::NOSPC]),
        check("start an io_uring", raw::try_call(libc::SYS_io_uring_setup), &[Errno::NOSYS, Errno::PERM]),
        check("make a call of another system", raw::try_call(X32_GETPID), &[Errno::NOSYS, Errno::PERM]),
        check("read the gate's environment", open("/proc/1/environ", OFlags::RDONLY), REFUSED),
        check("enter the gate's root", open("/proc/1/root", OFlags::PATH), REFUSED),
        check(
            "change the kernel's settings",
            open("/proc/sys/kernel/core_pattern", OFlags::WRONLY),
            NOT_WRITTEN,
        ),
    ];
    let folders = plan.masks.iter().map(|path| (path, Kind::Folder));
    for (path, kind) in folders.chain(plan.file_masks.iter().map(|path| (path, Kind::File))) {
        let (word, flags) = match kind {
            Kind::Folder => ("list the covered folder", OFlags::RDONLY | OFlags::DIRECTORY),
            _ => ("read the covered file", OFlags::RDONLY),
        };
        let tried = open(path.as_path(), flags);
        checks.push(check(format!("{word} {path}"), tried, &[Errno::ACCESS, Errno::NOENT]));
    }
    checks.push(apart(ipc));
    checks.push(status());
    checks
}

/// Whether shared memory and queues of the machine are out of reach.
fn apart(ipc: u64) -> Check {
    let seen = ipc_namespace();
    let held = seen.is_ok_and(|own| own != ipc);
    let seen = match seen {
        Ok(own) if held => format!("a namespace of its own, {own}"),
        Ok(_) => "it worked".to_owned(),
        Err(error) => error.to_string(),
    };
    Check { what: "share memory and queues with the machine by number".to_owned(), held, seen }
}

/// The kernel's own word on this process.
fn status() -> Check {
    const WANTED: [(&str, &str); 6] = [
        ("CapPrm:", "0000000000000000"),
        ("CapEff:", "0000000000000000"),
        ("CapBnd:", "0000000000000000"),
        ("CapAmb:", "0000000000000000"),
        ("NoNewPrivs:", "1"),
        ("Seccomp:", "2"),
    ];
    let what = "keep a capability, or run without a filter".to_owned();
    let text = match std::fs::read_to_string("/proc/self/status") {
        Ok(text) => text,
        Err(error) => return Check { what, held: false, seen: format!("/proc/self/status: {error}") },
    };
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let wrong: Vec<String> = WANTED
        .iter()
        .filter(|(key, wanted)| value(key) != Some(wanted))
        .map(|(key, _)| format!("{key} {}", value(key).unwrap_or("missing")))
        .collect();
    let held = wrong.is_empty();
    Check { what, held, seen: if held { "none is left".to_owned() } else { wrong.join(", ") } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_held_the_test_says_so() {
        assert!(!status().held);
        assert!(!apart(ipc_namespace().unwrap()).held);
        let write = &floor(&Plan::default())[0];
        assert!(!write.held && write.seen == "it worked", "{write:?}");
    }

    #[test]
    fn another_error_than_the_expected_one_is_no_proof() {
        let seen: Result<(), Errno> = Err(Errno::INVAL);
        assert!(!check("x", seen, REFUSED).held);
        assert!(check("x", Err::<(), _>(Errno::ACCESS), REFUSED).held);
    }
}
