//! Placeholders for what differs from run to run, so that a whole output can be compared.

use std::path::PathBuf;

/// Digits of the hash in the name of a workspace's state.
const WORKSPACE_HASH: usize = 12;

/// `text` with each of `paths` replaced by its placeholder (the longest that fits), and uuids, RFC 3339 times,
/// workspace hashes and process ids by theirs.
pub(super) fn normal(text: &str, paths: &[(PathBuf, &str)]) -> String {
    let mut paths: Vec<(String, &str)> =
        paths.iter().map(|(path, to)| (path.to_string_lossy().into_owned(), *to)).collect();
    paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let before = out.chars().next_back();
        let found = path(rest, &paths).or_else(|| token(rest, before, &out));
        let (length, placeholder) = found.unwrap_or((c.len_utf8(), ""));
        let (taken, left) = rest.split_at(length);
        out.push_str(if placeholder.is_empty() { taken } else { placeholder });
        rest = left;
    }
    out
}

fn path<'a>(rest: &str, paths: &[(String, &'a str)]) -> Option<(usize, &'a str)> {
    let whole = |path: &str| {
        let after = rest.strip_prefix(path)?.chars().next();
        // `/x/project` is not the beginning of `/x/project-two`.
        (!after.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))).then_some(path.len())
    };
    paths.iter().find_map(|(path, to)| whole(path).map(|length| (length, *to)))
}

/// A uuid, time, workspace hash or process id at the beginning of `rest`.
fn token(rest: &str, before: Option<char>, out: &str) -> Option<(usize, &'static str)> {
    if before.is_some_and(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    let shapes = [
        (fits(rest, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"), "[UUID]"),
        (time(rest), "[TIME]"),
        (workspace(rest, before), "[HASH]"),
        (process(rest, out), "[PID]"),
    ];
    let (length, to) = shapes.into_iter().find_map(|(length, to)| length.map(|length| (length, to)))?;
    let after = rest[length..].chars().next();
    (!after.is_some_and(|c| c.is_ascii_alphanumeric())).then_some((length, to))
}

/// The length of `shape` if `text` begins like it: `x` is a hexadecimal digit, `d` a decimal one, others are
/// themselves.
fn fits(text: &str, shape: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..shape.len())?;
    let fit = bytes.iter().zip(shape.bytes()).all(|(have, want)| match want {
        b'x' => have.is_ascii_hexdigit(),
        b'd' => have.is_ascii_digit(),
        other => *have == other,
    });
    fit.then_some(shape.len())
}

/// `2026-01-31T12:00:00`, a fraction, and `Z` or an offset; the middle may be a blank.
fn time(text: &str) -> Option<usize> {
    let mut length = fits(text, "dddd-dd-ddTdd:dd:dd").or_else(|| fits(text, "dddd-dd-dd dd:dd:dd"))?;
    if let Some(fraction) = text[length..].strip_prefix('.') {
        length += 1 + fraction.bytes().take_while(u8::is_ascii_digit).count();
    }
    let zone = &text[length..];
    let offset = fits(zone, "+dd:dd").or_else(|| fits(zone, "-dd:dd"));
    Some(length + offset.unwrap_or(usize::from(zone.starts_with('Z'))))
}

/// The twelve digits after the `-` of `project-0123456789ab`, or of a socket folder `remit/0123456789ab`.
fn workspace(text: &str, before: Option<char>) -> Option<usize> {
    let length = fits(text, "xxxxxxxxxxxx")?;
    (length == WORKSPACE_HASH && matches!(before, Some('-' | '/'))).then_some(length)
}

/// Digits after `pid`, in words, assignments and JSON.
fn process(text: &str, out: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let lead = out.trim_end_matches([' ', ':', '=', '"', '(']);
    let word = lead.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
    (digits > 0 && lead.len() < out.len() && word.eq_ignore_ascii_case("pid")).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str) {
        let paths = [(PathBuf::from("/t/x"), "[ROOT]"), (PathBuf::from("/t/x/project"), "[PROJECT]")];
        assert_eq!(normal(text, &paths), want);
    }

    #[test]
    fn the_longest_path_wins_and_a_longer_name_is_another_path() {
        check("/t/x/project/a.rs in /t/x/home", "[PROJECT]/a.rs in [ROOT]/home");
        check("/t/x/project-two /t/xy", "[ROOT]/project-two /t/xy");
    }

    #[test]
    fn uuids_and_times_are_replaced_whole() {
        check("id 3f2b8c1e-0000-4aaa-8bbb-0123456789ab.", "id [UUID].");
        check("at 2026-01-31T12:00:00.123456Z, 2026-01-31 12:00:00+02:00", "at [TIME], [TIME]");
    }

    #[test]
    fn what_only_looks_alike_stays() {
        check("3f2b8c1e-0000-4aaa-8bbb-0123456789abc", "3f2b8c1e-0000-4aaa-8bbb-0123456789abc");
        check("2026-01-31 is a day, 12:00:00 a time", "2026-01-31 is a day, 12:00:00 a time");
        check("rapid 12 and pid-like12", "rapid 12 and pid-like12");
        check("x0123456789ab and 0123456789ab", "x0123456789ab and 0123456789ab");
    }

    #[test]
    fn process_ids_and_workspace_hashes_are_found_by_their_lead() {
        check("pid 4711, pid=12, {\"pid\":7} (pid: 9)", "pid [PID], pid=[PID], {\"pid\":[PID]} (pid: [PID])");
        check("/s/remit/project-0123456789ab/state.db", "/s/remit/project-[HASH]/state.db");
    }

    #[test]
    fn text_of_any_script_comes_through() {
        check("ключ → 値 é", "ключ → 値 é");
    }
}
