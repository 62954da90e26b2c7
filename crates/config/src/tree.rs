//! YAML text to a tree of values with places. The whole YAML crate is behind this file.
//!
//! The tree is built from parser events rather than through serde: a plain scalar keeps its spelling (a path
//! may be `007` or `1.0`), both places of a repeated key are known, and parsing goes on after such an error.
//! What a policy has no use for is refused: several documents, directives, tags other than `!!str`, merge
//! keys, invisible characters. Anchors are taken, but what they expand to is counted and their depth bounded.

use crate::finding::{Findings, shown};
use crate::text;
use remit_core::{Diagnostic, Place};
use serde_saphyr::granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span, Tag};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Values within values, at most.
const DEEPEST: usize = 64;
/// Values of a document, aliases expanded, at most.
const MOST_VALUES: usize = 500_000;

/// A value and where it stands.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    /// The bytes that it stands in; of an alias, those of what it names.
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
    /// Values in it, itself and expanded aliases included.
    weight: usize,
    /// Levels in it, itself included.
    depth: usize,
}

/// What a value is.
#[derive(Debug)]
pub(crate) enum Value {
    /// Nothing: `~`, `null`, or no text at all.
    Null,
    /// Text as it stands, after quotes and escapes; `plain` without quotes.
    Scalar { text: String, plain: bool },
    /// A list.
    List(Vec<Rc<Node>>),
    /// A mapping, in its order, without repeated keys.
    Map(Vec<Entry>),
}

impl Value {
    /// The kind of value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Scalar { .. } => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// A key and its value.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) place: Place,
    /// The bytes of the key.
    pub(crate) span: Range<usize>,
    pub(crate) value: Rc<Node>,
}

/// Parses text to a tree; repeated keys and the like go to `findings`. `None`: nothing can be made of the
/// text, and at least one finding says why.
pub(crate) fn parse(file: &Arc<str>, text: &str, findings: &mut Findings) -> Option<Rc<Node>> {
    let mut options = Options::default();
    options.disallow_directives = true;
    options.emit_comments = false;
    options.flow_nesting_limit = DEEPEST;
    options.block_nesting_limit = DEEPEST;
    let mut builder = Builder {
        file,
        text,
        findings,
        open: Vec::new(),
        anchors: HashMap::new(),
        root: None,
        documents: 0,
        made: 0,
    };
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => builder.event(event, span)?,
            Err(error) => {
                builder.findings.push(syntax(file, text, &error));
                return None;
            }
        }
    }
    let root = builder.root.take();
    if root.is_none() && findings.is_empty() {
        findings.error_help(
            "empty",
            &Place::file(file.clone()),
            "the file says nothing",
            "remove it, and `remit init` writes one to begin with",
        );
    }
    root
}

/// A list or mapping whose end has not come yet.
struct Open {
    place: Place,
    start: usize,
    anchor: usize,
    children: Vec<Rc<Node>>,
    map: bool,
}

struct Builder<'a> {
    file: &'a Arc<str>,
    text: &'a str,
    findings: &'a mut Findings,
    open: Vec<Open>,
    anchors: HashMap<usize, Rc<Node>>,
    root: Option<Rc<Node>>,
    documents: usize,
    made: usize,
}

impl Builder<'_> {
    /// Takes one event; `None`: it makes no sense to go on.
    fn event(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        let place = text::place(self.file, self.text, &span);
        let bytes = text::bytes(self.text, &span);
        let start = bytes.start;
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.findings.error_help(
                        "several-documents",
                        &place,
                        "a second document begins here",
                        "a policy is one document: remove the `---` line, or what follows it",
                    );
                    return None;
                }
            }
            Event::Alias(id) => {
                let Some(node) = self.anchors.get(&id).cloned() else {
                    self.findings.error("alias-in-itself", &place, "this alias stands inside what it names");
                    return None;
                };
                self.add(node)?;
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                self.tag(tag.as_deref(), &span, true);
                let null = plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let value = if null { Value::Null } else { Value::Scalar { text: text.into_owned(), plain } };
                self.keep(Node { place, span: bytes, value, weight: 1, depth: 1 }, anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.tag(tag.as_deref(), &span, false);
                self.open.push(Open { place, start, anchor, children: Vec::new(), map: false });
            }
            Event::MappingStart(_, anchor, tag) => {
                self.tag(tag.as_deref(), &span, false);
                self.open.push(Open { place, start, anchor, children: Vec::new(), map: true });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else {
                    self.findings.error("yaml", &place, "not YAML: an end without a beginning");
                    return None;
                };
                self.close(open, bytes.end)?;
            }
            _ => {}
        }
        Some(())
    }

    fn tag(&mut self, tag: Option<&Tag>, span: &Span, scalar: bool) {
        let Some(tag) = tag else { return };
        if scalar && tag.core_suffix() == Some("str") {
            return;
        }
        let place = text::place(self.file, self.text, &span.tag_span().unwrap_or(*span));
        let written = format!("{}{}", tag.original_handle(), tag.suffix());
        self.findings.error_help(
            "tag",
            &place,
            format!("the tag {} has no meaning in a policy", shown(&written)),
            "remove it",
        );
    }

    /// Makes a list or mapping of what came since its start.
    fn close(&mut self, open: Open, end: usize) -> Option<()> {
        let weight = open.children.iter().fold(1_usize, |sum, node| sum.saturating_add(node.weight));
        let depth = open.children.iter().map(|node| node.depth).max().unwrap_or(0).saturating_add(1);
        if depth > DEEPEST {
            self.findings.error("too-deep", &open.place, deep());
            return None;
        }
        // The end of a block comes only with what follows it, comments and all.
        let flow = matches!(self.text.as_bytes().get(open.start), Some(b'{' | b'['))
            && open.children.first().is_none_or(|first| first.span.start != open.start);
        let last = open.children.iter().map(|node| node.span.end).max().unwrap_or(open.start);
        let span = open.start..if flow { end } else { last };
        let value = if open.map { self.map(open.children) } else { Value::List(open.children) };
        self.keep(Node { place: open.place, span, value, weight, depth }, open.anchor)
    }

    /// Pairs keys with values; a key that is no text or stands twice is a finding, and left out.
    fn map(&mut self, children: Vec<Rc<Node>>) -> Value {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen: BTreeMap<String, Place> = BTreeMap::new();
        let mut children = children.into_iter();
        while let (Some(key), Some(value)) = (children.next(), children.next()) {
            let Value::Scalar { text, .. } = &key.value else {
                let message = format!("a key is text, and this is {}", key.value.kind());
                self.findings.error_help(
                    "key",
                    &key.place,
                    message,
                    "put it in quotes if it is meant as text",
                );
                continue;
            };
            if let Some(first) = seen.get(text) {
                let message = format!("the key {} stands here twice", shown(text));
                self.findings.push(
                    Diagnostic::error("repeated-key", key.place.clone(), message)
                        .related(first.clone(), "it stands here first")
                        .help("keep one of the two"),
                );
                continue;
            }
            seen.insert(text.clone(), key.place.clone());
            entries.push(Entry {
                key: text.clone(),
                place: key.place.clone(),
                span: key.span.clone(),
                value,
            });
        }
        Value::Map(entries)
    }

    fn keep(&mut self, node: Node, anchor: usize) -> Option<()> {
        self.made += 1;
        let node = Rc::new(node);
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        self.add(node)
    }

    /// Puts a value where it belongs, unless there are too many.
    fn add(&mut self, node: Rc<Node>) -> Option<()> {
        if node.weight > MOST_VALUES || self.made > MOST_VALUES {
            let message = format!("more than {MOST_VALUES} values, aliases counted as what they stand for");
            self.findings.error("too-many-values", &node.place, message);
            return None;
        }
        match self.open.last_mut() {
            Some(open) => open.children.push(node),
            None => self.root = Some(node),
        }
        Some(())
    }
}

fn deep() -> String {
    format!("more than {DEEPEST} levels of lists and mappings")
}

/// A finding for text that is no YAML.
fn syntax(file: &Arc<str>, text: &str, error: &ScanError) -> Diagnostic {
    let mut place = text::place(file, text, &Span::empty(*error.marker()));
    let (code, message, help) = match error.kind() {
        ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInPlainScalar => {
            place.column = text::tab_before(text, error.marker()).unwrap_or(place.column);
            ("tab", "a tab where YAML wants spaces".to_owned(), Some("indent with spaces"))
        }
        ErrorKind::RecursionLimitExceeded => ("too-deep", deep(), None),
        ErrorKind::UnknownAnchor => (
            "unknown-alias",
            "no anchor of this name stands before it".to_owned(),
            Some("a pattern that begins with `*` stands in quotes"),
        ),
        ErrorKind::DirectiveDisallowed => {
            ("directive", "a `%` directive has no meaning in a policy".to_owned(), Some("remove the line"))
        }
        ErrorKind::UnclosedQuotedScalar => ("yaml", "this quote is never closed".to_owned(), None),
        kind => ("yaml", format!("not YAML: {kind}"), None),
    };
    let finding = Diagnostic::error(code, place, message);
    match help {
        Some(help) => finding.help(help),
        None => finding,
    }
}
