//! A set over {read, write, execute}.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What may be done with a path. The empty set is `none`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Access(u8);

impl Access {
    /// Nothing at all; absolute, where a rule says it.
    pub const NONE: Access = Access(0);
    /// Reading content and listing folders.
    pub const READ: Access = Access(1);
    /// Changing, creating, removing.
    pub const WRITE: Access = Access(2);
    /// Starting programs.
    pub const EXECUTE: Access = Access(4);
    /// Everything.
    pub const ALL: Access = Access(7);

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Access) -> Access {
        Access(self.0 | other.0)
    }
    /// What is in both sets.
    #[must_use]
    pub const fn meet(self, other: Access) -> Access {
        Access(self.0 & other.0)
    }
    /// What is in this set and not in the other.
    #[must_use]
    pub const fn minus(self, other: Access) -> Access {
        Access(self.0 & !other.0)
    }
    /// Whether all of `other` is in this set.
    pub const fn has(self, other: Access) -> bool {
        self.0 & other.0 == other.0
    }
    /// Whether the set is empty.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// One word of the policy language: `none`, `read`, `read-only`, `write`, `read-write`, `execute` (which
    /// includes reading, since the kernel cannot start what it may not read), `all`.
    pub fn word(text: &str) -> Option<Access> {
        Some(match text {
            "none" => Access::NONE,
            "read" | "read-only" => Access::READ,
            "write" => Access::WRITE,
            "read-write" => Access::READ.union(Access::WRITE),
            "execute" => Access::READ.union(Access::EXECUTE),
            "all" => Access::ALL,
            _ => return None,
        })
    }

    /// Every word that [`Access::word`] takes.
    pub const WORDS: [&'static str; 7] =
        ["none", "read", "read-only", "write", "read-write", "execute", "all"];
}

impl fmt::Display for Access {
    /// The canonical spelling: one word, or `write+execute`-like sums where no word exists.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            0 => "none",
            1 => "read",
            2 => "write",
            3 => "read-write",
            4 | 5 => "execute",
            6 => "write+execute",
            _ => "all",
        })
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
