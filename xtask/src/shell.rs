//! Programs that chores start.

use anyhow::{Context as _, Result, ensure};
use std::{path::PathBuf, process::Command};

/// Shows the command, runs it with our own terminal, and wants it to succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    ensure!(status.success(), "`{line}`: {status}");
    Ok(())
}

/// Runs it and answers its standard output; wants it to succeed.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let line = line(command);
    let output = command.output().with_context(|| format!("cannot start `{line}`"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{line}`: {}\n{}", output.status, errors.trim_end());
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` did not print UTF-8"))
}

/// Where `program` lies, if it is installed.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// This process is root.
pub(crate) fn root() -> Result<bool> {
    Ok(read(Command::new("id").arg("-u"))?.trim() == "0")
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
