//! The policy's own tests, run at every load.

use crate::finding::shown;
use crate::judge::{action, judged};
use remit_core::{AbsPath, Diagnostic};
use remit_policy::source::{Root, TestSource};
use remit_policy::{Anchor, Policy, PolicySource, World};

/// Runs the `tests:` of a policy. Each that does not come out as it says is an error `failed-test` at its
/// expectation, with what came out and why; one whose path cannot be a path is an error `bad-test-path`.
pub fn run_tests(policy: &Policy) -> Vec<Diagnostic> {
    policy.source().tests.iter().filter_map(|test| run(policy, test)).collect()
}

/// The folders that hold the paths of a policy's tests, each once. What is no path has none.
pub fn tested_folders(source: &PolicySource, world: &World) -> Vec<AbsPath> {
    let paths = source.tests.iter().filter_map(|test| path(source, world, test).ok());
    let mut folders: Vec<AbsPath> = paths.map(|path| path.parent().unwrap_or(path)).collect();
    folders.sort_unstable();
    folders.dedup();
    folders
}

fn run(policy: &Policy, test: &TestSource) -> Option<Diagnostic> {
    let path = match path(policy.source(), policy.world(), test) {
        Ok(path) => path,
        Err(finding) => return Some(*finding),
    };
    let Some(action) = action(&test.agent.value, test.verb.value, path) else {
        let message = format!("there is no agent {}", shown(&test.agent.value));
        return Some(Diagnostic::error("unknown-name", test.agent.place.clone(), message));
    };
    let decision = judged(policy, &action);
    if decision.effect == test.expect.value {
        return None;
    }
    let reason =
        decision.deciding().map(|reason| format!(": {} layer, {reason}", reason.layer)).unwrap_or_default();
    let message = format!(
        "{} {} {} came out as `{}`, not `{}`{reason}",
        shown(&test.agent.value),
        test.verb.value,
        shown(&test.path.value),
        decision.effect,
        test.expect.value,
    );
    let finding = Diagnostic::error("failed-test", test.expect.place.clone(), message)
        .help("mend the rule, or the test if the answer is the right one");
    match decision.deciding().and_then(|reason| reason.rule.as_ref()) {
        Some(rule) => Some(match &rule.place {
            Some(place) => finding.related(place.clone(), format!("{} decided", shown(&rule.text))),
            None => finding,
        }),
        None => Some(finding),
    }
}

/// The path of a test. It is one path, so nothing in it is a wildcard.
fn path(source: &PolicySource, world: &World, test: &TestSource) -> Result<AbsPath, Box<Diagnostic>> {
    let text = test.path.value.as_str();
    let bad = |why: String| {
        let message = format!("{} is no path to test: {why}", shown(text));
        Box::new(Diagnostic::error("bad-test-path", test.path.place.clone(), message))
    };
    let anchor = match source.agents.get(&test.agent.value) {
        Some(agent) => Anchor::of_agent(source, world, agent)
            .map_err(|_| bad("the agent's `base_workspace` is none".to_owned()))?,
        None => Anchor::of_workspace(source, world),
    };
    let (folder, rest) = match (text.strip_prefix('/'), text.strip_prefix("~/"), anchor.root) {
        (Some(rest), _, Root::Host) => (AbsPath::root(), rest),
        (Some(rest), _, Root::Workspace) => (anchor.workspace, rest),
        (None, Some(rest), _) => (anchor.home, rest),
        (None, None, _) => (anchor.base, text),
    };
    if rest.split('/').any(|part| part == "..") {
        return Err(bad("the path has a `..` component".to_owned()));
    }
    AbsPath::lexical(&folder, rest.trim_start_matches('/')).map_err(|error| bad(error.to_string()))
}
