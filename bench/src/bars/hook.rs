//! The hook that an agent's host calls before a tool call: in a session, where it asks the session's socket, and
//! outside one, where it opens the workspace by itself. The peer is a hook that checks nothing, in Node.

use crate::figure::{Bar, Figure};
use crate::scene::{Bench, Scene, done, find};
use crate::table::Table;
use crate::timing::{Pairs, median};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const IN_SESSION: &str = "/run/remit/session/remit";

const NODE: &str = r#"let text = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (part) => {
  text += part;
});
process.stdin.on("end", () => {
  const call = JSON.parse(text);
  process.exit(typeof call.tool_name === "string" ? 0 : 2);
});
"#;

pub(super) fn run(group: &'static str, bench: &Bench, table: &mut Table) -> Result<()> {
    let scene = Scene::with_first_policy(bench, bench.disk())?;
    let rounds = bench.rounds(101).to_string();
    let script = scene.work().join("hook.js");
    std::fs::write(&script, NODE)?;
    let node = find("node");

    let mut command = scene.session(scene.own());
    hooks(&mut command, Path::new(IN_SESSION), &scene, &rounds);
    if let Ok(node) = &node {
        command.arg("--peer").arg(node).arg(&script);
    }
    let inside = times(&mut command)?;
    let bar = Bar::AtMost(Figure::seconds(3e-3));
    table.alone(group, "in a session, whole process", Figure::seconds(median(&inside.hook)), bar);
    let (name, bar) = ("in a session, beside an empty hook in Node", Bar::Faster(8.0));
    match node {
        Ok(_) => table.beside(group, name, "node", &Pairs::of(&inside.hook, &inside.peer)?, bar),
        Err(error) => table.missing(group, name, &bar.to_string(), &format!("{error:#}")),
    }

    // Not started by `remit run`, but with its surroundings: a person's shell.
    let mut command = scene.remit_like(scene.own());
    hooks(&mut command, &bench.remit, &scene, &rounds);
    let outside = times(&mut command)?;
    let bar = Bar::AtMost(Figure::seconds(6e-3));
    table.alone(group, "outside a session, whole process", Figure::seconds(median(&outside.hook)), bar);
    Ok(())
}

fn hooks(command: &mut Command, remit: &Path, scene: &Scene<'_>, rounds: &str) {
    command.args(["inside", "hooks", "--rounds", rounds, "--remit"]).arg(remit);
    command.arg("--root").arg(scene.work());
}

struct Times {
    hook: Vec<f64>,
    peer: Vec<f64>,
}

fn times(command: &mut Command) -> Result<Times> {
    let answer: Value = serde_json::from_str(&done(command)?).context("what the timing program printed")?;
    let list = |name: &str| -> Result<Vec<f64>> {
        serde_json::from_value(answer[name].clone()).context("what the timing program printed")
    };
    Ok(Times { hook: list("hook")?, peer: list("peer")? })
}
