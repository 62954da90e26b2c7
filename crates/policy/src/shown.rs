//! Text of a document as it may stand in a message.

/// The text with every character that a person would not see for what it is (controls, invisible ones, those
/// that turn the direction of writing) as its number: `\u{202e}`.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_a_cursor_or_turns_the_writing_is_shown_as_its_number() {
        assert_eq!(shown("src/a*b é ✓"), "src/a*b é ✓");
        assert_eq!(shown("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\u{a}b");
        for c in ['\u{202e}', '\u{2066}', '\u{200f}', '\u{61c}', '\u{feff}', '\u{e0041}', '\u{9b}'] {
            assert!(shown(&c.to_string()).is_ascii(), "{}", c.escape_unicode());
        }
    }
}
