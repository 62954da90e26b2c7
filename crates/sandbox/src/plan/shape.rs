//! The plan of a session's view and floor, as values.

use super::planner::own;
use remit_core::{AbsPath, Rule};
use std::fmt;
use std::sync::Arc;

/// What a bind shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file or folder of the machine, with whatever is mounted below it.
    Host(AbsPath),
    /// An empty file system in memory that ends with the session.
    Memory,
    /// A folder of the machine under a layer of the session's own: what is there is read, and every change stays in
    /// the layer. Not seen at all where the kernel cannot do that.
    Layered {
        /// The machine's folder, resolved. It is never changed; what is mounted below it is not seen.
        lower: AbsPath,
        /// An empty folder of the session that takes the changes.
        upper: AbsPath,
        /// An empty folder beside it, for the kernel.
        work: AbsPath,
    },
}

/// One mount of the view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// What is shown.
    pub source: Source,
    /// Where.
    pub target: AbsPath,
    /// Nothing below it can be started, not even through the dynamic loader.
    pub noexec: bool,
    /// Nothing below it can change, by whomever in the session.
    pub read_only: bool,
    /// It belongs to the session alone: mount points may be made in it.
    pub private: bool,
}

/// A symbolic link that the view repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where it stands.
    pub at: AbsPath,
    /// What it says.
    pub to: Vec<u8>,
}

/// What the floor grants below a path. Writing is never among it: the gate writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rights {
    /// Reading files and listing folders.
    pub read: bool,
    /// Starting programs.
    pub execute: bool,
}

impl Rights {
    /// Whether all of `other` is in these.
    pub fn has(self, other: Rights) -> bool {
        (self.read || !other.read) && (self.execute || !other.execute)
    }

    /// Both together.
    #[must_use]
    pub fn union(self, other: Rights) -> Rights {
        Rights { read: self.read || other.read, execute: self.execute || other.execute }
    }
}

/// One rule of the floor: the path and all below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloorRule {
    /// The path in the view.
    pub path: AbsPath,
    /// What is granted.
    pub rights: Rights,
}

/// A rule that the kernel here cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The rule, if it is one.
    pub rule: Option<Arc<Rule>>,
    /// What cannot be held, and the way out.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Some(rule) => write!(f, "{rule}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

/// Everything that the kernel is told before a session starts. Made once, by [`plan`](super::plan).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The mounts, each after those that it lies in.
    pub binds: Vec<Bind>,
    /// Links of the machine that the view repeats.
    pub links: Vec<Link>,
    /// Folders that are covered by an empty one that nobody can open.
    pub masks: Vec<AbsPath>,
    /// Other things that are covered by an empty file that nobody can open.
    pub file_masks: Vec<AbsPath>,
    /// Folders that are made before the launch so that they can be covered, and removed after the last
    /// session. Each is also a mask or a bind, or one of those that follow lies in it.
    pub placeholders: Vec<AbsPath>,
    /// Folders of the machine that rules grant as folders and that are made before the launch if they do not exist,
    /// so that they can be shown; removed after the last session if they are still empty.
    pub new_folders: Vec<AbsPath>,
    /// Whether every folder in sight may be listed, those that only lead somewhere included. Not so where a
    /// mount shows names that may not be read, since the floor cannot take listing away again further down.
    pub listed: bool,
    /// The rules of the floor.
    pub floor: Vec<FloorRule>,
    /// What cannot be held; a launch refuses while this is not empty.
    pub refused: Vec<Refusal>,
    /// What a person may want to know, in words.
    pub notes: Vec<String>,
}

impl Plan {
    /// The mount through which `path` is seen, if any: the innermost one at or above it.
    pub fn shown_by(&self, path: &AbsPath) -> Option<&Bind> {
        self.binds.iter().rev().filter(|b| b.target.covers(path)).max_by_key(|b| b.target.as_bytes().len())
    }

    /// Whether no name at `path` can be made, changed or removed, by whomever in the session: the folder only leads to
    /// what is shown, or its mount is read-only. What the kernel and the view put into folders of their own is not
    /// meant.
    pub fn fixes(&self, path: &AbsPath) -> bool {
        let Some(folder) = path.parent() else { return true };
        match self.shown_by(&folder) {
            Some(bind) => bind.read_only,
            None => !own(path),
        }
    }

    /// What stands at `path` or below it and cannot be removed while the session runs, since it is mounted or covered.
    pub fn mounted_within<'a>(&'a self, path: &'a AbsPath) -> impl Iterator<Item = &'a AbsPath> {
        let targets = self.binds.iter().map(|bind| &bind.target);
        targets.chain(&self.masks).chain(&self.file_masks).filter(|target| path.covers(target))
    }
}
