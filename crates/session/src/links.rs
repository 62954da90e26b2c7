//! What protected symbolic links lead to. A link `.git/hooks/pre-commit -> ../../scripts/pre-commit` is obeyed as if
//! its target lay there, so the target is protected with it, and so is every other link on the way.
//!
//! Looked through are the work tree, git folders outside it, what the configuration of git names, and the person's
//! home by the names of the tables. Stores of git's objects are not entered. No folder is left out in silence: one
//! that cannot be listed is protected as a whole.

use remit_core::AbsPath;
use remit_policy::{ProtectedPath, StandIn, World, is_store, of_home, stands_in};
use remit_sandbox::plan::{Disk, Found, Kind};
use std::collections::{BTreeSet, VecDeque};
use std::io;

/// More entries than this are not looked through.
const MOST_ENTRIES: usize = 2_000_000;
/// More protected paths than this are refused.
const MOST_PATHS: usize = 4096;
/// As many links one after the other as the kernel follows.
const MOST_LINKS: usize = 40;

/// Why it is not known what protected links lead to.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Something on the way to a target.
    #[error(
        "cannot find out where `{0}` leads, which programs obey; `chmod u+rwx` the folders on the way, or remove the link"
    )]
    Unresolved(AbsPath, #[source] io::Error),
    /// The workspace itself.
    #[error("`{0}` cannot be listed, so links in it that programs obey would not be seen; `chmod u+rwx {0}`")]
    Closed(AbsPath, #[source] io::Error),
    /// A target that holds everything.
    #[error(
        "`{link}`, which programs obey, leads to `{to}`, which holds the whole workspace; let it lead elsewhere, or remove it"
    )]
    TooWide {
        /// The protected name.
        link: AbsPath,
        /// Where it leads.
        to: AbsPath,
    },
    /// Bounds.
    #[error(
        "there are more than {MOST_ENTRIES} files, or {MOST_PATHS} protected paths, to look through below `{0}`"
    )]
    TooMany(AbsPath),
}

/// Adds to a world what the protected links lead to. `git` are git folders outside the workspace.
pub fn follow(world: &mut World, git: &[AbsPath], disk: &dyn Disk) -> Result<(), LinkError> {
    let known: Vec<ProtectedPath> = world.protected.clone();
    let named = known.iter().map(|one| one.path.clone()).collect();
    let mut search = Search { world, disk, left: MOST_ENTRIES, named, entered: BTreeSet::new() };
    for one in known {
        let what = What { id: &one.id, words: &one.words };
        search.lead(&one.path, what)?;
    }
    let home = search.world.home.clone();
    // Most are not there, and many names begin alike.
    let mut absent = None;
    for name in of_home() {
        let Some(first) = name.rest.first() else { continue };
        if absent == Some(first) {
            continue;
        }
        let folder = joined(&home, &[*first]).and_then(|path| disk.find(&path).ok());
        absent = matches!(folder, Some(Found::Absent)).then_some(first);
        if let (None, Some(path)) = (absent, joined(&home, name.rest)) {
            search.lead(&path, What::of(&name))?;
        }
    }
    for folder in std::iter::once(search.world.workspace.clone()).chain(git.iter().cloned()) {
        search.look_through(folder, None)?;
    }
    Ok(())
}

/// The rule by which something is protected.
#[derive(Clone, Copy)]
struct What<'a> {
    id: &'a str,
    words: &'a str,
}

impl What<'static> {
    fn of(name: &StandIn) -> Self {
        Self { id: name.id, words: name.words }
    }
}

struct Search<'a> {
    world: &'a mut World,
    disk: &'a dyn Disk,
    /// How many entries may still be met.
    left: usize,
    /// What is protected by its path.
    named: BTreeSet<AbsPath>,
    /// The folders that were looked through as a whole.
    entered: BTreeSet<AbsPath>,
}

impl Search<'_> {
    /// Protects what a protected path leads to: nothing more, if there is no link on the way. What it is in the end
    /// may be a folder with further links.
    fn lead(&mut self, path: &AbsPath, what: What<'_>) -> Result<(), LinkError> {
        let unresolved = |error| LinkError::Unresolved(path.clone(), error);
        let (links, real, kind) = way(self.disk, path).map_err(unresolved)?;
        // Whatever leads to the null device leads to nothing.
        if real.as_bytes().starts_with(b"/dev/") {
            return Ok(());
        }
        if links.is_empty() {
            self.named.insert(path.clone());
        } else {
            if real.covers(&self.world.workspace) {
                return Err(LinkError::TooWide { link: path.clone(), to: real });
            }
            for one in links.iter().chain([&real]) {
                self.protect(one, path, what)?;
            }
        }
        match kind {
            Some(Kind::Folder) => self.look_through(real, Some(what)),
            _ => Ok(()),
        }
    }

    fn protect(&mut self, path: &AbsPath, link: &AbsPath, what: What<'_>) -> Result<(), LinkError> {
        let mut above = path.parent();
        while let Some(folder) = above.take_if(|folder| !self.named.contains(folder)) {
            above = folder.parent();
        }
        if above.is_none() && self.named.insert(path.clone()) {
            self.world.protected.push(ProtectedPath {
                path: path.clone(),
                id: what.id.into(),
                words: format!("{}, by way of the link {link},", what.words).into(),
                link: Some(link.clone()),
            });
        }
        if self.world.protected.len() > MOST_PATHS { Err(LinkError::TooMany(path.clone())) } else { Ok(()) }
    }

    /// Follows the links in a folder: those with protected names, or in what is protected as a whole all of them.
    fn look_through(&mut self, folder: AbsPath, whole: Option<What<'_>>) -> Result<(), LinkError> {
        if whole.is_some() && !self.entered.insert(folder.clone()) {
            return Ok(());
        }
        let mut stack = vec![folder];
        while let Some(folder) = stack.pop() {
            let git = folder.file_name().is_some_and(|name| name.ends_with(b".git"))
                || self.world.git_dirs.contains(&folder);
            let (mut links, mut left) = (Vec::new(), self.left);
            let listed = self.disk.list(&folder, &mut |name, kind| {
                left = left.saturating_sub(1);
                match kind {
                    Kind::Link => links.extend(folder.join(name)),
                    Kind::Folder if git && is_store(name) => {}
                    Kind::Folder => stack.extend(folder.join(name)),
                    Kind::File | Kind::Other => {}
                }
            });
            self.left = left;
            if left == 0 {
                return Err(LinkError::TooMany(folder));
            }
            match listed {
                Ok(()) => {}
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => self.close(folder, error)?,
            }
            for link in links {
                self.link(&link, whole)?;
            }
        }
        Ok(())
    }

    fn link(&mut self, link: &AbsPath, whole: Option<What<'_>>) -> Result<(), LinkError> {
        if let Some(what) = whole {
            return self.lead(link, what);
        }
        for name in stands_in(self.world, link) {
            let what = What::of(&name);
            if name.git {
                let unresolved = |error| LinkError::Unresolved(link.clone(), error);
                let (links, real, _) = way(self.disk, link).map_err(unresolved)?;
                links.iter().try_for_each(|one| self.protect(one, link, what))?;
                if !self.world.git_dirs.contains(&real) {
                    self.world.git_dirs.push(real.clone());
                    self.look_through(real, None)?;
                }
            } else if let Some(path) = joined(link, name.rest) {
                self.lead(&path, what)?;
            }
        }
        Ok(())
    }

    /// A folder that cannot be listed may hold links that nobody knows of.
    fn close(&mut self, folder: AbsPath, error: io::Error) -> Result<(), LinkError> {
        if folder.covers(&self.world.workspace) {
            return Err(LinkError::Closed(folder, error));
        }
        if self.named.insert(folder.clone()) {
            let words = format!("{folder}, which cannot be looked through for links that programs obey,");
            let id = "protected.closed".into();
            self.world.protected.push(ProtectedPath { path: folder, id, words: words.into(), link: None });
        }
        Ok(())
    }
}

fn joined(folder: &AbsPath, names: &[&str]) -> Option<AbsPath> {
    names.iter().try_fold(folder.clone(), |path, name| path.join(name)).ok()
}

/// The links on the way of a path, as the kernel would go; where it ends; and what is there.
fn way(disk: &dyn Disk, path: &AbsPath) -> io::Result<(Vec<AbsPath>, AbsPath, Option<Kind>)> {
    match disk.find(path)? {
        Found::Absent => return Ok((Vec::new(), path.clone(), None)),
        Found::Is(stat) if stat.kind != Kind::Link => return Ok((Vec::new(), path.clone(), Some(stat.kind))),
        Found::Is(_) | Found::ThroughLink => {}
    }
    let names = |path: &[u8]| path.split(|b| *b == b'/').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let mut rest: VecDeque<Vec<u8>> = names(path.as_bytes()).into();
    let (mut links, mut at, mut kind) = (Vec::new(), AbsPath::root(), None);
    while let Some(name) = rest.pop_front() {
        match name.as_slice() {
            b"" | b"." => continue,
            b".." => {
                at = at.parent().unwrap_or_else(AbsPath::root);
                kind = Some(Kind::Folder);
                continue;
            }
            _ => {}
        }
        let next = at.join(&name).map_err(io::Error::other)?;
        kind = match disk.find(&next)? {
            Found::Is(stat) => Some(stat.kind),
            Found::Absent | Found::ThroughLink => None,
        };
        if kind != Some(Kind::Link) {
            at = next;
            continue;
        }
        let text = disk.link(&next)?;
        links.push(next);
        if links.len() > MOST_LINKS {
            return Err(rustix::io::Errno::LOOP.into());
        }
        if text.starts_with(b"/") {
            at = AbsPath::root();
        }
        for name in names(&text).into_iter().rev() {
            rest.push_front(name);
        }
    }
    Ok((links, at, kind))
}

#[cfg(test)]
mod tests;
