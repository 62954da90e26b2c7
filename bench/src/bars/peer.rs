//! bubblewrap with the mounts of a session: the same places from the same folders, `/proc` and `/dev` of its own,
//! new user, process and mount namespaces.

use crate::scene::{Scene, done, find};
use anyhow::{Result, ensure};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The command line up to the program to run. Starts a session to see what it mounts.
pub(super) struct Bubblewrap {
    args: Vec<OsString>,
    /// How many places it mounts, `/proc` and `/dev` not counted.
    pub(super) mounts: usize,
}

impl Bubblewrap {
    /// As a session of `scene` is.
    pub(super) fn like(scene: &Scene<'_>) -> Result<Self> {
        let mounts = done(scene.session("cat").arg("/proc/self/mountinfo"))?;
        let mut args: Vec<OsString> = vec![find("bwrap")?.into()];
        args.extend(["--unshare-user", "--unshare-pid"].map(OsString::from));
        let before = args.len();
        for mount in Mount::all(&mounts) {
            args.extend(mount.args(&scene.plain_scratch()));
        }
        let mounted = (args.len() - before).div_ceil(3);
        ensure!(mounted > 3, "the mounts of a session were not understood: {mounts}");
        for link in ["/bin", "/sbin", "/lib", "/lib64"] {
            if let Ok(target) = fs::read_link(link) {
                args.extend([OsString::from("--symlink"), target.into(), link.into()]);
            }
        }
        args.extend(["--proc", "/proc", "--dev", "/dev", "--chdir"].map(OsString::from));
        args.push(scene.work().into());
        Ok(Self { args, mounts: mounted })
    }

    /// The program at `program` in it.
    pub(super) fn command(&self, scene: &Scene<'_>, program: &Path) -> Command {
        let mut words = self.args.iter();
        let mut command = scene.plain(words.next().map_or("bwrap".as_ref(), OsString::as_os_str));
        command.args(words).arg(program);
        command
    }
}

/// A line of a mount table, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
struct Mount<'a> {
    at: &'a str,
    read_only: bool,
    /// Made by the view itself to hide what lies there.
    mask: bool,
}

impl<'a> Mount<'a> {
    /// The mounts of a view that a bubblewrap needs too: not the root, `/proc`, `/dev` and the session's own folder,
    /// nor what comes along with a bind that it lies below.
    fn all(table: &'a str) -> Vec<Self> {
        let lines: Vec<Fields<'_>> = table.lines().filter_map(Fields::parse).collect();
        let Some(root) = lines.iter().find(|line| line.at == "/") else { return Vec::new() };
        let own = |at: &str| {
            let tops = ["/proc", "/dev", "/run/remit"];
            at == "/" || tops.iter().any(|top| Path::new(at).starts_with(top))
        };
        let wanted = lines.iter().filter(|line| !own(line.at));
        wanted
            .map(|line| (line, line.device == root.device))
            .filter(|(line, mask)| *mask || line.parent == root.id)
            .map(|(line, mask)| Self { at: line.at, read_only: line.read_only, mask })
            .collect()
    }

    fn args(&self, scratch: &Path) -> Vec<OsString> {
        let at = Path::new(self.at);
        let bind = if self.read_only { "--ro-bind" } else { "--bind" };
        let private = ["/home/agent", "/tmp", "/var/tmp"].contains(&self.at);
        match fs::metadata(at) {
            _ if private => vec![bind.into(), scratch.into(), at.into()],
            Ok(about) if self.mask && about.is_dir() => vec!["--tmpfs".into(), at.into()],
            Ok(_) if self.mask => vec!["--ro-bind".into(), "/dev/null".into(), at.into()],
            Ok(_) => vec![bind.into(), at.into(), at.into()],
            // A place that the machine does not have.
            Err(_) => vec!["--dir".into(), at.into()],
        }
    }
}

struct Fields<'a> {
    id: &'a str,
    parent: &'a str,
    device: &'a str,
    at: &'a str,
    read_only: bool,
}

impl<'a> Fields<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split(' ');
        let (id, parent, device) = (fields.next()?, fields.next()?, fields.next()?);
        let (at, options) = (fields.nth(1)?, fields.next()?);
        Some(Self { id, parent, device, at, read_only: options.split(',').any(|option| option == "ro") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binds_and_masks_are_taken_and_what_comes_along_or_is_the_views_own_is_not() {
        let table = "\
            64 42 0:39 /root / ro,nosuid - tmpfs none rw\n\
            65 64 254:0 /etc /etc ro,nosuid - ext4 /dev/vda rw\n\
            68 64 254:0 /w /w rw,nosuid - ext4 /dev/vda rw\n\
            73 64 0:28 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs rw\n\
            74 73 0:29 / /sys/fs/cgroup/cpu ro,nosuid - cgroup cgroup rw\n\
            97 64 0:41 / /dev/shm rw - tmpfs none rw\n\
            98 64 0:42 / /proc rw - proc none rw\n\
            99 64 254:0 /s /run/remit/session/socket ro - ext4 /dev/vda rw\n\
            109 65 0:39 /none /etc/ssh ro - tmpfs none rw\n";
        let mount = |at, read_only, mask| Mount { at, read_only, mask };
        let wanted = [
            mount("/etc", true, false),
            mount("/w", false, false),
            mount("/sys/fs/cgroup", true, false),
            mount("/etc/ssh", true, true),
        ];
        assert_eq!(Mount::all(table), wanted);
    }
}
