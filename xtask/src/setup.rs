//! `cargo xtask setup`: all that is downloaded, in one step of its own. What is there already stays, so a second
//! run does nothing. Programs go to a cache outside the checkout, one folder per version.

use crate::{project, shell};
use anyhow::{Context as _, Result, bail};
use std::{fs, path::Path, process::Command};
use test_support::{
    Claude,
    tools::{self, Package},
};

/// System programs that tests start, and the Debian package of each.
const SYSTEM: [(&str, &str); 3] = [("bwrap", "bubblewrap"), ("git", "git"), ("setpriv", "util-linux")];

/// Installs what is missing. Without root, a missing system program is an error that names the command.
pub(crate) fn setup() -> Result<()> {
    components()?;
    shell::run(project::cargo()?.args(["fetch", "--locked"]))?;
    system()?;
    npm(tools::CLAUDE)?;
    println!("Claude Code {}: {}", tools::CLAUDE.version, Claude::locate()?.display());
    Ok(())
}

/// The formatter and the linter, which a minimal Rust lacks.
fn components() -> Result<()> {
    for (command, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if shell::read(project::cargo()?.args([command, "--version"])).is_err() {
            shell::run(Command::new("rustup").args(["component", "add", component]))?;
        }
    }
    Ok(())
}

fn system() -> Result<()> {
    let missing: Vec<&str> =
        SYSTEM.iter().filter(|(name, _)| shell::find(name).is_none()).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.join(" ");
    if shell::find("apt-get").is_none() {
        bail!("missing system packages: {packages}; install them with this system's own package manager");
    }
    if !shell::root()? {
        bail!("missing system packages: run `sudo apt-get install {packages}`");
    }
    let apt = |args: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").args(["--quiet", "--yes"]).args(args);
        shell::run(&mut apt)
    };
    // Lists may be absent or old on a fresh machine; a list that is good enough needs no network.
    let install = [&["install", "--no-install-recommends"][..], &missing].concat();
    apt(&install).or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
}

/// Installs a package beside its final folder and moves it there whole, so that a download which breaks off
/// leaves nothing that looks installed. Install scripts are not run.
fn npm(package: Package) -> Result<()> {
    let dir = package.dir()?;
    if dir.join("node_modules").join(package.npm).is_dir() {
        return Ok(());
    }
    let cache = tools::cache()?;
    fs::create_dir_all(&cache).with_context(|| format!("cannot make `{}`", cache.display()))?;
    let partial = cache.join(format!(".partial-{}-{}", package.folder, std::process::id()));
    let installed = fetch(package, &partial).and_then(|()| {
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::rename(&partial, &dir).with_context(|| format!("cannot make `{}`", dir.display()))
    });
    if partial.exists() {
        fs::remove_dir_all(&partial)?;
    }
    installed
}

fn fetch(package: Package, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    // Without a manifest of its own npm would look for one in the folders above.
    fs::write(to.join("package.json"), "{\"private\": true}\n")?;
    let what = format!("{}@{}", package.npm, package.version);
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"]);
    shell::run(npm.arg(what).current_dir(to))
}
