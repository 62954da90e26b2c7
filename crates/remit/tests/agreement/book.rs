//! The book of cases, `cases.txt`, as values. Its head says how it is written.

use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use test_support::TestEnv;

/// A policy, the files it speaks of, and what each agent may do there.
pub(crate) struct Chapter {
    pub(crate) name: &'static str,
    policy: String,
    tree: Vec<&'static str>,
    pub(crate) cases: Vec<Case>,
}

/// One action and its answer.
pub(crate) struct Case {
    pub(crate) agent: &'static str,
    pub(crate) verb: &'static str,
    /// As written: for `rename` both ends, with a colon between them.
    pub(crate) path: &'static str,
    /// What is said beforehand.
    pub(crate) expected: Said,
    /// What comes of it in the kernel.
    pub(crate) done: bool,
    /// The id of the rule that decides, where the book names it.
    pub(crate) rule: Option<&'static str>,
}

/// What a door says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    Yes,
    No,
    /// A person would have to be asked: no, wherever something is really done.
    Ask,
}

impl Case {
    /// Whether the book itself says that what is said beforehand is not what comes of it.
    pub(crate) fn is_apart(&self) -> bool {
        self.done != (self.expected == Said::Yes)
    }

    /// The word of the policy language for what is done: making a folder is creating it, and a mode is written.
    pub(crate) fn asked(&self) -> &'static str {
        match self.verb {
            "mkdir" => "create",
            "chmod" => "write",
            verb => verb,
        }
    }
}

pub(crate) fn chapters() -> Result<Vec<Chapter>> {
    let mut chapters: Vec<Chapter> = Vec::new();
    let mut part = Part::Policy;
    for (number, line) in include_str!("cases.txt").lines().enumerate() {
        if let Some(name) = line.strip_prefix("= ") {
            chapters.push(Chapter { name, policy: String::new(), tree: Vec::new(), cases: Vec::new() });
            part = Part::Policy;
            continue;
        }
        let Some(chapter) = chapters.last_mut() else { continue };
        match (line, &part) {
            ("-- files", _) => part = Part::Files,
            ("-- cases", _) => part = Part::Cases,
            (_, Part::Policy) => chapter.policy.extend([line, "\n"]),
            ("", _) => {}
            (remark, _) if remark.starts_with('#') => {}
            (_, Part::Files) => chapter.tree.extend(line.split("  ").map(str::trim)),
            (_, Part::Cases) => {
                chapter.cases.extend(cases(line).with_context(|| format!("line {}", number + 1))?);
            }
        }
    }
    Ok(chapters)
}

enum Part {
    Policy,
    Files,
    Cases,
}

fn cases(line: &'static str) -> Result<Vec<Case>> {
    let mut words = line.split_whitespace();
    let (agent, path) = (words.next().context("no agent")?, words.next().context("no path")?);
    let mut cases: Vec<Case> = Vec::new();
    for word in words {
        if let Some(rule) = word.strip_prefix('@') {
            cases.last_mut().context("a rule before a verb")?.rule = Some(rule);
            continue;
        }
        let (sign, verb) = word.split_at_checked(1).context("an empty verb")?;
        let (expected, done) = match sign {
            "+" => (Said::Yes, true),
            "-" => (Said::No, false),
            "?" => (Said::Ask, false),
            "<" => (Said::Yes, false),
            ">" => (Said::No, true),
            _ => bail!("`{word}` says neither yes nor no"),
        };
        let known = ["read", "write", "create", "mkdir", "delete", "rename", "execute", "chmod"];
        ensure!(known.contains(&verb), "no verb `{verb}`");
        cases.push(Case { agent, verb, path, expected, done, rule: None });
    }
    ensure!(!cases.is_empty(), "no case");
    Ok(cases)
}

impl Chapter {
    /// The workspace that the chapter is about.
    pub(crate) fn lay(&self) -> Result<TestEnv> {
        let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
        env.repo()?.write("remit.yaml", placed(&env, &self.policy))?;
        for entry in &self.tree {
            lay(&env, entry).with_context(|| format!("{}: {entry}", self.name))?;
        }
        Ok(env)
    }
}

fn lay(env: &TestEnv, entry: &str) -> Result<()> {
    let at = |path: &str| on_disk(env, path);
    if let Some((link, target)) = entry.split_once(" -> ") {
        std::fs::create_dir_all(at(link).parent().context("a link has a folder")?)?;
        symlink(placed(env, target), at(link))?;
    } else if let Some((name, file)) = entry.split_once(" == ") {
        std::fs::hard_link(at(file), at(name))?;
    } else if let Some(folder) = entry.strip_suffix('/') {
        std::fs::create_dir_all(at(folder))?;
    } else if let Some(program) = entry.strip_suffix('!') {
        let file = env.write(at(program), "#!/bin/sh\nexit 0\n")?;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))?;
    } else if !entry.is_empty() {
        env.write(at(entry), "text\n")?;
    }
    Ok(())
}

/// A text of the book with the places of this environment in it.
fn placed(env: &TestEnv, text: &str) -> String {
    text.replace("{root}", &env.root().display().to_string())
}

/// The bytes that a path of the book stands for.
pub(crate) fn bytes(env: &TestEnv, path: &str) -> Vec<u8> {
    let home = format!("{}/", env.home().display());
    let path = placed(env, path).replace("~/", &home);
    let mut parts = path.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (hex, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(hex, 16).unwrap_or(b'?'));
        bytes.extend(rest.as_bytes());
    }
    bytes
}

/// Where a path of the book lies.
pub(crate) fn on_disk(env: &TestEnv, path: &str) -> PathBuf {
    env.project().join(OsString::from_vec(bytes(env, path)))
}
