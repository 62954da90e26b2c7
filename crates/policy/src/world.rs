//! Where things are on this machine, as values: compiling a policy touches no file.

use crate::Access;
use remit_core::AbsPath;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Something that a session has where no rule of a person speaks: system folders, toolchains, the private
/// home. It never beats a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseRule {
    /// The path and all below it.
    pub path: AbsPath,
    /// What it grants.
    pub access: Access,
    /// `base.usr`, `session.home`.
    pub id: Arc<str>,
    /// What for, in a few words: `system programs and libraries`.
    pub why: Arc<str>,
}

/// A path that no session may change, beside what is protected by name everywhere: with all below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedPath {
    /// The path, resolved.
    pub path: AbsPath,
    /// `protected.git-hooks`.
    pub id: Arc<str>,
    /// What it is, in a few words: `what git runs by itself`.
    pub words: Arc<str>,
    /// The symbolic link with a protected name that leads here, if that is why.
    pub link: Option<AbsPath>,
}

/// The records of a linked worktree, which lie in the main checkout's git folder. They go with the work tree:
/// who may read or write any of it may read or write them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedTree {
    /// The git folder that all worktrees share; of it as a whole nothing but reading.
    pub common: AbsPath,
    /// What in it a commit in this worktree writes.
    pub written: Vec<AbsPath>,
}

/// What compiling needs to know of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    /// The workspace: the folder of `remit.yaml`, resolved.
    pub workspace: AbsPath,
    /// The person's home folder, for `~/` in patterns.
    pub home: AbsPath,
    /// What every session has where no rule speaks.
    pub base: Vec<BaseRule>,
    /// Paths that no session may touch at all, reading included: Remit's own state, other homes.
    pub sealed: Vec<AbsPath>,
    /// Paths that no session may change, as only this machine can tell them: what the configuration of git
    /// leads to (`remit_git::protected` finds them).
    pub protected: Vec<ProtectedPath>,
    /// Git folders under another name than `.git`: what is protected in a `.git` is protected in them.
    pub git_dirs: Vec<AbsPath>,
    /// Where a linked worktree has its records, outside the workspace.
    pub linked: Option<LinkedTree>,
    /// Folders that are the session's alone (its home, its `/tmp`): nothing outside obeys what lies there, so
    /// names are not protected in them. What a rule of a person opens below one, and the workspace, is not
    /// meant.
    pub private: Vec<AbsPath>,
    /// Which of the literal paths in the policy's write rules are no folders (files, or absent): their
    /// temporary siblings may be written too.
    pub single_files: BTreeSet<AbsPath>,
}
