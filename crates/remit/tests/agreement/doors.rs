//! The four doors: the library, `explain`, the hook, and the kernel.

use crate::book::{Case, Said, bytes, on_disk};
use crate::hooked;
use anyhow::{Context, Result, bail, ensure};
use remit_core::{Action, Actor, AgentName, Assurance, Effect, Object};
use remit_hooks::{Files, Resolver};
use remit_policy::{Policy, decide};
use remit_session::environment::Environment;
use remit_session::facts::Sight;
use remit_session::workspace::Workspace;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use test_support::TestEnv;

/// What each session has to itself.
const OWN: [&str; 2] = ["/home/agent/", "/var/tmp/"];

/// The policy and what is known of the files, as a program that links the library has them.
pub(crate) struct Library {
    policy: Policy,
    listings: PathBuf,
}

impl Library {
    pub(crate) fn open(env: &TestEnv) -> Result<Self> {
        let vars = env.vars().into_iter().map(|(key, value)| (key.into(), value)).collect();
        let exe = env!("CARGO_BIN_EXE_remit").into();
        let environment = Environment { vars, cwd: env.project(), exe };
        let workspace = Workspace::open(&env.project(), &environment)?;
        let (policy, _) = workspace.policy()?;
        Ok(Self { policy, listings: workspace.state_place()?.listings() })
    }

    /// The answer, and the id of the rule it rests on.
    pub(crate) fn says(&self, env: &TestEnv, case: &Case) -> Result<(Said, Option<String>)> {
        let agent = AgentName::new(case.agent)?;
        let actor = Actor { agent, session: None, assurance: Assurance::Claimed };
        let verb = case.asked().parse().map_err(anyhow::Error::msg)?;
        // A link is followed but where it goes or moves itself.
        let follow = !matches!(case.verb, "delete" | "rename");
        let real = |path: &str, follow| {
            let files = Files { home: None, held: false };
            let place = env.project().join(OsString::from_vec(bytes(env, path)));
            files.resolve(place.as_os_str().as_bytes(), follow).map(|resolved| resolved.path)
        };
        let object = match case.path.split_once(':') {
            Some((from, to)) => Object::Move { from: real(from, false)?, to: real(to, false)? },
            None => Object::Path(real(case.path, follow)?),
        };
        let action = Action { actor, verb, object };
        let sight = Sight::outside(self.listings.clone());
        let decision = decide(&self.policy, &sight.facts(&self.policy, &action), &action);
        let explained = sight.explain(&self.policy, &action).decision;
        ensure!(decision == explained, "what is explained is not what is decided");
        let said = match decision.effect {
            Effect::Allow => Said::Yes,
            Effect::Deny => Said::No,
            Effect::Ask => Said::Ask,
        };
        let rule = decision.deciding().and_then(|reason| reason.rule.as_ref());
        Ok((said, rule.map(|rule| rule.id.to_string())))
    }
}

/// `remit explain`: its code, and the ids of the rules by which layers say the same.
pub(crate) fn explain(env: &TestEnv, case: &Case) -> Result<(Said, Vec<String>)> {
    let words = ["explain", "--json", case.agent, case.asked()].map(OsString::from);
    let args = words.into_iter().chain([OsString::from_vec(bytes(env, case.path))]);
    let outcome = env.run(&mut env.remit(args)?)?;
    let said = match outcome.code {
        0 => Said::Yes,
        1 => Said::No,
        8 => Said::Ask,
        code => bail!("{code}: {}", outcome.stderr),
    };
    let json: Value = serde_json::from_slice(&outcome.raw)?;
    let layers = json["layers"].as_array().context("no layers")?;
    let rule = |layer: &Value| layer["rule"]["id"].as_str().map(str::to_owned);
    Ok((said, layers.iter().filter(|layer| layer["effect"] == json["effect"]).filter_map(rule).collect()))
}

/// The hook, told outside of a session. It does not see: a change of mode and the start of a program, which lie
/// within a shell command; a name that is not UTF-8, since no call can say it; what is a session's own, since outside
/// of one there is none.
pub(crate) fn hook(env: &TestEnv, number: usize, case: &Case) -> Result<Option<bool>> {
    let Ok(path) = String::from_utf8(bytes(env, case.path)) else { return Ok(None) };
    if OWN.iter().any(|own| path.starts_with(own)) {
        return Ok(None);
    }
    let file = env.project().join(&path);
    let (tool, input) = match case.verb {
        "read" => ("Read", json!({"file_path": file})),
        "write" | "create" => ("Write", json!({"file_path": file, "content": "x"})),
        "mkdir" => ("Bash", json!({"command": format!("mkdir '{path}'")})),
        "delete" => ("Bash", json!({"command": format!("rm -rf '{path}'")})),
        "rename" => {
            let (from, to) = path.split_once(':').context("one end")?;
            ("Bash", json!({"command": format!("mv -T '{from}' '{to}'")}))
        }
        _ => return Ok(None),
    };
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": env.project(), "tool_name": tool,
        "tool_use_id": format!("case-{number}"), "tool_input": input,
    });
    hooked(env, case.agent, &payload.to_string()).map(Some)
}

/// The kernel: one session of the agent tries all its cases in turn. It does not see: reading, starting and the mode
/// of what is not there.
pub(crate) fn kernel(env: &TestEnv, agent: &str, cases: &[&Case]) -> Result<Vec<Option<bool>>> {
    // Looked at before the session, when all is as the book lays it.
    let tried: Vec<bool> = cases.iter().map(|case| tried(env, case)).collect();
    let deeds = cases.iter().zip(&tried).filter(|(_, tried)| **tried).map(|(case, _)| deed(env, case));
    let script: Vec<u8> = deeds.flatten().collect();
    let words = ["run", agent, "--", "sh", "-c"].map(OsString::from);
    let args = words.into_iter().chain([OsString::from_vec(script)]);
    let outcome = env.run(&mut env.remit(args)?)?;
    let mut lines = outcome.stdout.lines();
    let mut answers = Vec::new();
    for tried in tried {
        answers.push(match tried {
            true => Some(lines.next().with_context(|| format!("it ended early: {}", outcome.stderr))? == "0"),
            false => None,
        });
    }
    ensure!(lines.next().is_none(), "more was said than asked: {}", outcome.stdout);
    Ok(answers)
}

fn tried(env: &TestEnv, case: &Case) -> bool {
    !matches!(case.verb, "read" | "execute" | "chmod") || on_disk(env, case.path).symlink_metadata().is_ok()
}

/// A line that tries it and says its code in a line of its own. What was made goes again.
fn deed(env: &TestEnv, case: &Case) -> Vec<u8> {
    let path = bytes(env, case.path);
    let quoted = |path: &[u8]| [b"'", path, b"'"].concat();
    let (from, to) = match case.path.split_once(':') {
        Some((from, to)) => (quoted(&bytes(env, from)), quoted(&bytes(env, to))),
        None => (quoted(&path), Vec::new()),
    };
    let at = on_disk(env, case.path);
    let new = at.symlink_metadata().is_err();
    let parts: Vec<&[u8]> = match case.verb {
        "read" if at.is_dir() => vec![b"ls ", &from],
        "read" => vec![b"cat ", &from],
        "write" | "create" if new => vec![b"echo more >>", &from, b" && rm -f ", &from],
        "write" | "create" => vec![b"echo more >>", &from],
        "mkdir" => vec![b"mkdir ", &from, b" && rmdir ", &from],
        "delete" => vec![b"rm -r ", &from],
        "rename" => vec![b"mv -T ", &from, b" ", &to],
        "execute" if path.starts_with(b"/") => vec![&from],
        "execute" => vec![b"./", &from],
        _ => vec![b"chmod u+w ", &from],
    };
    [b"( ", parts.concat().as_slice(), b" ) >/dev/null 2>&1 </dev/null; echo $?\n"].concat()
}
