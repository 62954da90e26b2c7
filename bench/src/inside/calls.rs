//! Times the system calls that a gate judges, and opening for reading, which it does not. Names are relative and
//! made beforehand, so that a step is its calls and little else.

use anyhow::{Context as _, Result};
use clap::Args;
use rustix::fs::{Mode, OFlags, chmod, mkdir, open, rename, rmdir, unlink};
use rustix::io::Result as Answer;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// How many files a batch has.
    #[arg(long, default_value_t = 400)]
    count: u32,
    /// How many batches; the median one counts.
    #[arg(long, default_value_t = 5)]
    batches: u32,
    /// Where; made if it is not there.
    folders: Vec<PathBuf>,
}

/// Prints `{folder: {call: seconds}}`.
pub(super) fn run(options: &Options) -> Result<()> {
    let mut all = Map::new();
    for folder in &options.folders {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        rustix::process::chdir(folder)?;
        let mut took: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for _ in 0..options.batches {
            batch(options.count, &mut took)?;
        }
        let medians =
            took.iter().map(|(name, each)| (String::from(*name), crate::timing::median(each).into()));
        all.insert(folder.display().to_string(), Value::Object(medians.collect()));
    }
    println!("{}", Value::Object(all));
    Ok(())
}

fn batch(count: u32, took: &mut BTreeMap<&'static str, Vec<f64>>) -> Result<()> {
    let name = |kind: &str| -> Result<Vec<CString>> {
        (0..count).map(|number| Ok(CString::new(format!("{kind}{number}"))?)).collect()
    };
    let (files, moved, folders) = (name("file")?, name("moved")?, name("folder")?);
    let mode = Mode::from_raw_mode(0o666);
    let mut time = |call: &'static str, step: &mut dyn FnMut(usize) -> Answer<()>| -> Result<()> {
        let begun = Instant::now();
        for at in 0..files.len() {
            step(at).with_context(|| format!("`{call}` failed"))?;
        }
        took.entry(call).or_default().push(begun.elapsed().as_secs_f64() / f64::from(count));
        Ok(())
    };
    let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    time("create", &mut |at| open(&files[at], new, mode).map(drop))?;
    time("open to write", &mut |at| open(&files[at], OFlags::WRONLY | OFlags::CLOEXEC, mode).map(drop))?;
    time("open to read", &mut |at| open(&files[at], OFlags::RDONLY | OFlags::CLOEXEC, mode).map(drop))?;
    time("chmod", &mut |at| chmod(&files[at], Mode::from_raw_mode(0o640)))?;
    time("rename", &mut |at| rename(&files[at], &moved[at]))?;
    time("unlink", &mut |at| unlink(&moved[at]))?;
    time("mkdir", &mut |at| mkdir(&folders[at], Mode::from_raw_mode(0o777)))?;
    for folder in &folders {
        rmdir(folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_timed_and_nothing_is_left() -> Result<()> {
        let folder = tempfile::tempdir()?;
        rustix::process::chdir(folder.path())?;
        let mut took = BTreeMap::new();
        batch(3, &mut took)?;
        batch(3, &mut took)?;
        assert_eq!(took.len(), 7);
        assert!(took.values().all(|each| each.len() == 2 && each.iter().all(|it| *it > 0.0)), "{took:?}");
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
        Ok(())
    }
}
