//! What this machine itself costs: without it an absolute figure says little. On a virtual machine it is dear to
//! wake another core, and every judged call wakes somebody.

use crate::figure::Figure;
use crate::timing::median;
use anyhow::{Context as _, Result};
use rustix::io::{read, write};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::Instant;

const TRIPS: u32 = 20_000;
const SYNCS: usize = 101;

/// The machine's own figures, in seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    kernel: String,
    cores: usize,
    load: f64,
    same_core: f64,
    other_core: Option<f64>,
    fdatasync: f64,
}

/// Measures; `disk` is a folder on the disk that counts.
pub(crate) fn look(disk: &Path) -> Result<Machine> {
    let here = sched_getaffinity(None).context("which cores may be used")?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| here.is_set(*core)).collect();
    let first = *cores.first().context("no core may be used")?;
    let load = fs::read_to_string("/proc/loadavg").context("the load of this machine")?;
    let release = rustix::system::uname();
    Ok(Machine {
        kernel: release.release().to_string_lossy().into_owned(),
        cores: cores.len(),
        load: load.split(' ').next().unwrap_or_default().parse().context("the load of this machine")?,
        same_core: trip(first, first)?,
        other_core: cores.get(1).map(|other| trip(first, *other)).transpose()?,
        fdatasync: sync(disk)?,
    })
}

impl Machine {
    pub(crate) fn text(&self) -> String {
        let other = self.other_core.map_or("there is none".to_owned(), |it| Figure::seconds(it).to_string());
        let busy =
            if self.load > 0.5 { " (busy: absolute figures and small ratios are worth little)" } else { "" };
        format!(
            "machine: Linux {}, {} cores, load {:.2}{busy}\n\
             machine: pipe round trip on one core {}, to another core {other}; fdatasync after a small write {}\n",
            self.kernel,
            self.cores,
            self.load,
            Figure::seconds(self.same_core),
            Figure::seconds(self.fdatasync),
        )
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "kernel": self.kernel,
            "cores": self.cores,
            "load": self.load,
            "pipe_round_trip_same_core_seconds": self.same_core,
            "pipe_round_trip_other_core_seconds": self.other_core,
            "fdatasync_seconds": self.fdatasync,
        })
    }
}

/// A byte to a thread on another core and back.
fn trip(core: usize, other: usize) -> Result<f64> {
    let (there, to) = rustix::pipe::pipe()?;
    let (back, from) = rustix::pipe::pipe()?;
    let echo = thread::spawn(move || -> Result<()> {
        pin(other)?;
        let mut byte = [0];
        while read(&there, &mut byte)? == 1 {
            write(&from, &byte)?;
        }
        Ok(())
    });
    let whole = thread::spawn(move || -> Result<f64> {
        pin(core)?;
        let mut byte = [1];
        let begun = Instant::now();
        for _ in 0..TRIPS {
            write(&to, &byte)?;
            read(&back, &mut byte)?;
        }
        Ok(begun.elapsed().as_secs_f64() / f64::from(TRIPS))
    });
    let took = whole.join().map_err(|_| anyhow::anyhow!("a measuring thread ended by itself"))??;
    echo.join().map_err(|_| anyhow::anyhow!("an echoing thread ended by itself"))??;
    Ok(took)
}

fn pin(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).with_context(|| format!("cannot stay on core {core}"))
}

fn sync(disk: &Path) -> Result<f64> {
    let path = disk.join("fdatasync");
    let mut file = File::create(&path).with_context(|| format!("cannot make `{}`", path.display()))?;
    let mut took = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        file.write_all(&[0; 512])?;
        let begun = Instant::now();
        file.sync_data()?;
        took.push(begun.elapsed().as_secs_f64());
    }
    fs::remove_file(&path)?;
    Ok(median(&took))
}
