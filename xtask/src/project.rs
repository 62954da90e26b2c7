//! Where the project is and what cargo knows of it.

use crate::shell;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// The root of the checkout.
pub(crate) fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().context("this crate lies in a folder of the checkout")?.to_path_buf())
}

/// A cargo of the version that runs us, in the root. The variables that the outer cargo set for this program
/// would only confuse it.
pub(crate) fn cargo() -> Result<Command> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()?);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    Ok(cargo)
}

/// The folder of the toolchain whose cargo runs this.
pub(crate) fn toolchain() -> Option<PathBuf> {
    let cargo = PathBuf::from(env::var_os("CARGO")?);
    cargo.parent().and_then(Path::parent).map(Path::to_owned)
}

/// What cargo knows of the workspace's own packages.
pub(crate) fn metadata() -> Result<Value> {
    let mut cargo = cargo()?;
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    serde_json::from_str(&shell::read(&mut cargo)?).context("cargo's description of the workspace")
}

/// The folder that cargo builds into.
pub(crate) fn target() -> Result<PathBuf> {
    let metadata = metadata()?;
    Ok(metadata["target_directory"].as_str().context("cargo names no target folder")?.into())
}

/// The machine that is built for, `x86_64-unknown-linux-gnu` say.
pub(crate) fn host() -> Result<String> {
    let about = shell::read(Command::new("rustc").arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

/// Builds the program with optimisation and answers where it is.
pub(crate) fn build_release() -> Result<PathBuf> {
    shell::run(cargo()?.args(["build", "--release", "--locked", "--package", "remit", "--bin", "remit"]))?;
    Ok(target()?.join("release/remit"))
}

/// This runs in continuous integration, where nothing may be skipped.
pub(crate) fn continuous() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true" || value == "1")
}
