//! A Rust file with its tokens and the parts of it that are tests.

use super::{
    attribute::{Attribute, item_end, text},
    files::File,
    lexer::{Line, Token, lex},
};
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

/// A Rust file.
#[derive(Debug)]
pub(super) struct Source<'a> {
    /// From the root.
    pub(super) path: &'a Path,
    pub(super) raw: &'a str,
    pub(super) tokens: Vec<Token<'a>>,
    pub(super) lines: Vec<Line>,
    pub(super) attributes: Vec<Attribute>,
    /// The whole file is compiled for tests alone.
    pub(super) test: bool,
    /// Lines (from 1, inclusive) of items that are compiled for tests alone.
    tails: Vec<(usize, usize)>,
}

impl<'a> Source<'a> {
    /// The Rust files among `files`.
    pub(super) fn all(files: &'a [File]) -> Vec<Self> {
        let rust = files.iter().filter(|file| file.path.extension().is_some_and(|end| end == "rs"));
        let mut sources: Vec<Self> = rust.map(Self::new).collect();
        // A file that only a `#[cfg(test)] mod name;` names is a test as a whole, and so is all below it.
        let named: HashSet<PathBuf> = sources.iter().flat_map(Self::test_modules).collect();
        for source in &mut sources {
            let stem = source.path.with_extension("");
            source.test |= stem.ancestors().any(|part| named.contains(part));
        }
        sources
    }

    /// One file by itself.
    pub(super) fn new(file: &'a File) -> Self {
        let (tokens, lines) = lex(&file.text);
        let attributes = Attribute::all(&tokens);
        let mut source = Self {
            path: &file.path,
            raw: &file.text,
            tokens,
            lines,
            attributes,
            test: file.path.components().any(|part| part.as_os_str() == "tests"),
            tails: Vec::new(),
        };
        let marks: Vec<&Attribute> = source.attributes.iter().filter(|it| it.tests(&source.tokens)).collect();
        source.test |= marks.iter().any(|mark| mark.inner);
        let line = |at: usize| source.tokens.get(at).map_or(source.lines.len(), |token| token.line);
        source.tails = marks
            .iter()
            .map(|mark| (line(mark.span.start), line(item_end(&source.tokens, source.after(mark)) - 1)))
            .collect();
        source
    }

    /// The line, from 1, is compiled for tests alone.
    pub(super) fn in_test(&self, line: usize) -> bool {
        self.test || self.tails.iter().any(|(first, last)| (*first..=*last).contains(&line))
    }

    /// Code lines, tests not counted unless the whole file is one.
    pub(super) fn code_lines(&self) -> usize {
        let counted = |line: usize| self.test || !self.in_test(line);
        self.lines.iter().enumerate().filter(|(n, line)| line.code && counted(n + 1)).count()
    }

    /// The item that `mark` is about: past the other attributes that follow it.
    fn after(&self, mark: &Attribute) -> usize {
        let mut at = mark.span.end;
        while let Some(next) = self.attributes.iter().find(|other| other.span.start == at) {
            at = next.span.end;
        }
        at
    }

    /// Where the files of modules for tests alone would be, without their ending.
    fn test_modules(&self) -> Vec<PathBuf> {
        let folder = match self.path.file_stem().and_then(|stem| stem.to_str()) {
            Some("lib" | "main" | "mod") => self.path.parent().unwrap_or(self.path).to_path_buf(),
            _ => self.path.with_extension(""),
        };
        let marks = self.attributes.iter().filter(|mark| mark.tests(&self.tokens) && !mark.inner);
        marks
            .map(|mark| self.after(mark))
            .filter(|at| text(&self.tokens, *at) == "mod" && text(&self.tokens, at + 2) == ";")
            .map(|at| folder.join(text(&self.tokens, at + 1)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_tail_is_not_counted() {
        let file = File::new(
            "crates/x/src/a.rs",
            "//! A.\nfn f() {\n}\n\n#[cfg(test)]\nmod tests {\n fn g() {}\n}\n",
        );
        let source = Source::new(&file);
        assert_eq!(source.code_lines(), 2);
        assert!(!source.in_test(3) && source.in_test(5) && source.in_test(8) && !source.in_test(9));
    }

    #[test]
    fn code_after_a_test_item_counts_again() {
        let file =
            File::new("a.rs", "#[cfg(test)]\nuse x::{a, b};\nfn f() {}\n#[cfg(not(test))]\nfn g() {}\n");
        let source = Source::new(&file);
        assert!(source.in_test(2) && !source.in_test(3) && !source.in_test(5));
    }

    #[test]
    fn further_attributes_belong_to_the_test_item() {
        let file = File::new(
            "a.rs",
            "#[cfg(all(test, unix))]\n#[expect(x, reason = \"y\")]\nmod tests {\n}\nfn f() {}\n",
        );
        let source = Source::new(&file);
        assert!(source.in_test(4) && !source.in_test(5));
    }

    #[test]
    fn files_of_test_modules_and_test_folders_are_tests() {
        let files = [
            File::new("crates/x/src/a.rs", "#[cfg(test)]\nmod cases;\nmod other;\n"),
            File::new("crates/x/src/a/cases.rs", "fn f() {}\n"),
            File::new("crates/x/src/a/cases/deep.rs", "fn f() {}\n"),
            File::new("crates/x/src/a/other.rs", "fn f() {}\n"),
            File::new("crates/x/tests/all.rs", "fn f() {}\n"),
        ];
        let tests: Vec<bool> = Source::all(&files).iter().map(|source| source.test).collect();
        assert_eq!(tests, [false, true, true, false, true]);
    }
}
