//! Git's configuration language: what a file says, in the order in which it stands there. Lines that git would
//! stumble over are left out, since git runs nothing while it stumbles.

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// `core`, in small letters.
    pub(crate) section: String,
    /// `x` in `[includeIf "x"]`.
    pub(crate) subsection: Option<Vec<u8>>,
    /// `hookspath`, in small letters.
    pub(crate) key: String,
    /// None: the key stands alone, which means true.
    pub(crate) value: Option<Vec<u8>>,
}

impl Setting {
    /// Whether it is this setting, whatever the subsection.
    pub(crate) fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && self.key == key
    }
}

/// Reads the text of a file. Any bytes will do.
pub(crate) fn settings(text: &[u8]) -> Vec<Setting> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut found = Vec::new();
    let mut section: Option<(String, Option<Vec<u8>>)> = None;
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        rest = match first {
            b' ' | b'\t' | b'\r' | b'\n' => after,
            b'#' | b';' => line_end(after),
            b'[' => {
                let (header, after) = header(after);
                section = header;
                after
            }
            _ => {
                let (key, value, after) = assignment(rest);
                if let (Some((section, subsection)), false) = (&section, key.is_empty()) {
                    let (section, subsection) = (section.clone(), subsection.clone());
                    found.push(Setting { section, subsection, key, value });
                }
                after
            }
        };
    }
    found
}

fn line_end(text: &[u8]) -> &[u8] {
    let at = text.iter().position(|b| *b == b'\n').unwrap_or(text.len());
    text.get(at..).unwrap_or_default()
}

fn small(text: &[u8]) -> String {
    String::from_utf8_lossy(text).to_ascii_lowercase()
}

type Header = Option<(String, Option<Vec<u8>>)>;

/// What stands between `[` and `]`: `core`, `includeIf "x"`, or `branch.x` as it was once written.
fn header(text: &[u8]) -> (Header, &[u8]) {
    let name = text.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.')).count();
    let (name, rest) = text.split_at(name);
    let rest = rest.trim_ascii_start();
    if let Some(after) = rest.strip_prefix(b"]") {
        let mut parts = name.splitn(2, |b| *b == b'.');
        let section = small(parts.next().unwrap_or_default());
        return (Some((section, parts.next().map(<[u8]>::to_ascii_lowercase))), after);
    }
    let mut subsection = Vec::new();
    let mut bytes = rest.iter().enumerate();
    if bytes.next().is_some_and(|(_, b)| *b == b'"') {
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    let after = rest.get(at + 1..).unwrap_or_default().trim_ascii_start();
                    let Some(after) = after.strip_prefix(b"]") else { break };
                    return (Some((small(name), Some(subsection))), after);
                }
                b'\\' => subsection.extend(bytes.next().map(|(_, b)| *b)),
                b'\n' => break,
                byte => subsection.push(*byte),
            }
        }
    }
    (None, line_end(text))
}

/// `key = value`, or `key`, up to the end of its line or lines.
fn assignment(text: &[u8]) -> (String, Option<Vec<u8>>, &[u8]) {
    let length = text.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'-').count();
    let (key, rest) = text.split_at(length);
    let blank = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let rest = rest.get(blank..).unwrap_or_default();
    match rest.strip_prefix(b"=") {
        Some(after) => {
            let (value, after) = value(after);
            (small(key), value, after)
        }
        None => (small(key), None, line_end(text)),
    }
}

/// A value without quotes, escapes, comment and outer blanks; lines that end in a backslash go on.
fn value(text: &[u8]) -> (Option<Vec<u8>>, &[u8]) {
    let mut out = Vec::new();
    // How much of `out` stands: blanks at the end, unless quoted, do not.
    let mut keep = 0;
    let mut quoted = false;
    let mut bytes = text.iter().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\n' => {
                out.truncate(keep);
                return (Some(out), text.get(at..).unwrap_or_default());
            }
            b'"' => quoted = !quoted,
            b'#' | b';' if !quoted => {
                out.truncate(keep);
                return (Some(out), line_end(text.get(at..).unwrap_or_default()));
            }
            b'\\' => {
                bytes.next_if(|(_, b)| **b == b'\r');
                match bytes.next().map(|(_, b)| *b) {
                    Some(b'\n') | None => continue,
                    Some(b'n') => out.push(b'\n'),
                    Some(b't') => out.push(b'\t'),
                    Some(b'b') => out.push(8),
                    Some(other) => out.push(other),
                }
                keep = out.len();
            }
            b' ' | b'\t' | b'\r' if !quoted => {
                if !out.is_empty() {
                    out.push(*byte);
                }
            }
            byte => {
                out.push(*byte);
                keep = out.len();
            }
        }
    }
    out.truncate(keep);
    (Some(out), b"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(text: &str) -> Vec<String> {
        let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let one = |s: &Setting| {
            let sub = s.subsection.as_deref().map_or(String::new(), |sub| format!("({})", show(sub)));
            format!("{}{sub}.{}={}", s.section, s.key, s.value.as_deref().map_or("-".to_owned(), show))
        };
        settings(text.as_bytes()).iter().map(one).collect()
    }

    #[test]
    fn sections_keys_and_values_are_read_as_git_reads_them() {
        let text = "\u{feff}a = lost\n[core]\n\thooksPath = .husky ; why\n bare\n[CORE] HooksPath=\"a # b\" c\r\n\
                    [include \"x\\\"y\"]path = ~/a\\\n/b\n[branch.Main]k=v\n[core]\nx = one\\ttwo  \n";
        let expected = [
            "core.hookspath=.husky",
            "core.bare=-",
            "core.hookspath=a # b c",
            "include(x\"y).path=~/a/b",
            "branch(main).k=v",
            "core.x=one\ttwo",
        ];
        assert_eq!(said(text), expected);
    }

    #[test]
    fn a_broken_line_hides_nothing_that_follows() {
        assert_eq!(said("[core\n[core]\n=x\n!y\na = b\n"), ["core.a=b"]);
        assert_eq!(said("[core]\na = \"open\nb\n"), ["core.a=open", "core.b=-"]);
        assert_eq!(said("[core \"x]\n[y]\nz=1"), ["y.z=1"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(settings(&text).len() <= text.len());
        }

        #[test]
        fn any_text_of_the_languages_own_characters_is_read(text in "[\\[\\]\"\\\\a-c =#;.\n\r\t]{0,80}") {
            prop_assert!(settings(text.as_bytes()).len() <= text.len());
        }
    }
}
