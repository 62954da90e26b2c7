//! `cargo xtask test`: every check there is, in the order in which a mistake is cheapest to find, and a table of
//! what ran, how long, and what was left out and why. Continuous integration leaves nothing out.

use crate::{project, shell, unprivileged::Runner};
use anyhow::{Context as _, Result, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};
use test_support::tools;

/// The packages whose tests are run again as a user without rights: those that ask things of the kernel.
const KERNEL: [&str; 4] = ["remit-sandbox", "remit-session", "remit", "test-support"];

/// A suite: its name, whether `--quick` has it, and what it does.
type Suite = (&'static str, bool, fn() -> Result<Outcome>);

const SUITES: [Suite; 11] = [
    ("setup", true, setup),
    ("format", true, format),
    ("tidy", true, tidy),
    ("clippy", true, clippy),
    ("tests", true, tests),
    ("documentation tests", false, documentation_tests),
    ("documentation builds", false, documentation),
    ("kernel tests, uid 65534", false, unprivileged),
    ("examples", false, examples),
    ("demo", false, demo),
    ("benchmarks build", false, benchmarks),
];

/// How a suite came out, when it did not fail.
enum Outcome {
    Passed,
    /// Why it was left out.
    Skipped(String),
}

/// A line of the table.
struct Row {
    name: &'static str,
    seconds: f64,
    result: Result<Outcome>,
}

/// Runs the suites. All run, even after a failure, so that one run says everything.
pub(crate) fn test(quick: bool) -> Result<()> {
    let continuous = project::continuous();
    ensure!(!(quick && continuous), "`--quick` leaves suites out, and with CI=true nothing may be left out");
    let mut rows = Vec::new();
    for (name, in_quick, suite) in SUITES {
        println!("\n== {name}");
        let start = Instant::now();
        let result = if quick && !in_quick { Ok(Outcome::Skipped("--quick".into())) } else { suite() };
        if let Err(error) = &result {
            println!("{name}: {error:#}");
        }
        rows.push(Row { name, seconds: start.elapsed().as_secs_f64(), result });
    }
    let (table, bad) = table(&rows, continuous);
    println!("\n{table}");
    ensure!(bad.is_empty(), "not passed: {}", bad.join(", "));
    Ok(())
}

/// The table, and the names of the suites that must not stay as they are.
fn table(rows: &[Row], continuous: bool) -> (String, Vec<&'static str>) {
    let mut lines = vec![format!("{:<26}{:>9}  result", "suite", "seconds")];
    let mut bad = Vec::new();
    for row in rows {
        let words = match &row.result {
            Ok(Outcome::Passed) => "passed".to_owned(),
            Ok(Outcome::Skipped(why)) => {
                if continuous {
                    bad.push(row.name);
                }
                format!("skipped: {why}")
            }
            Err(error) => {
                bad.push(row.name);
                format!("FAILED: {}", error.to_string().lines().next().unwrap_or_default())
            }
        };
        lines.push(format!("{:<26}{:>9.1}  {words}", row.name, row.seconds));
    }
    let total: f64 = rows.iter().map(|row| row.seconds).sum();
    lines.push(format!("{:<26}{total:>9.1}", "all"));
    (lines.join("\n"), bad)
}

fn setup() -> Result<Outcome> {
    crate::setup::setup().map(|()| Outcome::Passed)
}

fn format() -> Result<Outcome> {
    cargo(&["fmt", "--all", "--check"])
}

fn tidy() -> Result<Outcome> {
    crate::tidy::tidy().map(|()| Outcome::Passed)
}

fn clippy() -> Result<Outcome> {
    cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"])
}

fn tests() -> Result<Outcome> {
    shell::run(tester()?.args(["--locked", "--workspace"]))?;
    Ok(Outcome::Passed)
}

fn documentation_tests() -> Result<Outcome> {
    cargo(&["test", "--locked", "--workspace", "--doc"])
}

fn documentation() -> Result<Outcome> {
    let mut cargo = project::cargo()?;
    cargo
        .args(["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"])
        .env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private_intra_doc_links");
    shell::run(&mut cargo)?;
    Ok(Outcome::Passed)
}

fn unprivileged() -> Result<Outcome> {
    if !shell::root()? {
        // Not left out: this user has no rights, and the suite before it was just that.
        println!("nothing to repeat: this user is not root, so the tests ran without rights already");
        return Ok(Outcome::Passed);
    }
    let mut shown: Vec<PathBuf> = vec![project::root()?, project::target()?, tools::cache()?];
    // A test builds a crate inside a session.
    shown.extend(project::toolchain());
    let runner = Runner::new(&shown)?;
    let mut tests = tester()?;
    tests.arg("--locked").env(tools::VARIABLE, tools::cache()?);
    let host = project::host()?.to_uppercase().replace('-', "_");
    tests.env(format!("CARGO_TARGET_{host}_RUNNER"), runner.file());
    for package in KERNEL {
        tests.args(["--package", package]);
    }
    shell::run(&mut tests)?;
    Ok(Outcome::Passed)
}

/// Every `remit.yaml` below `examples/` holds for `remit check`, and every program named `run` there succeeds,
/// with the path of the program as `REMIT`.
fn examples() -> Result<Outcome> {
    let folder = project::root()?.join("examples");
    let mut found = Vec::new();
    if folder.is_dir() {
        walk(&folder, &mut found)?;
    }
    found.retain(|file| file.file_name().is_some_and(|name| name == "remit.yaml" || name == "run"));
    if found.is_empty() {
        return Ok(Outcome::Skipped("there are no examples".into()));
    }
    shell::run(project::cargo()?.args(["build", "--locked", "--package", "remit"]))?;
    let remit = project::target()?.join("debug/remit");
    for file in found {
        let home = file.parent().context("an example lies in a folder")?;
        let mut command = if file.ends_with("run") {
            Command::new(&file)
        } else {
            let mut check = Command::new(&remit);
            check.arg("check").arg(&file);
            check
        };
        shell::run(command.current_dir(home).env("REMIT", &remit))?;
    }
    Ok(Outcome::Passed)
}

fn demo() -> Result<Outcome> {
    crate::demo::demo(true).map(|()| Outcome::Passed)
}

/// The benchmarks are a workspace of their own: what they use may change under them.
fn benchmarks() -> Result<Outcome> {
    let manifest = project::root()?.join("bench/Cargo.toml");
    for words in [["clippy", "--all-targets"], ["test", "--quiet"]] {
        let mut cargo = project::cargo()?;
        cargo.args(words).arg("--locked").arg("--manifest-path").arg(&manifest);
        if words.contains(&"clippy") {
            cargo.args(["--", "--deny", "warnings"]);
        }
        shell::run(&mut cargo)?;
    }
    Ok(Outcome::Passed)
}

fn cargo(args: &[&str]) -> Result<Outcome> {
    shell::run(project::cargo()?.args(args))?;
    Ok(Outcome::Passed)
}

/// nextest where it is installed, else cargo's own; both run all but documentation tests.
fn tester() -> Result<Command> {
    let mut cargo = project::cargo()?;
    // A test that would write a snapshot has failed; the root is given since not every user can ask cargo.
    cargo.env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", project::root()?);
    if shell::find("cargo-nextest").is_some() {
        cargo.args(["nextest", "run", "--no-fail-fast"]);
    } else {
        cargo.args(["test", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    }
    Ok(cargo)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), found)?;
        } else {
            found.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let row = |name, result| Row { name, seconds: 1.25, result };
        vec![
            row("one", Ok(Outcome::Passed)),
            row("two", Ok(Outcome::Skipped("no examples".into()))),
            row("three", Err(anyhow::anyhow!("it broke\nin many lines"))),
        ]
    }

    #[test]
    fn the_table_says_what_was_skipped_and_why() {
        let (table, bad) = table(&rows(), false);
        assert!(table.contains("skipped: no examples") && table.contains("FAILED: it broke\n"), "{table}");
        assert_eq!(bad, ["three"]);
    }

    #[test]
    fn in_continuous_integration_a_skipped_suite_has_not_passed() {
        assert_eq!(table(&rows(), true).1, ["two", "three"]);
    }
}
