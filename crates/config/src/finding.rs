//! Findings are collected, not returned at the first: a person mends a file once. Their number is bounded.

use crate::nearest::certain;
use crate::text::invisible;
use remit_core::path::escape;
use remit_core::{Diagnostic, Place, Severity};

/// After this many errors the rest of a file is not worth reading.
const MOST: usize = 100;

/// What has been found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Diagnostic>,
    more: usize,
    /// Words that can only have been meant for others.
    slips: Vec<Slip>,
}

/// A word, where it stands, and the only one that can have been meant.
#[derive(Debug)]
pub(crate) struct Slip {
    pub(crate) place: Place,
    pub(crate) word: String,
    pub(crate) meant: String,
}

impl Findings {
    /// Keeps a finding; beyond [`MOST`] it is only counted.
    pub(crate) fn push(&mut self, finding: Diagnostic) {
        if self.list.len() < MOST {
            self.list.push(finding);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Keeps an error without help.
    pub(crate) fn error(&mut self, code: &'static str, place: &Place, message: impl Into<String>) {
        self.push(Diagnostic::error(code, place.clone(), message));
    }

    /// Keeps an error with a way out.
    pub(crate) fn error_help(
        &mut self,
        code: &'static str,
        place: &Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Diagnostic::error(code, place.clone(), message).help(help));
    }

    /// Keeps what a word can only have been meant for.
    pub(crate) fn slip(&mut self, place: &Place, word: &str, words: &[&str]) {
        if let Some(meant) = certain(word, words) {
            self.slips.push(Slip { place: place.clone(), word: word.to_owned(), meant: meant.to_owned() });
        }
    }

    /// The words that can only have been meant for others.
    pub(crate) fn into_slips(self) -> Vec<Slip> {
        self.slips
    }

    /// Whether nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All findings in the order of the text.
    pub(crate) fn into_list(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|finding| (finding.place.line, finding.place.column));
        if self.more > 0
            && let Some(last) = self.list.last()
        {
            let place = last.place.clone();
            self.list.push(Diagnostic::new(
                Severity::Note,
                "more-findings",
                place,
                format!("{} more findings are not shown", self.more),
            ));
        }
        self.list
    }
}

/// Input as it may stand in a message: one line, nothing that moves a terminal's cursor or turns the direction
/// of writing, nothing that cannot be seen, at most 80 characters, in backticks.
pub(crate) fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(80).collect();
    let dots = if chars.next().is_some() { "…" } else { "" };
    format!("`{}{dots}`", visible(head.as_bytes()))
}

/// Input of any length, without backticks.
pub(crate) fn visible(text: &[u8]) -> String {
    let mut seen = String::with_capacity(text.len());
    for c in escape(text).chars() {
        if invisible(c) { seen.extend(c.escape_unicode()) } else { seen.push(c) }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_the_writing_or_cannot_be_seen_is_shown_as_its_number() {
        for c in ['\u{202e}', '\u{2067}', '\u{200f}', '\u{61c}', '\u{feff}', '\u{1b}', '\u{9b}', '\n'] {
            assert!(shown(&format!("a{c}b")).is_ascii(), "{}", c.escape_unicode());
        }
        assert_eq!(shown("é ✓"), "`é ✓`");
    }
}
