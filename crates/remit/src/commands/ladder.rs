//! One answer of `remit explain`: at a glance, then layer by layer, with the rule in its place in the file.

use crate::report::{self, BOLD, DIM, HINT, style_of};
use remit_core::path::printable;
use remit_core::{Action, Effect, Layer, Place, Reason, Rule, Why};
use remit_policy::{Explanation, Fate, PathRules, Remedy, RuleFate, Scope};
use serde_json::{Value, json};

/// The name and text of the policy file, where it is what the answer rests on.
pub(crate) type Text<'a> = Option<(&'a str, &'a str)>;

/// One answer in full.
pub(crate) fn as_text(action: &Action, explanation: &Explanation, text: Text<'_>) -> String {
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
            if let Some(Remedy::Add { list, lines, after }) = &explanation.narrower {
                below(&format!("or add to {list}{}:", below_of(after)));
                lines.iter().for_each(|line| below(&format!("  {line}")));
            }
        }
        Some(Remedy::Change(rule)) => below(&format!("to allow it, change {rule}")),
        Some(Remedy::Add { list, lines, after }) => {
            below(&format!("to allow it, add to {list}{}:", below_of(after)));
            lines.iter().for_each(|line| below(&format!("  {line}")));
        }
    }
    let changed = match &explanation.remedy {
        Some(Remedy::Change(rule)) => Some(rule),
        _ => None,
    };
    let mut quoted: Vec<&Place> = Vec::new();
    for rule in deciding.and_then(|reason| reason.rule.as_ref()).into_iter().chain(changed) {
        if let Some(place) = rule.place.as_ref().filter(|place| !quoted.contains(place)) {
            out.push_str(&excerpt(place, text));
            quoted.push(place);
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

/// Where a line goes, in words.
fn below_of(after: &Option<Place>) -> String {
    after.as_ref().map(|at| format!(", below {}:{}", at.file, at.line)).unwrap_or_default()
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
    let at = format!("  {}", place_of(&one.rule));
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
    let whose = match one.scope {
        Scope::Global | Scope::Role => format!(" ({})", origin(one.scope, &one.rule)),
        // Said by the place, and by the id.
        Scope::Agent | Scope::Base => String::new(),
    };
    vec![at, format!("`{}`", one.rule.text), fate + &whose]
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

/// One answer for programs.
pub(crate) fn as_json(action: &Action, explanation: &Explanation, text: Text<'_>) -> Value {
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
            "origin": reason.as_ref().and_then(|r| r.rule.as_ref()).and_then(|rule| origin_of(rule, explanation)),
            "excerpt": reason.as_ref().and_then(|r| excerpt_of(r.rule.as_deref()?, text)),
            "decided": reason.as_ref().is_some_and(|r| Some(r) == decision.deciding()),
        })).collect::<Vec<_>>(),
        "paths": explanation.paths.iter().map(|p| json!({
            "path": p.path,
            "access": p.access.to_string(),
            "rules": p.rules.iter().map(|f| json!({
                "rule": &*f.rule,
                "access": f.access.to_string(),
                "fate": f.fate.to_string(),
                "origin": origin(f.scope, &f.rule),
                "excerpt": excerpt_of(&f.rule, text),
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "remedy": explanation.remedy.as_ref().map(ToString::to_string),
        "mend": explanation.remedy.as_ref().map(mend),
        "narrower": explanation.narrower.as_ref().map(mend),
    })
}

/// What would change an answer, for programs.
pub(crate) fn mend(remedy: &Remedy) -> Value {
    match remedy {
        Remedy::Nothing(why) => json!({"kind": "nothing", "why": why}),
        Remedy::Add { list, lines, after } => {
            json!({"kind": "add", "list": list, "lines": lines, "after": after})
        }
        Remedy::Change(rule) => json!({"kind": "change", "rule": &**rule}),
    }
}

/// Many answers, a line each.
pub(crate) fn lines(answers: &[(&Action, Explanation)]) -> String {
    let object = |action: &Action| action.object.to_string();
    let width = answers.iter().map(|(action, _)| object(action).chars().count()).max().unwrap_or(0).min(60);
    let mut out = String::new();
    for (action, told) in answers {
        let effect = told.decision.effect;
        let style = style_of(effect);
        let why = told.decision.deciding().map(words).unwrap_or_default();
        out.push_str(&format!(
            "{style}{:<5}{style:#}  {:<width$}  {DIM}{}{DIM:#}\n",
            effect.to_string(),
            object(action),
            printable(&why)
        ));
    }
    out
}

/// Where a rule is found: file and line, or the id of what is built in.
pub(crate) fn place_of(rule: &Rule) -> String {
    match &rule.place {
        Some(place) => format!("{}:{}", place.file, place.line),
        None => rule.id.to_string(),
    }
}

/// From whom a rule comes, in a word or two.
pub(crate) fn origin(scope: Scope, rule: &Rule) -> String {
    match scope {
        Scope::Global => "for all".to_owned(),
        Scope::Agent => "own".to_owned(),
        Scope::Base => "built in".to_owned(),
        Scope::Role => {
            let name = rule.id.strip_prefix("roles.").and_then(|id| id.split('.').next());
            name.map_or("role".to_owned(), |name| format!("role {}", printable(name)))
        }
    }
}

/// From whom a rule of a layer comes, if it is one of those that speak of a path.
fn origin_of(rule: &Rule, explanation: &Explanation) -> Option<String> {
    let mut speaking = explanation.paths.iter().flat_map(|paths| &paths.rules);
    speaking.find(|one| *one.rule == *rule).map(|one| origin(one.scope, &one.rule))
}

/// The line of the file at which a rule stands.
fn excerpt_of(rule: &Rule, text: Text<'_>) -> Option<String> {
    let place = rule.place.as_ref()?;
    let (_, text) = text.filter(|(file, _)| *file == &*place.file)?;
    let at = usize::try_from(place.line).ok()?.checked_sub(1)?;
    text.lines().nth(at).map(str::to_owned)
}

/// How much of a line is shown, so that it fits a terminal.
const WIDEST: usize = 70;

/// The rule in its file: its line with a caret under the pattern, and the two lines before.
fn excerpt(place: &Place, text: Text<'_>) -> String {
    let Some((_, all)) = text.filter(|(file, _)| *file == &*place.file) else { return String::new() };
    let last = usize::try_from(place.line).unwrap_or(0);
    let first = last.saturating_sub(2).max(1);
    let gutter = last.to_string().len();
    let mut out = format!("\n  {DIM}{}:{}:{}{DIM:#}\n", place.file, place.line, place.column);
    for (number, line) in (1..).zip(all.lines()).skip(first.saturating_sub(1)).take(last + 1 - first) {
        let line = printable(&line.replace('\t', " "));
        let mut shown: String = line.chars().take(WIDEST).collect();
        if line.chars().count() > WIDEST {
            shown.push('…');
        }
        out.push_str(&format!("  {DIM}{number:>gutter$} │{DIM:#} {shown}\n"));
    }
    let column = usize::try_from(place.column).unwrap_or(1).saturating_sub(1);
    let width = usize::try_from(place.width).unwrap_or(1).max(1).min(WIDEST.saturating_sub(column));
    if width > 0 {
        let carets = "^".repeat(width);
        out.push_str(&format!("  {DIM}{:>gutter$} │{DIM:#} {:column$}{HINT}{carets}{HINT:#}\n", "", ""));
    }
    out
}
