//! Bytes to text, and positions in it.

use crate::finding::Findings;
use remit_core::{Place, path};
use serde_saphyr::granit_parser::{Marker, Span};
use std::ops::Range;
use std::sync::Arc;

/// The longest policy that is read, in bytes.
pub(crate) const LONGEST: usize = 8 << 20;

/// Takes bytes that are a text a person can see: UTF-8, no control characters but tab and line ends, nothing
/// invisible that changes what is seen. `None`: a finding says what is wrong.
pub(crate) fn decode<'a>(file: &Arc<str>, bytes: &'a [u8], findings: &mut Findings) -> Option<&'a str> {
    let whole = Place::file(file.clone());
    if bytes.len() > LONGEST {
        let message = format!("the file has {} bytes, and a policy at most {LONGEST}", bytes.len());
        findings.error("too-large", &whole, message);
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let (line, column) = position(&String::from_utf8_lossy(before));
            let place = Place { file: file.clone(), line, column, width: 1 };
            let byte = bytes.get(error.valid_up_to()).copied().unwrap_or(0);
            let message = format!("the byte `{}` is not UTF-8", path::escape(&[byte]));
            findings.error_help("not-utf8", &place, message, "save the file as UTF-8");
            return None;
        }
    };
    let content = text.strip_prefix('\u{feff}').unwrap_or(text);
    let start = text.len() - content.len();
    if let Some((at, c)) = content.char_indices().find(|(at, c)| hidden(content, *at, *c)) {
        let (line, column) = position(content.get(..at).unwrap_or_default());
        let column = if line == 1 { column + u32::from(start > 0) } else { column };
        let place = Place { file: file.clone(), line, column, width: 1 };
        let message = format!("the character U+{:04X} cannot be seen and may not stand here", u32::from(c));
        findings.error_help(
            "hidden-character",
            &place,
            message,
            "remove it, or write it as an escape in double quotes",
        );
        return None;
    }
    Some(text)
}

/// Whether a person would not see this character for what it is.
fn hidden(text: &str, at: usize, c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\r' => text.as_bytes().get(at + 1) != Some(&b'\n'),
        c => invisible(c),
    }
}

/// Whether a character has no shape of its own, or changes that of others: a rule for `secrets` with one of
/// them in the word would protect nothing. The joiners that scripts and emoji are written with are left.
pub(crate) fn invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'
                | '\u{2029}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}')
}

/// Line and column (from 1, in characters) of what follows `before`.
fn position(before: &str) -> (u32, u32) {
    let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (number(line), number(column))
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Where the parser's span stands: its start, and its width on that line. A span at the very end of the text,
/// after the last line end, is moved back to the end of the last line that exists.
pub(crate) fn place(file: &Arc<str>, text: &str, span: &Span) -> Place {
    let from = span.start.byte_offset().unwrap_or(0).min(text.len());
    let to = span.end.byte_offset().unwrap_or(from).clamp(from, text.len());
    if from == text.len() && !text.is_empty() {
        let (line, column) = position(text.trim_end_matches(['\n', '\r']));
        return Place { file: file.clone(), line, column, width: 1 };
    }
    let first_line = text.get(from..to).unwrap_or_default().lines().next().unwrap_or_default();
    Place {
        file: file.clone(),
        line: number(span.start.line()).max(1),
        column: number(span.start.col() + 1),
        width: number(first_line.trim_end().chars().count()).max(1),
    }
}

/// The bytes of the parser's span, without white space at its end.
pub(crate) fn bytes(text: &str, span: &Span) -> Range<usize> {
    let from = span.start.byte_offset().unwrap_or(0).min(text.len());
    let to = span.end.byte_offset().unwrap_or(from).clamp(from, text.len());
    from..from + text.get(from..to).unwrap_or_default().trim_end().len()
}

/// Where a place begins, in bytes.
pub(crate) fn offset(text: &str, place: &Place) -> Option<usize> {
    let before = usize::try_from(place.line.checked_sub(1)?).ok()?;
    let line: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let column = usize::try_from(place.column.checked_sub(1)?).ok()?;
    let rest = text.get(line..)?;
    rest.char_indices().nth(column).map(|(at, _)| line + at)
}

/// The column of the first tab of a run that ends right before the marker.
pub(crate) fn tab_before(text: &str, marker: &Marker) -> Option<u32> {
    let before = text.get(..marker.byte_offset()?)?;
    let tabs = before.len() - before.trim_end_matches('\t').len();
    (tabs > 0).then(|| number((marker.col() + 1).saturating_sub(tabs)).max(1))
}
