//! Absolute, normal paths as bytes. The kernel's own name for a file is such a path; text that a person or
//! an agent wrote becomes one by [`AbsPath::lexical`].

use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// The longest path that is accepted, in bytes (Linux `PATH_MAX` less the NUL).
pub const LONGEST: usize = 4095;

/// Why bytes are not an absolute, normal path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It does not begin with `/`.
    #[error("the path is not absolute")]
    Relative,
    /// It has a NUL byte.
    #[error("the path has a NUL byte")]
    Nul,
    /// It has a `.` or `..` component where none may stand.
    #[error("the path has a `.` or `..` component")]
    Dots,
    /// It climbs above `/`, or is longer than [`LONGEST`].
    #[error("the path is longer than {LONGEST} bytes")]
    TooLong,
}

/// An absolute path without `.`, `..`, empty components, trailing slash or NUL. Bytes, not text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AbsPath(Box<[u8]>);

impl AbsPath {
    /// The root folder, `/`.
    pub fn root() -> Self {
        Self(Box::from(&b"/"[..]))
    }

    /// Takes an absolute path. Repeated and trailing slashes are folded; `.` and `..` are refused.
    pub fn new(path: impl AsRef<[u8]>) -> Result<Self, PathError> {
        let path = path.as_ref();
        if path.first() != Some(&b'/') {
            return Err(PathError::Relative);
        }
        if path.split(|b| *b == b'/').any(|c| c == b"." || c == b"..") {
            return Err(PathError::Dots);
        }
        Self::lexical(&Self::root(), path)
    }

    /// Joins `path` to `base` and folds `.` and `..` as text (`..` at the root stays at the root).
    pub fn lexical(base: &AbsPath, path: impl AsRef<[u8]>) -> Result<Self, PathError> {
        let path = path.as_ref();
        if path.contains(&0) {
            return Err(PathError::Nul);
        }
        let mut parts: Vec<&[u8]> =
            if path.first() == Some(&b'/') { Vec::new() } else { base.components().collect() };
        for part in path.split(|b| *b == b'/') {
            match part {
                b"" | b"." => {}
                b".." => {
                    parts.pop();
                }
                _ => parts.push(part),
            }
        }
        let mut out = Vec::with_capacity(path.len().saturating_add(base.0.len()).saturating_add(1));
        for part in parts {
            out.push(b'/');
            out.extend_from_slice(part);
        }
        if out.is_empty() {
            out.push(b'/');
        }
        if out.len() > LONGEST { Err(PathError::TooLong) } else { Ok(Self(out.into())) }
    }

    /// The path as bytes; begins with `/`.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path for the standard library.
    pub fn as_path(&self) -> &std::path::Path {
        use std::os::unix::ffi::OsStrExt;
        std::path::Path::new(std::ffi::OsStr::from_bytes(&self.0))
    }

    /// The components, from the root down; none for `/`.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|b| *b == b'/').filter(|c| !c.is_empty())
    }

    /// The last component; none for `/`.
    pub fn file_name(&self) -> Option<&[u8]> {
        self.components().next_back()
    }

    /// The folder that holds this path; none for `/`.
    pub fn parent(&self) -> Option<AbsPath> {
        let name = self.file_name()?;
        let end = self.0.len().saturating_sub(name.len()).saturating_sub(1);
        match self.0.get(..end) {
            Some(b"") | None => Some(Self::root()),
            Some(head) => Some(Self(Box::from(head))),
        }
    }

    /// This path with one more component. The name must not hold a slash; `.` and `..` are refused.
    pub fn join(&self, name: impl AsRef<[u8]>) -> Result<AbsPath, PathError> {
        let name = name.as_ref();
        if name == b"." || name == b".." || name.contains(&b'/') {
            return Err(PathError::Dots);
        }
        Self::lexical(self, name)
    }

    /// Whether `other` is this path or lies below it (by component, never by string prefix).
    pub fn covers(&self, other: &AbsPath) -> bool {
        self.covers_bytes(&other.0)
    }

    /// [`AbsPath::covers`] for bytes that are known to be an absolute, normal path.
    pub fn covers_bytes(&self, other: &[u8]) -> bool {
        if self.0.len() == 1 {
            return other.first() == Some(&b'/');
        }
        match other.strip_prefix(&*self.0) {
            Some(rest) => rest.is_empty() || rest.first() == Some(&b'/'),
            None => false,
        }
    }

    /// What remains of `other` below this path, without a leading slash; empty if they are equal.
    pub fn strip<'a>(&self, other: &'a AbsPath) -> Option<&'a [u8]> {
        if !self.covers(other) {
            return None;
        }
        let skip = if self.0.len() == 1 { 1 } else { self.0.len() };
        let rest = other.0.get(skip..)?;
        Some(rest.strip_prefix(b"/").unwrap_or(rest))
    }
}

impl TryFrom<&std::path::Path> for AbsPath {
    type Error = PathError;
    fn try_from(path: &std::path::Path) -> Result<Self, PathError> {
        use std::os::unix::ffi::OsStrExt;
        Self::new(path.as_os_str().as_bytes())
    }
}

/// Bytes as one line of text: what is not printable UTF-8, or turns the direction of writing, is written `\xNN`, a
/// backslash `\\`.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                c => put(&mut out, c),
            }
        }
        chunk.invalid().iter().for_each(|b| put_byte(&mut out, *b));
    }
    out
}

/// A text as one line for a person's terminal. As [`escape`], but a backslash stays as it is: for words in which
/// paths stand that were escaped before. What was meant by a backslash cannot be told from it any more.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| put(&mut out, c));
    out
}

/// Whether a character would move a terminal's cursor, begin a command to it, or turn the direction of writing.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

fn put(out: &mut String, c: char) {
    if is_unprintable(c) {
        let mut buffer = [0; 4];
        c.encode_utf8(&mut buffer).bytes().for_each(|b| put_byte(out, b));
    } else {
        out.push(c);
    }
}

fn put_byte(out: &mut String, byte: u8) {
    out.push_str("\\x");
    for half in [byte >> 4, byte & 0xf] {
        out.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
    }
}

/// The bytes that [`escape`] wrote; `None` if the text is not of its making.
pub fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        match bytes.next()? {
            b'\\' => out.push(b'\\'),
            b'x' => {
                let pair = [bytes.next()?, bytes.next()?];
                out.push(u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?);
            }
            _ => return None,
        }
    }
    Some(out)
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.0))
    }
}

impl fmt::Debug for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// In JSON a path is the text that [`escape`] writes, so that any bytes survive.
impl Serialize for AbsPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AbsPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = unescape(&text).ok_or_else(|| serde::de::Error::custom("a path with a bad escape"))?;
        Self::new(bytes).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn p(s: &str) -> AbsPath {
        AbsPath::new(s).unwrap()
    }

    #[test]
    fn a_sibling_with_the_same_prefix_is_not_covered() {
        assert!(p("/ws").covers(&p("/ws/x")));
        assert!(p("/ws").covers(&p("/ws")));
        assert!(!p("/ws").covers(&p("/ws-evil/x")));
        assert!(AbsPath::root().covers(&p("/a")));
    }

    #[test]
    fn dots_fold_as_text_and_never_climb_above_the_root() {
        assert_eq!(AbsPath::lexical(&p("/a/b"), "../../../../etc").unwrap(), p("/etc"));
        assert_eq!(AbsPath::lexical(&p("/a"), "//x//./y/").unwrap(), p("/x/y"));
        assert_eq!(AbsPath::new("/a/../b"), Err(PathError::Dots));
        assert_eq!(AbsPath::new("a"), Err(PathError::Relative));
        assert_eq!(AbsPath::new(b"/a\0b"), Err(PathError::Nul));
    }

    #[test]
    fn parents_and_rests() {
        assert_eq!(p("/a/b").parent(), Some(p("/a")));
        assert_eq!(p("/a").parent(), Some(AbsPath::root()));
        assert_eq!(AbsPath::root().parent(), None);
        assert_eq!(p("/a").strip(&p("/a/b/c")), Some(&b"b/c"[..]));
        assert_eq!(AbsPath::root().strip(&p("/a")), Some(&b"a"[..]));
        assert_eq!(p("/a").strip(&p("/b")), None);
    }

    proptest! {
        #[test]
        fn any_bytes_survive_the_escape(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let text = escape(&bytes);
            prop_assert!(!text.contains('\n') && !text.contains('\x1b'));
            prop_assert_eq!(unescape(&text), Some(bytes));
        }

        #[test]
        fn what_is_printable_is_one_line_and_says_it_only_once(text in "\\PC{0,20}[\\x00-\\x1f\u{9b}\u{202e}\\\\]{0,9}") {
            let shown = printable(&text);
            prop_assert!(!shown.chars().any(is_unprintable), "{}", shown);
            prop_assert_eq!(printable(&shown), shown.clone());
            prop_assert_eq!(printable(&escape(text.as_bytes())), escape(text.as_bytes()));
        }

        #[test]
        fn lexical_is_normal(path in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(path) = AbsPath::lexical(&p("/base"), &path) {
                prop_assert_eq!(AbsPath::new(path.as_bytes()).unwrap(), path);
            }
        }
    }
}
