//! `cargo xtask tidy`: the rules of the house, each a check with file and line. What clippy can hold, clippy
//! holds; some of it is checked here again, so that a lint switched off in one place shows.

mod attribute;
mod files;
mod house;
mod lexer;
mod rust;
mod safety;
mod source;
mod text;

use crate::project;
use anyhow::{Result, bail};
use source::Source;
use std::{fmt, path::PathBuf};

/// Code lines that the median file may have.
const MEDIAN: usize = 180;
/// Code lines that any file may have, test code at its end not counted.
const LONGEST_FILE: usize = 700;
/// Lines that a function may have, from brace to brace.
const LONGEST_FUNCTION: usize = 80;

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Issue {
    /// The file, from the root.
    file: PathBuf,
    /// The line, from 1.
    line: usize,
    words: String,
}

impl Issue {
    fn new(file: impl Into<PathBuf>, line: usize, words: impl Into<String>) -> Self {
        Self { file: file.into(), line, words: words.into() }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}:{}: {}", self.file.display(), self.line, self.words)
    }
}

/// Checks the whole tree and prints what is wrong, and the figures.
pub(crate) fn tidy() -> Result<()> {
    let root = project::root()?;
    let files = files::read(&root)?;
    let sources = Source::all(&files);
    let mut issues: Vec<Issue> = files.iter().flat_map(text::check).collect();
    issues.extend(files.iter().flat_map(|file| text::links(file, &root)));
    issues.extend(sources.iter().flat_map(rust::check));
    issues.extend(sources.iter().flat_map(safety::check));
    issues.extend(house::doors(&sources));
    issues.extend(house::pure(&sources));
    issues.extend(house::manifests(&files));
    issues.extend(house::arrows(&project::metadata()?));
    let figures = figures(&sources, &mut issues);
    issues.sort();
    issues.dedup();
    for issue in &issues {
        println!("{issue}");
    }
    println!("{figures}");
    match issues.len() {
        0 => Ok(()),
        1 => bail!("1 rule of the house is broken"),
        count => bail!("{count} rules of the house are broken"),
    }
}

/// The figures in words; a median that is too high is an issue of the whole tree.
fn figures(sources: &[Source<'_>], issues: &mut Vec<Issue>) -> String {
    let mut lengths: Vec<(usize, &Source<'_>)> =
        sources.iter().filter(|source| !source.test).map(|source| (source.code_lines(), source)).collect();
    lengths.sort_by_key(|(length, _)| *length);
    let Some((longest, at)) = lengths.last() else { return "no sources".into() };
    let median = lengths[lengths.len() / 2].0;
    if median > MEDIAN {
        issues.push(Issue::new(
            "Cargo.toml",
            1,
            format!("the median file has {median} code lines, not {MEDIAN}"),
        ));
    }
    let functions = sources.iter().flat_map(rust::functions).map(|(_, lines)| lines).max().unwrap_or(0);
    format!(
        "{} files, median {median} code lines, longest {longest} (`{}`), longest function {functions} lines",
        lengths.len(),
        at.path.display()
    )
}
