//! What the kernel here can hold, found by trying.

use crate::raw::{self, Tried};
use remit_core::AbsPath;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What a session needs of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The kernel's release: `6.18.1`.
    pub release: String,
    /// Landlock's ABI version; what the system said if there is none.
    pub landlock_abi: Result<u32, Errno>,
    /// The errata of Landlock that are mended, as bits from the first on.
    pub landlock_errata: u32,
    /// Whether namespaces can be made, mounts be changed in them, and `/proc` be mounted.
    pub namespaces: Result<(), Lack>,
    /// Whether system calls can be answered by another process, undisturbed by signals.
    pub listener: Result<(), Errno>,
    /// Yama's restriction of tracing: 0 none, 1 children, 2 administrator, 3 nobody; none without Yama.
    pub yama: Option<u32>,
    /// Whether AppArmor restricts namespaces of ordinary users; none where the question does not arise.
    pub apparmor: Option<bool>,
}

/// Which step of making a view is not possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Lack {
    /// Making the namespaces.
    #[error("user namespaces cannot be made: {0}")]
    Namespaces(Errno),
    /// Changing mounts in them: they are made, but without rights.
    #[error("mounts cannot be changed in a user namespace")]
    Mounts,
    /// A file system in memory.
    #[error("no file system can be mounted in a user namespace")]
    Memory,
    /// `/proc`.
    #[error("`/proc` cannot be mounted in a user namespace (parts of the machine's own are covered)")]
    Proc,
    /// The try itself failed.
    #[error("namespaces could not be tried: {0}")]
    Untried(Errno),
}

/// The oldest Landlock that knows the rights which the policy's words need.
pub const LANDLOCK_NEEDED: u32 = 3;

impl Probe {
    /// What stands in the way of a session, in words; empty if nothing does.
    pub fn obstacles(&self) -> Vec<String> {
        let mut obstacles = Vec::new();
        match self.landlock_abi {
            Ok(abi) if abi >= LANDLOCK_NEEDED => {}
            Ok(abi) => obstacles.push(format!(
                "Landlock is too old: version {abi}, and {LANDLOCK_NEEDED} is needed (Linux 6.2)"
            )),
            Err(Errno::OPNOTSUPP) => obstacles
                .push("Landlock is switched off: add `landlock` to the kernel's `lsm=` list".to_owned()),
            Err(error) => obstacles.push(format!("Landlock cannot be used: {error}")),
        }
        if let Err(lack) = self.namespaces {
            let mut text = lack.to_string();
            if self.apparmor == Some(true) {
                text += "; AppArmor restricts them (`kernel.apparmor_restrict_unprivileged_userns`)";
            }
            obstacles.push(text);
        }
        if let Err(error) = self.listener {
            obstacles
                .push(format!("system calls cannot be answered by another process (Linux 5.19): {error}"));
        }
        if self.yama == Some(3) {
            obstacles.push(
                "Yama forbids every process to look at another (`kernel.yama.ptrace_scope` is 3)".to_owned(),
            );
        }
        obstacles
    }
}

/// Tries what a session needs, in a child that ends at once. Changes nothing; may be called with any number of
/// threads.
pub fn probe() -> Probe {
    let namespaces = match raw::try_namespaces() {
        Ok(Tried::All) => Ok(()),
        Ok(Tried::NoMounts) => Err(Lack::Mounts),
        Ok(Tried::NoMemory) => Err(Lack::Memory),
        Ok(Tried::NoProc) => Err(Lack::Proc),
        Ok(Tried::Not(error)) => Err(Lack::Namespaces(error)),
        Err(error) => Err(Lack::Untried(error)),
    };
    Probe {
        release: rustix::system::uname().release().to_string_lossy().into_owned(),
        landlock_abi: raw::landlock(1),
        landlock_errata: raw::landlock(2).unwrap_or(0),
        namespaces,
        listener: raw::seccomp_listener(),
        yama: setting("/proc/sys/kernel/yama/ptrace_scope"),
        apparmor: setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").map(|value| value != 0),
    }
}

/// Tries whether a folder of the machine can be put under a private layer that is kept in `folder`, in a child that ends
/// at once. What it makes there is removed. Only in a process with one thread.
pub fn layers(folder: &Path) -> io::Result<()> {
    let scratch = folder.join(format!(".layers-{}", std::process::id()));
    std::fs::create_dir(&scratch)?;
    let tried = try_layer(&scratch);
    let removed = opened(&scratch).and_then(|()| std::fs::remove_dir_all(&scratch));
    tried.and(removed)
}

/// Lets the owner into folders that the kernel makes so that nobody may enter them.
fn opened(folder: &Path) -> io::Result<()> {
    std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            opened(&entry.path())?;
        }
    }
    Ok(())
}

fn try_layer(scratch: &Path) -> io::Result<()> {
    let path = |name: &str| {
        let folder = scratch.join(name);
        std::fs::create_dir(&folder)?;
        AbsPath::try_from(folder.canonicalize()?.as_path()).map_err(io::Error::other)
    };
    let (lower, upper, work) = (path("lower")?, path("upper")?, path("work")?);
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let put = |file: &str, text: &str| {
        let file = rustix::fs::open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(&file, text.as_bytes()).map(drop)
    };
    Ok(raw::try_in_namespaces(|| {
        put("/proc/self/setgroups", "deny")?;
        put("/proc/self/uid_map", &format!("{user} {user} 1"))?;
        put("/proc/self/gid_map", &format!("{group} {group} 1"))?;
        crate::view::layered(&lower, &upper, &work).map(drop)
    })?)
}

/// A number in the kernel's settings; none if there is no such setting.
fn setting(path: &str) -> Option<u32> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Probe {
        Probe {
            release: "6.18.0".to_owned(),
            landlock_abi: Ok(7),
            landlock_errata: 7,
            namespaces: Ok(()),
            listener: Ok(()),
            yama: Some(1),
            apparmor: None,
        }
    }

    #[test]
    fn each_lack_is_named() {
        assert_eq!(good().obstacles(), Vec::<String>::new());
        let bad = Probe {
            landlock_abi: Err(Errno::OPNOTSUPP),
            namespaces: Err(Lack::Mounts),
            listener: Err(Errno::INVAL),
            yama: Some(3),
            apparmor: Some(true),
            ..good()
        };
        let text = bad.obstacles().join("\n");
        for word in ["lsm=", "apparmor_restrict", "5.19", "ptrace_scope"] {
            assert!(text.contains(word), "{word} in {text}");
        }
        assert!(Probe { landlock_abi: Ok(2), ..good() }.obstacles().concat().contains("too old"));
    }

    #[test]
    fn the_kernel_here_answers() {
        let probe = probe();
        assert!(!probe.release.is_empty());
        // Whatever it can, an answer that it cannot comes with words.
        let all = probe.landlock_abi.is_ok_and(|abi| abi >= LANDLOCK_NEEDED)
            && probe.namespaces.is_ok()
            && probe.listener.is_ok()
            && probe.yama != Some(3);
        assert_eq!(probe.obstacles().is_empty(), all);
    }
}
