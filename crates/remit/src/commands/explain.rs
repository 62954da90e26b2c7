//! `remit explain AGENT VERB OBJECT`: every layer's verdict, the rules that speak, and what would change it.

use crate::cli::ExplainArgs;
use crate::report::{self, BOLD, DIM, Failure, style_of};
use remit_core::{AbsPath, Action, Actor, AgentName, Assurance, Effect, Exit, Object, Verb};
use remit_policy::{Explanation, Facts, explain};
use remit_session::environment::Environment;
use remit_session::workspace::Workspace;
use serde_json::json;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Explains one action. Exit 0 allow, 1 deny, 8 ask.
pub(crate) fn run(args: &ExplainArgs, environment: &Environment) -> Result<Exit, Failure> {
    let workspace = Workspace::open(&environment.cwd, environment)?;
    let (policy, _) = workspace.policy()?;
    if policy.agent(&args.agent).is_none() {
        let known: Vec<&str> = policy.agents().map(|(name, _)| name).collect();
        let message = format!("the policy has no agent `{}`", args.agent);
        return Err(Failure::new(Exit::NotFound, message).hint(format!("it has: {}", known.join(", "))));
    }
    let usage = |e: String| Failure::new(Exit::Usage, e);
    let verb: Verb = args.verb.parse().map_err(usage)?;
    let agent = AgentName::new(&args.agent).map_err(|e| usage(e.to_string()))?;
    let object = object(verb, &args.object, environment)?;
    let actor = Actor { agent, session: None, assurance: Assurance::Claimed };
    let action = Action { actor, verb, object };
    let explanation = explain(&policy, &Facts::default(), &action);
    if args.json {
        report::say_json(&as_json(&action, &explanation))?;
    } else {
        report::say(&as_text(&action, &explanation))?;
    }
    Ok(match explanation.decision.effect {
        Effect::Allow => Exit::Yes,
        Effect::Deny => Exit::No,
        Effect::Ask => Exit::Ask,
    })
}

fn object(verb: Verb, text: &OsStr, environment: &Environment) -> Result<Object, Failure> {
    let usage = |e: String| Failure::new(Exit::Usage, e);
    let bytes = text.as_bytes();
    let split = |what: &str| {
        let at = bytes.iter().rposition(|b| *b == b':');
        at.map(|at| bytes.split_at(at))
            .map(|(a, b)| (a, b.get(1..).unwrap_or_default()))
            .ok_or_else(|| usage(what.to_owned()))
    };
    match verb {
        Verb::Connect => {
            let (host, port) = split("connect takes `HOST:PORT`")?;
            let port = std::str::from_utf8(port).ok().and_then(|p| p.parse().ok());
            let port = port.ok_or_else(|| usage("connect takes `HOST:PORT`".to_owned()))?;
            Ok(Object::Host { host: String::from_utf8_lossy(host).into_owned(), port })
        }
        Verb::Rename => {
            let (from, to) = split("rename takes `FROM:TO`")?;
            Ok(Object::Move { from: resolve(from, environment)?, to: resolve(to, environment)? })
        }
        _ => Ok(Object::Path(resolve(bytes, environment)?)),
    }
}

/// The path as the kernel would name it, from this folder.
fn resolve(text: &[u8], environment: &Environment) -> Result<AbsPath, Failure> {
    use remit_hooks::Resolver;
    let home = environment.home().and_then(|h| AbsPath::try_from(h.as_path()).ok());
    let asked = environment.cwd.join(OsStr::from_bytes(text));
    let files = remit_hooks::Files { home };
    let wrong = |e: &dyn std::fmt::Display| {
        let shown = remit_core::path::escape(text);
        Failure::new(Exit::Usage, format!("`{shown}` cannot be resolved: {e}"))
    };
    files.resolve(asked.as_os_str().as_bytes(), true).map(|r| r.path).map_err(|e| wrong(&e))
}

fn as_text(action: &Action, explanation: &Explanation) -> String {
    let effect = explanation.decision.effect;
    let style = style_of(effect);
    let mut out = format!(
        "{style}{effect}{style:#}  {} may {}{} {}\n\n",
        action.actor.agent,
        if effect == Effect::Deny { "not " } else { "" },
        action.verb,
        action.object
    );
    let mut rows = Vec::new();
    for (layer, reason) in &explanation.layers {
        let (effect, why) = match reason {
            Some(reason) => (reason.effect.to_string(), reason.to_string()),
            None => ("–".to_owned(), "no opinion".to_owned()),
        };
        rows.push(vec![format!("  {layer}"), effect, why]);
    }
    out.push_str(&report::table(&rows));
    for paths in &explanation.paths {
        out.push_str(&format!(
            "\n{BOLD}rules for {}{BOLD:#} {DIM}(together: {}){DIM:#}\n",
            paths.path, paths.access
        ));
        let rows: Vec<Vec<String>> =
            paths.rules.iter().map(|fate| vec![format!("  {}", fate.rule), fate.fate.to_string()]).collect();
        out.push_str(&if rows.is_empty() { "  none\n".to_owned() } else { report::table(&rows) });
    }
    if let Some(remedy) = &explanation.remedy {
        out.push_str(&format!("\n{BOLD}what would change it{BOLD:#}\n  {remedy}\n"));
    }
    out
}

fn as_json(action: &Action, explanation: &Explanation) -> serde_json::Value {
    let decision = &explanation.decision;
    json!({
        "version": 1,
        "agent": action.actor.agent,
        "verb": action.verb,
        "object": action.object,
        "effect": decision.effect,
        "digest": decision.digest.to_string(),
        "epoch": decision.epoch,
        "layers": explanation.layers.iter().map(|(layer, reason)| json!({
            "layer": layer,
            "effect": reason.as_ref().map(|r| r.effect),
            "why": reason.as_ref().map(ToString::to_string),
            "rule": reason.as_ref().and_then(|r| r.rule.as_deref()),
        })).collect::<Vec<_>>(),
        "paths": explanation.paths.iter().map(|p| json!({
            "path": p.path,
            "access": p.access.to_string(),
            "rules": p.rules.iter().map(|f| json!({
                "rule": &*f.rule,
                "access": f.access.to_string(),
                "fate": f.fate.to_string(),
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "remedy": explanation.remedy.as_ref().map(ToString::to_string),
    })
}
