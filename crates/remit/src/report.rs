//! Every failure's words, hints and exit code: the one table at the rim. Data goes to standard output, talk to
//! standard error.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use remit_core::path::{is_unprintable, printable};
use remit_core::{Diagnostic, Exit, Place, Severity};
use remit_session::words::for_terminals;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;

/// Why a command ends without doing what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
    findings: Vec<Diagnostic>,
    texts: Texts,
}

/// The texts of files that findings point into, by the name under which they are shown.
pub(crate) type Texts = BTreeMap<String, String>;

impl Failure {
    /// A failure with a message: a lowercase fragment.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        let (causes, hints, findings) = (Vec::new(), Vec::new(), Vec::new());
        Self { exit, message: message.into(), causes, hints, findings, texts: Texts::new() }
    }

    /// A failure with the error that caused it.
    pub(crate) fn because(exit: Exit, message: impl Into<String>, error: &dyn Error) -> Self {
        let mut failure = Self::new(exit, message);
        let mut next = Some(error);
        while let Some(error) = next {
            let cause = error.to_string();
            // Many errors repeat in their own words what caused them.
            if !failure.causes.iter().any(|said| said.ends_with(&cause)) {
                failure.causes.push(cause);
            }
            next = error.source();
        }
        failure
    }

    /// The same with a way out.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same with another exit code.
    #[must_use]
    pub(crate) fn ends(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }

    /// The same with one more cause.
    #[must_use]
    pub(crate) fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    /// The same with findings in files.
    #[must_use]
    pub(crate) fn findings(mut self, findings: Vec<Diagnostic>, texts: Texts) -> Self {
        self.findings = findings;
        self.texts = texts;
        self
    }

    /// Writes the failure to standard error; one without a message is told by its exit code only.
    pub(crate) fn show(&self) {
        show_findings(&self.findings, &self.texts);
        if self.message.is_empty() {
            return;
        }
        // Names of files, and what other programs say, stand in these words.
        let mut text = format!("{ERROR}error{ERROR:#}: {}\n", printable(&self.message));
        for cause in &self.causes {
            text.push_str(&format!("  because: {}\n", printable(cause)));
        }
        for hint in &self.hints {
            text.push_str(&format!("{HINT}hint{HINT:#}: {}\n", printable(hint)));
        }
        talk(&text);
    }
}

const fn colour(colour: anstyle::AnsiColor) -> anstyle::Style {
    anstyle::Style::new().fg_color(Some(anstyle::Color::Ansi(colour)))
}

/// For errors and refusals.
pub(crate) const ERROR: anstyle::Style = colour(anstyle::AnsiColor::Red).bold();
/// For what was allowed and is well.
pub(crate) const OK: anstyle::Style = colour(anstyle::AnsiColor::Green);
/// For what waits for a person, and warnings.
pub(crate) const WAIT: anstyle::Style = colour(anstyle::AnsiColor::Yellow);
/// For the way out.
pub(crate) const HINT: anstyle::Style = colour(anstyle::AnsiColor::Cyan);
/// For what matters less.
pub(crate) const DIM: anstyle::Style = anstyle::Style::new().dimmed();
/// For headings.
pub(crate) const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// The style of an answer.
pub(crate) fn style_of(effect: remit_core::Effect) -> anstyle::Style {
    match effect {
        remit_core::Effect::Allow => OK,
        remit_core::Effect::Ask => WAIT,
        remit_core::Effect::Deny => ERROR,
    }
}

/// Writes talk to standard error; colour only where it is shown. A closed standard error has no reader whom
/// it could be told.
pub(crate) fn talk(text: &str) {
    drop(anstream::stderr().lock().write_all(text.as_bytes()));
}

/// Writes data to standard output.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        std::io::ErrorKind::BrokenPipe => had_enough(),
        _ => Failure::because(Exit::Io, "cannot write to standard output", &e),
    })
}

/// A reader such as `head` had enough: that is no news to anybody.
pub(crate) fn had_enough() -> Failure {
    Failure::new(Exit::Io, "")
}

/// Whether nobody can read any more what is written to standard output. Does not wait.
pub(crate) fn reader_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let out = std::io::stdout();
    // Nothing is asked for: that the other end is gone is always told.
    let mut ends = [PollFd::new(&out, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    // A poll that fails says nothing about the reader; the next write does.
    poll(&mut ends, Some(&at_once)).is_ok_and(|told| told > 0)
}

/// One JSON object a line on standard output. What would act on a terminal is written as JSON's own escape.
pub(crate) fn say_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value)
        .map_err(|e| Failure::because(Exit::Io, "cannot write the answer as JSON", &e))?;
    say(&(for_terminals(&text) + "\n"))
}

/// Writes findings with the lines that they point at. What says the same of several places is said once.
pub(crate) fn show_findings(findings: &[Diagnostic], texts: &Texts) {
    let renderer = Renderer::styled().decor_style(DecorStyle::Unicode);
    let texts: Texts = texts.iter().map(|(file, text)| (file.clone(), quotable(text))).collect();
    for (finding, others) in alike(findings) {
        let level = match finding.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let mut group = level
            .primary_title(printable(&finding.message))
            .id(finding.code)
            .elements(None::<Snippet<'_, annotate_snippets::Annotation<'_>>>);
        for (index, (place, label)) in places(finding).enumerate() {
            let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
            if let Some(text) = texts.get(&*place.file)
                && let Some(at) = span(text, place)
            {
                let rest = others.iter().filter(|_| index == 0).filter_map(|other| span(text, &other.place));
                let annotations =
                    std::iter::once(at).chain(rest).map(|at| kind.span(at).label(printable(label)));
                let snippet = Snippet::source(text.as_str()).path(&*place.file);
                group = group.element(snippet.annotations(annotations));
            } else {
                let at = if place.line == 0 { "in" } else { "at" };
                let words = printable(&format!("{at} {place} {label}"));
                group = group.element(Level::NOTE.message(words.trim_end().to_owned()));
            }
        }
        if let Some(help) = &finding.help {
            group = group.element(Level::HELP.message(printable(help)));
        }
        talk(&(renderer.render(&[group]) + "\n\n"));
    }
}

/// A file's text as it may be quoted: a character for each character, but none that would act on a terminal.
fn quotable(text: &str) -> String {
    let quoted = |c: char| if is_unprintable(c) && !"\n\t".contains(c) { '\u{fffd}' } else { c };
    text.replace("\r\n", "\n").chars().map(quoted).collect()
}

/// The findings, each with those that follow and say the same of other places in the same file.
fn alike(findings: &[Diagnostic]) -> Vec<(&Diagnostic, Vec<&Diagnostic>)> {
    let mut told: Vec<(&Diagnostic, Vec<&Diagnostic>)> = Vec::new();
    let mut seen: BTreeMap<_, usize> = BTreeMap::new();
    for finding in findings {
        let says = (finding.code, finding.severity, &finding.message, &finding.help, &finding.place.file);
        // A place without a line is not underlined, so it is told by itself.
        let same = finding.related.is_empty() && finding.place.line > 0;
        match seen.get(&says).filter(|_| same).and_then(|index| told.get_mut(*index)) {
            Some((_, others)) => others.push(finding),
            None => {
                if same {
                    seen.insert(says, told.len());
                }
                told.push((finding, Vec::new()));
            }
        }
    }
    told
}

fn places(finding: &Diagnostic) -> impl Iterator<Item = (&Place, &str)> {
    let related = finding.related.iter().map(|(place, label)| (place, label.as_str()));
    std::iter::once((&finding.place, "")).chain(related)
}

/// The bytes of a text that a place underlines.
fn span(text: &str, place: &Place) -> Option<std::ops::Range<usize>> {
    let line = usize::try_from(place.line).ok()?.checked_sub(1)?;
    let from: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let row = text.get(from..)?.lines().next().unwrap_or_default();
    let at = |column: usize| row.char_indices().nth(column).map_or(row.len(), |(index, _)| index);
    let first = usize::try_from(place.column).ok()?.saturating_sub(1);
    let last = first.saturating_add(usize::try_from(place.width).ok()?.max(1));
    Some(from + at(first)..from + at(last))
}

/// A table of columns, as wide as their widest cell; the last one is not padded.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
            out.push_str(cell);
            if index + 1 < row.len() {
                let gap = width.saturating_sub(cell.chars().count()) + 2;
                out.extend(std::iter::repeat_n(' ', gap));
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_becomes_the_bytes_that_it_underlines() {
        let text = "a: ä\nbb: cc\n";
        let place = |line, column, width| Place { file: "f".into(), line, column, width };
        assert_eq!(span(text, &place(1, 4, 1)), Some(3..5));
        assert_eq!(span(text, &place(2, 5, 2)), Some(10..12));
        assert_eq!(span(text, &place(2, 50, 9)), Some(12..12));
        assert_eq!(span(text, &place(0, 0, 1)), None);
    }

    #[test]
    fn columns_line_up_and_the_last_has_no_tail() {
        let rows = [vec!["a".to_owned(), "b".to_owned()], vec!["long".to_owned(), "c".to_owned()]];
        assert_eq!(table(&rows), "a     b\nlong  c\n");
    }
}
