//! What a policy that compiles should still say to the person who wrote it.

use crate::agent::AgentPolicy;
use crate::protected::Protected;
use crate::rules::{Point, Scope};
use crate::source::{AskMode, Intents, Sandbox};
use crate::{Access, PolicySource};
use remit_core::{Diagnostic, Effect, Object, Place, Severity, Verb};
use std::collections::BTreeMap;

pub(crate) fn notes(
    source: &PolicySource,
    agents: &BTreeMap<String, AgentPolicy>,
    protected: &Protected,
) -> Vec<Diagnostic> {
    let mut notes = not_held(source);
    for agent in agents.values() {
        let people: Vec<&Point> = agent.points().iter().filter(|point| point.scope != Scope::Base).collect();
        for point in &people {
            let Some(place) = &point.rule.place else { continue };
            notes.extend(of_protected(point, place, protected));
            notes.extend(of_lone_limit(point, place, &people));
            notes.extend(of_trailing_wildcards(point, place));
        }
    }
    notes
}

/// What the document asks for and nothing holds yet is never accepted in silence: it is an error, unless the document
/// says that what cannot be held is only said.
fn not_held(source: &PolicySource) -> Vec<Diagnostic> {
    let advisory = source.sandbox == Sandbox::Advisory;
    let severity = if advisory { Severity::Warning } else { Severity::Error };
    let missing = |place: &Place, key: &str, then: &str| {
        let message = format!("`{key}` {then}");
        let finding = Diagnostic::new(severity, "not-held-yet", place.clone(), message);
        if advisory {
            return finding;
        }
        finding.help("remove it, or write `sandbox: advisory`: what is not held is then only said")
    };
    let mut found = Vec::new();
    if let Some(stated) = source.default_policy.as_ref().filter(|stated| stated.value == Effect::Ask) {
        let message = "nobody can be asked yet: `remit run` and the hooks refuse what no rule covers";
        found.push(Diagnostic::new(Severity::Note, "not-held-yet", stated.place.clone(), message));
    }
    let approvals = source.approvals.first();
    found.extend(approvals.map(|a| missing(&a.path.place, "approvals", "are not held yet: nobody is asked")));
    let agents = || source.agents.values();
    let network = agents().find_map(|agent| agent.network.first());
    found.extend(
        network.map(|n| missing(&n.place, "network", "is not held yet: every connection is possible")),
    );
    // What is never granted is held by not being granted.
    let asked = agents().flat_map(|agent| &agent.requests).find(|request| request.answer != AskMode::Never);
    found
        .extend(asked.map(|r| {
            missing(&r.rule.path.place, "requests", "are not served yet: nothing can be asked for")
        }));
    let limits = agents().find_map(|agent| agent.limits.as_ref());
    found.extend(
        limits.map(|l| missing(&l.place, "limits", "are not held yet: a session may use the whole machine")),
    );
    let intents = Some(&source.intents).filter(|intents| intents.value != Intents::Off);
    found
        .extend(intents.map(|i| missing(&i.place, "intents", "are not held yet: work need not be declared")));
    let audit = &source.audit.value;
    let unheard = audit.alert_command.first().filter(|_| !audit.alert_on_violation);
    found.extend(unheard.map(|word| {
        let message = "`audit.alert` does nothing without `alert_on_violation: true`";
        Diagnostic::new(Severity::Warning, "unheard-alert", word.place.clone(), message)
    }));
    found
}

fn of_protected(point: &Point, place: &Place, protected: &Protected) -> Option<Diagnostic> {
    let path = point.pattern.literal().filter(|_| !point.access.is_none())?;
    let verb = if point.access.has(Access::WRITE) { Verb::Write } else { Verb::Read };
    let reason = protected.judge(verb, &Object::Path(path.clone()))?;
    let message = format!("`{}` cannot grant that: {reason}", point.rule.text);
    let note = Diagnostic::new(Severity::Warning, "protected-grant", place.clone(), message);
    Some(note.help("remove the rule, or grant `read` where reading is enough"))
}

fn of_lone_limit(point: &Point, place: &Place, people: &[&Point]) -> Option<Diagnostic> {
    if !point.pattern.is_unanchored() || point.access.is_none() {
        return None;
    }
    let folder = point.pattern.literal_prefix();
    let meets = |other: &&Point| {
        let prefix = other.pattern.literal_prefix();
        let grants = !other.access.is_none() && !other.pattern.is_unanchored();
        grants && (prefix.covers(folder) || folder.covers(prefix))
    };
    if people.iter().any(meets) {
        return None;
    }
    let message =
        format!("`{}` only narrows what other rules grant, and none grants anything there", point.rule.text);
    let note = Diagnostic::new(Severity::Warning, "lone-limit", place.clone(), message);
    Some(note.help("name the folder before `**` to grant it"))
}

fn of_trailing_wildcards(point: &Point, place: &Place) -> Option<Diagnostic> {
    let path = point.rule.text.rsplit_once(' ').map_or("", |(path, _)| path);
    let mut parts = path.split('/').rev().filter(|part| !part.is_empty());
    let twice = [parts.next(), parts.next()].iter().all(|part| matches!(part, Some("*" | "**")));
    let message = format!("`{path}` means {} and all below it", point.pattern);
    twice.then(|| Diagnostic::new(Severity::Note, "trailing-wildcards", place.clone(), message))
}
