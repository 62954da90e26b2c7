//! Changes of a policy's text. A change is a range of bytes and what comes in its place, made from positions of
//! the tree: comments, order, quoting and foreign keys stay as they are. What cannot be placed so is refused.

use crate::render::{access, quoted, render};
use crate::tree::{self, Entry, Node, Value};
use crate::{finding::Findings, load};
use remit_core::Place;
use remit_policy::source::{AgentSource, At, RuleSource};
use remit_policy::{Access, PolicySource};
use std::ops::Range;
use std::rc::Rc;

/// A range of bytes of a text, and what comes in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that go.
    pub range: Range<usize>,
    /// What comes.
    pub text: String,
}

impl Edit {
    pub(crate) fn insert(at: usize, text: String) -> Self {
        Self { range: at..at, text }
    }

    /// The changed text; none if the range is none of it.
    pub fn apply(&self, text: &str) -> Option<String> {
        text.get(self.range.clone())?;
        let (before, after) = (text.get(..self.range.start)?, text.get(self.range.end..)?);
        Some(format!("{before}{}{after}", self.text))
    }
}

/// Why a text is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is no policy without errors.
    #[error("the policy has errors")]
    Unreadable,
    /// No agent has this name.
    #[error("there is no agent `{0}`")]
    NoAgent(String),
    /// An agent has this name already.
    #[error("there is an agent `{0}` already")]
    Known(String),
    /// Anchors, or a layout in which no place is certain.
    #[error("the file is written in a way in which this cannot be added without a risk for the rest")]
    NoPlace,
}

/// Adds a rule to an agent's own list, which is made if there is none.
pub fn add_rule(text: &str, agent: &str, path: &str, granted: Access) -> Result<Edit, EditError> {
    let mut wanted = load("", text.as_bytes()).map_err(|_| EditError::Unreadable)?;
    let named = wanted.agents.get_mut(agent).ok_or_else(|| EditError::NoAgent(agent.to_owned()))?;
    let nowhere = Place::file("");
    named.permissions.push(RuleSource {
        path: At { value: path.to_owned(), place: nowhere.clone() },
        access: At { value: granted, place: nowhere },
        id: "".into(),
    });
    let edit = Text::read(text).and_then(|text| text.rule(agent, path, granted)).ok_or(EditError::NoPlace)?;
    certain(text, edit, &wanted)
}

/// Adds an agent that has nothing yet.
pub fn add_agent(text: &str, name: &str) -> Result<Edit, EditError> {
    let mut wanted = load("", text.as_bytes()).map_err(|_| EditError::Unreadable)?;
    if wanted.agents.contains_key(name) {
        return Err(EditError::Known(name.to_owned()));
    }
    wanted.agents.insert(name.to_owned(), AgentSource::named(Place::file("")));
    let edit = Text::read(text).and_then(|text| text.agent(name)).ok_or(EditError::NoPlace)?;
    certain(text, edit, &wanted)
}

/// Sets a key of the document to one word. What that means is not looked at.
pub fn set_key(text: &str, key: &str, word: &str) -> Option<Edit> {
    Text::read(text)?.key(key, word)
}

/// The edit, if the text then says what is wanted, and nothing else.
fn certain(text: &str, edit: Edit, wanted: &PolicySource) -> Result<Edit, EditError> {
    let after = edit.apply(text).and_then(|text| load("", text.as_bytes()).ok());
    match after {
        Some(after) if render(&after) == render(wanted) => Ok(edit),
        _ => Err(EditError::NoPlace),
    }
}

/// A text and its tree.
pub(crate) struct Text<'t> {
    text: &'t str,
    root: Rc<Node>,
}

impl<'t> Text<'t> {
    pub(crate) fn read(text: &'t str) -> Option<Self> {
        let root = tree::parse(&"".into(), text, &mut Findings::default())?;
        Some(Self { text, root })
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// Whether keys and words stand in double quotes.
    fn json(&self) -> bool {
        self.text.trim_start().starts_with('{') && self.text.contains("\"version\"")
    }

    fn word(&self, word: &str) -> String {
        if self.json() { format!("\"{word}\"") } else { word.to_owned() }
    }

    fn name(&self, name: &str) -> String {
        if self.json() && !quoted(name).starts_with('"') { format!("\"{name}\"") } else { quoted(name) }
    }

    fn granted(&self, granted: Access) -> String {
        match access(granted) {
            list if list.starts_with('[') && self.json() => "[\"write\", \"execute\"]".to_owned(),
            list if list.starts_with('[') => list,
            word => self.word(&word),
        }
    }

    fn pair(&self, path: &str, granted: Access) -> String {
        let (key, access) = (self.word("path"), self.word("access"));
        format!("{{{key}: {}, {access}: {}}}", self.text_of(path), self.granted(granted))
    }

    /// A pattern always stands in quotes.
    fn text_of(&self, path: &str) -> String {
        let safe = quoted(path);
        if safe.starts_with('"') { safe } else { format!("\"{path}\"") }
    }

    fn rule(&self, agent: &str, path: &str, granted: Access) -> Option<Edit> {
        let agent = self.find_agent(agent)?;
        let pair = self.pair(path, granted);
        let Some(list) = entry(agent, "permissions") else {
            let key = self.word("permissions");
            let block = [format!("{key}:"), format!("  - {pair}")];
            return self.append(agent, &block, &format!("{key}: [{pair}]"));
        };
        match &list.value.value {
            Value::List(_) => self.append(&list.value, &[format!("- {pair}")], &pair),
            Value::Map(_) => {
                let pair = format!("{}: {}", self.text_of(path), self.granted(granted));
                self.append(&list.value, std::slice::from_ref(&pair), &pair)
            }
            _ => None,
        }
    }

    fn find_agent(&self, name: &str) -> Option<&Node> {
        ["agents", "agent_permissions"].iter().find_map(|key| match &entry(&self.root, key)?.value.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == name).map(|entry| &*entry.value),
            Value::List(items) => items.iter().map(|item| &**item).find(|item| {
                let id = entry(item, "id").map(|entry| &entry.value.value);
                matches!(id, Some(Value::Scalar { text, .. }) if text == name)
            }),
            _ => None,
        })
    }

    fn agent(&self, name: &str) -> Option<Edit> {
        let line = format!("{}: {{}}", self.name(name));
        let Some(agents) = ["agents", "agent_permissions"].iter().find_map(|key| entry(&self.root, key))
        else {
            let key = self.word("agents");
            return self.append(
                &self.root,
                &[format!("{key}:"), format!("  {line}")],
                &format!("{key}: {{{line}}}"),
            );
        };
        match &agents.value.value {
            Value::Map(_) => self.append(&agents.value, std::slice::from_ref(&line), &line),
            Value::List(_) => {
                let id = format!("{}: {}", self.word("id"), self.name(name));
                self.append(&agents.value, &[format!("- {id}")], &format!("{{{id}}}"))
            }
            _ => None,
        }
    }

    fn key(&self, key: &str, word: &str) -> Option<Edit> {
        if let Some(known) = entry(&self.root, key) {
            let scalar = matches!(known.value.value, Value::Scalar { .. });
            return scalar.then(|| Edit { range: known.value.span.clone(), text: self.word(word) });
        }
        let Value::Map(entries) = &self.root.value else { return None };
        let line = format!("{}: {}", self.word(key), self.word(word));
        let version = entries.iter().find(|entry| entry.key == "version");
        match version.map(|version| version.value.span.end) {
            Some(at) if self.is_flow(&self.root) => Some(Edit::insert(at, format!(", {line}"))),
            Some(at) => Some(Edit::insert(self.line_end(at), format!("{}{line}", self.newline()))),
            None => self.first(&line),
        }
    }

    /// Puts a line before all others of the document.
    pub(crate) fn first(&self, line: &str) -> Option<Edit> {
        let Value::Map(entries) = &self.root.value else { return None };
        if self.is_flow(&self.root) {
            let comma = if entries.is_empty() { "" } else { ", " };
            return Some(Edit::insert(self.root.span.start + 1, format!("{line}{comma}")));
        }
        let at = entries.first()?.span.start;
        (self.line_start(at) == at).then(|| Edit::insert(at, format!("{line}{}", self.newline())))
    }

    /// The line that names the version of the language.
    pub(crate) fn version(&self) -> Option<Edit> {
        self.first(&format!("{}: \"{}\"", self.word("version"), crate::VERSION))
    }

    /// A block list may begin where its first item does, and that may be `{`.
    fn is_flow(&self, node: &Node) -> bool {
        matches!(self.text.as_bytes().get(node.span.start), Some(b'{' | b'['))
            && parts(node).first().is_none_or(|first| first.start > node.span.start)
    }

    fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
    }

    /// Where the line ends, before its line end.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        at + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// Adds to the end of a list or mapping, in its own style and indentation.
    fn append(&self, node: &Node, block: &[String], flow: &str) -> Option<Edit> {
        let parts = parts(node);
        if self.is_flow(node) {
            let Some(last) = parts.last() else {
                return Some(Edit::insert(node.span.start + 1, flow.to_owned()));
            };
            let before = self.text.get(self.line_start(last.start)..last.start)?;
            let alone = before.chars().all(|c| c == ' ') && !before.is_empty();
            let between = if alone { format!(",{}{before}", self.newline()) } else { ", ".to_owned() };
            return Some(Edit::insert(last.end, format!("{between}{flow}")));
        }
        let (first, last) = (parts.first()?, parts.last()?);
        let before = self.text.get(self.line_start(first.start)..first.start)?;
        let list = matches!(node.value, Value::List(_));
        let pad = match list {
            true => before.trim_end().strip_suffix('-')?.to_owned(),
            // The first key of an item stands behind its dash.
            false => before.replace('-', " "),
        };
        if !pad.chars().all(|c| c == ' ') {
            return None;
        }
        let lines: String = block.iter().map(|line| format!("{}{pad}{line}", self.newline())).collect();
        Some(Edit::insert(self.line_end(last.end), lines))
    }

    /// Takes away the rule whose path stands at this place; its comment stays. Not the only one of its list.
    pub(crate) fn without(&self, place: &Place) -> Option<Edit> {
        let (node, index) = rule_at(&self.root, place)?;
        let parts = parts(node);
        let part = parts.get(index).filter(|_| parts.len() > 1)?;
        let lone = |range: Range<usize>| {
            // A comment within it would go, too.
            self.text.get(range.clone()).filter(|gone| !gone.contains('#')).map(|_| range)
        };
        if self.is_flow(node) {
            let range = match index.checked_sub(1).and_then(|before| parts.get(before)) {
                Some(before) => before.end..part.end,
                None => part.start..parts.get(1)?.start,
            };
            return lone(range).map(|range| Edit { range, text: String::new() });
        }
        let line = self.line_start(part.start);
        let before = self.text.get(line..part.start)?;
        let start = line + before.len() - before.trim_start().len();
        if !matches!(before.trim(), "" | "-") {
            return None;
        }
        lone(start..part.end)?;
        let end = self.line_end(part.end);
        let rest = self.text.get(part.end..end)?;
        let range = if rest.trim().is_empty() {
            let after = self.text.get(end..)?;
            let newline = ["\r\n", "\n"].iter().find(|newline| after.starts_with(**newline));
            line..end + newline.map_or(0, |newline| newline.len())
        } else if rest.trim_start().starts_with('#') {
            start..part.end + rest.len() - rest.trim_start().len()
        } else {
            return None;
        };
        Some(Edit { range, text: String::new() })
    }
}

fn entry<'n>(node: &'n Node, key: &str) -> Option<&'n Entry> {
    match &node.value {
        Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
        _ => None,
    }
}

/// Where the items of a list, or the keys and values of a mapping stand.
fn parts(node: &Node) -> Vec<Range<usize>> {
    match &node.value {
        Value::List(items) => items.iter().map(|item| item.span.clone()).collect(),
        Value::Map(entries) => {
            entries.iter().map(|e| e.span.start..e.value.span.end.max(e.span.end)).collect()
        }
        _ => Vec::new(),
    }
}

/// The list or mapping that holds the rule whose path stands at this place, and its index.
fn rule_at<'n>(node: &'n Node, place: &Place) -> Option<(&'n Node, usize)> {
    let spot = |other: &Place| (other.line, other.column) == (place.line, place.column);
    match &node.value {
        Value::List(items) => {
            let index =
                items.iter().position(|item| entry(item, "path").is_some_and(|e| spot(&e.value.place)));
            index.map(|index| (node, index)).or_else(|| items.iter().find_map(|item| rule_at(item, place)))
        }
        Value::Map(entries) => {
            let index = entries.iter().position(|entry| spot(&entry.place));
            index
                .map(|index| (node, index))
                .or_else(|| entries.iter().find_map(|entry| rule_at(&entry.value, place)))
        }
        _ => None,
    }
}
