//! Policy documents, their patterns, and what a compiled policy answers.

use super::world::{action, path, world};
use remit_core::{AbsPath, Action, AgentName, Decision, Effect, Object, Place, Severity, Verb};
use remit_policy::source::{At, Root};
use remit_policy::{Anchor, Facts, Pattern, Policy, Use, explain};
use std::sync::OnceLock;

/// A document is read and compiled, or refused with errors that have places; what compiles answers for every
/// agent, keeps its own file out of reach, and is read again as it was written.
pub fn policy_document(bytes: &[u8]) {
    let source = match remit_config::load("remit.yaml", bytes) {
        Ok(source) => source,
        Err(findings) => {
            assert!(findings.iter().any(|f| f.severity == Severity::Error), "refused without an error");
            assert!(findings.iter().all(|f| !f.message.is_empty() && &*f.place.file == "remit.yaml"));
            return;
        }
    };
    let compiled = match Policy::compile(&source, &world()) {
        Ok(compiled) => compiled,
        Err(findings) => {
            assert!(findings.iter().any(|f| f.severity == Severity::Error), "refused without an error");
            return;
        }
    };
    assert!(compiled.notes.iter().all(|f| f.severity != Severity::Error));
    for (name, _) in compiled.policy.agents() {
        let Ok(agent) = AgentName::new(name) else { continue };
        let file = Object::Path(path("/w/remit.yaml"));
        let answer = answer(&compiled.policy, &action(&agent, Verb::Write, file));
        assert_eq!(answer.effect, Effect::Deny, "`{name}` may write the policy");
    }
    let written = remit_config::render(&source);
    let again = remit_config::load("remit.yaml", written.as_bytes()).map(|s| Policy::compile(&s, &world()));
    let digest = again.ok().and_then(Result::ok).map(|c| c.policy.digest());
    assert_eq!(digest, Some(compiled.policy.digest()), "not read as it was written:\n{written}");
}

/// A pattern, and on the next line a path. What is read means the same written out, covers itself, and matches
/// what is below its matches.
pub fn pattern(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (text, asked) = text.split_once('\n').unwrap_or((text, "/w/a"));
    for root in [Root::Host, Root::Workspace] {
        let anchor = Anchor { base: path("/w/sub"), workspace: path("/w"), home: path("/home/p"), root };
        let limit = read(text, &anchor, Use::Limit);
        if let Some(grant) = read(text, &anchor, Use::Grant) {
            assert!(!grant.is_unanchored());
            assert_eq!(limit.as_ref(), Some(&grant), "one text, two meanings");
        }
        let Some(pattern) = limit else { continue };
        let canonical = Anchor { root: Root::Host, ..anchor };
        let again = read(&pattern.to_string(), &canonical, Use::Limit);
        assert_eq!(again.map(|p| p.to_string()), Some(pattern.to_string()), "not read as it is written");
        assert!(pattern.literal().is_none_or(|own| pattern.matches(own)));
        let Ok(asked) = AbsPath::lexical(&path("/w"), asked) else { continue };
        if pattern.matches(&asked) {
            assert!(pattern.literal_prefix().covers(&asked), "{pattern} {asked}");
            assert!(asked.join("x").is_ok_and(|below| pattern.matches(&below)) || asked.join("x").is_err());
        }
        let one = Pattern::of(&asked);
        assert!(one.matches(&asked));
        assert!(!pattern.covers(&one) || pattern.matches(&asked), "{pattern} covers {asked}");
    }
}

fn read(text: &str, anchor: &Anchor, usage: Use) -> Option<Pattern> {
    let place = Place { file: "p".into(), line: 1, column: 1, width: 1 };
    Pattern::parse(&At { value: text.to_owned(), place }, anchor, usage).ok()
}

const POLICY: &str = r#"version: "1.0"
global_rules:
  - {path: "secrets/**", access: none, for: all}
  - {path: "**/.env", access: none, for: all}
roles:
  writer:
    permissions: [{path: "docs/**", access: read-write}]
agents:
  all-of-it: {permissions: [{path: ".", access: all}]}
  reader: {permissions: [{path: ".", access: read}]}
  single: {roles: [writer], permissions: [{path: "notes.md", access: read-write}, {path: "src/*/gen/**", access: read}]}
"#;

const AGENTS: [&str; 4] = ["all-of-it", "reader", "single", "nobody"];

/// A verb and an agent, a byte each, then a path; after a line break the other end of a rename; with `@` before
/// it a host. Whatever is asked: one answer, with reasons, and never what no rule can grant.
pub fn decide(bytes: &[u8]) {
    static FIXED: OnceLock<Option<Policy>> = OnceLock::new();
    let fixed = || {
        let source = remit_config::load("remit.yaml", POLICY.as_bytes()).ok()?;
        Policy::compile(&source, &world()).ok().map(|compiled| compiled.policy)
    };
    let policy = FIXED.get_or_init(fixed).as_ref();
    assert!(policy.is_some(), "the fixed policy does not compile");
    let (Some(policy), Some(action)) = (policy, asked(bytes)) else { return };
    let decision = answer(policy, &action);
    let allowed = decision.effect == Effect::Allow;
    let named = action.actor.agent.as_str();
    assert!(!allowed || named != "nobody", "an unknown agent is allowed {action:?}");
    let fits = match &action.object {
        Object::Path(_) | Object::Move { .. } => !matches!(action.verb, Verb::Connect | Verb::Call),
        Object::Host { .. } => action.verb == Verb::Connect,
        Object::Tool(_) => action.verb == Verb::Call,
    };
    assert!(!allowed || fits, "{action:?} makes no sense and is allowed");
    for end in ends(&action) {
        let below = |folder: &str| path(folder).covers(end);
        let ended = end.file_name() == Some(b".env") && below("/w");
        assert!(!allowed || !(below("/w/secrets") || below("/state") || ended), "{action:?}");
        let inner = [
            ".git/hooks",
            ".git/config",
            ".git/info",
            ".orchestration",
            "remit.yaml",
            "odd.git/hooks",
            "obeyed",
        ];
        let protected = inner.iter().any(|name| below(&format!("/w/{name}")));
        assert!(!(allowed && action.verb.changes() && protected), "{action:?} changes what is protected");
        assert!(!(allowed && action.verb.changes() && named == "reader" && below("/w")), "{action:?}");
    }
}

fn asked(bytes: &[u8]) -> Option<Action> {
    let (&[verb, agent], rest) = bytes.split_first_chunk()?;
    let verbs = [Verb::FILES.as_slice(), &[Verb::Connect]].concat();
    let verb = *verbs.get(usize::from(verb).checked_rem(verbs.len())?)?;
    let agent = AgentName::new(AGENTS.get(usize::from(agent).checked_rem(AGENTS.len())?)?).ok()?;
    let at = |bytes: &[u8]| AbsPath::lexical(&path("/w"), bytes).ok();
    let line = rest.iter().position(|b| *b == b'\n');
    let object = match (rest.strip_prefix(b"@"), line) {
        (Some(host), _) => Object::Host { host: String::from_utf8_lossy(host).into_owned(), port: 443 },
        (None, Some(line)) => {
            Object::Move { from: at(rest.get(..line)?)?, to: at(rest.get(line.saturating_add(1)..)?)? }
        }
        (None, None) => Object::Path(at(rest)?),
    };
    Some(action(&agent, verb, object))
}

fn ends(action: &Action) -> Vec<&AbsPath> {
    match &action.object {
        Object::Path(path) => vec![path],
        Object::Move { from, to } => vec![from, to],
        Object::Host { .. } | Object::Tool(_) => vec![],
    }
}

/// The decision: the same each time, the same as `explain` shows, and with its reasons.
fn answer(policy: &Policy, action: &Action) -> Decision {
    let decision = remit_policy::decide(policy, &Facts::default(), action);
    assert_eq!(remit_policy::decide(policy, &Facts::default(), action), decision);
    assert_eq!(explain(policy, &Facts::default(), action).decision, decision);
    assert!(decision.reasons.iter().any(|reason| reason.effect == decision.effect), "{action:?}");
    decision
}
