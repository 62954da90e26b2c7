//! The process's surroundings, read once at the rim and handed in; and what of them a session gets.

use crate::adapter::EnvironmentSpec;
use remit_core::wire::INSIDE;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What the rim read.
#[derive(Debug, Clone)]
pub struct Environment {
    /// All variables.
    pub vars: BTreeMap<OsString, OsString>,
    /// The folder in which the command was given.
    pub cwd: PathBuf,
    /// This program's own file.
    pub exe: PathBuf,
}

/// Variables that every session gets: what tells a program about its terminal, language and person, and
/// nothing that opens a door.
const PLAIN: &[&str] = &[
    "PATH",
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "CI",
    "COLUMNS",
    "LINES",
    "NODE_ENV",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "SOURCE_DATE_EPOCH",
];

/// Set in every session. A view is put together from mounts, and git stops at a mount when it looks for the top of
/// the work tree; above what a session sees of a work tree there is nothing of another one.
const SET: (&str, &str) = ("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1");

/// Where programs are looked for if nothing says so.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

impl Environment {
    /// A variable, if it is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|v| !v.is_empty())
    }

    /// The person's home folder.
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from).filter(|p| p.is_absolute())
    }

    /// The folder of the person's own settings: `$XDG_CONFIG_HOME/remit`, else `~/.config/remit`.
    pub fn config(&self) -> Option<PathBuf> {
        let set = self.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
        Some(set.or_else(|| Some(self.home()?.join(".config")))?.join("remit"))
    }

    /// The folders of `PATH` that are absolute.
    pub fn path(&self) -> Vec<PathBuf> {
        let path = self.get("PATH").unwrap_or(OsStr::new(USUAL_PATH));
        std::env::split_paths(path).filter(|p| p.is_absolute()).collect()
    }

    /// The variables that a session gets of this environment. The folder of the session's own is last in its `PATH`,
    /// so that the `remit` that refusals speak of is found there.
    pub fn for_session(&self, spec: &EnvironmentSpec) -> BTreeMap<OsString, OsString> {
        let mut path = self.get("PATH").unwrap_or(OsStr::new(USUAL_PATH)).to_owned();
        path.extend([OsStr::new(":"), OsStr::new(INSIDE)]);
        let listed = |names: &[String], key: &str| names.iter().any(|n| covers(n, key));
        self.vars
            .iter()
            .filter(|(key, _)| {
                let key = key.to_string_lossy();
                let plain = PLAIN.iter().any(|n| covers(n, &key));
                (plain || listed(&spec.pass, &key)) && !listed(&spec.drop, &key)
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .chain([(SET.0.into(), SET.1.into()), ("PATH".into(), path)])
            .chain(spec.set.iter().map(|(k, v)| (OsString::from(k), OsString::from(v))))
            .collect()
    }

    /// Where Remit's sockets lie: `$XDG_RUNTIME_DIR/remit`, else `/tmp/remit-<uid>`.
    pub fn runtime(&self, uid: u32) -> PathBuf {
        match self.get("XDG_RUNTIME_DIR") {
            Some(dir) if Path::new(dir).is_absolute() => Path::new(dir).join("remit"),
            _ => PathBuf::from(format!("/tmp/remit-{uid}")),
        }
    }
}

fn covers(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(head) => name.starts_with(head),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(vars: &[(&str, &str)]) -> Environment {
        let vars = vars.iter().map(|(k, v)| (OsString::from(k), OsString::from(v))).collect();
        Environment { vars, cwd: "/".into(), exe: "/remit".into() }
    }

    #[test]
    fn secrets_and_doors_stay_outside() {
        let all = environment(&[
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("SSH_AUTH_SOCK", "/s"),
            ("DBUS_SESSION_BUS_ADDRESS", "x"),
            ("LD_PRELOAD", "/x.so"),
            ("ANTHROPIC_API_KEY", "k"),
            ("CLAUDE_CODE_SESSION_ID", "outer"),
        ]);
        let none = all.for_session(&EnvironmentSpec::default());
        assert_eq!(none.keys().collect::<Vec<_>>(), ["GIT_DISCOVERY_ACROSS_FILESYSTEM", "LC_ALL", "PATH"]);
        assert_eq!(none.get(OsStr::new("PATH")), Some(&OsString::from("/bin:/run/remit/session")));
        let claude = crate::adapter::Adapter::named("claude").unwrap().unwrap();
        let some = all.for_session(&claude.environment);
        assert!(some.contains_key(OsStr::new("ANTHROPIC_API_KEY")));
        assert!(!some.contains_key(OsStr::new("CLAUDE_CODE_SESSION_ID")));
        assert_eq!(some.get(OsStr::new("DISABLE_AUTOUPDATER")), Some(&OsString::from("1")));
    }
}
