//! What holds between crates: which own a door to the outside world, which are pure, and who may lean on whom.

use super::{Issue, files::File, source::Source};
use serde_json::Value;
use std::path::Path;

/// The crates that own a door to the outside world (files, processes, clock, environment, randomness), by folder.
const DOORS: [(&str, &str); 9] = [
    ("crates/config", "reads the policy file and what it names"),
    ("crates/git", "starts git, reads its files"),
    ("crates/hooks", "resolves paths, edits hosts' settings, speaks to the session's socket"),
    ("crates/remit", "the rim: environment, standard streams, exit"),
    ("crates/sandbox", "launches every child"),
    ("crates/session", "private homes, sockets, the clock of a session"),
    ("crates/store", "durable state"),
    ("crates/test-support", "sets up what tests need"),
    ("xtask", "chores"),
];

/// Folders of the crates that do no IO and do not panic.
const PURE: [&str; 4] = ["crates/core", "crates/policy", "crates/board", "crates/ledger"];

/// The floor of each crate. Arrows run to a lower floor.
const FLOORS: [(&str, u8); 17] = [
    ("remit-core", 0),
    ("remit-policy", 1),
    ("remit-board", 1),
    ("remit-ledger", 1),
    ("remit-sandbox", 2),
    ("remit-trace", 2),
    ("remit-store", 2),
    ("remit-config", 2),
    ("remit-git", 2),
    ("remit-session", 3),
    ("remit-control", 4),
    ("remit-hooks", 5),
    ("remit-mcp", 5),
    ("remit-map", 5),
    ("remit-web", 5),
    ("remit", 6),
    ("xtask", 6),
];
/// Arrows within a floor.
const BESIDE: [(&str, &str); 2] = [("remit-trace", "remit-store"), ("remit-trace", "remit-git")];
/// The crate that tests alone may use.
const TESTS: &str = "test-support";
/// Who may use `anyhow`; libraries say in an enum what can go wrong.
const ANYHOW: [&str; 2] = ["xtask", TESTS];

const LINT: &str = "disallowed_methods";

/// The crate folder that a source belongs to: `crates/<name>` or `xtask`.
fn crate_of(path: &Path) -> Option<String> {
    let mut parts = path.iter().map(|part| part.to_string_lossy());
    match parts.next()?.as_ref() {
        "xtask" => Some("xtask".into()),
        "crates" => Some(format!("crates/{}", parts.next()?)),
        _ => None,
    }
}

fn is_root(source: &Source<'_>, folder: &str) -> bool {
    ["src/lib.rs", "src/main.rs"].iter().any(|file| source.path == Path::new(folder).join(file))
}

/// Doors are opened once per crate, in its root, by the crates of the table and no other.
pub(super) fn doors(sources: &[Source<'_>]) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut open = Vec::new();
    let mut known = Vec::new();
    for source in sources {
        let Some(folder) = crate_of(source.path) else { continue };
        // Examples and integration tests are programs of their own, not part of the room.
        if !source.path.starts_with(Path::new(&folder).join("src")) {
            continue;
        }
        let root = is_root(source, &folder);
        if root {
            known.push(folder.clone());
        }
        for attribute in &source.attributes {
            let names = attribute.words(&source.tokens).iter().any(|token| token.text == LINT);
            let line = source.tokens[attribute.span.start].line;
            if !names || !attribute.has(&source.tokens, "expect") || source.in_test(line) {
                continue;
            }
            // For tests alone it is no door.
            if attribute.has(&source.tokens, "cfg_attr") {
                continue;
            }
            if !(root && attribute.inner) {
                issues.push(Issue::new(source.path, line, "a door is opened once, in the crate's root"));
            } else if !DOORS.iter().any(|(door, _)| *door == folder) {
                let words = format!("`{folder}` opens a door that the table in `xtask` does not have");
                issues.push(Issue::new(source.path, line, words));
            }
            open.push(folder.clone());
        }
    }
    for (door, what) in DOORS {
        if known.iter().any(|it| it == door) && !open.iter().any(|it| it == door) {
            let words = format!("the table in `xtask` gives `{door}` a door ({what}) that it does not open");
            issues.push(Issue::new(Path::new(door).join("Cargo.toml"), 1, words));
        }
    }
    issues
}

/// Pure crates deny, in their root, what could panic.
pub(super) fn pure(sources: &[Source<'_>]) -> Vec<Issue> {
    let roots = sources.iter().filter(|source| PURE.iter().any(|folder| is_root(source, folder)));
    let lacking = roots.filter(|source| {
        !["indexing_slicing", "arithmetic_side_effects"].iter().all(|lint| {
            source.attributes.iter().any(|attribute| {
                attribute.inner
                    && attribute.has(&source.tokens, "deny")
                    && attribute.words(&source.tokens).iter().any(|token| token.text == *lint)
            })
        })
    });
    let words = "a pure crate says `#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]`";
    lacking.map(|source| Issue::new(source.path, 1, words)).collect()
}

/// Every crate takes the workspace's lints, and there is one list of what clippy bans.
pub(super) fn manifests(files: &[File]) -> Vec<Issue> {
    let mut issues = Vec::new();
    for file in files {
        let name = file.path.file_name().unwrap_or_default();
        if (name == "clippy.toml" || name == ".clippy.toml") && file.path.components().count() > 1 {
            issues.push(Issue::new(
                &file.path,
                1,
                "the one list of banned functions is the root's `clippy.toml`",
            ));
        }
        let inside = crate_of(&file.path).is_some();
        if name == "Cargo.toml" && inside && !file.text.contains("[lints]\nworkspace = true\n") {
            issues.push(Issue::new(&file.path, 1, "a crate takes its lints from the workspace"));
        }
    }
    issues
}

/// Who leans on whom, from cargo's own description of the workspace.
pub(super) fn arrows(metadata: &Value) -> Vec<Issue> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let mut issues = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let manifest = manifest.strip_prefix(root).unwrap_or(manifest);
        let mut say = |words: String| issues.push(Issue::new(manifest, 1, words));
        if name != TESTS && floor(name).is_none() {
            say(format!("`{name}` has no floor in the table of `xtask`"));
        }
        let folder = manifest.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        if folder != name.strip_prefix("remit-").unwrap_or(name) {
            say(format!("`{name}` lies in `{folder}`, not in the folder of its name"));
        }
        for dependency in package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let to = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"] == "dev";
            if let Some(words) = refused(name, to, for_tests) {
                say(words);
            }
        }
    }
    issues
}

fn floor(name: &str) -> Option<u8> {
    FLOORS.iter().find(|(it, _)| *it == name).map(|(_, floor)| *floor)
}

/// What is wrong with an arrow, if something is.
fn refused(from: &str, to: &str, for_tests: bool) -> Option<String> {
    if to == "anyhow" {
        return (!ANYHOW.contains(&from) && !for_tests)
            .then(|| format!("`{from}` uses `anyhow`: a library says in an enum what can go wrong"));
    }
    if to == TESTS {
        return (!for_tests && from != "xtask").then(|| format!("`{from}` uses `{TESTS}` outside its tests"));
    }
    let below = floor(to)?;
    if from == TESTS {
        return Some(format!("`{TESTS}` leans on `{to}`: it stands outside the house"));
    }
    let fits = floor(from)? > below || BESIDE.contains(&(from, to));
    (!fits).then(|| format!("`{from}` leans on `{to}`, which is not on a lower floor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_run_down_and_beside_only_where_the_table_says() {
        assert_eq!(refused("remit-session", "remit-core", false), None);
        assert_eq!(refused("remit-trace", "remit-git", false), None);
        assert!(refused("remit-git", "remit-trace", false).is_some());
        assert!(refused("remit-ledger", "remit-policy", false).is_some());
        assert!(refused("remit-core", "remit-session", true).is_some());
        assert!(refused("remit-core", "serde", false).is_none());
    }

    #[test]
    fn test_support_is_for_tests_and_leans_on_nothing() {
        assert_eq!(refused("remit-session", TESTS, true), None);
        assert!(refused("remit-session", TESTS, false).is_some());
        assert!(refused(TESTS, "remit-core", false).is_some());
        assert!(refused("remit", "anyhow", false).is_some());
    }

    #[test]
    fn an_unknown_crate_and_a_foreign_folder_are_named() {
        let metadata = serde_json::json!({"workspace_root": "/r", "packages": [
            {"name": "remit-new", "manifest_path": "/r/crates/new/Cargo.toml", "dependencies": []},
            {"name": "remit-core", "manifest_path": "/r/crates/kernel/Cargo.toml", "dependencies": []},
        ]});
        let issues: Vec<String> = arrows(&metadata).iter().map(ToString::to_string).collect();
        assert_eq!(issues.len(), 2, "{issues:?}");
        assert!(
            issues[0].starts_with("crates/new/Cargo.toml:1:") && issues[0].contains("floor"),
            "{issues:?}"
        );
        assert!(issues[1].contains("`kernel`"), "{issues:?}");
    }

    fn doors_of(files: &[(&str, &str)]) -> Vec<Issue> {
        let files: Vec<File> = files.iter().map(|(path, text)| File::new(path, text)).collect();
        doors(&Source::all(&files))
    }

    const DOOR: &str = "//! X.\n#![expect(clippy::disallowed_methods, reason = \"x\")]\n";

    #[test]
    fn doors_and_table_are_equal_in_both_directions() {
        assert_eq!(doors_of(&[("crates/store/src/lib.rs", DOOR)]), []);
        assert_eq!(doors_of(&[("crates/core/src/lib.rs", DOOR)]).len(), 1);
        assert_eq!(doors_of(&[("crates/store/src/lib.rs", "//! X.\n")]).len(), 1);
    }

    #[test]
    fn a_door_inside_a_module_is_found_and_one_for_tests_is_none() {
        let inner = "//! X.\n#[expect(clippy::disallowed_methods, reason = \"x\")]\nfn f() {}\n";
        assert_eq!(doors_of(&[("crates/core/src/a.rs", inner)]).len(), 1);
        let test = "//! X.\n#[cfg(test)]\n#[expect(clippy::disallowed_methods, reason = \"x\")]\nmod t {}\n";
        assert_eq!(doors_of(&[("crates/core/src/a.rs", test), ("crates/core/tests/a.rs", DOOR)]), []);
        assert_eq!(doors_of(&[("crates/core/examples/a.rs", DOOR)]), []);
    }

    #[test]
    fn pure_crates_and_manifests_say_what_they_must() {
        let files = [
            File::new("crates/core/src/lib.rs", "//! X.\n#![deny(clippy::indexing_slicing)]\n"),
            File::new("crates/core/Cargo.toml", "[package]\n"),
            File::new("crates/core/clippy.toml", ""),
            File::new("clippy.toml", ""),
        ];
        assert_eq!(pure(&Source::all(&files)).len(), 1);
        assert_eq!(manifests(&files).len(), 2);
    }
}
