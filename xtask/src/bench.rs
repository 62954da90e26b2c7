//! `cargo xtask bench`: the benchmarks, in a workspace of their own so that the peers which they run beside us
//! never slow a build.

use crate::{project, shell};
use anyhow::{Result, ensure};

/// The group that is measured beside crates, which take minutes to build: by a feature, when it is asked for.
const ENGINES: &str = "engines";

/// Builds the program, then runs the benchmark program of `bench/` with `args`, which gets the path of the
/// built program as `REMIT` and prints its own table.
pub(crate) fn bench(args: &[&str]) -> Result<()> {
    let manifest = project::root()?.join("bench/Cargo.toml");
    ensure!(manifest.is_file(), "there are no benchmarks yet: `{}` does not exist", manifest.display());
    let program = project::build_release()?;
    let mut bench = project::cargo()?;
    bench.args(["run", "--release", "--locked", "--manifest-path"]).arg(manifest);
    if args.contains(&ENGINES) {
        bench.args(["--features", "peers"]);
    }
    shell::run(bench.arg("--").args(args).env("REMIT", program))
}
