//! Reading words: quotes, escapes, expansions, here-documents. Never looks back, so its work is bounded by
//! the text and the depth.

use super::parse::Parser;
use super::places::Places;
use super::word::{Word, ansi_c};

/// A here-document whose body comes after the next newline.
pub(super) struct Heredoc {
    pub(super) delimiter: Vec<u8>,
    pub(super) strip_tabs: bool,
    /// Whether any of the delimiter was quoted: then nothing in the body expands.
    pub(super) quoted: bool,
    /// Where the command runs that it belongs to.
    pub(super) here: Places,
}

/// The longest arithmetic that is recognised, in bytes: the only place where text is looked at ahead.
const LONGEST_SUM: usize = 1024;

/// What ends a word.
pub(super) fn is_meta(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'(' | b')' | b'<' | b'>')
}

impl Parser<'_, '_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at.saturating_add(ahead)).copied()
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.text.len());
    }

    pub(super) fn eat(&mut self, what: &[u8]) -> bool {
        let there = self.text.get(self.at..).unwrap_or_default().starts_with(what);
        if there {
            self.skip(what.len());
        }
        there
    }

    /// Blanks, continued lines and, where a word could begin, a comment.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.skip(1),
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.skip(2),
                Some(b'#') => {
                    while self.peek().is_some_and(|b| b != b'\n') {
                        self.skip(1);
                    }
                }
                _ => return,
            }
        }
    }

    /// A newline, and the here-documents that wait for it.
    pub(super) fn newline(&mut self) {
        self.skip(1);
        for doc in std::mem::take(&mut self.heredocs) {
            let (from, mut end) = (self.at, self.text.len());
            // A line that goes on with the next one does not end the body, nor does the next one.
            let mut goes_on = false;
            while self.at < self.text.len() {
                let start = self.at;
                let rest = self.text.get(start..).unwrap_or_default();
                let length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                let mut line = rest.get(..length).unwrap_or_default();
                self.skip(length.saturating_add(1));
                while let (true, Some((b'\t', tail))) = (doc.strip_tabs, line.split_first()) {
                    line = tail;
                }
                if line == doc.delimiter && !goes_on {
                    end = start;
                    break;
                }
                goes_on = !doc.quoted && line.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1;
            }
            if !doc.quoted {
                let here = std::mem::replace(&mut self.here, doc.here);
                let body = self.text.get(from..end).unwrap_or_default();
                self.text(body, |p| p.expansions());
                self.here = here;
            }
        }
    }

    /// The commands in text that is no command itself.
    fn expansions(&mut self) {
        let mut lost = Word::default();
        while let Some(b) = self.peek() {
            match b {
                b'\\' => self.skip(2),
                b'$' => self.dollar(&mut lost, true),
                b'`' => self.backtick(&mut lost),
                _ => self.skip(1),
            }
        }
    }

    /// The delimiter of a here-document, and whether it was quoted: its quotes are taken off, nothing in it expands.
    pub(super) fn delimiter(&mut self) -> (Vec<u8>, bool) {
        self.blanks();
        let (mut out, mut quote, mut quoted) = (Vec::new(), None, false);
        while let Some(b) = self.peek() {
            quoted |= matches!(b, b'\'' | b'"' | b'\\');
            match (quote, b) {
                (None, b'\'' | b'"') => quote = Some(b),
                (Some(q), b) if q == b => quote = None,
                (None, b'\\') => {
                    self.skip(1);
                    out.extend(self.peek());
                }
                (None, b) if is_meta(b) => break,
                (_, b) => out.push(b),
            }
            self.skip(1);
        }
        (out, quoted)
    }

    /// One word; empty and unquoted if none begins here.
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word { tilde: self.peek() == Some(b'~'), ..Word::default() };
        // Braces expand only if a comma or two dots stand between them; a bracket only if it is closed.
        let (mut open, mut parted, mut bracket) = (false, false, false);
        while let Some(b) = self.peek() {
            match b {
                b if is_meta(b) => break,
                b'\\' => {
                    self.skip(1);
                    if self.peek() != Some(b'\n') {
                        word.bytes.extend(self.peek());
                        word.quoted = true;
                    }
                    self.skip(1);
                }
                b'\'' => self.single(&mut word),
                b'"' => self.double(&mut word),
                b'$' => self.dollar(&mut word, false),
                b'`' => self.backtick(&mut word),
                b => {
                    word.expands |= match b {
                        b'*' | b'?' => true,
                        b']' => bracket,
                        b'}' => open && parted,
                        _ => false,
                    };
                    bracket |= b == b'[';
                    open |= b == b'{';
                    parted |= open && (b == b',' || (b == b'.' && self.peek_at(1) == Some(b'.')));
                    word.bytes.push(b);
                    self.skip(1);
                }
            }
        }
        word
    }

    fn single(&mut self, word: &mut Word) {
        word.quoted = true;
        self.skip(1);
        while let Some(b) = self.peek() {
            self.skip(1);
            if b == b'\'' {
                return;
            }
            word.bytes.push(b);
        }
    }

    fn double(&mut self, word: &mut Word) {
        word.quoted = true;
        self.skip(1);
        while let Some(b) = self.peek() {
            match b {
                b'"' => return self.skip(1),
                b'\\' => {
                    match self.peek_at(1) {
                        Some(b'\n') => {}
                        Some(c @ (b'$' | b'`' | b'"' | b'\\')) => word.bytes.push(c),
                        next => {
                            word.bytes.push(b'\\');
                            word.bytes.extend(next);
                        }
                    }
                    self.skip(2);
                }
                b'$' => self.dollar(word, true),
                b'`' => self.backtick(word),
                b => {
                    word.bytes.push(b);
                    self.skip(1);
                }
            }
        }
    }

    /// `$` and what belongs to it.
    fn dollar(&mut self, word: &mut Word, quoted: bool) {
        self.skip(1);
        match self.peek() {
            Some(b'\'') if !quoted => {
                self.skip(1);
                let (text, took) = ansi_c(self.text.get(self.at..).unwrap_or_default());
                word.bytes.extend(text);
                word.quoted = true;
                self.skip(took);
            }
            Some(b'"') if !quoted => self.double(word),
            Some(b'(') => {
                word.expands = true;
                self.skip(1);
                if !self.arithmetic() {
                    self.subshell();
                }
            }
            Some(b'{') => {
                word.expands = true;
                self.skip(1);
                self.level(|p| p.parameter(quoted));
            }
            Some(b)
                if b.is_ascii_alphanumeric()
                    || matches!(b, b'_' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') =>
            {
                word.expands = true;
                self.skip(1);
                if b.is_ascii_alphabetic() || b == b'_' {
                    while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
                        self.skip(1);
                    }
                }
            }
            _ => word.bytes.push(b'$'),
        }
    }

    /// `((…))` from its second parenthesis on, if it is arithmetic and not a subshell in a subshell.
    pub(super) fn arithmetic(&mut self) -> bool {
        if self.peek() != Some(b'(') {
            return false;
        }
        let mut depth = 1usize;
        let rest = self.text.get(self.at..).unwrap_or_default();
        for (i, b) in rest.iter().enumerate().take(LONGEST_SUM) {
            match b {
                b'(' => depth = depth.saturating_add(1),
                b')' if depth > 2 => depth = depth.saturating_sub(1),
                b')' => {
                    let closes = rest.get(i.saturating_add(1)) == Some(&b')');
                    if closes {
                        self.skip(i.saturating_add(2));
                    }
                    return closes;
                }
                _ => {}
            }
        }
        false
    }

    /// `${…}` from after its brace: only commands in it are of interest.
    fn parameter(&mut self, quoted: bool) {
        let mut lost = Word::default();
        while let Some(b) = self.peek() {
            match b {
                b'}' => return self.skip(1),
                b'\\' => self.skip(2),
                b'\'' if !quoted => self.single(&mut lost),
                b'"' => self.double(&mut lost),
                b'$' => self.dollar(&mut lost, quoted),
                b'`' => self.backtick(&mut lost),
                _ => self.skip(1),
            }
        }
    }

    /// A command between backticks: its own backslashes come off before it is read.
    fn backtick(&mut self, word: &mut Word) {
        word.expands = true;
        self.skip(1);
        let mut inner = Vec::new();
        while let Some(b) = self.peek() {
            self.skip(1);
            match b {
                b'`' => break,
                b'\\' if matches!(self.peek(), Some(b'`' | b'\\' | b'$')) => {
                    inner.extend(self.peek());
                    self.skip(1);
                }
                b => inner.push(b),
            }
        }
        self.apart(&inner);
    }
}
