//! A session around `true`: 10,000 files, 100 rules, three folders out of bounds, its records written.

use super::peer::Bubblewrap;
use super::policy::{grown, tree};
use crate::figure::{Bar, Figure};
use crate::scene::{Bench, Scene, find, quiet};
use crate::table::Table;
use crate::timing::{Pairs, median, seconds};
use anyhow::{Context as _, Result};
use std::fs;

const RULES: usize = 100;

/// A workspace with so many rules in its policy.
pub(super) fn scene<'a>(bench: &'a Bench, rules: usize) -> Result<Scene<'a>> {
    let scene = Scene::with_first_policy(bench, bench.disk())?;
    tree(&scene.work())?;
    let file = scene.work().join("remit.yaml");
    let first = fs::read_to_string(&file).context("what `remit init` wrote")?;
    fs::write(&file, grown(&first, rules)?)?;
    Ok(scene)
}

pub(super) fn run(group: &'static str, bench: &Bench, table: &mut Table) -> Result<()> {
    let scene = scene(bench, RULES)?;
    let program = find("true")?;
    let peer = Bubblewrap::like(&scene);
    let (mut bare, mut ours, mut wrapped) = (Vec::new(), Vec::new(), Vec::new());
    let (mut version, mut check) = (Vec::new(), Vec::new());
    for round in 0..=bench.rounds(60) {
        let a = seconds(|| quiet(&mut scene.plain(&program)))?;
        let b = seconds(|| quiet(&mut scene.session(&program)))?;
        let c = peer
            .as_ref()
            .ok()
            .map(|peer| seconds(|| quiet(&mut peer.command(&scene, &program))))
            .transpose()?;
        let d = seconds(|| quiet(scene.remit().arg("--version")))?;
        let e = seconds(|| quiet(scene.remit().arg("check")))?;
        // The first round warms up.
        if round > 0 {
            bare.push(a);
            ours.push(b);
            wrapped.extend(c);
            version.push(d);
            check.push(e);
        }
    }
    let over = Figure::seconds(Pairs::over(&ours, &bare));
    table.alone(
        group,
        "`remit run -- true`, more than bare `true`",
        over,
        Bar::AtMost(Figure::seconds(5e-3)),
    );
    let (name, bar) = ("`remit run -- true`, whole", Bar::Times(0.7));
    match &peer {
        Ok(peer) => {
            table.beside(group, name, "bwrap", &Pairs::of(&ours, &wrapped)?, bar);
            table.remark(format!("launch: bwrap has the session's {} mounts", peer.mounts));
        }
        Err(error) => table.missing(group, name, &bar.to_string(), &format!("{error:#}")),
    }
    let shown = |values: &[f64]| Figure::seconds(median(values)).to_string();
    table.remark(format!(
        "launch: bare `true` {}, `remit --version` {}, `remit check` (reads, compiles, judges the policy) {}",
        shown(&bare),
        shown(&version),
        shown(&check)
    ));
    Ok(())
}
