//! Chores of the project: `cargo xtask`. Each is a file; `tidy` holds the rules of the house.
#![expect(clippy::disallowed_methods, reason = "chores read the tree, start programs and take the time")]
#![expect(clippy::print_stdout, reason = "the only program here that talks to its developer alone")]

mod bench;
mod demo;
mod project;
mod setup;
mod shell;
mod suites;
mod tidy;
mod unprivileged;

use anyhow::{Result, bail};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask CHORE

  setup            install what tests need: pinned programs in a cache outside the checkout
  test [--quick]   every check there is, with a table at the end; --quick leaves out the slow ones
  tidy             the rules of the house
  demo [--once]    build the program and run its demonstration; --once ends by itself
  bench [ARGS…]    run the benchmarks beside their peers and print ratios
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match chore(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn chore(args: &[String]) -> Result<()> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["setup"] => setup::setup(),
        ["test"] => suites::test(false),
        ["test", "--quick"] => suites::test(true),
        ["tidy"] => tidy::tidy(),
        ["demo"] => demo::demo(false),
        ["demo", "--once"] => demo::demo(true),
        ["bench", rest @ ..] => bench::bench(rest),
        [] | ["help" | "-h" | "--help"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => bail!("no chore `{}`\n{USAGE}", words.join(" ")),
    }
}
