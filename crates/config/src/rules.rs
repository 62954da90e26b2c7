//! Rules, requests, needs and offers: a pattern and an access in any of the spellings.

use crate::finding::{Findings, shown};
use crate::keys::{self, Key};
use crate::nearest::hint;
use crate::read::Fields;
use crate::tree::{Node, Value};
use remit_core::Verb;
use remit_policy::Access;
use remit_policy::source::{ApprovalSource, AskMode, At, CapabilitySource, For, RequestSource, RuleSource};

pub(crate) const ANSWERS: &[(&str, AskMode)] =
    &[("ask", AskMode::Ask), ("once", AskMode::Once), ("never", AskMode::Never)];
/// Verbs that can be taken away as such. No session could start without reading and executing.
pub(crate) const MODES: &[(&str, Verb)] =
    &[("write", Verb::Write), ("create", Verb::Create), ("delete", Verb::Delete), ("rename", Verb::Rename)];

/// Access: one word, or a list of words whose sum it is.
pub(crate) fn access(node: &Node, found: &mut Findings) -> Option<At<Access>> {
    let words: Vec<&Node> = match &node.value {
        Value::Scalar { .. } => vec![node],
        Value::List(items) => items.iter().map(|item| &**item).collect(),
        _ => {
            let message =
                format!("access is a word or a list of words, and here stands {}", node.value.kind());
            found.error_help("wrong-kind", &node.place, message, "no access at all is the word `none`");
            return None;
        }
    };
    if words.is_empty() {
        found.error_help(
            "empty-list",
            &node.place,
            "the list of access words is empty",
            "no access at all is the word `none`",
        );
        return None;
    }
    let mut sum = Some(Access::NONE);
    let mut none = None;
    for word in &words {
        let Some(text) = found.text(word, "access") else {
            sum = None;
            continue;
        };
        match Access::word(&text.value) {
            Some(Access::NONE) => none = Some(text.place),
            Some(access) => sum = sum.map(|sum| sum.union(access)),
            None => {
                let message = format!("{} is no word for access", shown(&text.value));
                found.slip(&text.place, &text.value, &Access::WORDS);
                found.error_help("unknown-access", &text.place, message, hint(&text.value, &Access::WORDS));
                sum = None;
            }
        }
    }
    if let Some(place) = none
        && words.len() > 1
    {
        found.error("none-with-others", &place, "`none` is absolute and stands alone");
        return None;
    }
    Some(At { value: sum?, place: node.place.clone() })
}

/// `{path, access}` of a mapping that may have more keys.
fn rule(fields: &Fields<'_>, id: String, found: &mut Findings) -> Option<RuleSource> {
    let what = format!("`{id}`");
    let path =
        found.needed(fields, "path", &what).and_then(|node| found.filled(node, &format!("`{id}.path`")));
    let access = found.needed(fields, "access", &what).and_then(|node| access(node, found));
    Some(RuleSource { path: path?, access: access?, id: id.into() })
}

/// `permissions`: a list of `{path, access}`, or a mapping of path to access. Ids count from 0 either way.
pub(crate) fn permissions(node: &Node, at: &str, found: &mut Findings) -> Vec<RuleSource> {
    let Value::Map(entries) = &node.value else {
        return each(node, at, found, keys::RULE, rule);
    };
    let mut rules = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        if entry.key.trim().is_empty() {
            found.error("empty-text", &entry.place, format!("`{at}` has an empty path"));
        }
        if let Some(access) = access(&entry.value, found) {
            let path = At { value: entry.key.clone(), place: entry.place.clone() };
            rules.push(RuleSource { path, access, id: format!("{at}[{index}]").into() });
        }
    }
    rules
}

/// Reads each mapping of a list; `at` and its index make the id.
fn each<T>(
    node: &Node,
    at: &str,
    found: &mut Findings,
    keys: &[Key],
    read: impl Fn(&Fields<'_>, String, &mut Findings) -> Option<T>,
) -> Vec<T> {
    let mut all = Vec::new();
    for (index, item) in found.items(node, &format!("`{at}`")).iter().enumerate() {
        let id = format!("{at}[{index}]");
        if let Some(fields) = found.fields(item, &format!("`{id}`"), keys) {
            all.extend(read(&fields, id, found));
        }
    }
    all
}

/// `requests`.
pub(crate) fn requests(node: &Node, at: &str, found: &mut Findings) -> Vec<RequestSource> {
    each(node, at, found, keys::REQUEST, |fields, id, found| {
        let answer = match fields.get("answer") {
            Some(node) => found.word(node, &format!("`{id}.answer`"), ANSWERS).map(|at| at.value),
            None => Some(AskMode::Ask),
        };
        let rule = rule(fields, id, found);
        Some(RequestSource { rule: rule?, answer: answer? })
    })
}

/// `capabilities.requires` (with `reason`) or `capabilities.provides` (with `description`).
pub(crate) fn capabilities(node: &Node, at: &str, text: &str, found: &mut Findings) -> Vec<CapabilitySource> {
    let keys = if text == "reason" { keys::REQUIRES } else { keys::PROVIDES };
    each(node, at, found, keys, |fields, id, found| {
        let words = fields.get(text).and_then(|node| found.text(node, &format!("`{id}.{text}`")));
        let rule = rule(fields, id, found)?;
        Some(CapabilitySource { rule, text: words.map(|at| at.value).unwrap_or_default() })
    })
}

/// `global_rules`: rules with `for`. Without it a rule binds everybody.
pub(crate) fn global_rules(node: &Node, found: &mut Findings) -> Vec<(RuleSource, For)> {
    each(node, "global_rules", found, keys::GLOBAL_RULE, |fields, id, found| {
        let whom = match fields.get("for") {
            Some(node) => whom(node, &format!("`{id}.for`"), found),
            None => Some(For::All),
        };
        let rule = rule(fields, id, found);
        Some((rule?, whom?))
    })
}

/// `all`, one name, or a list of names.
fn whom(node: &Node, what: &str, found: &mut Findings) -> Option<For> {
    let names = found.texts(node, what);
    match (&node.value, names.as_slice()) {
        (Value::Scalar { .. }, [name]) if name.value == "all" => Some(For::All),
        (Value::List(items), []) if items.is_empty() => {
            found.error_help(
                "empty-list",
                &node.place,
                format!("{what} names nobody"),
                "write `all`, or the names of agents and roles",
            );
            None
        }
        (_, []) => None,
        (_, names) => match names.iter().find(|name| name.value == "all") {
            Some(all) => {
                found.error_help(
                    "all-with-others",
                    &all.place,
                    "`all` stands alone, not in a list",
                    "write `for: all`",
                );
                None
            }
            None => Some(For::These(names.to_vec())),
        },
    }
}

/// `approvals`.
pub(crate) fn approvals(node: &Node, found: &mut Findings) -> Vec<ApprovalSource> {
    each(node, "approvals", found, keys::APPROVAL, |fields, id, found| {
        let what = format!("`{id}`");
        let verb = found.needed(fields, "verb", &what).and_then(|node| verb(node, &id, found));
        let path =
            found.needed(fields, "path", &what).and_then(|node| found.filled(node, &format!("`{id}.path`")));
        Some(ApprovalSource { verb: verb?, path: path?, id: id.into() })
    })
}

/// A verb that is done to a path.
pub(crate) fn verb(node: &Node, id: &str, found: &mut Findings) -> Option<At<Verb>> {
    found.word(node, &format!("`{id}.verb`"), &Verb::FILES.map(|verb| (verb.word(), verb)))
}
