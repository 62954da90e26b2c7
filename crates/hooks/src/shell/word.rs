//! One word of shell text, and how its quotes are undone.

/// A word after its quotes are taken off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The text. Complete only if `literal`.
    pub(super) bytes: Vec<u8>,
    /// Whether something in it is only known when the shell runs: an expansion, a pattern, braces.
    pub(super) expands: bool,
    /// Whether any of it was quoted: then it is no keyword.
    pub(super) quoted: bool,
    /// Whether it begins with an unquoted `~`.
    pub(super) tilde: bool,
}

impl Word {
    /// The text, if all of it is known.
    pub(super) fn literal(&self) -> Option<&[u8]> {
        (!self.expands && !self.bytes.contains(&0)).then_some(self.bytes.as_slice())
    }

    /// The text, if it can be a keyword or operator of the grammar.
    pub(super) fn bare(&self) -> Option<&[u8]> {
        if self.quoted { None } else { self.literal() }
    }

    /// Whether the word sets a variable: `NAME=…`.
    pub(super) fn assigns(&self) -> bool {
        let name = self.bytes.split(|b| *b == b'=').next().unwrap_or_default();
        name.len() < self.bytes.len()
            && name.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
            && name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+'))
    }
}

/// The text of `$'…'`, from after the opening quote; and how many bytes it took, the closing quote included.
pub(super) fn ansi_c(text: &[u8]) -> (Vec<u8>, usize) {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(b) = text.get(at) {
        at += 1;
        match b {
            b'\'' => return (out, at),
            b'\\' => at += escape(text.get(at..).unwrap_or_default(), &mut out),
            b => out.push(*b),
        }
    }
    (out, at)
}

/// One escape after its backslash; how many bytes it took.
fn escape(text: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(kind) = text.first() else { return 0 };
    let rest = text.get(1..).unwrap_or_default();
    let plain = match kind {
        b'a' => 0x07,
        b'b' => 0x08,
        b'e' | b'E' => 0x1b,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'\\' | b'\'' | b'"' | b'?' => *kind,
        b'0'..=b'7' => return number(text, 8, 3, out, false),
        b'x' => return 1 + number(rest, 16, 2, out, false),
        b'u' => return 1 + number(rest, 16, 4, out, true),
        b'U' => return 1 + number(rest, 16, 8, out, true),
        b'c' => {
            out.push(rest.first().unwrap_or(&0) & 0x1f);
            return 1 + rest.len().min(1);
        }
        other => {
            out.extend_from_slice(&[b'\\', *other]);
            return 1;
        }
    };
    out.push(plain);
    1
}

/// A number of at most `most` digits; how many it had.
fn number(text: &[u8], radix: u32, most: usize, out: &mut Vec<u8>, unicode: bool) -> usize {
    let digits = text.iter().take(most).take_while(|b| char::from(**b).is_digit(radix)).count();
    let value = text
        .iter()
        .take(digits)
        .filter_map(|b| char::from(*b).to_digit(radix))
        .fold(0u32, |sum, d| sum.wrapping_mul(radix).wrapping_add(d));
    match char::from_u32(value) {
        Some(c) if unicode => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        _ => out.push(value.to_le_bytes()[0]),
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ansi_c_quotes_are_undone() {
        assert_eq!(ansi_c(br"a\tb\x2f\u00e9\101\'c' rest"), ("a\tb/\u{e9}A'c".as_bytes().to_vec(), 22));
        assert_eq!(ansi_c(br"open\"), (b"open".to_vec(), 5));
        assert_eq!(ansi_c(br"\cA\q'"), (b"\x01\\q".to_vec(), 6));
    }

    #[test]
    fn an_assignment_has_a_name_before_the_sign() {
        let word = |s: &str| Word { bytes: s.as_bytes().to_vec(), ..Word::default() };
        assert!(word("A_1=x").assigns() && word("A+=x").assigns());
        assert!(!word("of=x/y=").assigns() || word("of=x").assigns());
        assert!(!word("=x").assigns() && !word("a/b=c").assigns() && !word("x").assigns());
    }
}
