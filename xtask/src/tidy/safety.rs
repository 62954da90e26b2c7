//! `unsafe` stands in one crate, and each time says why it is sound.

use super::{Issue, attribute::text, source::Source};

/// The only folder where it may stand.
const HOME: &str = "crates/sandbox";

/// Every `unsafe` that is elsewhere, or says nothing.
pub(super) fn check(source: &Source<'_>) -> Vec<Issue> {
    let tokens = &source.tokens;
    let mut issues = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.text == "unsafe") {
        // The type of a function pointer promises nothing.
        if text(tokens, at + 1) == "fn" && text(tokens, at + 2) == "(" {
            continue;
        }
        if !source.path.starts_with(HOME) {
            issues.push(Issue::new(source.path, token.line, format!("`unsafe` outside `{HOME}`")));
        } else if !explained(source, token.line) {
            let words = "`unsafe` without a `// SAFETY:` comment above it (`# Safety` for a function)";
            issues.push(Issue::new(source.path, token.line, words));
        }
    }
    issues
}

/// A comment of the line or right above its statement says why. Attributes and lines of the same statement may
/// lie between.
fn explained(source: &Source<'_>, line: usize) -> bool {
    let says = |line: usize| {
        let comment = source.lines.get(line - 1).map_or("", |it| it.comment.as_str());
        comment.contains("SAFETY:") || comment.contains("# Safety")
    };
    if says(line) {
        return true;
    }
    for above in (1..line).rev() {
        if says(above) {
            return true;
        }
        let Some(it) = source.lines.get(above - 1) else { return false };
        let last = source.tokens.iter().rfind(|token| token.line == above).map(|token| token.text);
        let ends = matches!(last, Some(";" | "{" | "}" | ","));
        if ends || (!it.code && it.comment.is_empty()) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{super::files::File, *};

    fn count(path: &str, text: &str) -> usize {
        check(&Source::new(&File::new(path, text))).len()
    }

    const IN: &str = "crates/sandbox/src/a.rs";

    #[test]
    fn unsafe_outside_its_crate_is_found_even_with_a_reason() {
        assert_eq!(count("crates/core/src/a.rs", "// SAFETY: none\nunsafe { f() }\n"), 1);
        assert_eq!(count("crates/core/src/a.rs", "// unsafe {\nconst A: &str = \"unsafe {\";\n"), 0);
    }

    #[test]
    fn a_reason_stands_right_above_the_statement() {
        assert_eq!(count(IN, "// SAFETY: x\nunsafe { f() }\n"), 0);
        assert_eq!(count(IN, "unsafe { f() } // SAFETY: x\n"), 0);
        assert_eq!(count(IN, "// SAFETY: x\n// and more\n#[inline]\nunsafe impl A for B {}\n"), 0);
        assert_eq!(count(IN, "// SAFETY: x\nlet a =\n    g(unsafe { f() });\n"), 0);
        assert_eq!(count(IN, "/// Does.\n/// # Safety\n/// x\npub unsafe fn f() {}\n"), 0);
    }

    #[test]
    fn a_reason_of_another_statement_does_not_count() {
        assert_eq!(count(IN, "unsafe { f() }\n"), 1);
        assert_eq!(count(IN, "// SAFETY: x\nunsafe { f() };\nunsafe { g() };\n"), 1);
        assert_eq!(count(IN, "// SAFETY: x\n\nunsafe { f() }\n"), 1);
        assert_eq!(count(IN, "// safety first\nunsafe { f() }\n"), 1);
    }

    #[test]
    fn types_and_lint_names_are_not_unsafe() {
        assert_eq!(count("crates/core/src/a.rs", "#![deny(unsafe_code)]\ntype A = unsafe fn(u8);\n"), 0);
    }
}
