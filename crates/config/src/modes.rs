//! What a role or an agent has taken away whatever the path (tools, verbs), and how much of the machine it gets.

use crate::finding::{Findings, shown};
use crate::keys;
use crate::read::Fields;
use crate::rules::MODES;
use crate::tree::{Entry, Node, Value};
use remit_core::Verb;
use remit_policy::source::{At, Limits};

/// `tools: {deny: […], allow: […]}`.
pub(crate) fn tools(
    fields: &Fields<'_>,
    at: &str,
    found: &mut Findings,
) -> (Vec<At<String>>, Vec<At<String>>) {
    let Some(node) = fields.get("tools") else { return Default::default() };
    let Some(tools) = found.fields(node, &format!("`{at}.tools`"), keys::TOOLS) else {
        return Default::default();
    };
    let mut list = |key: &str| {
        let Some(node) = tools.get(key) else { return Vec::new() };
        let what = format!("`{at}.tools.{key}`");
        if key == "allow" && matches!(&node.value, Value::List(items) if items.is_empty()) {
            let message = format!("{what} names no tool");
            found.error_help("empty-list", &node.place, message, "to take away every tool: `deny: [\"*\"]`");
        }
        let names = found.texts(node, &what);
        names.into_iter().filter(|name| is_name(name, found)).collect()
    };
    (list("deny"), list("allow"))
}

/// Whether it can name a tool: hosts have spellings for calls with certain arguments, which would never be a tool's
/// name and so take nothing away.
fn is_name(name: &At<String>, found: &mut Findings) -> bool {
    let good = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '(' | ')' | ',');
    let is_good = name.value.chars().all(good);
    if !is_good {
        found.error_help(
            "bad-tool",
            &name.place,
            format!("{} is no name of a tool", shown(&name.value)),
            "write the name alone, such as `WebFetch` or `mcp__server__*`; what a tool does with files, `permissions` say",
        );
    }
    is_good
}

/// `verbs: {deny: […]}`.
pub(crate) fn verbs(fields: &Fields<'_>, at: &str, found: &mut Findings) -> Vec<At<Verb>> {
    let Some(node) = fields.get("verbs") else { return Vec::new() };
    let verbs = found.fields(node, &format!("`{at}.verbs`"), keys::VERBS);
    let Some(node) = verbs.and_then(|verbs| verbs.get("deny")) else { return Vec::new() };
    let what = format!("`{at}.verbs.deny`");
    match &node.value {
        Value::List(items) => items.iter().filter_map(|item| found.word(item, &what, MODES)).collect(),
        _ => found.word(node, &what, MODES).into_iter().collect(),
    }
}

/// Units of bytes.
const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// `limits: {memory, processes, cpu}`; the place is the key's.
pub(crate) fn limits(entry: &Entry, at: &str, found: &mut Findings) -> Option<At<Limits>> {
    let fields = found.fields(&entry.value, &format!("`{at}.limits`"), keys::LIMITS)?;
    let mut value = |key: &str, read: fn(&str) -> Option<u64>, help: &str| {
        let node: &Node = fields.get(key)?;
        let what = format!("`{at}.limits.{key}`");
        let text = found.filled(node, &what)?;
        let value = read(&text.value);
        if value.is_none() {
            let message = format!("{what} cannot be {}", shown(&text.value));
            found.error_help("bad-limit", &text.place, message, help);
        }
        value
    };
    let memory = value("memory", bytes, "write a number with a unit, such as `512MiB` or `2GiB`");
    let processes = value("processes", count, "write a number from 1, such as `256`");
    let cpu = value("cpu", cores, "write a number of cores, such as `1.5`");
    Some(At { value: Limits { memory, processes, cpu }, place: entry.place.clone() })
}

fn count(text: &str) -> Option<u64> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|n| *n > 0)
}

fn bytes(text: &str) -> Option<u64> {
    let (unit, size) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    count(text.strip_suffix(unit)?.trim_end())?.checked_mul(*size)
}

/// Hundredths of a core.
fn cores(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 2 {
        return None;
    }
    let part: u64 = format!("{part:0<2}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(part).filter(|n| *n > 0)
}

/// Bytes in the largest unit that says them exactly.
pub(crate) fn spell_bytes(bytes: u64) -> String {
    let fits = |(_, size): &&(&str, u64)| bytes.is_multiple_of(*size);
    UNITS.iter().rev().find(fits).map_or_else(String::new, |(unit, size)| format!("{}{unit}", bytes / size))
}

/// Hundredths of a core as cores.
pub(crate) fn spell_cores(hundredths: u64) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
