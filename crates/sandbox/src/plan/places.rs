//! Where the planner has something to look at: the paths at which some rule begins to speak.

use super::expansion::{self, MOST_ENTRIES};
use super::planner::{Place, Planner, SHARED_MEMORY, in_tree_order, own};
use super::{Found, Kind, Refusal, Where};
use remit_core::AbsPath;
use remit_policy::Access;
use std::collections::{BTreeMap, BTreeSet};

impl Planner<'_> {
    /// Every place, in tree order.
    pub(super) fn places(&mut self) -> Vec<(AbsPath, Place)> {
        let mut places: BTreeMap<Vec<u8>, (AbsPath, Place)> = BTreeMap::new();
        let mut at = |path: &AbsPath, change: &dyn Fn(&mut Place)| {
            let place = places.entry(in_tree_order(path)).or_insert_with(|| (path.clone(), Place::default()));
            change(&mut place.1);
        };
        at(&AbsPath::root(), &|_| {});
        if let Ok(memory) = AbsPath::new(SHARED_MEMORY) {
            at(&memory, &|_| {});
        }
        for (index, point) in self.points.iter().enumerate() {
            if let Where::Path(path) = &point.place {
                at(path, &|place| place.points.push(index));
            }
        }
        for sealed in self.request.sealed {
            at(sealed, &|_| {});
        }
        for path in self.request.requestable {
            at(path, &|place| place.shown = true);
        }
        for extra in &self.extras {
            at(&extra.target, &|place| place.extra = Some(extra.source.clone()));
        }
        for folder in self.folders_of_single_files() {
            at(&folder, &|place| place.shown = true);
        }
        let (matches, closed) = self.wild();
        for found in matches {
            at(&found.path, &|place| place.points.push(found.point));
        }
        for (folder, rule) in closed {
            at(&folder, &|place| place.closed = Some(rule));
        }
        self.add_tracked(&mut places);
        places.into_values().collect()
    }

    /// A program saves a file by a sibling that it renames over it: a file that may be written needs its folder.
    fn folders_of_single_files(&self) -> Vec<AbsPath> {
        let granted: Vec<&AbsPath> = self
            .points
            .iter()
            .filter_map(|p| match &p.place {
                Where::Path(path) if !p.base && self.access(path).has(Access::WRITE) => Some(path),
                _ => None,
            })
            .collect();
        let single = |path: &&&AbsPath| match self.disk.find(path) {
            Ok(Found::Is(stat)) => stat.kind == Kind::File,
            Ok(Found::Absent) => {
                !self.points.iter().any(|p| p.folder && p.place == Where::Path((**path).clone()))
            }
            _ => false,
        };
        let folder = |path: &&AbsPath| {
            let parent = path.parent().filter(|parent| *parent != AbsPath::root() && !own(parent))?;
            let there = matches!(self.disk.find(&parent), Ok(Found::Is(stat)) if stat.kind == Kind::Folder);
            (there && self.access(&parent).is_none()).then_some(parent)
        };
        granted.iter().filter(single).filter_map(folder).collect()
    }

    /// The existing paths that rules with wildcards speak of, where that matters to view or floor; and the folders
    /// that could not be looked through, each with a rule that hides or narrows something there.
    fn wild(&mut self) -> (Vec<expansion::Match>, Vec<(AbsPath, usize)>) {
        let mut wanted = Vec::new();
        // Those of the wanted that only add something.
        let mut adding = BTreeSet::new();
        let mut refused = Vec::new();
        for (index, point) in self.points.iter().enumerate() {
            let Where::Wild { prefix, .. } = &point.place else { continue };
            let (most, least) = self.region(prefix);
            if point.access.is_none() {
                wanted.push(index);
            } else if most.has(Access::READ) && !point.access.has(Access::READ) {
                refused.push((
                    index,
                    "reading cannot be taken away from some names in a readable folder, except by `none`",
                ));
            } else if !point.access.has(Access::READ) && !least.has(point.access) {
                refused.push((
                    index,
                    "writing without reading cannot be given by wildcard: the folder of the names is not seen; grant it to a folder",
                ));
            } else if most.has(Access::EXECUTE) && !point.access.has(Access::EXECUTE) {
                if point.access.has(Access::WRITE) {
                    refused.push((index, "starting programs cannot be taken away from some names that may be written in an executable folder; grant `all` or `read`"));
                } else {
                    wanted.push(index);
                }
            } else if !least.has(point.access.meet(Access::READ.union(Access::EXECUTE))) {
                adding.insert(index);
                wanted.push(index);
            }
        }
        for (index, why) in refused {
            self.refuse(index, why.to_owned());
        }
        let out = |path: &AbsPath| own(path) || self.access(path).is_none() && self.closed_for_good(path);
        let found = expansion::expand(self.disk, self.request.rules, &self.points, &wanted, &out);
        let mut closed = Vec::new();
        for (folder, rules) in found.closed {
            match rules.into_iter().find(|rule| !adding.contains(rule)) {
                Some(rule) => closed.push((folder, rule)),
                None => self
                    .plan
                    .notes
                    .push(format!("{folder} cannot be listed, so nothing was granted by wildcard below it")),
            }
        }
        if found.too_many {
            let why = format!("more than {MOST_ENTRIES} files lie where rules with wildcards apply");
            self.plan.refused.push(Refusal { rule: None, why });
        }
        for index in wanted {
            if let Some(point) = self.points.get(index) {
                let later = if point.access.is_none() {
                    "covers what exists at the start; the gate refuses such names afterwards, but one that is made outside the session is seen"
                } else {
                    "is held for what exists at the start"
                };
                self.plan.notes.push(format!("{} {later}", point.rule));
            }
        }
        (found.matches, closed)
    }

    /// The most and the least that literal rules grant at or below a folder, leaving out where they grant nothing.
    fn region(&self, prefix: &AbsPath) -> (Access, Access) {
        let top = self.access(prefix);
        let mut region = (top, top);
        for point in &self.points {
            let Where::Path(path) = &point.place else { continue };
            let access = if prefix.covers(path) { self.access(path) } else { continue };
            if !access.is_none() {
                region = (region.0.union(access), region.1.meet(access));
            }
        }
        region
    }
}
