//! `remit explain AGENT VERB OBJECT`: every layer's verdict, the rules that speak, and what would change it.

use crate::cli::ExplainArgs;
use crate::failures::no_agent;
use crate::report::{self, BOLD, DIM, Failure, WAIT, style_of};
use remit_core::path::printable;
use remit_core::wire::{Answer, Request, VERSION};
use remit_core::{
    AbsPath, Action, Actor, AgentName, Assurance, Effect, Exit, Layer, Object, Reason, Verb, Why,
};
use remit_hooks::socket::inside;
use remit_hooks::{Asker, SocketAsker};
use remit_policy::{Explanation, Fate, PathRules, Remedy, RuleFate};
use remit_session::environment::Environment;
use remit_session::facts::Sight;
use remit_session::workspace::Workspace;
use serde_json::json;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Explains one action. Exit 0 allow, 1 deny, 8 ask.
pub(crate) fn run(args: &ExplainArgs, environment: &Environment) -> Result<Exit, Failure> {
    let (action, explanation) = match inside() {
        true => of_session(action(args, environment)?)?,
        false => of_policy(args, environment)?,
    };
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

/// What today's policy says.
fn of_policy(args: &ExplainArgs, environment: &Environment) -> Result<(Action, Explanation), Failure> {
    let workspace = Workspace::open(&environment.cwd, environment)?;
    let (policy, _) = workspace.policy()?;
    if policy.agent(&args.agent).is_none() {
        return Err(no_agent(&args.agent, policy.agents().map(|(name, _)| name)));
    }
    let action = action(args, environment)?;
    let sight = Sight::outside(workspace.state_place()?.listings());
    let explanation = sight.explain(&policy, &action);
    let ends = match &action.object {
        Object::Path(path) => vec![path],
        Object::Move { from, to } => vec![from, to],
        Object::Host { .. } | Object::Tool(_) => Vec::new(),
    };
    let caches = workspace.caches();
    let withheld = ends.into_iter().filter_map(|path| caches.not_offered(&policy, &args.agent, path)).next();
    if let Some(why) = withheld {
        report::talk(&format!("{WAIT}remit:{WAIT:#} {}\n", printable(&why)));
    }
    // It answers all the same: who mends a policy asks it what it says.
    if let Some(failed) = remit_config::run_tests(&policy).first() {
        report::talk(&format!(
            "{WAIT}remit: a test of the policy itself fails, so nothing runs under it{WAIT:#} ({}: {})\n",
            failed.place,
            printable(&failed.message)
        ));
    }
    Ok((action, explanation))
}

/// What the policy says that this session is held by, whatever the file says by now.
fn of_session(action: Action) -> Result<(Action, Explanation), Failure> {
    let (agent, object) = (action.actor.agent.clone(), action.object.clone());
    let request = Request::Explain { version: VERSION, agent, verb: action.verb, object };
    let unanswered =
        |why: String| Failure::new(Exit::Io, "the session cannot be asked what it is held by").cause(why);
    match SocketAsker::default().ask(&request).map_err(unanswered)? {
        Answer::Explained { explanation } => {
            let explanation = serde_json::from_str(&explanation).map_err(|e| unanswered(e.to_string()))?;
            Ok((action, explanation))
        }
        Answer::Failed { why } => Err(Failure::new(Exit::NotFound, why)),
        Answer::Verdict(_) | Answer::Noted { .. } => {
            Err(unanswered("the answer does not fit the request".to_owned()))
        }
    }
}

fn action(args: &ExplainArgs, environment: &Environment) -> Result<Action, Failure> {
    let usage = |e: String| Failure::new(Exit::Usage, e);
    let verb: Verb = args.verb.parse().map_err(usage)?;
    let agent = AgentName::new(&args.agent).map_err(|e| usage(e.to_string()))?;
    let object = object(verb, &args.object, environment)?;
    let actor = Actor { agent, session: None, assurance: Assurance::Claimed };
    Ok(Action { actor, verb, object })
}

fn object(verb: Verb, text: &OsStr, environment: &Environment) -> Result<Object, Failure> {
    let usage = |e: String| Failure::new(Exit::Usage, e);
    let bytes = text.as_bytes();
    let shown = remit_core::path::escape(bytes);
    let split = |what: &str| {
        let at = bytes.iter().rposition(|b| *b == b':');
        at.map(|at| bytes.split_at(at))
            .map(|(a, b)| (a, b.get(1..).unwrap_or_default()))
            .ok_or_else(|| usage(what.to_owned()))
    };
    match verb {
        Verb::Connect => {
            let wrong =
                format!("`{shown}` has no port: connect takes a host and a port, such as `{shown}:443`");
            let (host, port) = split(&wrong)?;
            let port = std::str::from_utf8(port).ok().and_then(|p| p.parse().ok());
            let port = port.ok_or_else(|| usage(format!("`{shown}` does not end in a port, 0 to 65535")))?;
            Ok(Object::Host { host: String::from_utf8_lossy(host).into_owned(), port })
        }
        Verb::Call => Ok(Object::Tool(String::from_utf8_lossy(bytes).into_owned())),
        Verb::Rename => {
            let wrong = format!("`{shown}` is one path: rename takes two, such as `{shown}:{shown}.old`");
            let (from, to) = split(&wrong)?;
            let resolve = |path| resolve(path, environment, false);
            Ok(Object::Move { from: resolve(from)?, to: resolve(to)? })
        }
        _ => Ok(Object::Path(resolve(bytes, environment, verb != Verb::Delete)?)),
    }
}

/// The path as the kernel would name it, from this folder. A link in the last place is followed if `follow`: it goes
/// or moves itself.
fn resolve(text: &[u8], environment: &Environment, follow: bool) -> Result<AbsPath, Failure> {
    use remit_hooks::Resolver;
    let home = environment.home().and_then(|h| AbsPath::try_from(h.as_path()).ok());
    if text.is_empty() {
        return Err(Failure::new(Exit::Usage, "a path is empty: `.` is this folder"));
    }
    // In quotes no shell has read it; it means what it means in the policy.
    let below_home = text.strip_prefix(b"~").filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
    let asked = match (below_home, &home) {
        (Some(rest), Some(home)) => {
            let slashes = rest.iter().take_while(|b| **b == b'/').count();
            home.as_path().join(OsStr::from_bytes(rest.get(slashes..).unwrap_or_default()))
        }
        _ => environment.cwd.join(OsStr::from_bytes(text)),
    };
    let files = remit_hooks::Files { home, held: false };
    let wrong = |e: &dyn std::fmt::Display| {
        let shown = remit_core::path::escape(text);
        Failure::new(Exit::Usage, format!("`{shown}` cannot be resolved: {e}"))
    };
    files.resolve(asked.as_os_str().as_bytes(), follow).map(|r| r.path).map_err(|e| wrong(&e))
}

fn as_text(action: &Action, explanation: &Explanation) -> String {
    let effect = explanation.decision.effect;
    let style = style_of(effect);
    let (agent, verb) = (&action.actor.agent, action.verb);
    let may = match effect {
        Effect::Allow => "may",
        Effect::Ask => "must ask before it may",
        Effect::Deny => "may not",
    };
    let mut out = format!("{style}{effect}{style:#}  {agent} {may} {verb} {}\n", action.object);
    let deciding = explanation.decision.deciding();
    let indent = " ".repeat(effect.to_string().len() + 2);
    let mut below = |text: &str| out.push_str(&format!("{indent}{text}\n"));
    if let Some(reason) = deciding {
        below(&words(reason));
    }
    match &explanation.remedy {
        None => {}
        Some(Remedy::Nothing(_)) => {
            let entry = deciding.and_then(|d| d.rule.as_ref()).map(|rule| format!(" ({})", rule.id));
            below(&format!("nothing in remit.yaml changes that{}", entry.unwrap_or_default()));
        }
        Some(Remedy::Change(rule)) if deciding.and_then(|d| d.rule.as_ref()) == Some(rule) => {
            below("to allow it, change that rule");
        }
        Some(Remedy::Change(rule)) => below(&format!("to allow it, change {rule}")),
        Some(Remedy::Add { list, lines }) => {
            below(&format!("to allow it, add to {list}:"));
            lines.iter().for_each(|line| below(&format!("  {line}")));
        }
    }
    out.push_str(&format!("\n{BOLD}layers{BOLD:#} {DIM}(–: no opinion){DIM:#}\n"));
    let row = |(layer, reason): &(Layer, Option<Reason>)| {
        let (effect, why) = match reason {
            Some(reason) if Some(reason) == deciding => (reason.effect.to_string(), "decided".to_owned()),
            Some(reason) => (reason.effect.to_string(), words(reason)),
            None => return vec![format!("  {layer}"), "–".to_owned()],
        };
        vec![format!("  {layer}"), effect, why]
    };
    out.push_str(&report::table(&explanation.layers.iter().map(row).collect::<Vec<_>>()));
    for paths in explanation.paths.iter().filter(|paths| says_more(paths, explanation)) {
        let together = format!("{DIM}(together: {}){DIM:#}", paths.access);
        out.push_str(&format!("\n{BOLD}rules for {}{BOLD:#} {together}\n", paths.path));
        let rows: Vec<Vec<String>> = paths.rules.iter().map(|one| rule_row(one, paths)).collect();
        out.push_str(&if rows.is_empty() { "  none\n".to_owned() } else { report::table(&rows) });
    }
    out
}

/// Whether the rules of a path say more than the reason did: one that decided alone, and none at all, do not.
fn says_more(paths: &PathRules, explanation: &Explanation) -> bool {
    let alone = match paths.rules.as_slice() {
        [] => true,
        [only] => only.fate == Fate::Decided,
        _ => false,
    };
    !alone || explanation.paths.len() > 1
}

fn rule_row(one: &RuleFate, paths: &PathRules) -> Vec<String> {
    let at = match &one.rule.place {
        Some(place) => format!("  {}:{}", place.file, place.line),
        None => format!("  {}", one.rule.id),
    };
    let fate = match &one.fate {
        Fate::Decided => "decided".to_owned(),
        Fate::Counted => "counts".to_owned(),
        Fate::YieldsTo(rule) => format!("yields to the narrower `{}`", rule.text),
        Fate::Capped(rule) => format!("capped by `{}`", rule.text),
        Fate::Dead(rule) => format!("dead under `{}`", rule.text),
        // What every session has speaks where nobody else does, the nearest path for all.
        Fate::Unused if paths.rules.iter().any(|other| other.fate != Fate::Unused) => "not used".to_owned(),
        Fate::Unused if paths.rules.iter().any(|other| reach(other) > reach(one)) => {
            "yields to a nearer path".to_owned()
        }
        Fate::Unused => "does not grant it".to_owned(),
    };
    vec![at, format!("`{}`", one.rule.text), fate]
}

/// How long the path is that a rule of every session names; of those that cover one path, the longest is nearest.
fn reach(one: &RuleFate) -> usize {
    one.rule.text.rsplit_once(' ').map_or(0, |(path, _)| path.len())
}

/// A reason in words, with the id of a rule that stands in no file.
fn words(reason: &Reason) -> String {
    match (&reason.why, &reason.rule) {
        (Why::Base(_), Some(rule)) => format!("{reason} ({})", rule.id),
        _ => reason.to_string(),
    }
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
