//! What every text file keeps to, and links that lead somewhere.

use super::{Issue, files::File};
use std::path::Path;

/// Paths of the machine that somebody happens to sit at. In two halves, so that this file passes itself.
const FOREIGN: [(&str, &str); 2] = [("/wo", "rk"), ("../sha", "red")];
/// Endings of files that people write; in others (recorded outputs, say) a blank at the end may mean something.
const WRITTEN: [&str; 13] =
    ["rs", "md", "toml", "yaml", "yml", "json", "sh", "ts", "tsx", "js", "css", "html", "txt"];

/// Blanks at ends of lines, a missing last line break, and paths of somebody's machine.
pub(super) fn check(file: &File) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut say = |line: usize, words: String| issues.push(Issue::new(&file.path, line, words));
    let end = file.path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let fixture = file.path.components().any(|part| part.as_os_str() == "fixtures");
    let written = (WRITTEN.contains(&end) && !fixture) || file.path.starts_with(".ci");
    for (n, line) in file.text.split('\n').enumerate() {
        if written && line.ends_with([' ', '\t', '\r']) {
            say(n + 1, "blanks at the end of the line".into());
        }
        for (first, second) in FOREIGN {
            let path = format!("{first}{second}");
            if mentions(line, &path) {
                say(n + 1, format!("`{path}` is a place on somebody's machine"));
            }
        }
    }
    if written && !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
        say(file.text.lines().count(), "a file ends with one line break".into());
    }
    issues
}

/// `path` stands in `line` as a whole: not inside a longer path or name.
fn mentions(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + path.len()..].chars().next();
        let joined =
            |c: Option<char>, marks: &[char]| c.is_some_and(|c| c.is_alphanumeric() || marks.contains(&c));
        let (inside, longer) = (['.', '_', '-', '/', '*', '~', '}', ']', '>'], ['_', '.']);
        !joined(before, &inside) && !joined(after, &longer)
    })
}

/// Links of Markdown files, and links to `docs/` in comments, that lead to no file or no heading.
pub(super) fn links(file: &File, root: &Path) -> Vec<Issue> {
    let name = file.name();
    let mut issues = Vec::new();
    let mut fenced = false;
    for (n, line) in file.text.lines().enumerate() {
        let comment = name.ends_with(".rs") && line.trim_start().starts_with("//");
        if name.ends_with(".md") {
            fenced ^= line.trim_start().starts_with("```");
        } else if !comment {
            continue;
        }
        if fenced {
            continue;
        }
        for target in targets(line) {
            let from = if comment {
                // Words in rustdoc's own links are rustdoc's to check.
                if !target.starts_with("docs/") {
                    continue;
                }
                root.to_path_buf()
            } else {
                root.join(file.path.parent().unwrap_or(Path::new("")))
            };
            if let Err(words) = leads(&from, &root.join(&file.path), target) {
                issues.push(Issue::new(&file.path, n + 1, words));
            }
        }
    }
    issues
}

/// Targets of `[…](…)` in a line, code left out, that lie in this tree.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        let code = rest[..at].matches('`').count() % 2 == 1;
        let target = &rest[at + 2..];
        let end = target.find([')', ' ']).unwrap_or(target.len());
        let target = &target[..end];
        let outside = ["http:", "https:", "mailto:"].iter().any(|scheme| target.starts_with(scheme));
        if !code && !outside && !target.is_empty() {
            found.push(target);
        }
        rest = &rest[at + 2..];
    }
    found
}

fn leads(from: &Path, this: &Path, target: &str) -> Result<(), String> {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let to = if path.is_empty() { this.to_path_buf() } else { from.join(path) };
    if !to.exists() {
        return Err(format!("the link `{target}` leads to no file"));
    }
    if heading.is_empty() || to.extension().is_none_or(|end| end != "md") {
        return Ok(());
    }
    let text = std::fs::read_to_string(&to).map_err(|error| format!("the link `{target}`: {error}"))?;
    let named = text.lines().filter_map(|line| line.strip_prefix('#')).any(|line| anchor(line) == heading);
    if named { Ok(()) } else { Err(format!("the link `{target}` leads to no heading")) }
}

/// The name of a heading, as code hosts make it.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    words
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn count(path: &str, text: &str) -> usize {
        check(&File::new(path, text)).len()
    }

    #[test]
    fn blanks_at_the_end_and_a_missing_line_break_are_found() {
        assert_eq!(count("a.rs", "a \n"), 1);
        assert_eq!(count("a.md", "a"), 1);
        assert_eq!(count("a.md", "a\n\n"), 1);
        assert_eq!(count("a.rs", "a\n\n b\n"), 0);
        assert_eq!(count("tests/fixtures/a.json", "a "), 0);
        assert_eq!(count("a.snap", "a "), 0);
    }

    #[test]
    fn places_on_somebodys_machine_are_found_as_whole_paths_only() {
        let path = ["/wo", "rk"].concat();
        for text in [format!("in {path}\n"), format!("`{path}/main`\n"), format!("\"{path}\"\n")] {
            assert_eq!(count("a.rs", &text), 1, "{text}");
        }
        for text in [format!("src{path}.rs\n"), format!("{path}space/a\n"), format!("a/b{path}/c\n")] {
            assert_eq!(count("a.rs", &text), 0, "{text}");
        }
        assert_eq!(count("a.md", &format!("see {}/design.md\n", ["../sha", "red"].concat())), 1);
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("docs")).unwrap();
        fs::write(scratch.path().join("docs/a.md"), "# A page\n\n## What `it` is, and why\n").unwrap();
        let bad = |path: &str, text: &str| links(&File::new(path, text), scratch.path()).len();
        assert_eq!(
            bad("README.md", "[a](docs/a.md) [b](docs/a.md#what-it-is-and-why) [c](https://x.org)\n"),
            0
        );
        assert_eq!(bad("README.md", "[a](docs/b.md)\n"), 1);
        assert_eq!(bad("README.md", "[a](docs/a.md#nowhere)\n"), 1);
        assert_eq!(bad("docs/b.md", "[a](a.md)\n"), 0);
        assert_eq!(bad("README.md", "```\n[a](docs/b.md)\n```\n`[a](docs/b.md)`\n"), 0);
        assert_eq!(bad("src/a.rs", "//! See [the page](docs/b.md).\n"), 1);
        assert_eq!(bad("src/a.rs", "let a = \"[x](docs/b.md)\"; // [`A`](crate::A)\n"), 0);
    }
}
