//! What `remit init` finds: agent programs, languages, what looks secret, git.

use crate::adapter::Adapter;
use crate::base::find_program;
use crate::environment::Environment;
use remit_config::init::{AgentFound, Facts};
use std::io;
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
const SECRET_ENDINGS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".tfvars"];

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
const SKIPPED: &[&str] = &[".git", "node_modules", "target", "vendor", ".venv", "venv", "dist", "build"];

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
    let mut left = MOST;
    secrets(here, "", 0, &mut left, &mut facts.secrets)?;
    facts.secrets.sort();
    Ok(facts)
}

fn secrets(
    folder: &Path,
    prefix: &str,
    depth: u8,
    left: &mut usize,
    found: &mut Vec<String>,
) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Some(rest) = left.checked_sub(1) else { return Ok(()) };
        *left = rest;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if SECRET_FOLDERS.contains(&name) {
                found.push(format!("{path}/"));
            } else if depth < DEEPEST && !SKIPPED.contains(&name) {
                match secrets(&entry.path(), &format!("{path}/"), depth + 1, left, found) {
                    Err(e) if e.kind() == io::ErrorKind::PermissionDenied && depth > 0 => {}
                    other => other?,
                }
            }
        } else if SECRET_FILES.contains(&name) || SECRET_ENDINGS.iter().any(|end| name.ends_with(end)) {
            found.push(path);
        }
    }
    Ok(())
}
