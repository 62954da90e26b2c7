//! The person's package caches: what was fetched once serves inside, too. A session sees each at the place where the
//! program looks for it in the private home, under a layer that takes its changes: the cache itself is never
//! changed, and what a session fetches is gone with it.

use crate::base::{self, HOME};
use crate::environment::Environment;
use remit_core::AbsPath;
use remit_policy::source::Base;
use remit_policy::{Access, AgentPolicy, BaseRule, Point, Policy, Scope, World};
use remit_sandbox::plan::{Extra, Source};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// One kind of cache.
struct Kind {
    /// `cargo-registry`: the last part of its rule's name, and of its layer's folder.
    id: &'static str,
    /// What it holds.
    words: &'static str,
    /// Variables that move it, the first that is set counts: what lies in the folder that one names.
    named: &'static [(&'static str, &'static str)],
    /// Where it lies in a home if nothing moves it, and so in the private home, in which nothing does.
    below: &'static str,
    /// A variable without which the program would not look there, and its value below the private home.
    tell: Option<Tell>,
}

/// A variable and what it is set to: some words, and a folder below the private home.
type Tell = (&'static str, &'static str, &'static str);

const fn kind(
    id: &'static str,
    words: &'static str,
    named: &'static [(&'static str, &'static str)],
    below: &'static str,
) -> Kind {
    Kind { id, words, named, below, tell: None }
}

impl Kind {
    const fn tell(mut self, tell: Tell) -> Self {
        self.tell = Some(tell);
        self
    }
}

/// All that are known. Java takes the home folder from the list of users and not from `HOME`, so its tools are told.
const KINDS: &[Kind] = &[
    kind("cargo-registry", "Cargo's registry", &[("CARGO_HOME", "registry")], ".cargo/registry"),
    kind("cargo-git", "Cargo's dependencies from git", &[("CARGO_HOME", "git")], ".cargo/git"),
    kind(
        "npm",
        "npm's cache",
        &[("npm_config_cache", "_cacache"), ("NPM_CONFIG_CACHE", "_cacache")],
        ".npm/_cacache",
    ),
    kind("pip", "pip's cache", &[("PIP_CACHE_DIR", ""), ("XDG_CACHE_HOME", "pip")], ".cache/pip"),
    kind("uv", "uv's cache", &[("UV_CACHE_DIR", ""), ("XDG_CACHE_HOME", "uv")], ".cache/uv"),
    kind("go-modules", "Go's modules", &[("GOMODCACHE", ""), ("GOPATH", "pkg/mod")], "go/pkg/mod"),
    kind("go-build", "Go's builds", &[("GOCACHE", ""), ("XDG_CACHE_HOME", "go-build")], ".cache/go-build"),
    kind("yarn", "Yarn's cache", &[("YARN_CACHE_FOLDER", ""), ("XDG_CACHE_HOME", "yarn")], ".cache/yarn"),
    kind("yarn-berry", "Yarn's cache", &[("YARN_GLOBAL_FOLDER", "cache")], ".yarn/berry/cache"),
    kind(
        "pnpm",
        "pnpm's store",
        &[("npm_config_store_dir", ""), ("PNPM_HOME", "store"), ("XDG_DATA_HOME", "pnpm/store")],
        ".local/share/pnpm/store",
    )
    .tell(("npm_config_store_dir", "", ".local/share/pnpm/store")),
    kind("maven", "Maven's repository", &[], ".m2/repository").tell(("MAVEN_OPTS", "-Duser.home=", "")),
    kind(
        "gradle-modules",
        "Gradle's dependencies",
        &[("GRADLE_USER_HOME", "caches/modules-2")],
        ".gradle/caches/modules-2",
    )
    .tell(("GRADLE_USER_HOME", "", ".gradle")),
    kind(
        "gradle-wrapper",
        "Gradle's own versions",
        &[("GRADLE_USER_HOME", "wrapper/dists")],
        ".gradle/wrapper/dists",
    )
    .tell(("GRADLE_USER_HOME", "", ".gradle")),
];

/// A cache of the person's, or Cargo's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// `cache-cargo-registry`.
    pub id: String,
    /// What it holds, in words.
    pub words: &'static str,
    /// Where a program outside finds it.
    pub asked: AbsPath,
    /// What that is, resolved.
    pub real: AbsPath,
    /// Where a session sees it.
    pub inside: AbsPath,
    /// Whether it may be changed, under a layer; else it may be read.
    pub layered: bool,
}

impl Cache {
    fn of(id: String, words: &'static str, place: &Path, below: &Path, layered: bool) -> Option<Self> {
        let real = base::real(place).filter(|real| if layered { real.is_dir() } else { real.is_file() })?;
        let path = |path: &Path| AbsPath::try_from(path).ok();
        let (asked, real) = (path(place)?, path(&real)?);
        Some(Self { id, words, asked, real, inside: path(&Path::new(HOME).join(below))?, layered })
    }

    fn rule(&self) -> BaseRule {
        let (access, how) = match self.layered {
            true => (Access::ALL, "under a private layer that takes all changes"),
            false => (Access::READ, "read-only"),
        };
        let why = format!("{} ({}), {how}", self.words, self.real);
        BaseRule {
            path: self.inside.clone(),
            access,
            id: format!("base.{}", self.id).into(),
            why: why.into(),
        }
    }
}

/// What was found of caches in a person's surroundings.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Those that exist.
    pub caches: Vec<Cache>,
    /// Variables that lead programs to them, or to a cache in the workspace, which is no other one inside.
    pub vars: BTreeMap<OsString, OsString>,
}

impl Found {
    /// Looks for them.
    pub fn look(base: Base, workspace: &AbsPath, environment: &Environment) -> Self {
        let mut found = Self::default();
        let (Base::Standard, Some(home)) = (base, environment.home()) else { return found };
        for kind in KINDS {
            found.add(kind, &home, workspace.as_path(), environment);
        }
        found.caches.extend(cargo_settings(&home, workspace.as_path(), environment));
        found
    }

    fn add(&mut self, kind: &Kind, home: &Path, workspace: &Path, environment: &Environment) {
        let moved =
            kind.named.iter().find_map(|&(name, below)| Some((name, below, folder(name, environment)?)));
        let place = match moved {
            Some((name, _, folder)) if folder.starts_with(workspace) => {
                self.vars.insert(name.into(), folder.into());
                return;
            }
            Some((_, "", folder)) => folder,
            Some((_, below, folder)) => folder.join(below),
            None => home.join(kind.below),
        };
        let id = format!("cache-{}", kind.id);
        let Some(cache) = Cache::of(id, kind.words, &place, Path::new(kind.below), true) else { return };
        self.caches.push(cache);
        if let Some((name, words, below)) = kind.tell {
            let mut value = OsString::from(words);
            value.push(if below.is_empty() { HOME.into() } else { Path::new(HOME).join(below) });
            self.vars.insert(name.into(), value);
        }
    }

    /// The rules by which a session has them.
    pub fn rules(&self) -> Vec<BaseRule> {
        self.caches.iter().map(Cache::rule).collect()
    }

    /// What a session of this agent sees of them, with the layers that take its changes made in `folder`; and which it
    /// does not see, and why.
    pub fn offered(
        &self,
        folder: &Path,
        rules: &AgentPolicy,
        world: &World,
    ) -> io::Result<(Vec<Extra>, Vec<String>)> {
        let (mut seen, mut not) = (Vec::new(), Vec::new());
        for cache in &self.caches {
            if let Some(why) = withheld(cache, rules, world) {
                not.push(format!("{} is not offered: {why}", cache.real));
                continue;
            }
            let make = |name: &str| {
                let layer = folder.join(name);
                fs::DirBuilder::new().recursive(true).mode(0o700).create(&layer)?;
                AbsPath::try_from(layer.as_path()).map_err(io::Error::other)
            };
            let real = cache.real.clone();
            let source = match cache.layered {
                true => Source::Layered {
                    lower: real,
                    upper: make(&cache.id)?,
                    work: make(&format!("{}.work", cache.id))?,
                },
                false => Source::Host(real),
            };
            seen.push(Extra { target: cache.inside.clone(), source });
        }
        Ok((seen, not))
    }

    /// Why sessions of this agent do not see the cache in which a path lies, outside or inside, in words.
    pub fn not_offered(&self, policy: &Policy, agent: &str, path: &AbsPath) -> Option<String> {
        let rules = policy.agent(agent)?;
        let around =
            |cache: &&Cache| [&cache.asked, &cache.real, &cache.inside].iter().any(|at| at.covers(path));
        let mut caches = self.caches.iter().filter(around);
        caches.find_map(|cache| {
            let why = withheld(cache, rules, policy.world())?;
            Some(format!("sessions of `{agent}` do not get {} at {}: {why}", cache.words, cache.inside))
        })
    }
}

/// The folder that a variable names; of a list, the first. One that is not absolute means another in each folder.
fn folder(variable: &str, environment: &Environment) -> Option<PathBuf> {
    let value = environment.get(variable)?;
    let first = if variable == "GOPATH" { std::env::split_paths(value).next()? } else { value.into() };
    first.is_absolute().then_some(first)
}

/// Cargo's settings beside its caches, if a session would not find them; never its credentials.
fn cargo_settings(home: &Path, workspace: &Path, environment: &Environment) -> Option<Cache> {
    let cargo = folder("CARGO_HOME", environment).unwrap_or_else(|| home.join(".cargo"));
    let name = ["config.toml", "config"].into_iter().find(|name| cargo.join(name).is_file())?;
    // Cargo looks in every folder above the work tree, too, and would put lists together that it reads twice.
    let above = |folder: &Path| cargo.ends_with(".cargo") && workspace.starts_with(folder);
    if cargo.starts_with(workspace) || cargo.parent().is_some_and(above) {
        return None;
    }
    let below = Path::new(".cargo").join(name);
    Cache::of("cargo-settings".to_owned(), "Cargo's settings", &cargo.join(name), &below, false)
}

/// Why sessions of this agent do not see a cache, in words: a rule hides something of it, or it holds or is held by what
/// they must not see that way.
fn withheld(cache: &Cache, rules: &AgentPolicy, world: &World) -> Option<String> {
    let meets = |a: &AbsPath, b: &AbsPath| a.covers(b) || b.covers(a);
    if meets(&cache.real, &world.workspace) {
        return Some("it and the workspace lie in each other".to_owned());
    }
    if cache.real.covers(&world.home) {
        return Some("the whole home folder lies in it".to_owned());
    }
    if world.sealed.iter().any(|sealed| meets(sealed, &cache.real)) {
        return Some("what no session may see lies in it or around it".to_owned());
    }
    let against = |point: &&Point| {
        let prefix = point.pattern.literal_prefix();
        let there = [&cache.asked, &cache.real, &cache.inside].iter().any(|at| meets(prefix, at));
        let within = point.scope != Scope::Base && cache.inside.covers(prefix);
        (there && !point.access.has(Access::READ)) || within
    };
    rules.points().iter().find(against).map(|point| format!("{} speaks of it", point.rule))
}

#[cfg(test)]
mod tests;
