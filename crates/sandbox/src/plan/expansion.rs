//! One pass over the file tree at launch: which existing paths rules with wildcards speak of, and which
//! files inside a region that is out of bounds have a second name.

use super::{Disk, Found, Kind, Point, Rules, Where};
use remit_core::AbsPath;
use std::collections::BTreeSet;
use std::io;

/// No more entries than this are looked at; a larger tree is refused rather than half checked.
pub(super) const MOST_ENTRIES: usize = 2_000_000;

/// An existing path that a rule with wildcards speaks of, while it does not speak of its parent.
pub(super) struct Match {
    pub(super) point: usize,
    pub(super) path: AbsPath,
}

/// What a pass found.
#[derive(Default)]
pub(super) struct Expansion {
    pub(super) matches: Vec<Match>,
    /// Folders that could not be listed, each with the rules that were looked for there.
    pub(super) closed: Vec<(AbsPath, Vec<usize>)>,
    /// The tree has more than [`MOST_ENTRIES`] entries: the pass is not complete.
    pub(super) too_many: bool,
}

struct Folder {
    path: AbsPath,
    /// The rules that are still looked for here.
    wanted: Vec<usize>,
}

/// Looks for what the rules at the indexes `wanted` speak of. Folders for which `out` answers yes are not
/// entered, nor are matched folders of rules that grant nothing.
pub(super) fn expand(
    disk: &dyn Disk,
    rules: &dyn Rules,
    points: &[Point],
    wanted: &[usize],
    out: &dyn Fn(&AbsPath) -> bool,
) -> Expansion {
    let mut found = Expansion::default();
    let mut seen = 0usize;
    let names = rules.last_names(wanted);
    let mut stack: Vec<Folder> = Vec::new();
    let roots: Vec<&AbsPath> = wanted.iter().filter_map(|i| prefix(points, *i)).collect();
    for (at, root) in roots.iter().enumerate() {
        let first = roots.iter().position(|other| other == root) == Some(at);
        if first && !roots.iter().any(|other| other != root && other.covers(root)) && !out(root) {
            let wanted = wanted
                .iter()
                .copied()
                .filter(|i| prefix(points, *i).is_some_and(|prefix| root.covers(prefix)))
                .collect();
            stack.push(Folder { path: (*root).clone(), wanted });
        }
    }
    while let Some(folder) = stack.pop() {
        let mut entries: Vec<(Vec<u8>, Kind)> = Vec::new();
        let listed = disk.list(&folder.path, &mut |name, kind| {
            seen += 1;
            // Only folders and names that some rule may mean are kept.
            if kind == Kind::Folder || names.may_be(name) {
                entries.push((name.to_vec(), kind));
            }
        });
        if seen > MOST_ENTRIES {
            found.too_many = true;
            return found;
        }
        match listed {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => continue,
            Err(_) => {
                stack.extend(known_below(&folder, points));
                found.closed.push((folder.path, folder.wanted));
                continue;
            }
        }
        for (name, kind) in entries {
            let Ok(path) = folder.path.join(&name) else { continue };
            let mut wanted = Vec::with_capacity(if kind == Kind::Folder { folder.wanted.len() } else { 0 });
            let mut masked = false;
            let meant = names.may_be(&name);
            for &index in &folder.wanted {
                if meant && rules.matches(index, &path) {
                    masked |= points.get(index).is_some_and(|p| p.access.is_none());
                    found.matches.push(Match { point: index, path: path.clone() });
                } else if kind == Kind::Folder && reaches_below(points, index, &path) {
                    wanted.push(index);
                }
            }
            if kind == Kind::Folder && !masked && !wanted.is_empty() && !out(&path) {
                stack.push(Folder { path, wanted });
            }
        }
    }
    found
}

/// What rules name below a folder that cannot be listed can be reached all the same. The topmost are enough.
fn known_below(folder: &Folder, points: &[Point]) -> Vec<Folder> {
    let named = points.iter().filter_map(|point| match &point.place {
        Where::Path(path) if *path != folder.path && folder.path.covers(path) => Some(path),
        _ => None,
    });
    let named: BTreeSet<&AbsPath> = named.collect();
    let topmost = named.iter().filter(|path| !named.iter().any(|other| other != *path && other.covers(path)));
    let entered = topmost.map(|path| {
        let wanted = folder.wanted.iter().copied().filter(|i| reaches_below(points, *i, path)).collect();
        Folder { path: (*path).clone(), wanted }
    });
    entered.filter(|entered| !entered.wanted.is_empty()).collect()
}

fn prefix(points: &[Point], index: usize) -> Option<&AbsPath> {
    match points.get(index).map(|p| &p.place) {
        Some(Where::Wild { prefix, .. }) => Some(prefix),
        _ => None,
    }
}

/// Whether something below `path` can be what the rule means.
fn reaches_below(points: &[Point], index: usize, path: &AbsPath) -> bool {
    match points.get(index).map(|p| &p.place) {
        Some(Where::Wild { prefix, depth }) => {
            path.covers(prefix)
                || (prefix.covers(path) && depth.is_none_or(|depth| path.components().count() < depth))
        }
        _ => false,
    }
}

/// What a look for second names found.
pub(super) enum Names {
    /// Every file has one name.
    Single,
    /// This file has a second one.
    Second(AbsPath),
    /// The region has more than [`MOST_ENTRIES`] entries.
    TooMany,
    /// This folder could not be searched.
    Unread(AbsPath),
}

/// Looks for a regular file with a second name, at `root` or below. What another user has closed is passed over:
/// nobody in the session can open it. What is this user's own may have been readable when a second name was made.
pub(super) fn second_names(disk: &dyn Disk, root: &AbsPath) -> Names {
    let mut stack = vec![root.clone()];
    let mut seen = 0usize;
    while let Some(path) = stack.pop() {
        match disk.find(&path) {
            Ok(Found::Is(stat)) if stat.kind == Kind::File && stat.names > 1 => return Names::Second(path),
            Ok(Found::Is(stat)) if stat.kind == Kind::Folder => {
                let listed = disk.list(&path, &mut |name, kind| {
                    seen += 1;
                    if matches!(kind, Kind::Folder | Kind::File)
                        && let Ok(entry) = path.join(name)
                    {
                        stack.push(entry);
                    }
                });
                if seen > MOST_ENTRIES {
                    return Names::TooMany;
                }
                match listed.map_err(|error| error.kind()) {
                    Ok(()) | Err(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                    Err(io::ErrorKind::PermissionDenied) if !stat.own => {}
                    Err(_) => return Names::Unread(path),
                }
            }
            Ok(_) => {}
            // The folder could be listed and not entered.
            Err(_) => match path.parent().map(|folder| (disk.find(&folder), folder)) {
                Some((Ok(Found::Is(stat)), _)) if !stat.own => {}
                Some((_, folder)) => return Names::Unread(folder),
                None => return Names::Unread(path),
            },
        }
    }
    Names::Single
}
