//! The real Claude Code, headless, against the model server: no login, no telemetry, no updates, nothing of the
//! person's own home.

use crate::{Model, TestEnv, tools};
use anyhow::{Result, bail};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

/// Obviously no key.
const KEY: &str = "dummy-not-a-key";

/// Claude Code of [`tools::CLAUDE`].
#[derive(Debug, Clone, Copy)]
pub struct Claude;

impl Claude {
    /// The native program in the cache. Missing: an error that names the command which installs it.
    pub fn locate() -> Result<PathBuf> {
        let system = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        let machine = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => bail!("no Claude Code is published for `{other}`"),
        };
        tools::CLAUDE.program(&format!("{}-{system}-{machine}/claude", tools::CLAUDE.npm))
    }

    /// Makes `claude` a command of `env`, and answers its path.
    pub fn install(env: &TestEnv) -> Result<PathBuf> {
        env.install("claude", &Self::locate()?)
    }

    /// What the environment of [`TestEnv::vars`] needs beside it.
    pub fn vars(env: &TestEnv, model: &Model) -> Vec<(&'static str, OsString)> {
        vec![
            ("CLAUDE_CONFIG_DIR", env.home().join(".claude").into_os_string()),
            ("ANTHROPIC_BASE_URL", model.url().into()),
            ("ANTHROPIC_API_KEY", KEY.into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("DISABLE_AUTOUPDATER", "1".into()),
            ("DISABLE_TELEMETRY", "1".into()),
            ("DISABLE_ERROR_REPORTING", "1".into()),
        ]
    }

    /// The arguments of a headless run: edits are accepted, the tools of `allowed` (`Bash`, `Read`, …) run without
    /// asking, the result is one JSON object. `mcp` is a file of MCP servers.
    pub fn arguments(prompt: &str, allowed: &[&str], mcp: Option<&Path>) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["-p".into(), prompt.into()];
        args.extend(["--permission-mode", "acceptEdits", "--output-format", "json"].map(OsString::from));
        if let Some(file) = mcp {
            args.extend(["--mcp-config".into(), file.into()]);
        }
        // Takes all that follows, so it stands last.
        if !allowed.is_empty() {
            args.push("--allowedTools".into());
            args.extend(allowed.iter().map(OsString::from));
        }
        args
    }

    /// Claude Code itself, ungoverned, in the project of `env`.
    pub fn command(env: &TestEnv, model: &Model, prompt: &str, allowed: &[&str]) -> Result<Command> {
        let mut command = env.command(Self::install(env)?)?;
        command.envs(Self::vars(env, model)).args(Self::arguments(prompt, allowed, None));
        Ok(command)
    }
}
