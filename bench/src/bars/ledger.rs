//! The ledger: appends from one process and from eight together, and verifying.

use crate::figure::{Bar, Figure, Unit};
use crate::inside::append;
use crate::scene::{Bench, Scene};
use crate::table::Table;
use crate::timing::{median, seconds};
use anyhow::{Context as _, Result, ensure};
use remit_ledger::encode;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command};

const TOGETHER: u32 = 8;

pub(super) fn run(group: &'static str, bench: &Bench, table: &mut Table) -> Result<()> {
    let scene = Scene::new(bench, bench.disk())?;
    let count: u32 = if bench.quick { 80_000 } else { 400_000 };
    let bar = Bar::AtLeast(Figure::new(50_000.0, Unit::PerSecond));
    let rate = |took: f64| Figure::new(f64::from(count) / took, Unit::PerSecond);
    let whole = scene.plain_scratch().join("ledger");
    for (processes, name) in [(1, "appends from one process"), (TOGETHER, "appends from eight together")] {
        let rounds: Result<Vec<f64>> =
            (0..3).map(|_| seconds(|| appended(bench, &whole, processes, count / processes))).collect();
        table.alone(group, name, rate(median(&rounds?)), bar);
    }
    let plain = seconds(|| written(&scene.plain_scratch().join("plain"), count))?;
    let size = encode(&append::denial()?)?.len();
    table.remark(format!(
        "ledger: records of {size} bytes, not synced; plain `write` of such lines to one file: {}",
        rate(plain)
    ));

    let mut rates = Vec::new();
    for _ in 0..3 {
        let mut bytes = 0.0;
        let took = seconds(|| {
            let report = remit_store::verify(&whole, &[], None)?;
            ensure!(report.is_clean(), "the ledger is not what was written: {report:?}");
            ensure!(
                report.records == u64::from(count) * 6,
                "{} records, not six times {count}",
                report.records
            );
            bytes = report.bytes as f64;
            Ok(())
        })?;
        rates.push(bytes / took);
    }
    let bar = Bar::AtLeast(Figure::new(400e6, Unit::BytesPerSecond));
    table.alone(group, "verifying", Figure::new(median(&rates), Unit::BytesPerSecond), bar);

    let small = scene.plain_scratch().join("small");
    appended(bench, &small, TOGETHER, 1_000)?;
    let report = remit_store::verify(&small, &[], None)?;
    let intact = if report.is_clean() { report.records as f64 } else { 0.0 };
    let bar = Bar::Exactly(Figure::new(8_000.0, Unit::Count));
    table.alone(group, "8 processes × 1,000: records in one chain", Figure::new(intact, Unit::Count), bar);
    Ok(())
}

/// From the first start to the last end.
fn appended(bench: &Bench, folder: &Path, processes: u32, each: u32) -> Result<()> {
    let start = |_| -> Result<Child> {
        let mut command = Command::new(&bench.own);
        command.args(["inside", "append"]).arg(folder).arg(each.to_string());
        command.spawn().context("cannot start an appending process")
    };
    let children: Result<Vec<Child>> = (0..processes).map(start).collect();
    for mut child in children? {
        let status = child.wait()?;
        ensure!(status.success(), "an appending process: {status}");
    }
    Ok(())
}

/// What no ledger can beat: the same bytes, one `write` a line, no lock and no chain.
fn written(file: &Path, count: u32) -> Result<()> {
    let mut line = encode(&append::denial()?)?;
    line.push(b'\n');
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    for _ in 0..count {
        file.write_all(&line)?;
    }
    Ok(())
}
