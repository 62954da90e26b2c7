//! Where `none` rules and git get in each other's way: what git tracks it shows from its records, and what it neither
//! tracks nor ignores it wants to add, and cannot.

use crate::finding::{shown, visible};
use crate::nearest::listed;
use remit_core::{AbsPath, Diagnostic, Place, Rule, Severity};
use remit_policy::{Access, AgentPolicy, Policy};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Checks `none` rules against what git tracks: `tracked` are paths relative to the top of the work tree
/// `top`. An error `none-but-tracked` for each rule that covers some and binds an agent who may read the
/// `.git` there; it names the first of them and the way out.
pub fn none_but_tracked<'a>(
    policy: &Policy,
    top: &AbsPath,
    tracked: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Diagnostic> {
    let agents = bound(policy, top);
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
    covered.into_iter().map(|(place, (rule, first, count))| readable(place, &rule, first, count)).collect()
}

/// The agents who work with git and from whom something is hidden.
fn bound<'p>(policy: &'p Policy, top: &AbsPath) -> Vec<&'p AgentPolicy> {
    policy
        .agents()
        .map(|(_, agent)| agent)
        .filter(|agent| top.join(b".git").is_ok_and(|git| agent.access(&git).has(Access::READ)))
        .filter(|agent| agent.points().iter().any(|point| point.access.is_none()))
        .collect()
}

/// What is told of one rule: what git would add, the lines of an ignore file that keep it from that, and whether all of
/// it is folders, at which git inside stops.
struct Unignored {
    rule: Arc<Rule>,
    paths: BTreeSet<Vec<u8>>,
    lines: BTreeSet<String>,
    folders: bool,
}

/// Checks `none` rules against what git neither tracks nor ignores: `untracked` are paths relative to the top of the
/// work tree `top`. A warning `none-not-ignored` for each rule that covers some and binds an agent who may read the
/// `.git` there: git inside wants to add what it cannot read.
pub fn none_not_ignored<'a>(
    policy: &Policy,
    top: &AbsPath,
    untracked: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Diagnostic> {
    let agents = bound(policy, top);
    let mut covered: BTreeMap<Place, Unignored> = BTreeMap::new();
    for name in untracked.into_iter().filter(|_| !agents.is_empty()) {
        let Ok(path) = AbsPath::lexical(top, name) else { continue };
        for (agent, rule) in agents.iter().filter_map(|agent| Some((agent, agent.none_rule(&path)?))) {
            let Some(place) = &rule.place else { continue };
            // Git inside stops at a folder that is hidden as a whole.
            let above =
                std::iter::successors(path.parent(), AbsPath::parent).take_while(|above| above != top);
            let hidden = above.take_while(|above| agent.none_rule(above).is_some()).last();
            let folder = hidden.is_some() || name.ends_with(b"/");
            let Some(seen) = top.strip(hidden.as_ref().unwrap_or(&path)).map(<[u8]>::to_vec) else {
                continue;
            };
            let entry = covered.entry(place.clone()).or_insert_with(|| Unignored {
                rule: Arc::clone(rule),
                lines: BTreeSet::new(),
                paths: BTreeSet::new(),
                folders: true,
            });
            entry.folders &= folder;
            entry.lines.insert(ignoring(&seen, folder, rule.text.starts_with("**/")));
            entry.paths.insert(seen);
        }
    }
    covered.into_iter().map(|(place, found)| not_ignored(place, &found)).collect()
}

/// The line of an ignore file that means this path; `anywhere`: whatever folder such a name lies in.
fn ignoring(path: &[u8], folder: bool, anywhere: bool) -> String {
    let name = match anywhere {
        true => path.rsplit(|b| *b == b'/').next().unwrap_or(path),
        false => path,
    };
    let mut line = if anywhere { String::new() } else { "/".to_owned() };
    for c in visible(name).chars() {
        if matches!(c, '*' | '?' | '[' | '\\' | ' ') || line.is_empty() && matches!(c, '!' | '#') {
            line.push('\\');
        }
        line.push(c);
    }
    if folder { line + "/" } else { line }
}

/// So many lines for an ignore file are shown.
const LINES: usize = 5;

fn not_ignored(place: Place, found: &Unignored) -> Diagnostic {
    let others = others(found.paths.len());
    let first = found.paths.first().map(Vec::as_slice).unwrap_or_default();
    let fails = match found.folders {
        true => "`git stash -u` inside fails on that, and `git add -A` warns of it",
        false => "`git add -A` and `git stash -u` inside fail on that",
    };
    let message = format!(
        "{} covers {}{others}, which git neither tracks nor ignores: {fails}",
        shown(&found.rule.text),
        shown(&String::from_utf8_lossy(first)),
    );
    let lines: Vec<&str> = found.lines.iter().take(LINES).map(String::as_str).collect();
    let more = if found.lines.len() > LINES { " and so on" } else { "" };
    let help = format!("add to `.gitignore`: {}{more}", listed(lines));
    Diagnostic::new(Severity::Warning, "none-not-ignored", place, message).help(help)
}

fn others(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        2 => " and another".to_owned(),
        n => format!(" and {} others", n.saturating_sub(1)),
    }
}

fn readable(place: Place, rule: &Rule, first: &[u8], count: usize) -> Diagnostic {
    let others = others(count);
    let file = shown(&String::from_utf8_lossy(first));
    let message = format!(
        "{} covers {file}{others}, which git tracks: `git show` reads it from git's records, and `git add -A`, `git commit -a` or `git stash` inside fail on it",
        shown(&rule.text)
    );
    let help = format!(
        "`git rm --cached -- {}` and commit; what was committed before stays readable until the history is rewritten, so change the secret; or write `git: none` for the agent, which then has no `.git`",
        quoted(first)
    );
    Diagnostic::new(Severity::Error, "none-but-tracked", place, message).help(help)
}

/// A path as a word of a shell, if it needs quotes.
fn quoted(path: &[u8]) -> String {
    let text = visible(path);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | '@' | ',');
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
