//! The text of a pattern to its segments. Every refusal says where in the text, and what to write instead.

use crate::glob::{Class, Glob, Token};
use crate::pattern::Segment;
use std::ops::Range;

/// The longest pattern that is read, in bytes.
const LONGEST: usize = 4096;

/// What is wrong with a pattern, and where in its text (bytes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: &'static str,
    pub(crate) at: Range<usize>,
}

impl Fault {
    fn new(code: &'static str, at: Range<usize>, message: impl Into<String>, help: &'static str) -> Self {
        Self { code, message: message.into(), help, at }
    }
}

/// Where a pattern's first segment hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Below the folder that relative patterns are relative to.
    Relative,
    /// Below the root.
    Root,
    /// Below the home folder.
    Home,
}

/// A pattern's text, taken apart: trailing wildcards are gone, `**` is never doubled.
pub(crate) fn pattern(text: &str) -> Result<(Start, Vec<Segment>), Fault> {
    let whole = 0..text.len();
    if text.is_empty() {
        return Err(Fault::new(
            "empty-pattern",
            whole,
            "the path is empty",
            "write `.` for the folder itself",
        ));
    }
    if text.len() > LONGEST {
        return Err(Fault::new(
            "long-pattern",
            whole,
            format!("the path has more than {LONGEST} bytes"),
            "name a folder instead",
        ));
    }
    characters(text)?;
    let (start, mut at) = match text.as_bytes() {
        [b'/', ..] => (Start::Root, 1),
        [b'~'] => return Ok((Start::Home, Vec::new())),
        [b'~', b'/', ..] => (Start::Home, 2),
        _ => (Start::Relative, 0),
    };
    let mut segments: Vec<Segment> = Vec::new();
    for part in text.get(at..).unwrap_or("").split('/') {
        match part {
            "" | "." => {}
            "**" if segments.last() == Some(&Segment::Dirs) => {}
            "**" => segments.push(Segment::Dirs),
            _ => segments.extend(segment(part, at)?),
        }
        at = at.saturating_add(part.len()).saturating_add(1);
    }
    while segments.last().is_some_and(Segment::is_wide) {
        segments.pop();
    }
    Ok((start, segments))
}

/// Refuses what no component may have, and what other languages mean something by.
fn characters(text: &str) -> Result<(), Fault> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        let here = at..at.saturating_add(c.len_utf8());
        match c {
            '\0' => {
                return Err(Fault::new("nul-in-pattern", here, "a path cannot have a NUL byte", "remove it"));
            }
            '\n' | '\r' => {
                let help = "write one rule for each path";
                return Err(Fault::new("newline-in-pattern", here, "a path cannot have a line break", help));
            }
            '$' if !escaped => {
                let rest = text.get(at..).unwrap_or("");
                let end = rest.find('/').unwrap_or(rest.len()).saturating_add(at);
                let name = text.get(at..end).unwrap_or("$");
                let help = "variables are not expanded: write the path, or `~/` for the home folder; `\\$` is a dollar sign";
                return Err(Fault::new(
                    "variable-in-pattern",
                    at..end,
                    format!("`{name}` would be a variable"),
                    help,
                ));
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    if text.starts_with('~') && text != "~" && !text.starts_with("~/") {
        let end = text.find('/').unwrap_or(text.len());
        let user = text.get(..end).unwrap_or("~");
        let help =
            "`~/` is the home folder; write other homes in full, and `./~name` for a file of that name";
        return Err(Fault::new(
            "user-in-pattern",
            0..end,
            format!("`{user}` would be another user's home"),
            help,
        ));
    }
    if text.starts_with('!') {
        let help = "rules have no order: write a narrower rule with the access that you mean; `\\!` is an exclamation mark";
        return Err(Fault::new("negated-pattern", 0..1, "`!` does not turn a rule round", help));
    }
    Ok(())
}

/// One component that is not `**`; `None` if its text means the folder itself.
fn segment(part: &str, at: usize) -> Result<Option<Segment>, Fault> {
    let tokens = component(part).map_err(|mut fault| {
        fault.at = fault.at.start.saturating_add(at)..fault.at.end.saturating_add(at);
        fault
    })?;
    let literal: Option<Vec<u8>> = tokens
        .iter()
        .map(|token| match token {
            Token::Byte(byte) => Some(*byte),
            _ => None,
        })
        .collect();
    match literal.as_deref() {
        Some(b"..") => {
            let end = at.saturating_add(part.len());
            let help = "write the path that is meant, without `..`";
            Err(Fault::new("dots-in-pattern", at..end, "`..` cannot stand in a path", help))
        }
        Some(b".") => Ok(None),
        Some(name) => Ok(Some(Segment::Name(name.into()))),
        None => Ok(Some(Segment::Glob(Glob(tokens.into())))),
    }
}

/// The tokens of one component.
pub(crate) fn component(part: &str) -> Result<Vec<Token>, Fault> {
    braces(part)?;
    let bytes = part.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0_usize;
    while let Some(byte) = bytes.get(at) {
        let token = match byte {
            b'*' if tokens.last() == Some(&Token::Star) => {
                let help = "`a/**` is all below a folder, `a*/**` all below folders whose names begin so";
                let words = "`**` crosses folders only where it stands alone between slashes";
                return Err(Fault::new(
                    "stars-in-name",
                    at.saturating_sub(1)..at.saturating_add(1),
                    words,
                    help,
                ));
            }
            b'*' => Some(Token::Star),
            b'?' => Some(Token::Class(Class::full())),
            b'[' => {
                let (class, end) = class(part, at)?;
                at = end;
                tokens.push(simplest(class));
                continue;
            }
            b'\\' => {
                let (byte, end) = escape(part, at)?;
                at = end;
                tokens.push(Token::Byte(byte));
                continue;
            }
            byte => Some(Token::Byte(*byte)),
        };
        tokens.extend(token);
        at = at.saturating_add(1);
    }
    Ok(tokens)
}

fn simplest(class: Class) -> Token {
    let mut bytes = class.bytes();
    match (bytes.next(), bytes.next()) {
        (Some(only), None) => Token::Byte(only),
        _ => Token::Class(class),
    }
}

/// `{a,b}` is common elsewhere; taken as a name it would silently match nothing.
fn braces(part: &str) -> Result<(), Fault> {
    let mut open = None;
    let mut comma = false;
    let mut escaped = false;
    for (at, c) in part.char_indices() {
        match c {
            '{' if !escaped => (open, comma) = (Some(at), false),
            ',' => comma = true,
            '}' if !escaped && comma => {
                if let Some(from) = open {
                    let help = "write one rule for each alternative; `\\{` is a brace";
                    let end = at.saturating_add(1);
                    let shown = part.get(from..end).unwrap_or(part);
                    return Err(Fault::new(
                        "braces-in-pattern",
                        from..end,
                        format!("`{shown}` has alternatives"),
                        help,
                    ));
                }
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    Ok(())
}

/// The byte that a backslash at `at` makes, and where the text goes on.
fn escape(part: &str, at: usize) -> Result<(u8, usize), Fault> {
    let help = "`\\` makes a plain character of a punctuation mark, `\\xNN` a byte; `\\\\` is a backslash";
    let after = at.saturating_add(1);
    let bad = |end: usize| {
        let shown = part.get(at..end).unwrap_or("\\");
        Fault::new("bad-escape", at..end, format!("`{shown}` is not an escape"), help)
    };
    match part.as_bytes().get(after) {
        Some(b'x') => {
            let end = after.saturating_add(3);
            let digits =
                part.get(after.saturating_add(1)..end).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
            match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                Some(byte) if byte != 0 && byte != b'/' => Ok((byte, end)),
                _ => Err(bad(part.len().min(end))),
            }
        }
        Some(byte) if byte.is_ascii_punctuation() || *byte == b' ' => Ok((*byte, after.saturating_add(1))),
        _ => Err(bad(after)),
    }
}

/// The set that a `[` at `at` opens, and where the text goes on.
fn class(part: &str, at: usize) -> Result<(Class, usize), Fault> {
    let help = "`[abc]`, `[a-z]` or `[!a-z]`, of ASCII characters; `\\[` is a bracket";
    let bad = |what: &str| Fault::new("bad-class", at..part.len(), what, help);
    let bytes = part.as_bytes();
    let mut next = at.saturating_add(1);
    let negated = matches!(bytes.get(next), Some(b'!' | b'^'));
    if negated {
        next = next.saturating_add(1);
    }
    let first = next;
    let mut set = Class::empty();
    loop {
        let Some(byte) = bytes.get(next) else { return Err(bad("the set is not closed by `]`")) };
        if *byte == b']' && next > first {
            break;
        }
        if let Some(named) = named(part, next) {
            let end = next.saturating_add(named.len());
            let message = format!("`{named}` is a set by name, which is not known here");
            let help = "write the characters: `[a-zA-Z]` for letters, `[0-9]` for digits; `\\[` is a bracket";
            return Err(Fault::new("named-class", next..end, message, help));
        }
        let (low, after) = member(part, next, &bad)?;
        next = after;
        let ends = matches!(bytes.get(next.saturating_add(1)), None | Some(b']'));
        if bytes.get(next) != Some(&b'-') || ends {
            set.insert(low);
            continue;
        }
        let (high, after) = member(part, next.saturating_add(1), &bad)?;
        if high < low {
            return Err(bad("the range runs backwards"));
        }
        (low..=high).for_each(|byte| set.insert(byte));
        next = after;
    }
    let set = if negated { set.inverse() } else { set };
    if set.len() == 0 {
        return Err(bad("the set is empty"));
    }
    Ok((set, next.saturating_add(1)))
}

/// `[:alpha:]`, `[=e=]` or `[.x.]`, if one begins there.
fn named(part: &str, at: usize) -> Option<&str> {
    let rest = part.get(at..)?;
    let sign = rest.strip_prefix('[')?.chars().next().filter(|c| matches!(c, ':' | '=' | '.'))?;
    let end = rest.get(2..)?.find(&format!("{sign}]"))?.saturating_add(4);
    rest.get(..end)
}

fn member(part: &str, at: usize, bad: &impl Fn(&str) -> Fault) -> Result<(u8, usize), Fault> {
    match part.as_bytes().get(at) {
        Some(b'\\') => escape(part, at),
        Some(byte) if byte.is_ascii() => Ok((*byte, at.saturating_add(1))),
        Some(_) => Err(bad("a set has ASCII characters only")),
        None => Err(bad("the set is not closed by `]`")),
    }
}
