//! What agents run, beside the same without a session; in memory, where the gate shows most. The command alone is
//! timed, from inside: no launch. Work files lie in the workspace under the policy that `remit init` writes,
//! scratch in the session's `/tmp`.

use super::materials::{self, Materials};
use crate::figure::Bar;
use crate::scene::{Bench, Scene, done, find};
use crate::table::Table;
use crate::timing::Pairs;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A command and what it starts from.
struct Workload {
    name: &'static str,
    /// The program that must be installed.
    program: &'static str,
    most: f64,
    rounds: usize,
    /// What is copied to where it runs, before the time counts.
    copy: Option<std::path::PathBuf>,
    command: Vec<String>,
    /// Why a session may not do it to work files, if it may not.
    refused: Option<&'static str>,
}

const FETCH: &str = "git init --quiet --bare g && git -C g fetch --quiet \"$1\" main && mkdir t && \
     git --git-dir=g --work-tree=t checkout --quiet --detach FETCH_HEAD";

pub(super) fn run(group: &'static str, bench: &Bench, table: &mut Table) -> Result<()> {
    let scene = Scene::with_first_policy(bench, bench.memory()?)?;
    let materials = Materials::new(&scene);
    for workload in all(&materials) {
        let bar = Bar::Times(workload.most);
        let ready = find(workload.program).and_then(|_| materials.make(&scene, workload.program));
        for (what, inside, outside) in [
            ("work", scene.work().join("out"), scene.work().join("out")),
            ("scratch", "/tmp/out".into(), scene.plain_scratch().join("out")),
        ] {
            let name = format!("{}, {what}", workload.name);
            if let Some(why) = workload.refused.filter(|_| what == "work" && ready.is_ok())
                && let Err(error) = timed(scene.session(scene.own()), &workload, &inside)
                && format!("{error:#}").contains("Permission denied")
            {
                table.refused(group, name, &bar.to_string(), why);
                continue;
            }
            let pairs = match &ready {
                Ok(()) => paired(bench, &scene, &workload, &inside, &outside),
                Err(error) => Err(anyhow::anyhow!("{error:#}")),
            };
            match pairs {
                Ok(pairs) => table.beside(group, name, "plain", &pairs, bar),
                Err(error) => table.missing(group, name, &bar.to_string(), &format!("{error:#}")),
            }
        }
    }
    table.remark(materials::ABOUT);
    Ok(())
}

fn all(materials: &Materials) -> Vec<Workload> {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let with = |line: &str, last: String| [words(line), vec![last]].concat();
    let source = |name: &str| materials.at(name).display().to_string();
    vec![
        Workload {
            name: "`cargo build`",
            program: "cargo",
            most: 1.05,
            rounds: 7,
            copy: Some(materials.at("crate")),
            command: words("cargo build --quiet --offline"),
            refused: None,
        },
        Workload {
            name: "`npm ci`",
            program: "npm",
            most: 1.25,
            rounds: 7,
            copy: Some(materials.at("npm")),
            command: words("npm ci --offline --ignore-scripts --no-audit --no-fund --loglevel=error"),
            refused: None,
        },
        Workload {
            name: "`git clone`, file://",
            program: "git",
            most: 1.6,
            rounds: 9,
            copy: None,
            command: with("git clone --quiet", format!("file://{}", source("repository"))),
            refused: Some("a session may not make a repository there; the next line moves the same data"),
        },
        Workload {
            // The same data and files without a `.git` of its own, which a policy may refuse to make.
            name: "git fetch and checkout, file://",
            program: "git",
            most: 1.6,
            rounds: 9,
            copy: None,
            command: vec![
                "sh".into(),
                "-c".into(),
                FETCH.into(),
                "sh".into(),
                format!("file://{}", source("repository")),
            ],
            refused: None,
        },
        Workload {
            name: "`cp -a`, 5,000 files",
            program: "cp",
            most: 5.0,
            rounds: 9,
            copy: None,
            command: [with("cp -a", source("tree")), vec!["copy".into()]].concat(),
            refused: None,
        },
        Workload {
            name: "`tar x`, 5,000 files",
            program: "tar",
            most: 7.0,
            rounds: 9,
            copy: None,
            command: with("tar xf", source("tree.tar")),
            refused: None,
        },
    ]
}

fn paired(
    bench: &Bench,
    scene: &Scene<'_>,
    workload: &Workload,
    inside: &Path,
    outside: &Path,
) -> Result<Pairs> {
    let (mut judged, mut plain) = (Vec::new(), Vec::new());
    for round in 0..=bench.rounds(workload.rounds) {
        let a = timed(scene.session(scene.own()), workload, inside)?;
        let b = timed(scene.plain(scene.own()), workload, outside)?;
        // The first round warms up.
        if round > 0 {
            judged.push(a);
            plain.push(b);
        }
    }
    Pairs::of(&judged, &plain)
}

fn timed(mut command: Command, workload: &Workload, at: &Path) -> Result<f64> {
    command.args(["inside", "timed", "--at"]).arg(at);
    if let Some(copy) = &workload.copy {
        command.arg("--copy").arg(copy);
    }
    let text = done(command.arg("--").args(&workload.command))?;
    let answer: Value = serde_json::from_str(&text).context("what the timing program printed")?;
    answer["seconds"].as_f64().context("what the timing program printed")
}
