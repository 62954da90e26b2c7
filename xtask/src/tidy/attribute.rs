//! Attributes, found among the tokens.

use super::lexer::Token;
use std::ops::Range;

/// `#[…]` or `#![…]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attribute {
    /// Its tokens, marks included.
    pub(super) span: Range<usize>,
    /// It speaks of what surrounds it: `#![…]`.
    pub(super) inner: bool,
}

impl Attribute {
    /// All attributes, in order.
    pub(super) fn all(tokens: &[Token<'_>]) -> Vec<Self> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            match Self::at(tokens, at) {
                Some(attribute) => {
                    at = attribute.span.end;
                    found.push(attribute);
                }
                None => at += 1,
            }
        }
        found
    }

    fn at(tokens: &[Token<'_>], at: usize) -> Option<Self> {
        if text(tokens, at) != "#" {
            return None;
        }
        let inner = text(tokens, at + 1) == "!";
        let open = at + 1 + usize::from(inner);
        (text(tokens, open) == "[").then(|| Self { span: at..closing(tokens, open) + 1, inner })
    }

    /// The tokens between the brackets.
    pub(super) fn words<'t, 'a>(&self, tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
        let start = self.span.start + 2 + usize::from(self.inner);
        tokens.get(start..self.span.end.saturating_sub(1)).unwrap_or_default()
    }

    /// What it marks is compiled for tests alone.
    pub(super) fn tests(&self, tokens: &[Token<'_>]) -> bool {
        let words: Vec<&str> = self.words(tokens).iter().map(|token| token.text).collect();
        words == ["test"]
            || (words.first() == Some(&"cfg") && words.contains(&"test") && !words.contains(&"not"))
    }

    /// It has `name(`, itself or inside a `cfg_attr`.
    pub(super) fn has(&self, tokens: &[Token<'_>], name: &str) -> bool {
        self.words(tokens).windows(2).any(|pair| pair[0].text == name && pair[1].text == "(")
    }
}

/// The text of a token; nothing past the end.
pub(super) fn text<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

/// The place of the mark that closes the one at `open`; the last token if none does.
pub(super) fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len().saturating_sub(1)
}

/// The end (exclusive) of the item that begins at `start`: its `;`, or the brace that closes its body.
pub(super) fn item_end(tokens: &[Token<'_>], start: usize) -> usize {
    body(tokens, start).map_or_else(
        || (start..tokens.len()).find(|at| text(tokens, *at) == ";").map_or(tokens.len(), |at| at + 1),
        |open| closing(tokens, open) + 1,
    )
}

/// The brace that opens the body of the item that begins at `start`; none if it ends with `;` first. Braces
/// inside brackets, parentheses and generic arguments are of types, not of bodies.
pub(super) fn body(tokens: &[Token<'_>], start: usize) -> Option<usize> {
    let mut at = start;
    while at < tokens.len() {
        match text(tokens, at) {
            "{" if at > start && text(tokens, at - 1) == "<" => at = closing(tokens, at),
            "{" => return Some(at),
            ";" => return None,
            "(" | "[" => at = closing(tokens, at),
            _ => {}
        }
        at += 1;
    }
    None
}
