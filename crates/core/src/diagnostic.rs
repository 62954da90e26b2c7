//! What is wrong with a file that a person wrote, where, and the way out.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A place in a file. Lines and columns count from 1, columns in characters; 0 means the whole file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The file as it should be shown: relative to the workspace where it lies in it.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// How many characters to underline, at least 1.
    pub width: u32,
}

impl Place {
    /// A file as a whole.
    pub fn file(file: impl Into<Arc<str>>) -> Self {
        Self { file: file.into(), line: 0, column: 0, width: 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return f.write_str(&self.file);
        }
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Probably not what was meant.
    Warning,
    /// Nothing runs until it is mended.
    Error,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// A stable name of the kind, in kebab case: `unknown-key`.
    pub code: &'static str,
    /// What is wrong: a lowercase fragment, input in backticks.
    pub message: String,
    /// Where.
    pub place: Place,
    /// A second place that has to do with it, and what it is.
    pub related: Vec<(Place, String)>,
    /// The way out.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A finding without related places or help.
    pub fn new(severity: Severity, code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self { severity, code, message: message.into(), place, related: Vec::new(), help: None }
    }

    /// An error.
    pub fn error(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, place, message)
    }

    /// The same with a way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with a second place.
    #[must_use]
    pub fn related(mut self, place: Place, what: impl Into<String>) -> Self {
        self.related.push((place, what.into()));
        self
    }
}
