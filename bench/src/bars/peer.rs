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
        for mount in mounts.lines().filter_map(Mount::parse) {
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
    memory: bool,
}

impl<'a> Mount<'a> {
    /// None for what every view has of its own: the root, `/proc`, `/dev`, the session's folder.
    fn parse(line: &'a str) -> Option<Self> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(4);
        let (at, options) = (fields.next()?, fields.next()?);
        let own = ["/proc", "/dev", "/run/remit"]
            .iter()
            .any(|top| at.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
        // bubblewrap makes each namespace's `/dev` itself; a work tree below `/dev/shm` is not measured here.
        (at != "/" && !own).then(|| Self {
            at,
            read_only: options.split(',').any(|option| option == "ro"),
            memory: kind.starts_with("tmpfs "),
        })
    }

    fn args(&self, scratch: &Path) -> Vec<OsString> {
        let at = Path::new(self.at);
        let bind = if self.read_only { "--ro-bind" } else { "--bind" };
        let private = ["/home/agent", "/tmp", "/var/tmp"].contains(&self.at);
        match fs::metadata(at) {
            _ if private => vec![bind.into(), scratch.into(), at.into()],
            Ok(about) if self.memory && about.is_dir() => vec!["--tmpfs".into(), at.into()],
            Ok(_) if self.memory => vec!["--ro-bind".into(), "/dev/null".into(), at.into()],
            Ok(_) => vec![bind.into(), at.into(), at.into()],
            // A place that the machine does not have.
            Err(_) => vec!["--dir".into(), at.into()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_a_view_are_read_and_its_own_are_left_out() {
        let line = "60 59 254:0 /usr /usr ro,nosuid,relatime - ext4 /dev/vda rw";
        assert_eq!(Mount::parse(line), Some(Mount { at: "/usr", read_only: true, memory: false }));
        let line = "61 59 0:33 / /w/secrets ro,nosuid - tmpfs tmpfs rw";
        assert_eq!(Mount::parse(line), Some(Mount { at: "/w/secrets", read_only: true, memory: true }));
        for own in ["/", "/proc", "/dev/null", "/run/remit/session"] {
            assert_eq!(Mount::parse(&format!("1 1 0:1 / {own} rw - tmpfs tmpfs rw")), None, "{own}");
        }
    }
}
