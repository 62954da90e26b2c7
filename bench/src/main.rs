//! The benchmarks: each bar of the project beside its peer or beside the plain thing, in one run and one table.
//!
//! `cargo xtask bench [NAME…] [--quick] [--json FILE]` builds the program and starts this with its path in `REMIT`.
//! A ratio is the median over rounds in which both sides take turns, so what else the machine does falls on both;
//! an absolute figure is worth little without the machine's own figures, which stand above the table.
//!
//! The same program is what runs inside sessions (`remit-bench inside …`): what is compared is one program, once
//! under the gate and once without.
#![expect(
    clippy::disallowed_methods,
    reason = "a measurement makes files, starts programs and reads the clock"
)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it prints its table, and says what it is at")]

mod bars;
mod figure;
mod inside;
mod machine;
mod scene;
mod table;
mod timing;

use anyhow::{Context as _, Result, bail};
use bars::Group;
use clap::Parser;
use scene::Bench;
use std::path::PathBuf;
use std::process::ExitCode;
use table::Table;

/// Measures Remit beside its peers and prints one table.
///
/// The exit code is 0 also if a bar is missed, and 2 if something could not be measured.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench")]
struct Options {
    /// What to measure; without a name, everything.
    names: Vec<Group>,
    /// Fewer rounds: for a look, not for a verdict.
    #[arg(long)]
    quick: bool,
    /// Also write the table here, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A folder on the disk to measure with.
    #[arg(long, value_name = "DIR")]
    disk: Option<PathBuf>,
    /// A folder in memory (tmpfs) to measure with.
    #[arg(long, value_name = "DIR")]
    memory: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    let done = match args.get(1) {
        Some(first) if first == "inside" => inside::run(args.into_iter().skip(1)).map(|()| true),
        _ => measure(&Options::parse_from(args)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Answers whether everything could be measured.
fn measure(options: &Options) -> Result<bool> {
    let remit = std::env::var_os("REMIT")
        .context("`REMIT` does not name the program: `cargo xtask bench` sets it")?;
    let remit =
        std::fs::canonicalize(&remit).with_context(|| format!("`{}` is not there", remit.display()))?;
    let disk = match &options.disk {
        Some(folder) => folder.clone(),
        None => cache()?,
    };
    std::fs::create_dir_all(&disk).with_context(|| format!("cannot make `{}`", disk.display()))?;
    let bench = Bench::new(remit, options.quick, &disk, options.memory.as_deref())?;
    let mut table = Table::new(machine::look(bench.disk())?);
    println!("{}", table.machine());
    for group in bars::all() {
        if options.names.is_empty() || options.names.contains(&group) {
            eprintln!("bench: {} …", group.name());
            if let Err(error) = group.run(&bench, &mut table) {
                table.missing(group.name(), "the rest", "", &format!("{error:#}"));
            }
        }
    }
    print!("{}", table.text());
    if let Some(file) = &options.json {
        let text = format!("{:#}\n", table.json(options.quick));
        std::fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    bench.close()?;
    Ok(table.is_complete())
}

/// Where files on the disk are made: not below `/tmp`, which may be memory.
fn cache() -> Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache"))) {
        Some(base) => Ok(base.join("remit-bench")),
        None => bail!("neither `XDG_CACHE_HOME` nor `HOME` is an absolute path: name a folder by `--disk`"),
    }
}
