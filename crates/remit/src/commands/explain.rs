//! `remit explain`: what one action is answered and why, layer by layer; many actions, a line each; or an agent's
//! whole remit, its needs, and what the agents offer one another.

use crate::cli::ExplainArgs;
use crate::commands::{ladder, overview};
use crate::failures::no_agent;
use crate::report::{self, Failure, WAIT};
use remit_core::path::printable;
use remit_core::wire::{Answer, Request, Telling, VERSION};
use remit_core::{AbsPath, Action, Actor, AgentName, Assurance, Effect, Exit, Object, Verb};
use remit_hooks::socket::inside;
use remit_hooks::{Asker, SocketAsker};
use remit_policy::{Explanation, Policy};
use remit_session::caches::Found;
use remit_session::environment::Environment;
use remit_session::facts::Sight;
use remit_session::workspace::Workspace;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::BufRead;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Explains actions, or an agent. Exit 0 allow, 1 deny, 8 ask; of several the strictest; 0 for what is no answer.
pub(crate) fn run(args: &ExplainArgs, environment: &Environment) -> Result<Exit, Failure> {
    let held = Held::find(args, environment)?;
    let agent = args.agent.as_deref();
    if args.provides {
        let told = held.tell(agent, Telling::Provides, |policy| remit_config::provides(policy, agent))?;
        return overview::capabilities(agent, "provides", &told, args.json);
    }
    // Inside, who names no agent asks about their own.
    let name = match (agent, &held) {
        (Some(name), _) => name,
        (None, Held::Session) => "",
        (None, Held::Policy(today)) => return Err(unnamed(&today.policy)),
    };
    if args.requires {
        let told = held.tell(agent, Telling::Requires, |policy| remit_config::requires(policy, name))?;
        return overview::capabilities(agent, "requires", &told, args.json);
    }
    let (Some(agent), Some(verb)) = (agent, args.verb.as_deref()) else {
        let told = held.tell(agent, Telling::Remit, |policy| remit_policy::overview(policy, name))?;
        let told = told.ok_or_else(|| no_agent(name, std::iter::empty()))?;
        held.beside(name, &[]);
        return overview::page(&told, args.json);
    };
    let asked = Asked { agent, verb, environment };
    match args.objects.as_slice() {
        [] => Err(Failure::new(Exit::Usage, format!("to what would `{agent}` do that: a path is missing"))
            .hint(format!("`remit explain {agent} {} .` is about this folder", printable(verb)))),
        [one] if one != "-" => {
            let action = asked.action(verb, one)?;
            let explanation = held.explain(&action)?;
            held.beside(agent, &[(&action, &explanation)]);
            match args.json {
                true => report::say_json(&ladder::as_json(&action, &explanation, held.text()))?,
                false => report::say(&ladder::as_text(&action, &explanation, held.text()))?,
            }
            Ok(exit(explanation.decision.effect))
        }
        many => several(&held, &asked, many, args.json),
    }
}

fn unnamed(policy: &Policy) -> Failure {
    let names: Vec<String> = policy.agents().map(|(name, _)| format!("`remit explain {name}`")).collect();
    Failure::new(Exit::Usage, "no agent is named")
        .hint(format!("all that an agent may do: {}", names.join(", ")))
}

fn exit(effect: Effect) -> Exit {
    match effect {
        Effect::Allow => Exit::Yes,
        Effect::Deny => Exit::No,
        Effect::Ask => Exit::Ask,
    }
}

/// A line for each object.
fn several(held: &Held, asked: &Asked<'_>, objects: &[OsString], json: bool) -> Result<Exit, Failure> {
    let mut actions = Vec::new();
    for object in objects {
        if object == "-" {
            actions.extend(asked.lines(&mut std::io::stdin().lock())?);
        } else {
            actions.push(asked.action(asked.verb, object)?);
        }
    }
    let mut answers = Vec::with_capacity(actions.len());
    for action in &actions {
        answers.push((action, held.explain(action)?));
    }
    held.beside(asked.agent, &answers.iter().map(|(action, told)| (*action, told)).collect::<Vec<_>>());
    if json {
        for (action, explanation) in &answers {
            report::say_json(&ladder::as_json(action, explanation, held.text()))?;
        }
    } else {
        report::say(&ladder::lines(&answers))?;
    }
    let strictest = answers.iter().map(|(_, told)| told.decision.effect).max();
    Ok(exit(strictest.unwrap_or(Effect::Allow)))
}

/// What answers: today's policy; or what this session is held by, whatever the file says by now.
enum Held {
    Policy(Box<Today>),
    Session,
}

struct Today {
    workspace: Workspace,
    policy: Policy,
    sight: Sight,
    caches: Found,
}

impl Held {
    fn find(args: &ExplainArgs, environment: &Environment) -> Result<Self, Failure> {
        if inside() {
            return Ok(Self::Session);
        }
        let workspace = Workspace::open(&environment.cwd, environment)?;
        let (policy, _) = workspace.policy()?;
        if let Some(agent) = args.agent.as_ref().filter(|name| policy.agent(name).is_none()) {
            return Err(no_agent(agent, policy.agents().map(|(name, _)| name)));
        }
        let sight = Sight::outside(workspace.state_place()?.listings());
        let caches = workspace.caches();
        Ok(Self::Policy(Box::new(Today { workspace, policy, sight, caches })))
    }

    /// The policy file's name and text, where what is asked is what it says.
    fn text(&self) -> Option<(&str, &str)> {
        match self {
            Self::Policy(today) => Some((&today.workspace.file, &today.workspace.text)),
            Self::Session => None,
        }
    }

    fn explain(&self, action: &Action) -> Result<Explanation, Failure> {
        if let Self::Policy(today) = self {
            return Ok(today.sight.explain(&today.policy, action));
        }
        let (agent, object) = (action.actor.agent.clone(), action.object.clone());
        match asked(&Request::Explain { version: VERSION, agent, verb: action.verb, object })? {
            Answer::Explained { explanation } => read(&explanation),
            _ => Err(unanswered("the answer does not fit the request".to_owned())),
        }
    }

    fn tell<T: DeserializeOwned>(
        &self,
        agent: Option<&str>,
        what: Telling,
        today: impl FnOnce(&Policy) -> T,
    ) -> Result<T, Failure> {
        if let Self::Policy(held) = self {
            return Ok(today(&held.policy));
        }
        let agent = agent.map(AgentName::new).transpose();
        let agent = agent.map_err(|e| Failure::new(Exit::Usage, e.to_string()))?;
        match asked(&Request::Tell { version: VERSION, agent, what })? {
            Answer::Told { told } => read(&told),
            _ => Err(unanswered("the answer does not fit the request".to_owned())),
        }
    }

    /// Says what is no part of an answer, and matters to whoever reads it.
    fn beside(&self, agent: &str, answers: &[(&Action, &Explanation)]) {
        let Self::Policy(today) = self else { return };
        let mut withheld = BTreeSet::new();
        for (action, _) in answers {
            let ends = match &action.object {
                Object::Path(path) => vec![path],
                Object::Move { from, to } => vec![from, to],
                Object::Host { .. } | Object::Tool(_) => Vec::new(),
            };
            let mut ends = ends.into_iter();
            withheld.extend(ends.find_map(|path| today.caches.not_offered(&today.policy, agent, path)));
        }
        for why in withheld {
            report::talk(&format!("{WAIT}remit:{WAIT:#} {}\n", printable(&why)));
        }
        // It answers all the same: who mends a policy asks it what it says.
        let stopped = |what: &str, found: Option<&remit_core::Diagnostic>| {
            let Some(found) = found else { return };
            report::talk(&format!(
                "{WAIT}remit: {what}{WAIT:#} ({}: {})\n",
                found.place,
                printable(&found.message)
            ));
        };
        let tests = remit_config::run_tests(&today.policy);
        stopped("a test of the policy itself fails, so nothing runs under it", tests.first());
        let unmet = remit_config::unmet(&today.policy, agent);
        let what = format!("`{}` lacks what its `capabilities` say, so it is not run", printable(agent));
        stopped(&what, unmet.first());
    }
}

fn unanswered(why: String) -> Failure {
    Failure::new(Exit::Io, "the session cannot be asked what it is held by").cause(why)
}

fn asked(request: &Request) -> Result<Answer, Failure> {
    match SocketAsker::default().ask(request).map_err(unanswered)? {
        Answer::Failed { why } => Err(Failure::new(Exit::NotFound, why)),
        answer => Ok(answer),
    }
}

fn read<T: DeserializeOwned>(json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|e| unanswered(e.to_string()))
}

/// Who asks about what, and from where.
struct Asked<'a> {
    agent: &'a str,
    verb: &'a str,
    environment: &'a Environment,
}

/// A line of JSON on standard input.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Path(String),
    Action(Deed),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deed {
    path: String,
    verb: Option<String>,
}

impl Asked<'_> {
    fn action(&self, verb: &str, object_text: &OsStr) -> Result<Action, Failure> {
        let usage = |e: String| Failure::new(Exit::Usage, e);
        let verb: Verb = verb.parse().map_err(usage)?;
        let agent = AgentName::new(self.agent).map_err(|e| usage(e.to_string()))?;
        let object = object(verb, object_text, self.environment)?;
        let actor = Actor { agent, session: None, assurance: Assurance::Claimed };
        Ok(Action { actor, verb, object })
    }

    fn lines(&self, input: &mut dyn BufRead) -> Result<Vec<Action>, Failure> {
        let mut actions = Vec::new();
        for (number, line) in input.split(b'\n').enumerate() {
            let line = line.map_err(|e| Failure::because(Exit::Io, "cannot read standard input", &e))?;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                continue;
            }
            let at = |failure: Failure| failure.cause(format!("in line {} of standard input", number + 1));
            let (verb, path) = match line.first() {
                Some(b'{' | b'"') => {
                    let wrong = |e: serde_json::Error| {
                        at(Failure::new(Exit::Usage, "a line is neither a path, nor JSON of one")
                            .cause(e.to_string()))
                    };
                    match serde_json::from_slice(line).map_err(wrong)? {
                        Line::Path(path) => (None, path.into()),
                        Line::Action(deed) => (deed.verb, deed.path.into()),
                    }
                }
                _ => (None, OsString::from_vec(line.to_vec())),
            };
            actions.push(self.action(verb.as_deref().unwrap_or(self.verb), &path).map_err(at)?);
        }
        Ok(actions)
    }
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
