//! Times hooks as an agent's host calls them: a process, a payload on its standard input, its answer read.

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde_json::json;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The program.
    #[arg(long)]
    remit: PathBuf,
    /// The workspace.
    #[arg(long)]
    root: PathBuf,
    /// A peer: an interpreter and its script.
    #[arg(long, num_args = 2)]
    peer: Vec<PathBuf>,
    /// How often each.
    #[arg(long)]
    rounds: usize,
}

/// Prints `{"hook": [seconds], "peer": [seconds]}`, round by round.
pub(super) fn run(options: &Options) -> Result<()> {
    let (mut hook, mut peer) = (Vec::new(), Vec::new());
    for round in 0..=options.rounds {
        let call = format!("toolu_{:016x}", round + 1);
        let ours = called(&mut hook_command(options, "PreToolUse"), &before(&options.root, &call))?;
        called(&mut hook_command(options, "PostToolUse"), &after(&options.root, &call))?;
        let other = match options.peer.as_slice() {
            [program, script] => {
                Some(called(Command::new(program).arg(script), &before(&options.root, &call))?)
            }
            _ => None,
        };
        // The first round warms up.
        if round > 0 {
            hook.push(ours);
            peer.extend(other);
        }
    }
    println!("{}", json!({"hook": hook, "peer": peer}));
    Ok(())
}

fn hook_command(options: &Options, event: &str) -> Command {
    let mut command = Command::new(&options.remit);
    command.args(["hook", "claude", event, "--agent", "default", "--root"]).arg(&options.root);
    command
}

/// A call that is allowed, so an answer of *no opinion* is the only right one.
fn before(root: &Path, call: &str) -> String {
    payload(root, call, "PreToolUse").to_string()
}

fn after(root: &Path, call: &str) -> String {
    let mut payload = payload(root, call, "PostToolUse");
    payload["tool_response"] = json!({
        "type": "create", "filePath": root.join("notes.txt"), "content": "hello\n", "structuredPatch": [],
    });
    payload.to_string()
}

fn payload(root: &Path, call: &str, event: &str) -> serde_json::Value {
    json!({
        "session_id": "2db3d9d2-36e8-4c9d-8233-07af4a4abb55",
        "transcript_path": "/home/agent/.claude/projects/w/2db3d9d2-36e8-4c9d-8233-07af4a4abb55.jsonl",
        "cwd": root,
        "prompt_id": "77497d42-96c9-4a31-897d-b094106e2de4",
        "permission_mode": "acceptEdits",
        "hook_event_name": event,
        "tool_name": "Write",
        "tool_input": {"file_path": root.join("notes.txt"), "content": "hello\n".repeat(200)},
        "tool_use_id": call,
    })
}

/// Seconds from its start to its end. A hook that refuses, or speaks of an error, was not measured.
fn called(command: &mut Command, payload: &str) -> Result<f64> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start `{name}`"))?;
    let mut stdin = child.stdin.take().context("a hook has a standard input")?;
    stdin.write_all(payload.as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    let took = begun.elapsed().as_secs_f64();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    ensure!(output.status.success() && !said.contains("deny"), "`{name}`: {}: {said}", output.status);
    Ok(took)
}
