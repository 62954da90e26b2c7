//! What a session itself keeps in memory: holder and gate, 1,000 rules, while a program sleeps inside. Pages of
//! files (the program's own code) are shared with every other session and not counted.

use super::launch::scene;
use crate::figure::{Bar, Figure, Unit};
use crate::scene::Bench;
use crate::table::Table;
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

const RULES: usize = 1_000;

pub(super) fn run(group: &'static str, bench: &Bench, table: &mut Table) -> Result<()> {
    let scene = scene(bench, RULES)?;
    let mut session = scene.session("sleep");
    let mut holder = session.arg("60").stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let measured = measure(&mut holder);
    // The gate ends with its holder, and `sleep` with the gate.
    holder.kill()?;
    holder.wait()?;
    let (holder, gate) = measured?;
    let bar = Bar::AtMost(Figure::new(8.0 * 1024.0, Unit::Kibibytes));
    table.alone(group, "holder and gate, 1,000 rules", Figure::new(holder + gate, Unit::Kibibytes), bar);
    let shown = |value: f64| Figure::new(value, Unit::Kibibytes);
    table.remark(format!("memory: holder {}, gate {}", shown(holder), shown(gate)));
    Ok(())
}

/// Kibibytes of the holder and of the gate.
fn measure(holder: &mut Child) -> Result<(f64, f64)> {
    for _ in 0..200 {
        thread::sleep(Duration::from_millis(20));
        ensure!(holder.try_wait()?.is_none(), "the session ended by itself");
        let gate = children(holder.id())?;
        let [gate] = gate.as_slice() else { continue };
        let inside = children(*gate)?;
        if inside.iter().any(|pid| name(*pid).is_some_and(|name| name == "sleep")) {
            // Until what the start needed has been given back.
            thread::sleep(Duration::from_millis(500));
            return Ok((kept(holder.id())?, kept(*gate)?));
        }
    }
    anyhow::bail!("`sleep` was not seen to start in the session")
}

fn children(of: u32) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // Whoever has just ended is nobody's child.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        // The name stands in parentheses and may contain anything.
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        if parent == Some(of) {
            found.push(pid);
        }
    }
    Ok(found)
}

fn name(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_owned())
}

fn kept(pid: u32) -> Result<f64> {
    let file = format!("/proc/{pid}/smaps_rollup");
    let text = fs::read_to_string(&file).with_context(|| format!("`{file}`"))?;
    let of = |wanted: &str| -> Result<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(wanted));
        let value =
            line.and_then(|line| line.split_whitespace().next()).with_context(|| format!("no `{wanted}`"))?;
        Ok(value.parse()?)
    };
    Ok(of("Pss_Anon:")? + of("Pss_Shmem:")?)
}
