//! What `remit init` finds: agent programs, languages, what looks secret, git.

use crate::adapter::Adapter;
use crate::base::find_program;
use crate::environment::Environment;
use remit_config::init::{AgentFound, Facts, is_secret_name};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Files that tell a language.
const LANGUAGES: &[(&str, &str)] = &[
    ("Cargo.toml", "rust"),
    ("package.json", "javascript"),
    ("tsconfig.json", "typescript"),
    ("pyproject.toml", "python"),
    ("requirements.txt", "python"),
    ("setup.py", "python"),
    ("go.mod", "go"),
    ("pom.xml", "java"),
    ("build.gradle", "java"),
    ("build.gradle.kts", "kotlin"),
    ("Gemfile", "ruby"),
    ("composer.json", "php"),
    ("mix.exs", "elixir"),
];

/// Names of folders that hold secrets.
const SECRET_FOLDERS: &[&str] =
    &["secrets", "secret", ".secrets", ".aws", ".ssh", ".gnupg", "private", "credentials", ".vault"];

/// Endings of names of files that hold secrets.
const SECRET_ENDINGS: &[&str] = &[".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".tfvars"];

/// Endings of names of files that may hold a private key, or certificates that everybody may see.
const KEY_ENDINGS: &[&str] = &[".pem", ".key"];

/// What stands in a file that holds a private key, and within how many bytes it is looked for.
const PRIVATE_KEY: &[u8] = b"PRIVATE KEY-----";
const KEY_LENGTH: u64 = 64 << 10;

/// Names of files that hold secrets.
const SECRET_FILES: &[&str] = &[
    "credentials.json",
    "service-account.json",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    "master.key",
];

/// Folders that are not looked into.
const SKIPPED: &[&str] = &[
    ".git",
    "node_modules",
    "bower_components",
    "target",
    "vendor",
    "third_party",
    ".venv",
    "venv",
    ".tox",
    "site-packages",
    "Pods",
    "dist",
    "build",
];

/// How deep secrets are looked for, and how many entries are looked at.
const DEEPEST: u8 = 3;
const MOST: usize = 20_000;

/// Looks at the folder in which the command was given.
pub fn survey(environment: &Environment) -> io::Result<Facts> {
    let here = &environment.cwd;
    let mut facts = Facts { is_git: here.join(".git").exists(), ..Facts::default() };
    for name in Adapter::names() {
        let adapter = Adapter::named(name).and_then(Result::ok);
        let installed =
            adapter.is_some_and(|a| a.programs.iter().any(|p| find_program(p, environment).is_some()));
        if installed {
            facts.agents.push(AgentFound { name: name.to_owned(), cli: name.to_owned() });
        }
    }
    for (file, language) in LANGUAGES {
        if here.join(file).is_file() && !facts.languages.iter().any(|l| l == language) {
            facts.languages.push((*language).to_owned());
        }
    }
    let mut look = Look { tracked: Known::of(here), left: MOST, facts };
    look.search(here, "", 0)?;
    let mut facts = look.facts;
    facts.tracked.extend(look.tracked.secrets());
    for found in [&mut facts.secrets, &mut facts.tracked] {
        found.sort();
        found.dedup();
    }
    Ok(facts)
}

/// What git tracks, as paths relative to the workspace.
#[derive(Default)]
struct Known(BTreeSet<String>);

impl Known {
    /// An index that cannot be read tracks nothing that is known: then rules are written as without git, and `check`
    /// has no more to say of it.
    fn of(here: &Path) -> Self {
        let Ok(Some(checkout)) = remit_git::checkout(here) else { return Self::default() };
        let Ok(Some(tracked)) = remit_git::tracked(&checkout.git_dir) else { return Self::default() };
        let Ok(below) = here.strip_prefix(&checkout.work_tree) else { return Self::default() };
        let relative = |path: &[u8]| {
            let path = Path::new(OsStr::from_bytes(path)).strip_prefix(below).ok()?;
            path.to_str().map(str::to_owned)
        };
        Self(tracked.paths().filter_map(relative).collect())
    }

    /// Whether git tracks the file, or something in the folder, which ends with `/`.
    fn has(&self, path: &str) -> bool {
        match path.ends_with('/') {
            true => self.0.range(path.to_owned()..).next().is_some_and(|first| first.starts_with(path)),
            false => self.0.contains(path),
        }
    }

    /// What looks secret by its name alone, and the folders that do.
    fn secrets(&self) -> impl Iterator<Item = String> {
        let folder = |path: &String| {
            let mut end = 0;
            for name in path.split_inclusive('/') {
                end += name.len();
                if name.strip_suffix('/').is_some_and(|name| SECRET_FOLDERS.contains(&name)) {
                    return path.get(..end).map(str::to_owned);
                }
            }
            None
        };
        let name = |path: &&String| path.rsplit('/').next().is_some_and(is_secret_name);
        self.0.iter().filter(name).cloned().chain(self.0.iter().filter_map(folder))
    }
}

/// A look through the workspace.
struct Look {
    tracked: Known,
    /// So many entries are still looked at.
    left: usize,
    facts: Facts,
}

impl Look {
    fn search(&mut self, folder: &Path, prefix: &str, depth: u8) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let Some(rest) = self.left.checked_sub(1) else { return Ok(()) };
            self.left = rest;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                let path = format!("{path}/");
                if SECRET_FOLDERS.contains(&name) && !self.tracked.has(&path) {
                    self.facts.secrets.push(path);
                } else if depth < DEEPEST && !SKIPPED.contains(&name) {
                    match self.search(&entry.path(), &path, depth + 1) {
                        Err(e) if e.kind() == io::ErrorKind::PermissionDenied && depth > 0 => {}
                        other => other?,
                    }
                }
            } else if is_secret(name, &entry.path()) {
                let tracked = self.tracked.has(&path);
                let found = if tracked { &mut self.facts.tracked } else { &mut self.facts.secrets };
                found.push(path);
            }
        }
        Ok(())
    }
}

fn is_secret(name: &str, path: &Path) -> bool {
    let ends = |endings: &[&str]| endings.iter().any(|end| name.ends_with(end));
    is_secret_name(name)
        || SECRET_FILES.contains(&name)
        || ends(SECRET_ENDINGS)
        || (ends(KEY_ENDINGS) && holds_private_key(path))
}

/// Whether a file holds a private key; what cannot be read may.
fn holds_private_key(path: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let mut start = Vec::new();
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    match opened.and_then(|file| file.take(KEY_LENGTH).read_to_end(&mut start)) {
        Ok(_) => start.windows(PRIVATE_KEY.len()).any(|window| window == PRIVATE_KEY),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_no_secret_and_a_private_key_is() {
        let dir = tempfile::tempdir().unwrap();
        let is = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            is_secret(name, &path)
        };
        assert!(!is("ca.pem", "-----BEGIN CERTIFICATE-----\n"));
        assert!(is("server.pem", "-----BEGIN CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\n"));
        assert!(is("server.key", "-----BEGIN PRIVATE KEY-----\n") && !is("slides.key", "PK"));
        assert!(is("store.p12", "") && is(".env", "") && is(".env.x.local", "") && !is(".env.example", ""));
        assert!(is_secret("gone.key", &dir.path().join("gone.key")), "what cannot be read may hold one");
    }
}
