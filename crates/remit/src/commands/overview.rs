//! An agent at one look: all that it may do, as a tree of folders with the rules; what it needs, and what the agents
//! offer one another.

use crate::commands::ladder::{mend, origin, place_of};
use crate::report::{self, BOLD, DIM, ERROR, Failure, OK, WAIT};
use remit_config::Capability;
use remit_core::path::printable;
use remit_core::{AbsPath, Effect, Exit};
use remit_policy::{Access, Overview, Pattern, Remedy, Row};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Shows an agent's remit.
pub(crate) fn page(told: &Overview, as_json: bool) -> Result<Exit, Failure> {
    match as_json {
        true => report::say_json(&for_programs(told))?,
        false => report::say(&picture(told))?,
    }
    Ok(Exit::Yes)
}

fn for_programs(told: &Overview) -> Value {
    let row = |row: &Row| {
        json!({
            "path": row.path,
            "folder": row.folder,
            "says": row.says.to_string(),
            "access": row.access.to_string(),
            "rule": &*row.rule,
            "origin": origin(row.scope, &row.rule),
        })
    };
    let protected = told.protected.iter().map(|(path, what)| json!({"path": path, "what": what}));
    json!({
        "version": 1,
        "agent": told.agent,
        "place": told.place,
        "digest": told.digest.to_string(),
        "workspace": told.workspace,
        "base_workspace": told.base_workspace,
        "cli": told.cli,
        "roles": told.roles,
        "base": told.base,
        "default": told.default,
        "max_access": told.ceiling.as_ref().map(|(access, _)| access.to_string()),
        "rules": told.rules.iter().map(row).collect::<Vec<_>>(),
        "every_session": told.every.iter().map(row).collect::<Vec<_>>(),
        "protected": protected.collect::<Vec<_>>(),
        "denied_tools": told.denied_tools,
        "allowed_tools": told.allowed_tools,
        "denied_verbs": told.denied_verbs,
        "git": told.git,
        "requires": told.requires,
        "provides": told.provides,
    })
}

fn picture(told: &Overview) -> String {
    let place = format!("{DIM}{}:{}{DIM:#}", told.place.file, told.place.line);
    let mut out = format!("{BOLD}{}{BOLD:#}  {place}\n", printable(&told.agent));
    let mut say = |name: &str, what: &str| out.push_str(&format!("  {name:<9}{}\n", printable(what)));
    if let Some(cli) = &told.cli {
        say("program", cli);
    }
    if !told.roles.is_empty() {
        say("roles", &told.roles.join(", "));
    }
    if let Some(folder) = &told.base_workspace {
        say("works in", folder);
    }
    if let Some((access, rule)) = &told.ceiling {
        say("at most", &format!("{access} ({})", place_of(rule)));
    }
    for only in &told.allowed_tools {
        say("tools", &format!("only {}", only.join(", ")));
    }
    if !told.denied_tools.is_empty() {
        say("tools", &format!("not {}", told.denied_tools.join(", ")));
    }
    if !told.denied_verbs.is_empty() {
        let verbs: Vec<String> = told.denied_verbs.iter().map(ToString::to_string).collect();
        say("verbs", &format!("not {}", verbs.join(", ")));
    }
    if !told.git {
        say("git", "none");
    }
    let inside = |row: &&Row| told.workspace.covers(&row.folder);
    let (here, elsewhere): (Vec<&Row>, Vec<&Row>) = told.rules.iter().partition(inside);
    out.push_str(&format!("\n{BOLD}{}{BOLD:#}\n{}", told.workspace, tree(&here, &told.workspace)));
    if !elsewhere.is_empty() {
        out.push_str(&format!("\n{BOLD}elsewhere{BOLD:#}\n{}", tree(&elsewhere, &AbsPath::root())));
    }
    out.push_str(&format!("\n{BOLD}every session{BOLD:#} {DIM}(base: {}){DIM:#}\n", told.base));
    out.push_str(&of_all(&told.every));
    let rest = match told.default {
        Effect::Allow => "may be done: the default is to allow",
        Effect::Ask => "must be asked for, and nobody can be asked yet",
        Effect::Deny => "is denied",
    };
    out.push_str(&format!("\n{BOLD}all else{BOLD:#} {rest}\n"));
    let agent = printable(&told.agent);
    let more = [
        (told.requires, "need", format!("remit explain {agent} --requires")),
        (told.provides, "offer", "remit explain --provides".to_owned()),
    ];
    for (count, what, command) in more.iter().filter(|(count, ..)| *count > 0) {
        let s = if *count == 1 { "" } else { "s" };
        out.push_str(&format!("{count} {what}{s}: {DIM}{command}{DIM:#}\n"));
    }
    out.push_str(&format!(
        "\n{DIM}r read, w write, x execute, --- nothing: it is hidden. What a program would obey\nby itself (policies, git's hooks, agents' settings) is changed by no rule.{DIM:#}\n"
    ));
    out
}

/// `rwx`, as a person reads it.
fn letters(access: Access) -> String {
    let letter = |part, letter| if access.has(part) { letter } else { '-' };
    [letter(Access::READ, 'r'), letter(Access::WRITE, 'w'), letter(Access::EXECUTE, 'x')].iter().collect()
}

fn style(access: Access) -> anstyle::Style {
    match access {
        Access::NONE => ERROR,
        access if access.has(Access::WRITE) => OK,
        _ => WAIT,
    }
}

/// The names of a path below a folder.
fn names(path: &str, root: &AbsPath) -> Vec<String> {
    let root = Pattern::of(root).to_string();
    let rest = path.strip_prefix(root.trim_end_matches('/')).unwrap_or(path);
    rest.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// A folder, or a pattern, and the rules that name it.
#[derive(Default)]
struct Node<'a> {
    rows: Vec<&'a Row>,
    below: BTreeMap<String, Node<'a>>,
}

/// A line of the tree: what may be done, its name, the rule.
type Drawn = (Option<Access>, String, String);

fn tree(rows: &[&Row], root: &AbsPath) -> String {
    let mut top = Node::default();
    for row in rows {
        let mut node = &mut top;
        for name in names(&row.path, root) {
            node = node.below.entry(name).or_default();
        }
        node.rows.push(row);
    }
    let mut lines: Vec<Drawn> = Vec::new();
    let start = if *root == AbsPath::root() { "/" } else { "." };
    if !top.rows.is_empty() || !top.below.is_empty() {
        drawn(&top, start.to_owned(), &mut lines);
    }
    branches(&top, "", &mut lines);
    if lines.is_empty() {
        return format!("  {DIM}no rule speaks of it{DIM:#}\n");
    }
    let width = lines.iter().map(|(_, name, _)| name.chars().count()).max().unwrap_or(0).min(40);
    let line = |(access, name, rule): &Drawn| {
        let mark = match access {
            Some(access) => {
                let style = style(*access);
                format!("{style}{}{style:#}", letters(*access))
            }
            None => "   ".to_owned(),
        };
        match rule.as_str() {
            "" => format!("  {mark}  {name}\n"),
            rule => format!("  {mark}  {name:<width$}  {DIM}{rule}{DIM:#}\n"),
        }
    };
    lines.iter().map(line).collect()
}

fn drawn(node: &Node<'_>, name: String, lines: &mut Vec<Drawn>) {
    let said = |row: &&Row| {
        let less = if row.access == row.says { String::new() } else { format!(", says {}", row.says) };
        format!("{} {}{less}", place_of(&row.rule), origin(row.scope, &row.rule))
    };
    let mut rules = node.rows.iter().map(said);
    lines.push((node.rows.first().map(|row| row.access), name, rules.next().unwrap_or_default()));
    lines.extend(rules.map(|rule| (None, String::new(), rule)));
}

fn branches(node: &Node<'_>, before: &str, lines: &mut Vec<Drawn>) {
    let last = node.below.len().saturating_sub(1);
    for (at, (name, child)) in node.below.iter().enumerate() {
        // Folders that only lead to one other are one line.
        let (mut name, mut child) = (name.clone(), child);
        while let (true, 1, Some((next, below))) =
            (child.rows.is_empty(), child.below.len(), child.below.iter().next())
        {
            name = format!("{name}/{next}");
            child = below;
        }
        let (branch, more) = if at == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        drawn(child, format!("{before}{branch}{}", printable(&name)), lines);
        branches(child, &format!("{before}{more}"), lines);
    }
}

/// What every session has, folded: for each access, the paths.
fn of_all(rows: &[Row]) -> String {
    let mut by: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for row in rows {
        by.entry(letters(row.says)).or_default().push(&row.path);
    }
    let mut out = String::new();
    for (access, paths) in by.iter().rev() {
        let mut line = format!("  {access} ");
        for path in paths {
            let path = printable(path);
            let full = line.chars().count() + path.chars().count() + 1 > 79;
            if full && line.trim_end().chars().count() > 5 {
                out.push_str(&format!("{}\n", line.trim_end()));
                line = " ".repeat(6);
            }
            line.push_str(&format!(" {path}"));
        }
        out.push_str(&format!("{}\n", line.trim_end()));
    }
    out
}

/// Shows needs or offers. Exit 1 if a need is not granted.
pub(crate) fn capabilities(
    agent: Option<&str>,
    kind: &str,
    told: &[Capability],
    as_json: bool,
) -> Result<Exit, Failure> {
    if as_json {
        let all: Vec<_> = told.iter().map(one_for_programs).collect();
        report::say_json(&json!({"version": 1, "agent": agent, kind: all}))?;
    } else {
        report::say(&listed(agent, kind == "provides", told))?;
    }
    let lacks = told.iter().any(|one| one.claim.as_ref().is_some_and(|claim| claim.granted == Some(false)));
    Ok(if kind == "requires" && lacks { Exit::No } else { Exit::Yes })
}

fn one_for_programs(one: &Capability) -> Value {
    let claim = one.claim.as_ref();
    let reasons = || claim.iter().flat_map(|claim| &claim.reasons);
    json!({
        "agent": one.agent,
        "path": one.path,
        "written": one.written,
        "access": one.access.to_string(),
        "text": one.text,
        "rule": &*one.rule,
        "granted": claim.and_then(|claim| claim.granted),
        "why": reasons().map(ToString::to_string).collect::<Vec<_>>(),
        "by": reasons().filter_map(|reason| reason.rule.as_deref()).collect::<Vec<_>>(),
        "remedy": claim.and_then(|claim| claim.remedy.as_ref()).map(ToString::to_string),
        "mend": claim.and_then(|claim| claim.remedy.as_ref()).map(mend),
    })
}

fn listed(agent: Option<&str>, offers: bool, told: &[Capability]) -> String {
    if told.is_empty() {
        return match (offers, agent) {
            (true, Some(agent)) => format!("no other agent offers `{}` anything\n", printable(agent)),
            (true, None) => "no agent offers anything\n".to_owned(),
            (false, Some(agent)) => format!("`{}` states no needs\n", printable(agent)),
            (false, None) => "no needs are stated\n".to_owned(),
        };
    }
    let mut out = String::new();
    for one in told {
        let (style, mark) = match one.claim.as_ref().map(|claim| claim.granted) {
            Some(Some(true)) => (OK, "ok     "),
            Some(Some(false)) => (ERROR, "lacks  "),
            Some(None) => (WAIT, "?      "),
            None => (DIM, ""),
        };
        let indent = " ".repeat(mark.len().max(2));
        let who = if offers { format!("{} offers ", printable(&one.agent)) } else { String::new() };
        let what = format!("{BOLD}{who}{} {}{BOLD:#}", one.access, printable(&one.path));
        out.push_str(&format!("{style}{mark}{style:#}{what}  {DIM}{}{DIM:#}\n", place_of(&one.rule)));
        let mut below = |text: &str| out.push_str(&format!("{indent}{}\n", printable(text)));
        if !one.text.is_empty() {
            below(&one.text);
        }
        let Some(claim) = &one.claim else { continue };
        claim.reasons.iter().for_each(|reason| below(&reason.to_string()));
        match &claim.remedy {
            Some(Remedy::Add { list, lines, .. }) => {
                below(&format!("to grant it, add to {list}:"));
                lines.iter().for_each(|line| below(&format!("  {line}")));
            }
            Some(other) => below(&format!("what would change it: {other}")),
            None if claim.granted.is_none() => below("no path of the pattern can be made up to ask for"),
            None => {}
        }
    }
    out
}
