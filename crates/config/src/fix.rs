//! Which changes of a text mend what was found in it. Only what leaves no choice is proposed.

use crate::edit::{Edit, Text, add_rule, set_key};
use crate::finding::shown;
use crate::patterns::spoken;
use crate::{ground, load, text};
use remit_core::{Diagnostic, Place};
use remit_policy::PolicySource;
use std::collections::BTreeSet;
use std::path::Path;

/// A change and what it mends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Where the finding is.
    pub place: Place,
    /// What is done, as a person would say it.
    pub what: String,
    /// The change.
    pub edit: Edit,
}

/// The certain changes for these findings, each on its own: after one is made, the text is looked at anew.
pub fn fixes(file: &str, text: &str, findings: &[Diagnostic], workspace: &Path, home: &Path) -> Vec<Fix> {
    let (source, found) = load::read(file, text.as_bytes());
    let mut all: Vec<Fix> = found
        .into_slips()
        .into_iter()
        .filter_map(|slip| {
            let start = text::offset(text, &slip.place)?;
            let rest = text.get(start..)?;
            let quote = usize::from(rest.starts_with(['"', '\'']));
            let range = start + quote..start + quote + slip.word.len();
            (text.get(range.clone()) == Some(slip.word.as_str())).then(|| Fix {
                what: format!("{} is meant to be {}", shown(&slip.word), shown(&slip.meant)),
                edit: Edit { range, text: slip.meant },
                place: slip.place,
            })
        })
        .collect();
    all.extend(findings.iter().filter_map(|finding| {
        let (what, edit) = fix(text, finding, source.as_ref(), workspace, home)?;
        Some(Fix { place: finding.place.clone(), what, edit })
    }));
    // From the end, so that the places of the others stay.
    all.sort_by_key(|fix| std::cmp::Reverse(fix.edit.range.start));
    all.dedup_by(|a, b| a.edit == b.edit);
    all
}

fn fix(
    text: &str,
    finding: &Diagnostic,
    source: Option<&PolicySource>,
    workspace: &Path,
    home: &Path,
) -> Option<(String, Edit)> {
    match finding.code {
        "missing-key" if finding.message.contains("no `version`") => {
            Some(("the version of the language is named".to_owned(), Text::read(text)?.version()?))
        }
        "unknown-alias" => {
            let edit = quote(text, &finding.place)?;
            Some((format!("{} is a pattern and stands in quotes", shown(&edit.text)), edit))
        }
        "ambiguous-root" => {
            all_ambiguous(source?, workspace, home)?;
            let edit = set_key(text, "root", "workspace")?;
            Some(("a leading `/` means the workspace".to_owned(), edit))
        }
        "repeated-rule" => {
            Some(("the same rule stands twice".to_owned(), Text::read(text)?.without(&finding.place)?))
        }
        "dead-rule" => {
            Some(("the rule grants nothing".to_owned(), Text::read(text)?.without(&finding.place)?))
        }
        "requires-not-granted" => {
            let (name, rule) = source?.agents.iter().find_map(|(name, agent)| {
                let mut needs = agent.requires.iter().map(|need| &need.rule);
                Some((name, needs.find(|rule| rule.path.place == finding.place)?))
            })?;
            let edit = add_rule(text, name, &rule.path.value, rule.access.value).ok()?;
            Some((format!("{} gets what it needs, {}", shown(name), shown(&rule.path.value)), edit))
        }
        _ => None,
    }
}

/// Whether every text with a leading `/` can only mean the workspace: otherwise `root: workspace` would move others.
fn all_ambiguous(source: &PolicySource, workspace: &Path, home: &Path) -> Option<()> {
    let world = ground::world(source, workspace, home).ok()?;
    let rooted = spoken(source, &world).into_iter().filter(|one| one.text.value.starts_with('/'));
    let rooted: BTreeSet<&Place> = rooted.map(|one| &one.text.place).collect();
    let found = ground(source, workspace, home).findings;
    let unclear = found.iter().filter(|finding| finding.code == "ambiguous-root");
    let unclear: BTreeSet<&Place> = unclear.map(|finding| &finding.place).collect();
    (unclear == rooted && source.scratch.iter().all(|path| !path.value.starts_with('/'))).then_some(())
}

/// Quotes around a pattern that begins with `*`, which YAML takes for an alias.
fn quote(text: &str, place: &Place) -> Option<Edit> {
    let start = text::offset(text, place)?;
    let rest = text.get(start..).filter(|rest| rest.starts_with('*'))?;
    let line = rest.lines().next()?;
    let end = line.find([',', '}', ']', '#', '"', '\'']).unwrap_or(line.len());
    let pattern = line.get(..end)?.trim_end();
    let pattern = pattern.strip_suffix(':').unwrap_or(pattern);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '*' | '/' | '.' | '-' | '_' | '?');
    let range = start..start + pattern.len();
    pattern.chars().all(plain).then(|| Edit { range, text: format!("\"{pattern}\"") })
}
