//! What only the disk can tell of a policy: which of its paths exist, and what they are.

use crate::finding::{Findings, shown, visible};
use crate::patterns::{Spoken, spoken};
use remit_core::{AbsPath, Diagnostic, Place, Severity};
use remit_policy::source::{At, Root};
use remit_policy::{Access, Anchor, Pattern, Policy, PolicySource, Use, World};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// What the disk tells of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ground {
    /// Errors: `ambiguous-root`, a leading `/` without a `root:` key where only the workspace has such a path;
    /// `base-workspace`, one that is missing or no folder. Notes: `matches-nothing`, a rule on one path that does
    /// not exist. A path that may not be looked at is taken to exist.
    pub findings: Vec<Diagnostic>,
    /// The literal paths of rules that grant writing and are no folders: files, or nothing yet. A pattern that
    /// says itself that it means a folder (`out/`, `out/**`) is none where nothing exists yet, and a path that
    /// may not be looked at is none.
    pub single_files: BTreeSet<AbsPath>,
}

/// Looks at what the policy names. `workspace` is the resolved folder of the policy, `home` the person's.
pub fn ground(source: &PolicySource, workspace: &Path, home: &Path) -> Ground {
    let mut found = Findings::default();
    let world = match world(source, workspace, home) {
        Ok(world) => world,
        Err(finding) => return Ground { findings: vec![*finding], ..Ground::default() },
    };
    let all = spoken(source, &world);
    let mut unclear: BTreeSet<&Place> = BTreeSet::new();
    for one in all.iter().filter(|one| ambiguous(one, source, &world)) {
        if unclear.insert(&one.text.place) {
            found.push(ambiguity(one, &world));
        }
    }
    for agent in source.agents.values() {
        if let (Some(base), Ok(anchor)) = (&agent.base_workspace, Anchor::of_agent(source, &world, agent))
            && !unclear.contains(&base.place)
        {
            base_exists(&base.place, &anchor.base, &mut found);
        }
    }
    let mut single_files = BTreeSet::new();
    // A role's rule matches nothing only if it does so for each of its agents.
    let mut missing: BTreeMap<&Place, Missing<'_>> = BTreeMap::new();
    for one in all.iter().filter(|one| one.rule.is_some()) {
        let Some(path) = one.pattern().and_then(|pattern| pattern.literal().cloned()) else { continue };
        let seen = look(&path);
        if !unclear.contains(&one.text.place) {
            let missing = missing.entry(&one.text.place).or_default();
            missing.text = &one.text.value;
            missing.seen |= seen != Seen::Nothing;
            missing.looked_in.insert(one.anchor.base.clone());
        }
        let single = seen == Seen::File || (seen == Seen::Nothing && !says_folder(&one.text.value));
        if single && one.access().has(Access::WRITE) {
            single_files.insert(path);
        }
    }
    for (place, missing) in missing.into_iter().filter(|(_, missing)| !missing.seen) {
        let message = format!("{} does not exist yet{}", shown(missing.text), missing.place(&world));
        found.push(Diagnostic::new(Severity::Note, "matches-nothing", place.clone(), message));
    }
    Ground { findings: found.into_list(), single_files }
}

/// A rule on one path, and what was looked for.
#[derive(Default)]
struct Missing<'s> {
    text: &'s str,
    seen: bool,
    looked_in: BTreeSet<AbsPath>,
}

impl Missing<'_> {
    /// Where it was looked for, unless that is plain: at the root, at home, in the workspace.
    fn place(&self, world: &World) -> String {
        if self.text.starts_with(['/', '~']) || self.looked_in.iter().all(|folder| *folder == world.workspace)
        {
            return String::new();
        }
        let below = |folder: &AbsPath| match world.workspace.strip(folder) {
            Some(b"") => shown("."),
            Some(rest) => format!("`{}`", visible(rest)),
            None => shown(&folder.to_string()),
        };
        format!(" in {}", self.looked_in.iter().map(below).collect::<Vec<_>>().join(" or "))
    }
}

/// The errors of [`ground`], and those of compiling the policy.
pub(crate) fn errors(source: &PolicySource, workspace: &Path, home: &Path) -> Vec<Diagnostic> {
    let mut found = ground(source, workspace, home).findings;
    found.retain(|finding| finding.severity == Severity::Error);
    match world(source, workspace, home).map(|world| Policy::compile(source, &world)) {
        Ok(Err(errors)) => crate::merged(found, errors),
        // The folders that cannot be used are told already.
        Ok(Ok(_)) | Err(_) => found,
    }
}

/// The two folders that patterns hang on; what else a world has makes no difference here.
pub(crate) fn world(source: &PolicySource, workspace: &Path, home: &Path) -> Result<World, Box<Diagnostic>> {
    let take = |path: &Path, what: &str| {
        AbsPath::try_from(path).map_err(|error| {
            let message = format!("{} cannot be {what}: {error}", shown(&path.to_string_lossy()));
            Box::new(Diagnostic::error("folder", Place::file(source.file.clone()), message))
        })
    };
    Ok(World {
        workspace: take(workspace, "the workspace")?,
        home: take(home, "the home folder")?,
        base: Vec::new(),
        sealed: Vec::new(),
        protected: Vec::new(),
        git_dirs: Vec::new(),
        linked: None,
        private: Vec::new(),
        single_files: BTreeSet::new(),
    })
}

/// What a path is, links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    File,
    Folder,
    /// The system does not tell.
    Unclear,
}

fn look(path: &AbsPath) -> Seen {
    match fs::metadata(path.as_path()) {
        Ok(data) if data.is_dir() => Seen::Folder,
        Ok(_) => Seen::File,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Seen::Nothing,
        Err(_) => Seen::Unclear,
    }
}

fn says_folder(text: &str) -> bool {
    matches!(text, "." | "~" | "*" | "**") || ["/", "/.", "/*", "/**"].iter().any(|end| text.ends_with(end))
}

/// Whether a leading `/` may mean either root, and only the workspace has such a path: the path itself, or
/// (for what does not exist yet) its first folder.
fn ambiguous(one: &Spoken<'_>, source: &PolicySource, world: &World) -> bool {
    if source.root.is_some() || !one.text.value.starts_with('/') {
        return false;
    }
    let (Some(host), Some(inside)) = (one.rooted(Root::Host), one.rooted(Root::Workspace)) else {
        return false;
    };
    let host = host.literal_prefix();
    let inside = inside.literal_prefix();
    let (Some(top), Some(top_inside)) = (first(host, &AbsPath::root()), first(inside, &world.workspace))
    else {
        return false;
    };
    let only_inside = |host: &AbsPath, inside: &AbsPath| {
        look(host) == Seen::Nothing && matches!(look(inside), Seen::File | Seen::Folder)
    };
    only_inside(host, inside) || only_inside(&top, &top_inside)
}

/// The ancestor of `path` directly below `folder`.
fn first(path: &AbsPath, folder: &AbsPath) -> Option<AbsPath> {
    let below = folder.strip(path)?;
    let name = below.split(|byte| *byte == b'/').next().filter(|name| !name.is_empty())?;
    folder.join(name).ok()
}

fn ambiguity(one: &Spoken<'_>, world: &World) -> Diagnostic {
    let text = &one.text.value;
    let message = format!("{} exists in the workspace, and not at the root of this machine", shown(text));
    let rewritten = match relative(one, world) {
        Some(path) => format!(", or write {}", shown(&path)),
        None => String::new(),
    };
    let help = format!(
        "add `root: workspace` if a leading `/` means the workspace{rewritten} (`root: host` if this machine's {} is meant)",
        shown(text)
    );
    Diagnostic::error("ambiguous-root", one.text.place.clone(), message).help(help)
}

/// The text that means the workspace's path without a leading `/`; none where the agent's folder does not
/// hold it.
fn relative(one: &Spoken<'_>, world: &World) -> Option<String> {
    let text = one.text.value.trim_start_matches('/');
    let inner = std::str::from_utf8(world.workspace.strip(&one.anchor.base)?).ok()?;
    let rest = match inner {
        "" => text,
        inner => text.strip_prefix(inner)?.strip_prefix('/')?,
    };
    let same = At { value: rest.to_owned(), place: one.text.place.clone() };
    let meant = one.rooted(Root::Workspace)?;
    (Pattern::parse(&same, &one.anchor, Use::Limit).ok()? == meant).then_some(same.value)
}

fn base_exists(place: &Place, base: &AbsPath, found: &mut Findings) {
    let (message, help) = match look(base) {
        Seen::Folder => return,
        Seen::Nothing => {
            (format!("the folder {} does not exist", shown(&base.to_string())), "make it, or name another")
        }
        Seen::File => (format!("{} is no folder", shown(&base.to_string())), "name a folder"),
        Seen::Unclear => {
            (format!("{} cannot be looked at", shown(&base.to_string())), "name a folder that you may read")
        }
    };
    found.error_help("base-workspace", place, message, help);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use tempfile::TempDir;

    fn folder(paths: &[&str]) -> (TempDir, PathBuf) {
        let temp = TempDir::new().unwrap();
        let path = temp.path().canonicalize().unwrap();
        for name in paths {
            let file = path.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            if name.ends_with('/') {
                fs::create_dir_all(file).unwrap();
            } else {
                fs::write(file, "").unwrap();
            }
        }
        (temp, path)
    }

    fn said(text: &str, workspace: &Path) -> Vec<String> {
        let source = crate::load("remit.yaml", text.as_bytes()).unwrap();
        ground(&source, workspace, Path::new("/nonexistent-home"))
            .findings
            .into_iter()
            .map(|f| {
                let help = f.help.map(|help| format!(" / {help}")).unwrap_or_default();
                format!("{} {}: {}{help}", f.place, f.code, f.message)
            })
            .collect()
    }

    fn files(text: &str, workspace: &Path) -> Vec<String> {
        let source = crate::load("remit.yaml", text.as_bytes()).unwrap();
        let all = ground(&source, workspace, Path::new("/nonexistent-home")).single_files;
        all.iter().map(|path| path.to_string().replace(workspace.to_str().unwrap(), "W")).collect()
    }

    #[test]
    fn a_leading_slash_that_only_the_workspace_has_is_no_guess() {
        let (_temp, path) = folder(&["zz-front/a", "zz-back/"]);
        let text = "version: \"1.0\"\nagents:\n  a:\n    permissions:\n      /zz-front/**: all\n      /zz-back/new/x: read\n      /etc: read\n";
        assert_eq!(
            said(text, &path),
            [
                "remit.yaml:5:7 ambiguous-root: `/zz-front/**` exists in the workspace, and not at the root of this machine / add `root: workspace` if a leading `/` means the workspace, or write `zz-front/**` (`root: host` if this machine's `/zz-front/**` is meant)",
                "remit.yaml:6:7 ambiguous-root: `/zz-back/new/x` exists in the workspace, and not at the root of this machine / add `root: workspace` if a leading `/` means the workspace, or write `zz-back/new/x` (`root: host` if this machine's `/zz-back/new/x` is meant)",
            ]
        );
        assert_eq!(
            said(&text.replace("agents", "root: workspace\nagents"), &path),
            [
                "remit.yaml:7:7 matches-nothing: `/zz-back/new/x` does not exist yet",
                "remit.yaml:8:7 matches-nothing: `/etc` does not exist yet",
            ]
        );
        assert_eq!(said(&text.replace("agents", "root: host\nagents"), &path).len(), 2);
    }

    #[test]
    fn the_other_fix_is_named_only_where_it_means_the_same() {
        let (_temp, path) = folder(&["zz-front/a", "zz-back/"]);
        let text = "version: \"1.0\"\nagents: {a: {base_workspace: zz-front, permissions: {/zz-front/a: read, /zz-back: read}}}\n";
        let said = said(text, &path);
        assert!(said[0].contains("or write `a` ("), "{said:?}");
        assert!(!said[1].contains("or write"), "{said:?}");
    }

    #[test]
    fn a_base_folder_must_be_one_and_may_be_ambiguous_too() {
        let (_temp, path) = folder(&["zz-a/", "file"]);
        let text = |base: &str| format!("version: \"1.0\"\nagents: {{a: {{base_workspace: {base}}}}}\n");
        assert!(said(&text("zz-a"), &path).is_empty());
        assert!(said(&text("gone"), &path)[0].starts_with("remit.yaml:2:30 base-workspace: the folder"));
        assert!(said(&text("file"), &path)[0].contains("is no folder"));
        let said = said(&text("/zz-a"), &path);
        assert!(said.len() == 1 && said[0].contains("ambiguous-root"), "{said:?}");
    }

    #[test]
    fn a_rule_of_a_role_matches_nothing_only_if_it_does_for_all_its_agents() {
        let (_temp, path) = folder(&["a/src/", "b/"]);
        let text = "version: \"1.0\"\nroles: {r: {permissions: {src: read, gone: read}}, s: {extends: r}}\nagents: {a: {base_workspace: a, roles: r}, b: {base_workspace: b, roles: s}}\n";
        assert_eq!(
            said(text, &path),
            ["remit.yaml:2:38 matches-nothing: `gone` does not exist yet in `a` or `b`"]
        );
    }

    #[test]
    fn patterns_with_wildcards_are_not_looked_for() {
        let (_temp, path) = folder(&[]);
        let text = "version: \"1.0\"\nglobal_rules: [{path: \"**/.env\", access: none}, {path: \"x*/y\", access: none}]\n";
        assert_eq!(said(text, &path), [""; 0]);
    }

    #[test]
    fn single_files_are_what_may_be_written_and_is_no_folder() {
        let (_temp, path) = folder(&["src/", "notes.md", "read.md", "dir/"]);
        std::os::unix::fs::symlink("dir", path.join("link")).unwrap();
        let text = "version: \"1.0\"\nagents: {a: {permissions: {src: all, notes.md: write, read.md: read, new.txt: read-write, out/**: all, \"new/\": all, link: all, \"*.rs\": all, notes.md/x: write}}}\n";
        assert_eq!(files(text, &path), ["W/new.txt", "W/notes.md", "W/notes.md/x"]);
    }

    #[test]
    fn a_folder_that_is_not_absolute_is_an_error() {
        let source = crate::load("remit.yaml", b"version: \"1.0\"\n").unwrap();
        let findings = ground(&source, Path::new("x"), Path::new("/")).findings;
        assert_eq!(findings[0].message, "`x` cannot be the workspace: the path is not absolute");
    }
}
