//! Judged system calls beside plain ones: the same program in a session and without one, taking turns; work files
//! under the policy that `remit init` writes, and scratch in the session's `/tmp`; in memory and on the disk.

use crate::figure::Bar;
use crate::scene::{Bench, Scene, done};
use crate::table::Table;
use crate::timing::Pairs;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const BARS: [(&str, f64); 7] = [
    ("open to write", 20.0),
    ("create", 15.0),
    ("chmod", 15.0),
    ("mkdir", 8.0),
    ("rename", 8.0),
    ("unlink", 8.0),
    ("open to read", 2.0),
];

/// Where a session's own temporary files lie.
const SCRATCH: &str = "/tmp/bench";

pub(super) fn run(group: &'static str, bench: &Bench, table: &mut Table) -> Result<()> {
    match bench.memory() {
        Ok(memory) => place(group, "tmpfs", bench, memory, table)?,
        Err(error) => table.missing(group, "tmpfs", "", &format!("{error:#}")),
    }
    place(group, "disk", bench, bench.disk(), table)
}

fn place(group: &'static str, kind: &str, bench: &Bench, under: &Path, table: &mut Table) -> Result<()> {
    let scene = Scene::with_first_policy(bench, under)?;
    let work = scene.work().join("calls");
    let inside = [work.clone(), PathBuf::from(SCRATCH)];
    let outside = [work, scene.plain_scratch().join("bench")];
    let (mut judged, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds(9) {
        judged.push(times(&mut scene.session(scene.own()), &inside)?);
        plain.push(times(&mut scene.remit_like(scene.own()), &outside)?);
    }
    for (at, what) in ["work", "scratch"].into_iter().enumerate() {
        for (call, most) in BARS {
            let pick = |rounds: &[Value], folders: &[PathBuf; 2]| -> Result<Vec<f64>> {
                let name = folders[at].display().to_string();
                rounds.iter().map(|it| it[&name][call].as_f64().context("a call was not timed")).collect()
            };
            let pairs = Pairs::of(&pick(&judged, &inside)?, &pick(&plain, &outside)?)?;
            table.beside(group, format!("{call}, {what}, {kind}"), "plain", &pairs, Bar::Times(most));
        }
    }
    Ok(())
}

fn times(command: &mut Command, folders: &[PathBuf; 2]) -> Result<Value> {
    let text = done(command.args(["inside", "calls"]).args(folders))?;
    serde_json::from_str(&text).context("what the timing program printed")
}
