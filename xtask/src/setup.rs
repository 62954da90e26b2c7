//! `cargo xtask setup`: all that is downloaded, in one step of its own. What is there already stays, so a second
//! run does nothing. Programs go to a cache outside the checkout, one folder per version.

use crate::{project, shell};
use anyhow::{Context as _, Result, ensure};
use std::{fs, path::Path, process::Command};
use test_support::{
    Claude,
    tools::{self, Package},
};

/// A system program that tests or benchmarks start.
struct System {
    program: &'static str,
    /// The Debian package.
    package: &'static str,
    /// Nothing works without it; others serve root or benchmarks.
    needed: bool,
}

const SYSTEM: [System; 3] = [
    System { program: "git", package: "git", needed: true },
    System { program: "bwrap", package: "bubblewrap", needed: false },
    System { program: "setpriv", package: "util-linux", needed: false },
];

/// Installs what is missing. Without root, a system program that is missing is named with the command that
/// installs it, and is an error if nothing works without it.
pub(crate) fn setup() -> Result<()> {
    components()?;
    shell::run(project::cargo()?.args(["fetch", "--locked", "--target", &project::host()?]))?;
    system()?;
    if Claude::locate().is_err() {
        npm(tools::CLAUDE)?;
    }
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
    let missing: Vec<&System> = SYSTEM.iter().filter(|it| shell::find(it.program).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|it| it.package).collect();
    if shell::find("apt-get").is_none() || !shell::root()? {
        let words = format!("missing: install {} (`sudo apt-get install` on Debian)", packages.join(", "));
        ensure!(!missing.iter().any(|it| it.needed), "{words}");
        println!("{words}");
        return Ok(());
    }
    let apt = |args: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").args(["--quiet", "--yes"]).args(args);
        shell::run(&mut apt)
    };
    // Lists may be absent or old on a fresh machine; a list that is good enough needs no network.
    let install = [&["install", "--no-install-recommends"][..], &packages].concat();
    apt(&install).or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
}

/// Installs a package, in place of what its folder may hold. It is made beside that folder and moved there
/// whole, so that a download which breaks off leaves nothing that looks installed. Install scripts are not run.
fn npm(package: Package) -> Result<()> {
    let dir = package.dir()?;
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
