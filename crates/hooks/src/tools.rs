//! From a tool's arguments to efforts: a verb, the path as it was asked for, the path as the kernel names it.
//! Which tool does what is the host's table; this is what all of them build on.

use crate::dialect::{Problem, write_or_create};
use crate::resolve::{Kind, ResolveError, Resolved, Resolver};
use crate::shell::{self, Deed, Doing, Landing, TooMuch};
use remit_core::path::{LONGEST, escape};
use remit_core::wire::Effort;
use remit_core::{AbsPath, Verb};
use serde_json::{Map, Value};

/// The most efforts of one call.
pub const MOST: usize = 4096;

/// The last words of argument names under which tools take paths.
const PATH_WORDS: [&str; 18] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "filepath",
    "filepaths",
    "uri",
    "uris",
    "dir",
    "directory",
    "folder",
    "destination",
    "dest",
    "target",
    "output",
    "source",
];

/// Collects the efforts of one call.
pub struct Efforts<'a> {
    resolver: &'a dyn Resolver,
    cwd: &'a AbsPath,
    mended: bool,
    found: Vec<Effort>,
}

impl<'a> Efforts<'a> {
    /// None yet. Relative paths are taken from `cwd`. `mended`: `\u{fffd}` may stand for what was no character, so
    /// nobody knows which path is meant by it.
    pub fn new(resolver: &'a dyn Resolver, cwd: &'a AbsPath, mended: bool) -> Self {
        Self { resolver, cwd, mended, found: Vec::new() }
    }

    /// What was collected, each effort once, in order.
    pub fn done(self) -> Vec<Effort> {
        self.found
    }

    /// A file or folder is read.
    pub fn read(&mut self, asked: &str) -> Result<(), Problem> {
        let there = self.resolve(asked, true)?;
        self.add(Verb::Read, asked.to_owned(), there.path, None)
    }

    /// A file is written, or made if it is not there.
    pub fn put(&mut self, asked: &str) -> Result<(), Problem> {
        let there = self.resolve(asked, true)?;
        self.add(write_or_create(there.kind.is_there()), asked.to_owned(), there.path, None)
    }

    /// The folder that a pattern such as `src/*.rs` searches, from `base`.
    pub fn search(&mut self, base: Option<&str>, pattern: Option<&str>) -> Result<(), Problem> {
        let pattern = pattern.unwrap_or_default();
        let fixed = pattern.find(['*', '?', '[', '{']).map_or(pattern, |end| {
            let head = pattern.get(..end).unwrap_or_default();
            head.rfind('/').map_or("", |slash| head.get(..=slash).unwrap_or_default())
        });
        let asked = match (base, fixed) {
            (_, absolute) if absolute.starts_with('/') || absolute.starts_with('~') => absolute.to_owned(),
            (None, "") => ".".to_owned(),
            (None, relative) => relative.to_owned(),
            (Some(base), "") => base.to_owned(),
            (Some(base), relative) => format!("{base}/{relative}"),
        };
        self.read(&asked)
    }

    /// A tool of which nothing is known but its arguments: every string under a name that speaks of paths, and
    /// under any name, or as one, what is the absolute path (or `file:` URL) of something that is there or could be
    /// made in a folder that is. Text that only begins like a path (a route, a pattern, prose) is none. `reads` if
    /// the tool is known to change nothing.
    pub fn unknown(&mut self, input: &Map<String, Value>, reads: bool) -> Result<(), Problem> {
        let mut arguments: Vec<_> = input.iter().collect();
        arguments.sort_by_key(|(key, _)| *key);
        arguments.into_iter().try_for_each(|(key, value)| {
            self.string(key, false, reads)?;
            self.argument(names_paths(key), value, reads)
        })
    }

    fn argument(&mut self, is_path: bool, value: &Value, reads: bool) -> Result<(), Problem> {
        match value {
            Value::String(text) => self.string(text, is_path, reads),
            Value::Array(items) => items.iter().try_for_each(|item| self.argument(is_path, item, reads)),
            Value::Object(map) => self.unknown(map, reads),
            _ => Ok(()),
        }
    }

    fn string(&mut self, text: &str, is_path: bool, reads: bool) -> Result<(), Problem> {
        if !is_path && !self.is_path(text) {
            return Ok(());
        }
        let judged = match local(text) {
            None => Ok(()),
            Some(path) if reads => self.read(&path),
            Some(path) => self.put(&path),
        };
        no_such_name(judged)
    }

    /// Whether a text that may be anything is a path.
    fn is_path(&self, text: &str) -> bool {
        if text.len() > LONGEST || text.contains(char::is_control) {
            return false;
        }
        if file_url(text).is_some_and(|rest| rest.starts_with(['/', '\\'])) {
            return true;
        }
        let stands = |path: &[u8]| match self.resolver.resolve(path, true) {
            Ok(there) => there.kind != Kind::Absent,
            Err(error) => error != ResolveError::LongName,
        };
        let folder = text.trim_end_matches('/').rsplit_once('/').map_or("", |(folder, _)| folder);
        text.starts_with('/')
            && (stands(text.as_bytes())
                || (!folder.trim_matches('/').is_empty() && stands(folder.as_bytes())))
    }

    /// A command line for the shell.
    pub fn command(&mut self, text: &str) -> Result<(), Problem> {
        let deeds = shell::deeds(text, self.cwd, self.resolver).map_err(|e| match e {
            TooMuch::Text => Problem::LongCommand(shell::LONGEST),
            TooMuch::Deeds => Problem::TooMany(MOST),
        })?;
        deeds.into_iter().try_for_each(|deed| no_such_name(self.deed(deed)))
    }

    fn deed(&mut self, deed: Deed) -> Result<(), Problem> {
        let Deed { doing, mut at, landing, from } = deed;
        if at.asked.len() > LONGEST {
            return Ok(());
        }
        let inside = match landing {
            Landing::Exact => None,
            Landing::Inside(name) => Some(name),
            Landing::Maybe(name) => {
                (self.kernel(&at.asked, &at.path, true)?.kind == Kind::Folder).then_some(name)
            }
        };
        match inside {
            None => {}
            // It comes into the folder, but nobody knows under which name.
            Some(None) => return Ok(()),
            Some(Some(name)) => {
                at.path.push(b'/');
                at.path.extend(name);
            }
        }
        let follow = matches!(doing, Doing::Put | Doing::Change | Doing::Read);
        let there = self.kernel(&at.asked, &at.path, follow)?;
        let asked = escape(&at.asked);
        match (doing, from) {
            // What is not there is not read. A session shows only what may be read, and more than the policy speaks
            // of: devices, processes, its own temporary files.
            (Doing::Read, _) if there.kind == Kind::Absent || self.resolver.held() => Ok(()),
            (Doing::Read, _) => self.add(Verb::Read, asked, there.path, None),
            // A folder that is there already: nothing is made.
            (Doing::Make, _) if there.kind == Kind::Folder => Ok(()),
            (Doing::Make, _) => self.add(Verb::Create, asked, there.path, None),
            (Doing::Link, _) => self.add(Verb::Rename, asked, there.path, None),
            (Doing::Put, _) => self.add(write_or_create(there.kind.is_there()), asked, there.path, None),
            // Nothing changes or goes where nothing is, unless this very command puts it there.
            (Doing::Change | Doing::Remove, _)
                if there.kind == Kind::Absent && !self.touched(&there.path) =>
            {
                Ok(())
            }
            (Doing::Change, _) => self.add(Verb::Write, asked, there.path, None),
            (Doing::Remove, _) => self.add(Verb::Delete, asked, there.path, None),
            (Doing::Move, None) => self.add(Verb::Create, asked, there.path, None),
            (Doing::Move, Some(from)) => {
                let source = self.kernel(&from.asked, &from.path, false)?;
                self.add(Verb::Rename, escape(&from.asked), source.path, Some(there.path))
            }
        }
    }

    /// Whether what was collected so far changes something at, above or below a path.
    fn touched(&self, path: &AbsPath) -> bool {
        let near = |other: &AbsPath| other.strip(path).is_some() || path.strip(other).is_some();
        let changes = self.found.iter().filter(|e| e.verb != Verb::Read);
        changes.into_iter().any(|e| near(&e.path) || e.to.as_ref().is_some_and(near))
    }

    fn resolve(&self, asked: &str, follow: bool) -> Result<Resolved, Problem> {
        let fail = |why| Problem::Path { asked: asked.to_owned(), why };
        let home = || self.resolver.home().ok_or(fail(ResolveError::NoHome));
        if self.mended && asked.contains('\u{fffd}') {
            return Err(fail(ResolveError::NoText));
        }
        let (base, rest) = match asked {
            "" => return Err(fail(ResolveError::Empty)),
            "~" => (Some(home()?), ""),
            _ if asked.starts_with('/') => (None, asked),
            _ => match asked.strip_prefix("~/") {
                Some(rest) => (Some(home()?), rest),
                None => (Some(self.cwd), asked),
            },
        };
        let mut path = base.map(|base| base.as_bytes().to_vec()).unwrap_or_default();
        if base.is_some() && !rest.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(rest.as_bytes());
        self.resolver.resolve(&path, follow).map_err(fail)
    }

    fn kernel(&self, asked: &[u8], path: &[u8], follow: bool) -> Result<Resolved, Problem> {
        self.resolver.resolve(path, follow).map_err(|why| Problem::Path { asked: escape(asked), why })
    }

    fn add(&mut self, verb: Verb, asked: String, path: AbsPath, to: Option<AbsPath>) -> Result<(), Problem> {
        if self.found.iter().any(|e| e.verb == verb && e.path == path && e.to == to) {
            return Ok(());
        }
        if self.found.len() == MOST {
            return Err(Problem::TooMany(MOST));
        }
        self.found.push(Effort { verb, asked, path, to });
        Ok(())
    }
}

/// What the file system takes no name for cannot be done: nothing is said of it.
fn no_such_name(judged: Result<(), Problem>) -> Result<(), Problem> {
    match judged {
        Err(Problem::Path { why: ResolveError::LongName, .. }) => Ok(()),
        judged => judged,
    }
}

/// Whether an argument name speaks of paths: its last word does (`output_path`, `filePath`, `notebook-dir`).
fn names_paths(key: &str) -> bool {
    let mut last = String::new();
    let mut small_before = false;
    for c in key.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && small_before) {
            last.clear();
        }
        if c.is_alphanumeric() {
            last.extend(c.to_lowercase());
        }
        small_before = c.is_lowercase();
    }
    PATH_WORDS.contains(&last.as_str())
}

/// The path that a text names; none if it names something on the network or nothing.
fn local(text: &str) -> Option<String> {
    if let Some(rest) = file_url(text) {
        return Some(url_path(rest));
    }
    let away = ["http://", "https://", "data:", "urn:", "mailto:", "git@", "ssh://"];
    (!text.is_empty() && !away.iter().any(|scheme| text.starts_with(scheme))).then(|| text.to_owned())
}

/// What follows the scheme of a `file:` URL. Programs that take URLs take blanks around them, too.
fn file_url(text: &str) -> Option<&str> {
    let (scheme, rest) = text.trim().split_once(':')?;
    scheme.eq_ignore_ascii_case("file").then_some(rest)
}

/// The path in a `file:` URL, as browsers and what is built on their rules read it: any number of slashes of either
/// kind before it, no query and no fragment. A host is left out, whatever it is: who takes such a URL on this machine
/// takes it for this machine's.
fn url_path(rest: &str) -> String {
    let path = rest.split(['?', '#']).next().unwrap_or_default().replace('\\', "/");
    let path = match path.strip_prefix("//") {
        Some(after) => after.find('/').and_then(|slash| after.get(slash..)).unwrap_or("/"),
        None => &path,
    };
    format!("/{}", percent(path).trim_start_matches('/'))
}

/// Undoes `%2F`. What would not be UTF-8 stays as it is.
fn percent(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.as_bytes();
    while let [first, rest @ ..] = bytes {
        let code = rest.get(..2).filter(|_| *first == b'%').and_then(|pair| std::str::from_utf8(pair).ok());
        match code.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                bytes = rest.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                bytes = rest;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}
