//! Repositories whose configuration leads into the work tree.

use super::*;

struct Scratch {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Scratch {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        Self { _dir: dir, root }.with("w/.git/HEAD", "ref: refs/heads/main\n").with("home/x", "")
    }

    fn with(self, name: &str, text: &str) -> Self {
        let file = self.root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text.replace("{root}", self.root.to_str().unwrap())).unwrap();
        self
    }

    fn link(self, target: &str, name: &str) -> Self {
        let link = self.root.join(name);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, link).unwrap();
        self
    }

    fn search(&self) -> io::Result<Protected> {
        protected(&self.root.join("w"), &self.root.join("home"), None)
    }

    fn short(&self, path: &AbsPath) -> Option<String> {
        let path = path.as_path().strip_prefix(&self.root).ok()?;
        Some(path.to_str().unwrap().to_owned())
    }

    /// What was found below the scratch folder, without the person's own files.
    fn paths(&self) -> Vec<(String, Why)> {
        let found = self.search().unwrap();
        let paths = found.paths.iter().filter_map(|(path, why)| Some((self.short(path)?, *why)));
        paths.filter(|(path, _)| !path.starts_with("home/.")).collect()
    }

    fn git_dirs(&self) -> Vec<String> {
        self.search().unwrap().git_dirs.iter().filter_map(|dir| self.short(dir)).collect()
    }
}

fn all(paths: &[&str], why: Why) -> Vec<(String, Why)> {
    paths.iter().map(|path| ((*path).to_owned(), why)).collect()
}

#[test]
fn a_plain_repository_needs_nothing_beside_its_names() {
    let scratch = Scratch::new().with("w/.git/config", "[core]\n\trepositoryformatversion = 0\n");
    assert_eq!(scratch.paths(), []);
    assert_eq!(scratch.git_dirs(), [""; 0]);
}

#[test]
fn hooks_in_the_work_tree_are_found_whether_they_exist_or_not() {
    let scratch = Scratch::new().with("w/.git/config", "[core]\n hooksPath = src/.githooks\n");
    assert_eq!(scratch.paths(), all(&["w/src/.githooks"], Why::Hooks));
}

#[test]
fn husky_runs_what_lies_beside_the_folder_that_git_knows() {
    let scratch = Scratch::new().with("w/.git/config", "[core]\n hooksPath = .husky/_\n");
    assert_eq!(scratch.paths(), all(&["w/.husky"], Why::Hooks));
}

#[test]
fn a_hooks_folder_that_is_a_link_is_found_at_both_ends() {
    let config = "[core]\n hooksPath = hooks\n";
    let scratch =
        Scratch::new().with("w/.git/config", config).with("w/real/pre-commit", "").link("real", "w/hooks");
    assert_eq!(scratch.paths(), all(&["w/hooks", "w/real"], Why::Hooks));
    let config = "[core]\n hooksPath = to/hooks\n";
    let dangling = Scratch::new().with("w/.git/config", config).link("gone", "w/to");
    assert_eq!(dangling.paths(), all(&["w/gone/hooks", "w/to/hooks"], Why::Hooks));
}

#[test]
fn no_hooks_by_dev_null_closes_nothing() {
    let scratch = Scratch::new().with("w/.git/config", "[core]\n hooksPath = /dev/null\n");
    assert!(scratch.search().unwrap().paths.iter().all(|(path, _)| path.as_bytes() != b"/dev/null"));
}

#[test]
fn hooks_beside_the_work_close_their_names_and_not_the_work_tree() {
    for value in [".", "..", "{root}/w/"] {
        let scratch = Scratch::new().with("w/.git/config", &format!("[core]\n hooksPath = {value}\n"));
        let paths = scratch.paths();
        assert_eq!(paths.len(), HOOKS.len(), "{value}");
        assert!(paths.iter().any(|(path, _)| path.ends_with("pre-commit")), "{value}");
    }
}

#[test]
fn included_files_are_found_and_read_whatever_the_condition() {
    let scratch = Scratch::new()
        .with(
            "w/.git/config",
            "[include]\n path = ../.gitconfig\n[includeIf \"onbranch:x\"]\n path = {root}/w/no\n",
        )
        .with("w/.gitconfig", "[include] path = conf/more\n")
        .with("w/conf/more", "[core] hooksPath = conf/hooks\n[include] path = more\n");
    let mut expected = all(&["w/.gitconfig", "w/conf/more", "w/no"], Why::Config);
    expected.extend(all(&["w/conf/hooks"], Why::Hooks));
    let mut found = scratch.paths();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn the_persons_own_configuration_counts_too() {
    let scratch = Scratch::new()
        .with("w/.git/config", "")
        .with("w/dot/gitconfig", "[core]\n hooksPath = .githooks\n")
        .link("../w/dot/gitconfig", "home/.gitconfig");
    let mut expected = all(&["w/dot/gitconfig"], Why::Config);
    expected.insert(0, ("w/.githooks".to_owned(), Why::Hooks));
    assert_eq!(scratch.paths(), expected);
    let own = scratch.search().unwrap().paths;
    assert!(own.iter().any(|(path, _)| path.as_bytes().ends_with(b"home/.gitconfig")));
    assert!(own.iter().any(|(path, _)| path.as_bytes().ends_with(b"home/.config/git/config")));
}

#[test]
fn programs_of_the_work_tree_that_the_configuration_names_are_found() {
    let config = "[filter \"x\"]\n clean = python3 tools/clean.py %f\n smudge = sh -c 'exec ./tools/gone'\n\
                  [diff \"y\"]\n textconv = show\n[core]\n sshCommand = ssh -F /dev/null -o X=y\n pager = less\n\
                  [alias]\n do = !tools/by-hand\n";
    let scratch = Scratch::new()
        .with("w/.git/config", config)
        .with("w/tools/clean.py", "")
        .with("w/show", "")
        .with("w/tools/by-hand", "");
    assert_eq!(scratch.paths(), all(&["w/show", "w/tools/clean.py", "w/tools/gone"], Why::Program));
}

#[test]
fn a_git_folder_under_another_name_is_found() {
    let pointer = Scratch::new().with("p/.bare/HEAD", "").with("p/.git", "gitdir: .bare\n");
    let found = protected(&pointer.root.join("p"), &pointer.root.join("home"), None).unwrap();
    assert_eq!(found.git_dirs.len(), 1);
    assert!(found.git_dirs.iter().all(|dir| dir.as_bytes().ends_with(b"/p/.bare")));
    let linked = Scratch::new().link("store", "l/.git").with("l/store/config", "[core] hooksPath=h\n");
    let found = protected(&linked.root.join("l"), &linked.root.join("home"), None).unwrap();
    assert_eq!(found.git_dirs.iter().filter_map(|dir| linked.short(dir)).collect::<Vec<_>>(), ["l/store"]);
    assert!(found.paths.iter().any(|(path, _)| linked.short(path).as_deref() == Some("l/h")));
}

#[test]
fn a_linked_worktree_obeys_the_common_folder_and_hooks_hang_on_every_tree() {
    let scratch = Scratch::new()
        .with("main/.git/HEAD", "")
        .with("main/.git/config", "[core]\n hooksPath = .husky\n")
        .with("main/.git/worktrees/w/commondir", "../..\n")
        .with("main/.git/worktrees/w/gitdir", "{root}/v/.git\n")
        .with("main/.git/worktrees/w/config.worktree", "[core]\n hooksPath = own\n")
        .with("v/.git", "gitdir: {root}/main/.git/worktrees/w\n");
    let found = protected(&scratch.root.join("v"), &scratch.root.join("home"), None).unwrap();
    let hooks: Vec<String> = found
        .paths
        .iter()
        .filter(|(_, why)| *why == Why::Hooks)
        .filter_map(|(path, _)| scratch.short(path))
        .collect();
    assert_eq!(hooks, ["main/.husky", "main/own", "v/.husky", "v/own"]);
}

#[test]
fn submodules_are_looked_through_at_any_depth() {
    let scratch = Scratch::new()
        .with("w/.git/config", "")
        .with("w/.git/modules/libs/a/HEAD", "")
        .with("w/.git/modules/libs/a/config", "[core]\n worktree = ../../../../libs/a\n hooksPath = .husky\n")
        .with("w/libs/a/x", "");
    assert_eq!(scratch.paths(), all(&["w/.git/modules/libs/a/hooks", "w/libs/a/.husky"], Why::Hooks));
}

#[test]
fn what_cannot_be_read_stops_and_is_named() {
    let scratch = Scratch::new().with("w/.git/config", "[include]\n path = ../big\n");
    fs::File::create(scratch.root.join("w/big")).unwrap().set_len(2 << 20).unwrap();
    let error = scratch.search().unwrap_err();
    assert!(error.to_string().contains("w/big"), "{error}");
    let pipe = Scratch::new().with("w/.git/config", "[include]\n path = ../pipe\n");
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe.root.join("w/pipe"), rustix::fs::Mode::RUSR).unwrap();
    assert_eq!(pipe.paths(), all(&["w/pipe"], Why::Config), "it is not read, and not replaced");
    let loops = Scratch::new().with("w/.git/config", "[include]\n path = config\n").link("loop", "w/loop");
    assert_eq!(loops.paths(), all(&[], Why::Config));
}

#[test]
fn a_link_that_leads_to_a_link_that_leads_nowhere_is_followed_to_the_end() {
    let scratch = Scratch::new()
        .with("w/.git/config", "[core]\n\thooksPath = hk\n")
        .link("between", "w/hk")
        .link("tools/hooks", "w/between");
    assert_eq!(scratch.paths(), all(&["w/hk", "w/tools/hooks"], Why::Hooks));
}

#[test]
fn links_in_a_circle_are_an_error() {
    let scratch = Scratch::new()
        .with("w/.git/config", "[core]\n\thooksPath = hk\n")
        .link("other", "w/hk")
        .link("hk", "w/other");
    assert!(scratch.search().unwrap_err().to_string().contains("w/hk"));
}

#[test]
fn what_may_not_be_looked_at_is_an_error_and_not_taken_for_absent() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        // Root may look at everything; the whole program is tried as another user.
        return;
    }
    let scratch = Scratch::new()
        .with("w/.git/config", "[core]\n\thooksPath = closed/hk\n")
        .with("w/real/pre-commit", "")
        .link("../real", "w/closed/hk");
    let closed = scratch.root.join("w/closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let answer = scratch.search();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(answer.unwrap_err().to_string().contains("closed"));
}
