//! Edits of JSON text that leave every byte alone that they need not touch.

use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;

/// Where a value stands in the text, and what is in it.
#[derive(Debug)]
pub(crate) struct Node {
    /// First byte and the one after the last.
    pub(crate) span: Range<usize>,
    /// The members of an object, the items of an array.
    pub(crate) inside: Inside,
}

/// What is in a value.
#[derive(Debug)]
pub(crate) enum Inside {
    /// Members: name, where the member begins, value.
    Object(Vec<(String, usize, Node)>),
    /// Items.
    Array(Vec<Node>),
    /// Nothing that is looked into.
    Scalar,
}

impl Node {
    /// The tree of a text that is known to be JSON; `None` if it is not.
    pub(crate) fn of(text: &str) -> Option<Node> {
        let mut cursor = Cursor { text: text.as_bytes(), at: 0 };
        cursor.space();
        cursor.value()
    }

    /// The members of that name.
    pub(crate) fn members<'n>(&'n self, name: &'n str) -> impl Iterator<Item = (usize, &'n Node)> {
        let members = match &self.inside {
            Inside::Object(members) => members.as_slice(),
            _ => &[],
        };
        members.iter().enumerate().filter(move |(_, (key, ..))| key == name).map(|(i, (.., node))| (i, node))
    }

    /// The items of an array; none of anything else.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.inside {
            Inside::Array(items) => items,
            _ => &[],
        }
    }

    /// The spans of members or items.
    pub(crate) fn children(&self) -> Vec<Range<usize>> {
        match &self.inside {
            Inside::Object(members) => members.iter().map(|(_, start, node)| *start..node.span.end).collect(),
            Inside::Array(items) => items.iter().map(|node| node.span.clone()).collect(),
            Inside::Scalar => Vec::new(),
        }
    }
}

/// The text with `\ufffd` for every escape of half a surrogate pair, which is no text and which programs written in
/// JavaScript send all the same.
pub(crate) fn whole(text: &str) -> Cow<'_, str> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let mut out = text.as_bytes().to_vec();
    let mut at = 0_usize;
    let mut mended = false;
    while let Some(byte) = out.get(at) {
        if *byte != b'\\' {
            at = at.saturating_add(1);
            continue;
        }
        at = match (escaped(&out, at), escaped(&out, at.saturating_add(6))) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at.saturating_add(12),
            (Some(0xd800..=0xdfff), _) => {
                let digits = out.get_mut(at.saturating_add(2)..at.saturating_add(6));
                digits.into_iter().for_each(|digits| digits.copy_from_slice(b"fffd"));
                mended = true;
                at.saturating_add(6)
            }
            _ => at.saturating_add(2),
        };
    }
    match String::from_utf8(out) {
        Ok(whole) if mended => Cow::Owned(whole),
        _ => Cow::Borrowed(text),
    }
}

/// The number in the escape `\uXXXX` that begins there.
fn escaped(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..)?.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The text without one child of a container.
pub(crate) fn without(text: &str, container: &Node, child: usize) -> Option<String> {
    let children = container.children();
    let this = children.get(child)?;
    let before = child.checked_sub(1).and_then(|i| children.get(i));
    let gap = match (children.get(child.saturating_add(1)), before) {
        (Some(next), _) => this.start..next.start,
        (None, Some(before)) => before.end..this.end,
        (None, None) => container.span.start.saturating_add(1)..container.span.end.saturating_sub(1),
    };
    Some(format!("{}{}", text.get(..gap.start)?, text.get(gap.end..)?))
}

/// The text with one more child at the end of a container, in the manner of those before it. `value`
/// is JSON on one line.
pub(crate) fn with(text: &str, container: &Node, name: Option<&str>, value: &str) -> Option<String> {
    let style = Style::of(text);
    let member = |body: String, sign: &str| match name {
        Some(name) => format!("{}{sign}{body}", Value::from(name)),
        None => body,
    };
    let close = container.span.end.saturating_sub(1);
    let Some(last) = container.children().pop() else {
        let open = container.span.start.saturating_add(1);
        let (head, tail) = (text.get(..open)?, text.get(close..)?);
        let alone = text.trim() == text.get(container.span.clone())?;
        if !alone && !text.contains('\n') {
            return Some(format!("{head}{}{tail}", member(value.to_owned(), ":")));
        }
        let base = indentation(head)?;
        let deeper = format!("{base}{}", style.unit);
        let body = member(style.pretty(value, &deeper), ": ");
        let newline = style.newline;
        return Some(format!("{head}{newline}{deeper}{body}{newline}{base}{tail}"));
    };
    let (head, tail) = (text.get(..last.end)?, text.get(last.end..)?);
    let before = text.get(..last.start)?;
    let line = before.rsplit('\n').next()?;
    if before.contains('\n') && line.trim().is_empty() {
        let body = member(style.pretty(value, line), ": ");
        return Some(format!("{head},{}{line}{body}{tail}", style.newline));
    }
    let (comma, sign) = if text.contains("\": ") { (", ", ": ") } else { (",", ":") };
    Some(format!("{head}{comma}{}{tail}", member(value.to_owned(), sign)))
}

/// The blanks at the beginning of the last line.
fn indentation(text: &str) -> Option<&str> {
    let line = text.rsplit('\n').next()?;
    line.get(..line.len().saturating_sub(line.trim_start().len()))
}

/// How a text is laid out.
struct Style<'t> {
    unit: &'t str,
    newline: &'static str,
}

impl<'t> Style<'t> {
    fn of(text: &'t str) -> Self {
        let unit = text
            .lines()
            .filter_map(|line| line.get(..line.len().saturating_sub(line.trim_start().len())))
            .find(|blanks| !blanks.is_empty())
            .unwrap_or("  ");
        Self { unit, newline: if text.contains("\r\n") { "\r\n" } else { "\n" } }
    }

    /// JSON of one line over several, all but the first indented by `base`.
    fn pretty(&self, value: &str, base: &str) -> String {
        let mut out = String::new();
        let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
        let line = |out: &mut String, depth: usize| {
            out.push_str(self.newline);
            out.push_str(base);
            out.push_str(&self.unit.repeat(depth));
        };
        for c in value.chars() {
            match c {
                _ if in_string => {
                    in_string = escaped || c != '"';
                    escaped = !escaped && c == '\\';
                    out.push(c);
                }
                '{' | '[' => {
                    out.push(c);
                    depth = depth.saturating_add(1);
                    line(&mut out, depth);
                }
                '}' | ']' => {
                    depth = depth.saturating_sub(1);
                    line(&mut out, depth);
                    out.push(c);
                }
                ',' => {
                    out.push(c);
                    line(&mut out, depth);
                }
                ':' => out.push_str(": "),
                c => {
                    in_string = c == '"';
                    out.push(c);
                }
            }
        }
        out
    }
}

/// Reads text that is known to be JSON.
struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.step();
        }
    }

    fn value(&mut self) -> Option<Node> {
        let start = self.at;
        let inside = match self.peek()? {
            b'{' => self.object()?,
            b'[' => self.array()?,
            b'"' => {
                self.string()?;
                Inside::Scalar
            }
            _ => {
                while self
                    .peek()
                    .is_some_and(|b| !matches!(b, b',' | b'}' | b']') && !b.is_ascii_whitespace())
                {
                    self.step();
                }
                Inside::Scalar
            }
        };
        Some(Node { span: start..self.at, inside })
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.step();
        loop {
            match self.peek()? {
                b'"' => break self.step(),
                b'\\' => self.at = self.at.saturating_add(2),
                _ => self.step(),
            }
        }
        serde_json::from_slice(self.text.get(start..self.at)?).ok()
    }

    fn object(&mut self) -> Option<Inside> {
        let mut members = Vec::new();
        self.step();
        loop {
            self.space();
            match self.peek()? {
                b'}' => break self.step(),
                b',' => self.step(),
                _ => {
                    let start = self.at;
                    let name = self.string()?;
                    self.space();
                    self.step();
                    self.space();
                    members.push((name, start, self.value()?));
                }
            }
        }
        Some(Inside::Object(members))
    }

    fn array(&mut self) -> Option<Inside> {
        let mut items = Vec::new();
        self.step();
        loop {
            self.space();
            match self.peek()? {
                b']' => break self.step(),
                b',' => self.step(),
                _ => items.push(self.value()?),
            }
        }
        Some(Inside::Array(items))
    }
}
