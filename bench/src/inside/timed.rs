//! Times one command: what it needs is laid ready first, so that only the command counts, and no launch.

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The folder in which it runs: removed first, then made.
    #[arg(long)]
    at: PathBuf,
    /// A folder whose content is copied there first.
    #[arg(long)]
    copy: Option<PathBuf>,
    /// The command.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Prints `{"seconds": …}`.
pub(super) fn run(options: &Options) -> Result<()> {
    if options.at.is_dir() {
        fs::remove_dir_all(&options.at)?;
    }
    fs::create_dir_all(&options.at).with_context(|| format!("cannot make `{}`", options.at.display()))?;
    if let Some(from) = &options.copy {
        let status = Command::new("cp").arg("-a").arg(from.join(".")).arg(&options.at).status()?;
        ensure!(status.success(), "`{}` cannot be copied: {status}", from.display());
    }
    let (program, args) = options.command.split_first().context("there is no command")?;
    let mut command = Command::new(program);
    command.args(args).current_dir(&options.at).stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let status = command.status().with_context(|| format!("cannot start `{}`", program.display()))?;
    let took = begun.elapsed().as_secs_f64();
    ensure!(status.success(), "`{}`: {status}", program.display());
    println!("{}", json!({"seconds": took}));
    Ok(())
}
