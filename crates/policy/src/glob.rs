//! One component of a pattern that has wildcards: `*.rs`, `v?`, `[a-c]x`. Bytes, not text: `?` is one byte.

use std::fmt;

/// A set of bytes. Never holds `/` or NUL, which no component of a path has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Class([u64; 4]);

impl Class {
    const fn slot(byte: u8) -> (usize, u64) {
        ((byte >> 6) as usize, 1 << (byte & 63))
    }

    /// The empty set.
    pub(crate) const fn empty() -> Self {
        Self([0; 4])
    }

    /// Every byte that a component may have.
    pub(crate) fn full() -> Self {
        let mut all = Self::empty();
        (1..=u8::MAX).for_each(|byte| all.insert(byte));
        all
    }

    /// The set of one byte.
    pub(crate) fn one(byte: u8) -> Self {
        let mut set = Self::empty();
        set.insert(byte);
        set
    }

    /// Adds a byte; `/` and NUL are left out.
    pub(crate) fn insert(&mut self, byte: u8) {
        let (word, bit) = Self::slot(byte);
        if byte != 0
            && byte != b'/'
            && let Some(word) = self.0.get_mut(word)
        {
            *word |= bit;
        }
    }

    /// Whether the byte is in the set.
    pub(crate) fn has(&self, byte: u8) -> bool {
        let (word, bit) = Self::slot(byte);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    /// The bytes of the set, ascending.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        (1..=u8::MAX).filter(|byte| self.has(*byte))
    }

    /// Every byte that is not in the set.
    pub(crate) fn inverse(&self) -> Self {
        let mut out = Self::empty();
        Self::full().bytes().filter(|byte| !self.has(*byte)).for_each(|byte| out.insert(byte));
        out
    }

    /// How many bytes are in the set.
    pub(crate) fn len(&self) -> u32 {
        self.0.iter().fold(0, |sum, word| word.count_ones().saturating_add(sum))
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let negated = self.len() > 127;
        let shown = if negated { self.inverse() } else { *self };
        f.write_str(if negated { "[^" } else { "[" })?;
        let mut bytes = shown.bytes().peekable();
        while let Some(first) = bytes.next() {
            let mut last = first;
            while bytes.next_if_eq(&last.wrapping_add(1)).is_some() {
                last = last.wrapping_add(1);
            }
            write_byte(f, first)?;
            if last > first {
                f.write_str("-")?;
                write_byte(f, last)?;
            }
        }
        f.write_str("]")
    }
}

/// One byte of a set, escaped where it would mean something else.
fn write_byte(f: &mut fmt::Formatter<'_>, byte: u8) -> fmt::Result {
    match byte {
        b'[' | b']' | b'\\' | b'$' | b'{' | b'}' | b'^' | b'!' | b'-' => write!(f, "\\{}", char::from(byte)),
        b' '..=b'~' => write!(f, "{}", char::from(byte)),
        _ => write!(f, "\\x{byte:02x}"),
    }
}

/// A name as a pattern writes it: what would be a wildcard or a variable is escaped.
pub(crate) fn write_name(f: &mut fmt::Formatter<'_>, name: &[u8]) -> fmt::Result {
    use fmt::Write;
    remit_core::path::escape(name).chars().try_for_each(|c| {
        if matches!(c, '*' | '?' | '[' | '$' | '{') {
            f.write_char('\\')?;
        }
        f.write_char(c)
    })
}

/// One step of a [`Glob`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Token {
    /// Exactly this byte.
    Byte(u8),
    /// One byte of a set.
    Class(Class),
    /// Any bytes, or none.
    Star,
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Token {
    fn takes(&self, byte: u8) -> bool {
        match self {
            Token::Byte(own) => *own == byte,
            Token::Class(class) => class.has(byte),
            Token::Star => false,
        }
    }
}

/// A component with wildcards. At least one token is not a [`Token::Byte`], and no two stars are neighbours.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Glob(pub(crate) Box<[Token]>);

impl Glob {
    /// Whether it matches a whole component. Linear in the name for one star, never exponential.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        self.fits(name, |step, byte| step.takes(*byte))
    }

    /// Whether it fits letters of any kind, if a star takes each of them and any other step what `takes` says.
    fn fits<T>(&self, letters: &[T], takes: impl Fn(&Token, &T) -> bool) -> bool {
        let (mut token, mut at) = (0_usize, 0_usize);
        let mut retry = None;
        loop {
            match (self.0.get(token), letters.get(at)) {
                (Some(Token::Star), _) => {
                    token = token.saturating_add(1);
                    retry = Some((token, at));
                    continue;
                }
                (Some(step), Some(letter)) if takes(step, letter) => {
                    token = token.saturating_add(1);
                    at = at.saturating_add(1);
                    continue;
                }
                (None, None) => return true,
                _ => {}
            }
            match retry {
                Some((after, from)) if from < letters.len() => {
                    at = from.saturating_add(1);
                    token = after;
                    retry = Some((after, at));
                }
                _ => return false,
            }
        }
    }

    /// A name that it matches: `fill` for each star, the greatest byte of each set.
    pub(crate) fn sample(&self, fill: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for token in &self.0 {
            match token {
                Token::Byte(byte) => out.push(*byte),
                Token::Class(class) => out.extend(class.bytes().last()),
                Token::Star => out.extend_from_slice(fill),
            }
        }
        out
    }

    /// Whether it includes the other step by step: what its stars do not take stands in the other as it is. Then it
    /// matches whatever the other does; the reverse does not hold.
    pub(crate) fn plainly_includes(&self, other: &Glob) -> bool {
        self.fits(&other.0, |own, other| match other {
            Token::Byte(byte) => own.takes(*byte),
            Token::Class(_) => own == other,
            Token::Star => false,
        })
    }

    /// Whether it is a bare `*`.
    pub(crate) fn is_star(&self) -> bool {
        *self.0 == [Token::Star]
    }

    /// The bytes that every match begins with.
    pub(crate) fn head(&self) -> impl Iterator<Item = u8> + Clone + '_ {
        self.0.iter().map_while(literal)
    }

    /// The bytes that every match ends with, from the last to the first.
    pub(crate) fn tail(&self) -> impl Iterator<Item = u8> + Clone + '_ {
        self.0.iter().rev().map_while(literal)
    }

    /// The longest run of bytes between two wildcards, which every match has somewhere.
    pub(crate) fn middle(&self) -> impl Iterator<Item = u8> + Clone + '_ {
        let mut runs = self.0.split(|token| literal(token).is_none());
        // The first is the head, the last the tail.
        runs.next();
        runs.next_back();
        runs.max_by_key(|run| run.len()).unwrap_or(&[]).iter().filter_map(literal)
    }
}

fn literal(token: &Token) -> Option<u8> {
    match token {
        Token::Byte(byte) => Some(*byte),
        _ => None,
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Literal bytes are written together, since several may be one character.
        for run in self.0.chunk_by(|a, b| literal(a).is_some() && literal(b).is_some()) {
            let name: Vec<u8> = run.iter().filter_map(literal).collect();
            write_name(f, &name)?;
            run.iter().try_for_each(|token| match token {
                Token::Byte(_) => Ok(()),
                Token::Class(class) if *class == Class::full() => f.write_str("?"),
                Token::Class(class) => fmt::Display::fmt(class, f),
                Token::Star => f.write_str("*"),
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::component;

    fn glob(text: &str) -> Glob {
        Glob(component(text).unwrap().into())
    }

    #[test]
    fn stars_stay_in_a_component_and_take_hidden_names() {
        assert!(glob("*").matches(b".hidden"));
        assert!(glob("*.rs").matches(b".rs"));
        assert!(glob("a*b*c").matches(b"abbbc"));
        assert!(!glob("a*b*c").matches(b"abbb"));
        assert!(glob("?x").matches(b"\xffx"));
        assert!(!glob("?").matches("é".as_bytes()));
    }

    #[test]
    fn classes_are_sets_of_bytes() {
        assert!(glob("[a-c]x").matches(b"bx"));
        assert!(glob("[!a-c]x").matches(b"dx"));
        assert!(!glob("[^a-c]x").matches(b"ax"));
        assert!(glob("[]]*").matches(b"]"));
        assert!(!glob("[^a]").matches(b"/"));
        assert_eq!(glob("[abcx]z").to_string(), "[a-cx]z");
        assert_eq!(glob("[^abc]z").to_string(), "[^a-c]z");
    }

    #[test]
    fn many_stars_do_not_explode() {
        let pattern = glob(&"a*".repeat(60));
        assert!(!pattern.matches(&[&[b'a'; 59][..], b"b"].concat()));
    }

    #[test]
    fn what_one_includes_step_by_step_it_matches() {
        for (wide, narrow) in
            [("*1*.rs", "*12*.rs"), ("a*", "a*b*"), ("*b*d*", "a?b*cd"), ("?*", "?x*"), ("*", "?")]
        {
            assert!(glob(wide).plainly_includes(&glob(narrow)), "{wide} {narrow}");
            assert!(!glob(narrow).plainly_includes(&glob(wide)), "{narrow} {wide}");
        }
        // A star of the other may stand for nothing, and its bytes in another order are others.
        for (one, other) in
            [("a?*", "a*"), ("*ab*", "*a*b*"), ("[ab]*", "[abc]*"), ("a*a", "a*"), ("*1*2*", "*2*1*")]
        {
            assert!(!glob(one).plainly_includes(&glob(other)), "{one} {other}");
        }
    }

    #[test]
    fn the_middle_lies_between_wildcards() {
        let middle = |text: &str| glob(text).middle().collect::<Vec<u8>>();
        assert_eq!(middle("a*bc*d?e"), b"bc");
        assert_eq!(middle("*x*"), b"x");
        assert!(["a*b", "*", "?*", "*.rs"].iter().all(|text| middle(text).is_empty()));
    }
}
