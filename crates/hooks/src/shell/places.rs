//! Where a shell may stand when it comes to a command, by how the commands before it ended.

use remit_core::AbsPath;
use std::rc::Rc;

/// With more folders than these, the place counts as unknown.
const MOST: usize = 8;

/// Where a shell may stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Places {
    /// Anywhere.
    Unknown,
    /// In one of these folders. None: the shell never comes here.
    These(Vec<Rc<AbsPath>>),
}

impl Places {
    pub(super) fn never() -> Self {
        Self::These(Vec::new())
    }

    pub(super) fn one(folder: Rc<AbsPath>) -> Self {
        Self::These(vec![folder])
    }

    pub(super) fn is_never(&self) -> bool {
        matches!(self, Self::These(folders) if folders.is_empty())
    }

    /// Where a shell may stand that came by one way or the other.
    pub(super) fn or(self, other: Self) -> Self {
        let (Self::These(mut all), Self::These(more)) = (self, other) else { return Self::Unknown };
        for folder in more {
            if !all.contains(&folder) {
                all.push(folder);
            }
        }
        if all.len() > MOST { Self::Unknown } else { Self::These(all) }
    }

    /// The folders, each to be taken in turn; `None` is one that is not known. Of several, `held` leaves none
    /// known.
    pub(super) fn each(&self, held: bool) -> Vec<Option<Rc<AbsPath>>> {
        match self {
            Self::These(folders) if folders.len() < 2 || !held => folders.iter().cloned().map(Some).collect(),
            _ => vec![None],
        }
    }
}

/// Where a shell may stand after a command, by whether that succeeded.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) ok: Places,
    pub(super) failed: Places,
}

impl Flow {
    /// Nobody knows how it ended.
    pub(super) fn both(places: Places) -> Self {
        Self { ok: places.clone(), failed: places }
    }

    pub(super) fn ok(places: Places) -> Self {
        Self { ok: places, failed: Places::never() }
    }

    pub(super) fn failed(places: Places) -> Self {
        Self { ok: Places::never(), failed: places }
    }

    /// Nothing comes after it.
    pub(super) fn never() -> Self {
        Self::both(Places::never())
    }

    pub(super) fn any(self) -> Places {
        self.ok.or(self.failed)
    }

    pub(super) fn not(self) -> Self {
        Self { ok: self.failed, failed: self.ok }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self { ok: self.ok.or(other.ok), failed: self.failed.or(other.failed) }
    }
}
