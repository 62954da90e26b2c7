//! What a `none` rule cannot keep from an agent: files that git tracks, since git shows them from its records.

use crate::finding::{shown, visible};
use remit_core::{AbsPath, Diagnostic, Place, Rule, Severity};
use remit_policy::{Access, AgentPolicy, Policy};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Checks `none` rules against what git tracks: `tracked` are paths relative to the top of the work tree
/// `top`. A warning `none-but-tracked` for each rule that covers some and binds an agent who may read the
/// `.git` there; it names the first of them and the way out.
pub fn none_but_tracked<'a>(
    policy: &Policy,
    top: &AbsPath,
    tracked: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Diagnostic> {
    let agents: Vec<&AgentPolicy> = policy
        .agents()
        .map(|(_, agent)| agent)
        .filter(|agent| top.join(b".git").is_ok_and(|git| agent.access(&git).has(Access::READ)))
        .filter(|agent| agent.points().iter().any(|point| point.access.is_none()))
        .collect();
    let mut covered: BTreeMap<Place, (Arc<Rule>, &[u8], usize)> = BTreeMap::new();
    if agents.is_empty() {
        return Vec::new();
    }
    for name in tracked {
        let Ok(path) = AbsPath::lexical(top, name) else { continue };
        let mut told: Vec<&Place> = Vec::new();
        for rule in agents.iter().filter_map(|agent| agent.none_rule(&path)) {
            // Rules without a place are built in: no person can mend them.
            let Some(place) = rule.place.as_ref().filter(|place| !told.contains(place)) else { continue };
            told.push(place);
            match covered.get_mut(place) {
                Some((_, _, count)) => *count = count.saturating_add(1),
                None => {
                    covered.insert(place.clone(), (Arc::clone(rule), name, 1));
                }
            }
        }
    }
    covered.into_iter().map(|(place, (rule, first, count))| warning(place, &rule, first, count)).collect()
}

fn warning(place: Place, rule: &Rule, first: &[u8], count: usize) -> Diagnostic {
    let others = match count {
        0 | 1 => String::new(),
        2 => " and another".to_owned(),
        n => format!(" and {} others", n.saturating_sub(1)),
    };
    let file = shown(&String::from_utf8_lossy(first));
    let message = format!(
        "{} covers {file}{others}, which git tracks: `git show` reads it from git's records, and `git add -A`, `git commit -a` or `git stash` inside fail on it",
        shown(&rule.text)
    );
    let help = format!(
        "`git rm --cached -- {}` and commit; what was committed before stays readable until the history is rewritten, so change the secret, or hide `.git` from the agent",
        quoted(first)
    );
    Diagnostic::new(Severity::Warning, "none-but-tracked", place, message).help(help)
}

/// A path as a word of a shell, if it needs quotes.
fn quoted(path: &[u8]) -> String {
    let text = visible(path);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | '@' | ',');
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
