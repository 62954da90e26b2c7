//! Links in a scratch work tree.

use super::*;
use remit_sandbox::plan::HostDisk;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

struct Scratch {
    _folder: tempfile::TempDir,
    root: AbsPath,
}

impl Scratch {
    /// `a -> b` is a link, `a/` a folder, anything else a file.
    fn new(entries: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for entry in ["w/", "h/"].iter().chain(entries) {
            let (name, to) = entry.split_once(" -> ").map_or((*entry, None), |(name, to)| (name, Some(to)));
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match to {
                Some(to) => symlink(to, path).unwrap(),
                None if name.ends_with('/') => fs::create_dir_all(path).unwrap(),
                None => fs::write(path, "").unwrap(),
            }
        }
        Self { root: AbsPath::try_from(root.as_path()).unwrap(), _folder: folder }
    }

    fn at(&self, name: &str) -> AbsPath {
        AbsPath::lexical(&self.root, name).unwrap()
    }

    fn world(&self, protected: &[&str]) -> World {
        let named = |name: &&str| ProtectedPath {
            path: self.at(name),
            id: "protected.git-hooks".into(),
            words: "what git runs by itself".into(),
            link: None,
        };
        World {
            workspace: self.at("w"),
            home: self.at("h"),
            base: Vec::new(),
            sealed: Vec::new(),
            protected: protected.iter().map(named).collect(),
            git_dirs: Vec::new(),
            linked: None,
            private: Vec::new(),
            single_files: BTreeSet::new(),
        }
    }

    /// What following adds, in order.
    fn added(&self, protected: &[&str]) -> Vec<String> {
        let mut world = self.world(protected);
        follow(&mut world, &[], &HostDisk).unwrap();
        let short = |path: &AbsPath| {
            let path = path.as_path().strip_prefix(self.root.as_path()).unwrap_or(Path::new("?"));
            path.display().to_string()
        };
        let mut paths: Vec<String> =
            world.protected.iter().skip(protected.len()).map(|one| short(&one.path)).collect();
        paths.extend(world.git_dirs.iter().map(|dir| format!("git {}", short(dir))));
        paths.sort();
        paths
    }
}

#[test]
fn a_work_tree_without_protected_links_adds_nothing() {
    let scratch = Scratch::new(&[
        "w/.claude/settings.json",
        "w/.git/hooks/pre-commit",
        "w/a -> b",
        "w/.claude/skills -> ../a",
        "w/loop -> loop",
    ]);
    assert_eq!(scratch.added(&[]), [""; 0]);
}

#[test]
fn every_link_on_the_way_and_the_end_of_it_are_protected() {
    let scratch = Scratch::new(&[
        "w/.git/hooks/pre-commit -> ../../one",
        "w/one -> dir/two",
        "w/dir -> real",
        "w/real/two -> ../scripts/pc",
        "w/scripts/pc",
    ]);
    let expected = ["w/.git/hooks/pre-commit", "w/dir", "w/one", "w/real/two", "w/scripts/pc"];
    assert_eq!(scratch.added(&[]), expected);
}

#[test]
fn a_folder_that_is_a_link_leads_to_its_protected_names_whether_they_exist_or_not() {
    let scratch = Scratch::new(&["w/sub/.claude -> ../dot", "w/dot/settings.json -> ../conf/s", "w/conf/s"]);
    let expected =
        ["w/conf/s", "w/dot/hooks", "w/dot/settings.json", "w/dot/settings.local.json", "w/sub/.claude"];
    assert_eq!(scratch.added(&[]), expected);
}

#[test]
fn links_in_what_is_protected_as_a_whole_are_followed_in_turn() {
    let scratch = Scratch::new(&[
        "w/.git/hooks -> ../gh",
        "w/gh/a -> ../x/a",
        "w/gh/lib/b -> ../../y",
        "w/x/a",
        "w/y/deep/c -> ../../z",
        "w/z",
    ]);
    assert_eq!(scratch.added(&[]), ["w/.git/hooks", "w/gh", "w/x/a", "w/y", "w/z"]);
}

#[test]
fn what_the_configuration_of_git_names_is_followed() {
    let scratch =
        Scratch::new(&["w/.husky/pre-commit -> ../scripts/pc", "w/scripts/pc", "w/tools -> t", "w/t/hk/x"]);
    assert_eq!(scratch.added(&["w/.husky", "w/tools/hk"]), ["w/scripts/pc", "w/t/hk", "w/tools"]);
}

#[test]
fn a_git_folder_behind_a_link_is_a_git_folder() {
    let scratch = Scratch::new(&["w/sub/.git -> ../store", "w/store/hooks/update -> ../../u", "w/u"]);
    assert_eq!(scratch.added(&[]), ["git w/store", "w/store/hooks/update", "w/sub/.git", "w/u"]);
}

#[test]
fn a_persons_own_settings_behind_links_are_protected() {
    let scratch = Scratch::new(&["h/.config/git -> ../dots/git", "h/dots/git/", "h/.claude -> dots/claude"]);
    let added = scratch.added(&[]);
    for path in ["h/dots/git", "h/dots/claude/settings.json", "h/dots/claude/hooks"] {
        assert!(added.iter().any(|one| one == path), "{path}: {added:?}");
    }
}

#[test]
fn the_stores_of_a_git_folder_are_not_entered() {
    let scratch =
        Scratch::new(&["w/.git/objects/.mcp.json -> ../../x", "w/objects/.mcp.json -> ../y", "w/x", "w/y"]);
    assert_eq!(scratch.added(&[]), ["w/objects/.mcp.json", "w/y"]);
}

#[test]
fn a_circle_and_a_target_that_holds_the_workspace_are_errors() {
    for link in ["w/.mcp.json -> .mcp.json", "w/.claude/hooks -> ../..", "w/.claude/hooks -> .."] {
        let scratch = Scratch::new(&[link]);
        let error = follow(&mut scratch.world(&[]), &[], &HostDisk).unwrap_err().to_string();
        assert!(error.contains(link.split(" -> ").next().unwrap()), "{error}");
    }
}

#[test]
fn what_leads_to_a_device_leads_nowhere() {
    let scratch = Scratch::new(&["w/.mcp.json -> /dev/null"]);
    assert_eq!(scratch.added(&[]), [""; 0]);
}

/// A folder that cannot be listed, whoever asks.
struct Closed(AbsPath);

impl Disk for Closed {
    fn find(&self, path: &AbsPath) -> io::Result<Found> {
        HostDisk.find(path)
    }
    fn list(&self, path: &AbsPath, each: &mut dyn FnMut(&[u8], Kind)) -> io::Result<()> {
        if *path == self.0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        HostDisk.list(path, each)
    }
    fn link(&self, path: &AbsPath) -> io::Result<Vec<u8>> {
        HostDisk.link(path)
    }
    fn may_make_in(&self, folder: &AbsPath) -> bool {
        HostDisk.may_make_in(folder)
    }
}

#[test]
fn a_folder_that_cannot_be_listed_is_protected_and_the_workspace_is_refused() {
    let scratch = Scratch::new(&["w/a/x"]);
    let mut world = scratch.world(&[]);
    follow(&mut world, &[], &Closed(scratch.at("w/a"))).unwrap();
    assert_eq!(world.protected.iter().map(|one| &one.path).collect::<Vec<_>>(), [&scratch.at("w/a")]);
    let error = follow(&mut scratch.world(&[]), &[], &Closed(scratch.at("w"))).unwrap_err();
    assert!(error.to_string().contains("chmod u+rwx"), "{error}");
}
