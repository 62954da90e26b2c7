//! Rust text without what only looks like code: strings, characters and comments. Not a parser: it knows just
//! enough that a brace or a word counts only where the compiler would count it.

use std::ops::Range;

/// A word or a single mark of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// A word, number or mark; `"` for a whole string, `'` for a character, `'a` for a lifetime.
    pub(super) text: &'a str,
    /// The line where it begins, from 1.
    pub(super) line: usize,
}

/// What lies in one line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Line {
    /// There is code, or the inside of a string that is not blank.
    pub(super) code: bool,
    /// The comments, with their slashes.
    pub(super) comment: String,
}

/// The tokens of `text`, and its lines (the first is at index 0).
pub(super) fn lex(text: &str) -> (Vec<Token<'_>>, Vec<Line>) {
    let mut lexer = Lexer { text, at: 0, line: 1, tokens: Vec::new(), lines: Vec::new() };
    lexer.lines.resize(text.split('\n').count(), Line::default());
    while lexer.at < text.len() {
        lexer.step();
    }
    (lexer.tokens, lexer.lines)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// The line of `at`, from 1.
    line: usize,
    tokens: Vec<Token<'a>>,
    lines: Vec<Line>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn step(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        if first.is_whitespace() {
            self.line += usize::from(first == '\n');
            self.at += first.len_utf8();
        } else if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            self.comment(length);
        } else if rest.starts_with("/*") {
            self.comment(block_comment(rest));
        } else if let Some(length) = string(rest) {
            self.code(length, 0..1, Some("\""));
        } else if let Some(length) = character(rest) {
            self.code(length, 0..1, Some("'"));
        } else {
            let length = word(rest).unwrap_or(first.len_utf8());
            self.code(length, 0..length, None);
        }
    }

    /// Takes `length` bytes of code as one token, spelt like `as_text` or like that part of itself.
    fn code(&mut self, length: usize, part: Range<usize>, as_text: Option<&'a str>) {
        let text = as_text.unwrap_or(&self.rest()[part]);
        self.tokens.push(Token { text, line: self.line });
        self.take(length, |line, part| line.code |= !part.trim().is_empty());
    }

    fn comment(&mut self, length: usize) {
        self.take(length, |line, part| line.comment.push_str(part));
    }

    /// Moves on by `length` bytes and notes each touched line's part.
    fn take(&mut self, length: usize, mut note: impl FnMut(&mut Line, &str)) {
        let taken = &self.rest()[..length];
        for (n, part) in taken.split('\n').enumerate() {
            self.line += usize::from(n > 0);
            if let Some(line) = self.lines.get_mut(self.line - 1) {
                note(line, part);
            }
        }
        self.at += length;
    }
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a string, with prefix and hashes.
fn string(rest: &str) -> Option<usize> {
    let prefix = rest.bytes().take_while(|byte| matches!(byte, b'b' | b'c' | b'r')).count();
    let (prefix, after) = rest.split_at(prefix);
    match prefix {
        "" | "b" | "c" if after.starts_with('"') => Some(prefix.len() + quoted(after, '"')),
        "r" | "br" | "cr" => {
            let hashes = after.bytes().take_while(|byte| *byte == b'#').count();
            let body = after[hashes..].strip_prefix('"')?;
            let end = format!("\"{}", "#".repeat(hashes));
            let length = body.find(&end).map_or(body.len(), |at| at + end.len());
            Some(prefix.len() + hashes + 1 + length)
        }
        _ => None,
    }
}

/// The length of a character, which a lifetime is not.
fn character(rest: &str) -> Option<usize> {
    let prefix = usize::from(rest.starts_with("b'"));
    let body = rest[prefix..].strip_prefix('\'')?;
    let mut chars = body.chars();
    let first = chars.next()?;
    if first == '\\' || chars.next() == Some('\'') {
        return Some(prefix + quoted(&rest[prefix..], '\''));
    }
    None
}

/// The length of what begins and ends with `quote`, where a backslash hides the next character.
fn quoted(rest: &str, quote: char) -> usize {
    let mut hidden = true;
    for (at, c) in rest.char_indices() {
        if hidden {
            hidden = false;
        } else if c == '\\' {
            hidden = true;
        } else if c == quote {
            return at + 1;
        }
    }
    rest.len()
}

/// The length of a word, number, raw word or lifetime.
fn word(rest: &str) -> Option<usize> {
    let lead = if rest.starts_with("r#") { 2 } else { usize::from(rest.starts_with('\'')) };
    let length: usize =
        rest[lead..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum();
    (length > 0).then_some(lead + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        lex(text).0.iter().map(|token| token.text).collect()
    }

    #[test]
    fn what_stands_in_strings_is_no_code() {
        assert_eq!(words(r#"f("unsafe { \" }", x)"#), ["f", "(", "\"", ",", "x", ")"]);
        assert_eq!(words(r##"a r#"un" safe"# b"##), ["a", "\"", "b"]);
        assert_eq!(words(r#"b"x" c"y" br"\" cr"z""#), ["\""; 4]);
        assert_eq!(words("r###\"a\"##\"### end"), ["\"", "end"]);
    }

    #[test]
    fn what_stands_in_comments_is_no_code() {
        assert_eq!(words("a // unsafe {\nb"), ["a", "b"]);
        assert_eq!(words("a /* x /* unsafe */ y */ b"), ["a", "b"]);
        assert_eq!(words("a /* never closed"), ["a"]);
    }

    #[test]
    fn a_slash_in_a_string_begins_no_comment_and_a_quote_in_a_comment_no_string() {
        assert_eq!(words("\"http://x\" a"), ["\"", "a"]);
        assert_eq!(words("// don't \"\na"), ["a"]);
    }

    #[test]
    fn characters_and_lifetimes_are_told_apart() {
        assert_eq!(words(r"'{' '\'' '\u{7b}' b'\\' b'}' x"), ["'", "'", "'", "'", "'", "x"]);
        assert_eq!(words("&'a str + 'static"), ["&", "'a", "str", "+", "'static"]);
        assert_eq!(words("'é' <'é>"), ["'", "<", "'é", ">"]);
        assert_eq!(words("'outer: loop {}"), ["'outer", ":", "loop", "{", "}"]);
    }

    #[test]
    fn words_that_begin_like_prefixes_stay_words() {
        assert_eq!(words("r#fn break crate b r br0"), ["r#fn", "break", "crate", "b", "r", "br0"]);
        assert_eq!(words("unsafe_code 0x7b_u8"), ["unsafe_code", "0x7b_u8"]);
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        let (tokens, lines) = lex("a\n\"x\n\n y\" b\n/* c\n */ d\n");
        let places: Vec<(&str, usize)> = tokens.iter().map(|token| (token.text, token.line)).collect();
        assert_eq!(places, [("a", 1), ("\"", 2), ("b", 4), ("d", 6)]);
        let code: Vec<bool> = lines.iter().map(|line| line.code).collect();
        assert_eq!(code, [true, true, false, true, false, true, false]);
        assert_eq!((lines[4].comment.as_str(), lines[5].comment.as_str()), ("/* c", " */"));
    }

    #[test]
    fn text_that_is_cut_off_ends_the_lexing_and_nothing_else() {
        for text in ["\"", "'", "'\\", "r#\"", "b'", "/*", "r#", "é\"é"] {
            lex(text);
        }
        assert_eq!(words("r#"), ["r", "#"]);
    }
}
