//! Which caches are found, and for whom they are not.

use super::*;
use remit_policy::World;
use std::collections::BTreeSet;

struct Person {
    dir: tempfile::TempDir,
}

impl Person {
    fn new(folders: &[&str]) -> Self {
        let person = Self { dir: tempfile::tempdir().unwrap() };
        for folder in folders.iter().chain(&["home", "work"]) {
            fs::create_dir_all(person.at(folder).as_path()).unwrap();
        }
        person
    }

    fn at(&self, below: &str) -> AbsPath {
        let root = fs::canonicalize(self.dir.path()).unwrap();
        AbsPath::try_from(root.join(below).as_path()).unwrap()
    }

    fn look(&self, vars: &[(&str, &str)]) -> Found {
        let set = |(name, below): &(&str, &str)| (name.into(), self.at(below).as_path().into());
        let vars = vars.iter().chain(&[("HOME", "home")]).map(set).collect();
        let environment = Environment { vars, cwd: "/".into(), exe: "/remit".into() };
        Found::look(Base::Standard, &self.at("work"), &environment)
    }

    fn policy(&self, rules: &str, sealed: &[AbsPath]) -> Policy {
        let (work, home) = (self.at("work"), self.at("home"));
        let text = format!("version: \"1.0\"\nagents:\n  a:\n    permissions:\n{rules}\n");
        let source = remit_config::load_in("remit.yaml", text.as_bytes(), work.as_path(), home.as_path());
        let world = World {
            workspace: work.clone(),
            home,
            base: base::session_rules(&work),
            sealed: sealed.to_vec(),
            protected: Vec::new(),
            git_dirs: Vec::new(),
            linked: None,
            private: Vec::new(),
            single_files: BTreeSet::new(),
        };
        Policy::compile(&source.unwrap(), &world).unwrap().policy
    }

    /// Why the first cache is not offered.
    fn against(&self, found: &Found, policy: &Policy) -> Option<String> {
        withheld(found.caches.first().unwrap(), policy.agent("a").unwrap(), policy.world())
    }
}

const PLAIN: &str = "      - {path: \".\", access: all}";

fn places(found: &Found) -> Vec<(&str, &str)> {
    let bytes = |path| std::str::from_utf8(AbsPath::as_bytes(path)).unwrap();
    found.caches.iter().map(|cache| (cache.id.as_str(), bytes(&cache.inside))).collect()
}

#[test]
fn what_exists_is_found_where_a_program_looks_for_it_inside() {
    let person = Person::new(&["home/.cargo/registry", "home/.npm/_cacache", "home/.cache/pip"]);
    assert_eq!(
        places(&person.look(&[])),
        [
            ("cache-cargo-registry", "/home/agent/.cargo/registry"),
            ("cache-npm", "/home/agent/.npm/_cacache"),
            ("cache-pip", "/home/agent/.cache/pip"),
        ]
    );
    let none = Environment {
        vars: [("HOME".into(), person.at("home").as_path().into())].into(),
        cwd: "/".into(),
        exe: "/remit".into(),
    };
    for base in [Base::Minimal, Base::None] {
        assert!(Found::look(base, &person.at("work"), &none).caches.is_empty());
    }
}

#[test]
fn a_cache_that_a_variable_moves_stands_at_the_usual_place_inside() {
    let person = Person::new(&["data/cargo/git", "data/go/pkg/mod", "xdg/uv", "home/.cargo/git"]);
    let found =
        person.look(&[("CARGO_HOME", "data/cargo"), ("GOPATH", "data/go"), ("XDG_CACHE_HOME", "xdg")]);
    assert_eq!(
        places(&found),
        [
            ("cache-cargo-git", "/home/agent/.cargo/git"),
            ("cache-uv", "/home/agent/.cache/uv"),
            ("cache-go-modules", "/home/agent/go/pkg/mod"),
        ]
    );
    assert_eq!(found.caches.first().unwrap().real, person.at("data/cargo/git"));
    assert!(found.vars.is_empty());
}

#[test]
fn a_cache_in_the_workspace_stays_where_it_is() {
    let person = Person::new(&["work/.cargo/registry", "home/.cargo/registry"]);
    let found = person.look(&[("CARGO_HOME", "work/.cargo")]);
    assert!(found.caches.is_empty());
    let named = found.vars.get(std::ffi::OsStr::new("CARGO_HOME"));
    assert_eq!(named.map(PathBuf::from), Some(person.at("work/.cargo").as_path().into()));
}

#[test]
fn credentials_are_none_of_it_and_settings_are_not_read_twice() {
    let person = Person::new(&["home/.cargo", "data/cargo"]);
    for folder in ["home/.cargo", "data/cargo"] {
        for name in ["config.toml", "credentials.toml", "credentials"] {
            fs::write(person.at(folder).join(name.as_bytes()).unwrap().as_path(), "").unwrap();
        }
    }
    let found = person.look(&[("CARGO_HOME", "data/cargo")]);
    assert_eq!(places(&found), [("cargo-settings", "/home/agent/.cargo/config.toml")]);
    assert_eq!(found.rules().first().unwrap().access, Access::READ);
    // The usual ones, with a work tree beside the home folder and with one in it.
    assert_eq!(person.look(&[]).caches.len(), 1);
    let vars = [("HOME".into(), person.at("home").as_path().into())].into();
    let environment = Environment { vars, cwd: "/".into(), exe: "/remit".into() };
    assert!(Found::look(Base::Standard, &person.at("home/project"), &environment).caches.is_empty());
}

#[test]
fn a_rule_that_hides_something_of_a_cache_withholds_it() {
    let person = Person::new(&["home/.npm/_cacache"]);
    let found = person.look(&[]);
    for pattern in
        ["~/.npm", "~/.npm/_cacache/index-v5", "~/.npm/_cacache", "~/**/*.key", "/home/agent/.npm/_cacache/x"]
    {
        let policy = person.policy(&format!("{PLAIN}\n      - {{path: \"{pattern}\", access: none}}"), &[]);
        let why = person.against(&found, &policy);
        assert!(why.as_ref().is_some_and(|why| why.contains("speaks of it")), "{pattern}: {why:?}");
        let path = person.at("home/.npm/_cacache/index-v5/a");
        assert!(found.not_offered(&policy, "a", &path).is_some_and(|why| why.contains("npm's cache")));
    }
    for rule in ["{path: \"~/.npm\", access: read}", "{path: \"~/.cargo\", access: none}"] {
        let policy = person.policy(&format!("{PLAIN}\n      - {rule}"), &[]);
        assert_eq!(person.against(&found, &policy), None, "{rule}");
    }
    // What is opened inside by name would lead past the layer.
    let opened = "      - {path: \"/home/agent/.npm/_cacache/x\", access: read-write}";
    assert!(person.against(&found, &person.policy(&format!("{PLAIN}\n{opened}"), &[])).is_some());
}

#[test]
fn a_folder_that_holds_more_than_a_cache_is_not_one() {
    let person = Person::new(&["work/sub", "home/state"]);
    let policy = person.policy(PLAIN, &[person.at("home/state")]);
    for (folder, why) in
        [("", "the workspace"), ("home", "the whole home folder"), ("home/state", "no session may see")]
    {
        let found = person.look(&[("PIP_CACHE_DIR", folder)]);
        let said = person.against(&found, &policy);
        assert!(said.as_ref().is_some_and(|said| said.contains(why)), "{folder}: {said:?}");
    }
}

#[test]
fn a_cache_behind_a_link_is_judged_by_both_names() {
    let person = Person::new(&["disk/npm", "home/.npm"]);
    std::os::unix::fs::symlink(person.at("disk/npm").as_path(), person.at("home/.npm/_cacache").as_path())
        .unwrap();
    let found = person.look(&[]);
    assert_eq!(found.caches.first().unwrap().real, person.at("disk/npm"));
    for hidden in [person.at("home/.npm"), person.at("disk")] {
        let policy = person.policy(&format!("{PLAIN}\n      - {{path: \"{hidden}\", access: none}}"), &[]);
        assert!(person.against(&found, &policy).is_some(), "{hidden}");
    }
}
