//! What every Rust file keeps to.

use super::{
    Issue, LONGEST_FILE, LONGEST_FUNCTION,
    attribute::{Attribute, body, closing, text},
    source::Source,
};

/// Names that say nothing of what is inside.
const EMPTY_NAMES: [&str; 8] =
    ["util", "utils", "helper", "helpers", "common", "manager", "managers", "runtime"];
/// Methods that end the program, and macros that do.
const METHODS: [&str; 6] =
    ["unwrap", "unwrap_err", "unwrap_unchecked", "unwrap_none", "expect", "expect_err"];
const MACROS: [&str; 3] = ["panic", "todo", "unimplemented"];

/// All rules for one file but those of [`super::safety`].
pub(super) fn check(source: &Source<'_>) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut say = |line: usize, words: String| issues.push(Issue::new(source.path, line, words));
    if !source.raw.starts_with("//!") {
        say(1, "a file opens with `//!`: what is this for?".into());
    }
    let length = source.code_lines();
    if length > LONGEST_FILE {
        say(1, format!("{length} code lines; a file has at most {LONGEST_FILE}"));
    }
    for (line, lines) in functions(source) {
        if lines > LONGEST_FUNCTION {
            say(line, format!("a function of {lines} lines; one has at most {LONGEST_FUNCTION}"));
        }
    }
    names(source, &mut say);
    attributes(source, &mut say);
    panics(source, &mut say);
    if source.path.ends_with("mod.rs") {
        only_reexports(source, &mut say);
    }
    issues
}

/// Each function with a body: its line, and how many lines it has from brace to brace.
pub(super) fn functions(source: &Source<'_>) -> Vec<(usize, usize)> {
    let tokens = &source.tokens;
    let starts = (0..tokens.len()).filter(|at| text(tokens, *at) == "fn" && is_name(text(tokens, at + 1)));
    starts
        .filter_map(|at| {
            let open = body(tokens, at)?;
            let (first, last) = (tokens[open].line, tokens[closing(tokens, open)].line);
            Some((tokens[at].line, last - first + 1))
        })
        .collect()
}

/// A name, which a type (`fn(…)`) or a macro's variable (`fn $name`) lacks.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn names(source: &Source<'_>, say: &mut impl FnMut(usize, String)) {
    let without_end = source.path.with_extension("");
    for part in without_end.components() {
        let part = part.as_os_str().to_string_lossy();
        if EMPTY_NAMES.contains(&part.as_ref()) {
            say(1, format!("`{part}` is a name for nothing in particular"));
        }
    }
    for pair in source.tokens.windows(2) {
        let (kind, name) = (pair[0].text, pair[1].text);
        let empty = match kind {
            "mod" => EMPTY_NAMES.contains(&name),
            "struct" | "enum" | "trait" | "type" | "union" => EMPTY_NAMES.contains(&last_word(name).as_str()),
            _ => false,
        };
        if empty {
            say(pair[1].line, format!("`{name}` is a name for nothing in particular"));
        }
    }
}

/// `manager` of `SessionManager`.
fn last_word(name: &str) -> String {
    let start = name.rfind(char::is_uppercase).unwrap_or(0);
    name[start..].to_lowercase()
}

fn attributes(source: &Source<'_>, say: &mut impl FnMut(usize, String)) {
    for attribute in &source.attributes {
        let line = source.tokens[attribute.span.start].line;
        if attribute.has(&source.tokens, "allow") {
            say(
                line,
                "`allow` hides a lint for good: `#[expect(…, reason = \"…\")]` says when it is over".into(),
            );
        }
        if attribute.has(&source.tokens, "expect") && !gives_reason(attribute, source) {
            say(line, "`expect` without a `reason`".into());
        }
    }
}

fn gives_reason(attribute: &Attribute, source: &Source<'_>) -> bool {
    attribute.words(&source.tokens).windows(2).any(|pair| pair[0].text == "reason" && pair[1].text == "=")
}

fn panics(source: &Source<'_>, say: &mut impl FnMut(usize, String)) {
    for three in source.tokens.windows(3) {
        let [before, name, after] = [three[0], three[1], three[2]].map(|token| token.text);
        let line = three[1].line;
        let method = before == "." && METHODS.contains(&name) && matches!(after, "(" | ":");
        let path = before == ":" && METHODS.contains(&name) && matches!(after, ")" | ",");
        let ends = method || path || (MACROS.contains(&name) && after == "!");
        if ends && !source.in_test(line) {
            say(line, format!("`{name}` ends the program: outside tests an error is answered"));
        }
    }
}

/// `mod.rs` says what is in a folder, nothing else.
fn only_reexports(source: &Source<'_>, say: &mut impl FnMut(usize, String)) {
    let tokens = &source.tokens;
    let mut at = 0;
    while at < tokens.len() {
        if let Some(attribute) = source.attributes.iter().find(|it| it.span.start == at) {
            at = attribute.span.end;
            continue;
        }
        let start = at;
        if text(tokens, at) == "pub" {
            at += 1;
            if text(tokens, at) == "(" {
                at = closing(tokens, at) + 1;
            }
        }
        let end = (at..tokens.len()).find(|end| text(tokens, *end) == ";").unwrap_or(tokens.len());
        let fits = match text(tokens, at) {
            "use" => true,
            "mod" => end == at + 2,
            _ => false,
        };
        if !fits {
            say(tokens[start].line, "`mod.rs` only names and re-exports modules".into());
            return;
        }
        at = end + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{super::files::File, *};

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let file = File::new(path, &format!("//! X.\n{text}"));
        check(&Source::new(&file)).into_iter().map(|issue| (issue.line, issue.words)).collect()
    }

    #[track_caller]
    fn one(path: &str, text: &str, line: usize, word: &str) {
        let found = found(path, text);
        assert!(found.len() == 1 && found[0].0 == line && found[0].1.contains(word), "{found:?}");
    }

    #[track_caller]
    fn none(path: &str, text: &str) {
        assert_eq!(found(path, text), []);
    }

    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "    // x\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_opens_with_its_purpose() {
        let file = File::new("a.rs", "// not this\n//! X.\n");
        assert_eq!(check(&Source::new(&file)).len(), 1);
    }

    #[test]
    fn a_function_has_at_most_eighty_lines_from_brace_to_brace() {
        none("a.rs", &function(80));
        one("a.rs", &function(81), 2, "81 lines");
    }

    #[test]
    fn signatures_types_and_braces_in_strings_do_not_confuse_the_count() {
        let text =
            "fn f<const N: usize>(g: fn() -> [u8; { 2 }]) -> A<{ N }>\nwhere\n    B: C,\n{\n    \"}\";\n}\n";
        let file = File::new("a.rs", text);
        assert_eq!(functions(&Source::new(&file)), [(1, 3)]);
        let file = File::new(
            "a.rs",
            "trait T { fn f(&self) -> u8; fn g(&self) {} }\nmacro_rules! m { () => { fn $x() {} } }\n",
        );
        assert_eq!(functions(&Source::new(&file)), [(1, 1)]);
    }

    #[test]
    fn a_file_has_at_most_seven_hundred_code_lines() {
        none("a.rs", &"const A: u8 = 1;\n".repeat(700));
        one("a.rs", &"const A: u8 = 1;\n".repeat(701), 1, "701");
        none("a.rs", &format!("#[cfg(test)]\nmod t {{\n{}}}\n", "const A: u8 = 1;\n".repeat(800)));
    }

    #[test]
    fn names_for_nothing_are_found_in_paths_modules_and_types() {
        one("crates/x/src/utils.rs", "", 1, "utils");
        one("crates/x/src/common/a.rs", "", 1, "common");
        one("a.rs", "mod helpers;\n", 2, "helpers");
        one("a.rs", "struct SessionManager;\n", 2, "SessionManager");
        none("a.rs", "struct Managed; fn common_parent() {} mod utilities {}\n");
    }

    #[test]
    fn allow_is_never_right_and_expect_gives_a_reason() {
        one("a.rs", "#[allow(dead_code)]\nfn f() {}\n", 2, "allow");
        one("a.rs", "#![cfg_attr(test, allow(x))]\n", 2, "allow");
        one("a.rs", "#[expect(x)]\nfn f() {}\n", 2, "reason");
        none("a.rs", "#[expect(x, reason = \"y\")]\nfn allow() {} // #[allow(x)]\n");
    }

    #[test]
    fn what_ends_the_program_stays_in_tests() {
        for text in ["x.unwrap();", "x\n.expect(\"y\");", "panic!();", "todo!();", "x.map(Option::unwrap);"] {
            let text = format!("fn f() {{ {text} }}\n");
            assert_eq!(found("a.rs", &text).len(), 1, "{text}");
            none("crates/x/tests/a.rs", &text);
            none("a.rs", &format!("#[cfg(test)]\nmod tests {{ {text} }}\n"));
        }
        none(
            "a.rs",
            "fn f() { x.unwrap_or(1); x.unwrap_or_default(); \"x.unwrap()\"; std::panic::catch_unwind(g); }\n",
        );
    }

    #[test]
    fn mod_rs_names_and_re_exports() {
        none(
            "a/mod.rs",
            "mod a;\npub(crate) mod b;\n#[cfg(test)]\nmod c;\npub use a::{A, b::{B, C}};\nuse d as e;\n",
        );
        one("a/mod.rs", "mod a;\nfn f() {}\n", 3, "mod.rs");
        one("a/mod.rs", "mod a { }\n", 2, "mod.rs");
        one("a/mod.rs", "pub const A: u8 = 1;\n", 2, "mod.rs");
    }
}
