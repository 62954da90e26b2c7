//! The planner. It goes down the tree over the places where a rule begins to speak. Where access begins, a
//! mount shows the tree; where it ends (`none`), a mask covers it; where reading or starting programs is
//! added, the floor gets a rule; where starting programs is taken away, a noexec mount does it. Writing needs
//! nothing here: the gate judges every change, and the floor lets nobody else write.

use super::finish::finish;
use super::survey::{self, MOST_ENTRIES, Names};
use super::{
    Bind, Disk, FloorRule, Found, Kind, Link, Plan, Point, Refusal, Rights, Rules, Source, Stat, Where,
};
use remit_core::AbsPath;
use remit_policy::Access;
use std::collections::BTreeMap;

/// Something that the session has beside what rules name: its home, its `/tmp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extra {
    /// Where it is seen.
    pub target: AbsPath,
    /// What is seen: a folder of the session, resolved, or memory.
    pub source: Source,
}

/// What a plan is made from.
pub struct Request<'a> {
    /// The agent's rules. What an [`Extra`] may be used for is theirs to say, too.
    pub rules: &'a dyn Rules,
    /// What the session has beside. A person's rule for exactly the same path takes its place.
    pub extras: &'a [Extra],
    /// What no session may see, whatever rules say.
    pub sealed: &'a [AbsPath],
    /// What may be asked for at run time: shown, and granted nothing.
    pub requestable: &'a [AbsPath],
    /// A file in a `none` region may have a second name elsewhere.
    pub hardlinks_allowed: bool,
    /// What cannot be held is noted and not refused.
    pub advisory: bool,
}

/// Plans the view and the floor of a session. Never fails: what cannot be held is in [`Plan::refused`].
pub fn plan(request: &Request<'_>, disk: &dyn Disk) -> Plan {
    let points = request.rules.points();
    let extras = request
        .extras
        .iter()
        .filter(|extra| !points.iter().any(|p| !p.base && p.place == Where::Path(extra.target.clone())))
        .collect();
    let mut planner = Planner { request, disk, points, extras, plan: Plan::default(), trees: Vec::new() };
    let places = planner.places();
    planner.descend(&places);
    for (bind, tree) in planner.plan.binds.iter_mut().zip(&planner.trees) {
        bind.noexec = !tree.executes;
        bind.read_only = !tree.changes;
    }
    finish(&mut planner.plan, disk);
    if request.advisory {
        let refused = std::mem::take(&mut planner.plan.refused);
        planner.plan.notes.extend(refused.iter().map(|r| format!("not held: {r}")));
    }
    planner.plan
}

/// A path where some rule begins to speak.
#[derive(Default)]
struct Place {
    /// The rules that name it, by index.
    points: Vec<usize>,
    /// It is shown even if nothing is granted.
    shown: bool,
    extra: Option<Source>,
}

/// What holds below a place, on the way down.
struct Level {
    path: AbsPath,
    state: State,
    /// What the floor grants by now.
    floor: Rights,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is mounted.
    Hidden,
    /// Seen through the mount of this index; `narrowed`: a noexec mount inside an executable tree.
    Shown { tree: usize, narrowed: bool },
    /// Out of bounds: whatever lies below is.
    Out,
}

/// What is granted anywhere in a mount; the same indexes as [`Plan::binds`].
struct Tree {
    executes: bool,
    changes: bool,
}

struct Planner<'a> {
    request: &'a Request<'a>,
    disk: &'a dyn Disk,
    points: Vec<Point>,
    extras: Vec<&'a Extra>,
    plan: Plan,
    trees: Vec<Tree>,
}

/// Folders that the view makes itself.
pub(super) const OWN: [&str; 3] = ["/proc", "/dev", "/run/remit"];

const NO_NARROW_READ: &str = "reading cannot be taken away inside a readable folder, except by `none`";

/// The one of them in which rules grant something.
const SHARED_MEMORY: &str = "/dev/shm";

fn own(path: &AbsPath) -> bool {
    OWN.iter().any(|own| {
        path.as_bytes().strip_prefix(own.as_bytes()).is_some_and(|r| matches!(r.first(), None | Some(b'/')))
    })
}

fn rights(access: Access) -> Rights {
    let read = access.has(Access::READ);
    Rights { read, execute: read && access.has(Access::EXECUTE), socket: access.has(Access::WRITE) }
}

/// Sorts a folder directly before all that lies below it.
pub(super) fn in_tree_order(path: &AbsPath) -> Vec<u8> {
    path.as_bytes().iter().map(|b| if *b == b'/' { 0 } else { *b }).collect()
}

impl Planner<'_> {
    fn access(&self, path: &AbsPath) -> Access {
        if self.request.sealed.iter().any(|sealed| sealed.covers(path)) {
            return Access::NONE;
        }
        self.request.rules.access(path)
    }

    /// What stands at a path of the view, seen from outside.
    fn find(&self, path: &AbsPath, state: State) -> Result<Found, String> {
        match self.outside(path, state) {
            Some(path) => {
                self.disk.find(&path).map_err(|error| format!("{path} cannot be looked at: {error}"))
            }
            None => Ok(Found::Absent),
        }
    }

    /// Where a path of the view lies on the machine; none in memory.
    fn outside(&self, path: &AbsPath, state: State) -> Option<AbsPath> {
        let State::Shown { tree, .. } = state else { return Some(path.clone()) };
        let bind = self.plan.binds.get(tree)?;
        match &bind.source {
            Source::Host(source) => AbsPath::lexical(source, bind.target.strip(path)?).ok(),
            Source::Memory => None,
        }
    }

    /// A person's rule for something of the machine that lies where the session has a folder of its own, such as a
    /// work tree below `/tmp`: it is shown there.
    fn of_the_machine(&self, path: &AbsPath, place: &Place, tree: usize) -> bool {
        let person =
            place.points.iter().filter_map(|i| self.points.get(*i)).any(|p| !p.base && !p.access.is_none());
        let private = self.plan.binds.get(tree).is_some_and(|bind| bind.private);
        private && person && matches!(self.disk.find(path), Ok(Found::Is(stat)) if stat.kind != Kind::Link)
    }

    /// Every place, in tree order.
    fn places(&mut self) -> Vec<(AbsPath, Place)> {
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
        for found in self.wild() {
            at(&found.path, &|place| place.points.push(found.point));
        }
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

    /// The existing paths that rules with wildcards speak of, where that matters to view or floor.
    fn wild(&mut self) -> Vec<survey::Match> {
        let mut wanted = Vec::new();
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
            } else if most.has(Access::EXECUTE) && !point.access.has(Access::EXECUTE) {
                if point.access.has(Access::WRITE) {
                    refused.push((index, "starting programs cannot be taken away from some names that may be written in an executable folder; grant `all` or `read`"));
                } else {
                    wanted.push(index);
                }
            } else if !least.has(point.access.meet(Access::READ.union(Access::EXECUTE))) {
                wanted.push(index);
            }
        }
        for (index, why) in refused {
            self.refuse(index, why.to_owned());
        }
        let out = |path: &AbsPath| own(path) || self.access(path).is_none() && self.closed_for_good(path);
        let found = survey::survey(self.disk, self.request.rules, &self.points, &wanted, &out);
        for closed in &found.closed {
            self.plan
                .notes
                .push(format!("{closed} cannot be listed, so no rule with wildcards was applied below it"));
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
        found.matches
    }

    /// Whether no rule can grant anything at or below: a literal `none`, or sealed.
    fn closed_for_good(&self, path: &AbsPath) -> bool {
        self.request.sealed.iter().any(|sealed| sealed.covers(path))
            || self.points.iter().any(|p| {
                !p.base && p.access.is_none() && matches!(&p.place, Where::Path(none) if none.covers(path))
            })
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

    fn descend(&mut self, places: &[(AbsPath, Place)]) {
        let mut stack: Vec<Level> = Vec::new();
        for (path, place) in places {
            while stack.last().is_some_and(|level| !level.path.covers(path)) {
                stack.pop();
            }
            let (state, floor) = match stack.last() {
                Some(level) => (level.state, level.floor),
                None => (State::Hidden, Rights::default()),
            };
            let (state, floor) = self.place(path, place, state, floor);
            stack.push(Level { path: path.clone(), state, floor });
        }
    }

    fn place(&mut self, path: &AbsPath, place: &Place, state: State, floor: Rights) -> (State, Rights) {
        if let Some(source) = &place.extra {
            return self.extra(path, source, state, floor);
        }
        let access = self.access(path);
        let state = match state {
            State::Shown { tree, .. } if self.of_the_machine(path, place, tree) => State::Hidden,
            other => other,
        };
        if state == State::Out {
            if !access.is_none() {
                self.note(place, |rule| {
                    format!("{rule} lies inside a folder that is covered, so nothing of it is seen")
                });
            }
            return (state, floor);
        }
        if own(path) {
            self.own_place(path, place);
            let memory = path.as_bytes() == SHARED_MEMORY.as_bytes();
            return (state, if memory { self.grant(path, rights(access), floor) } else { floor });
        }
        let found = match self.find(path, state) {
            Ok(found) => found,
            Err(note) => {
                self.plan.notes.push(note);
                return (state, floor);
            }
        };
        let asked_for = place.shown && !self.closed_for_good(path);
        if access.is_none() && !asked_for {
            return self.end(path, place, found, state, floor);
        }
        match state {
            State::Shown { .. } if access.is_none() => (state, floor),
            State::Shown { tree, narrowed } => {
                self.inside(path, place, access, found, floor, (tree, narrowed))
            }
            _ => self.begin(path, place, access, found, floor),
        }
    }

    /// The view's own folders show what it puts there; rules do not reach them.
    fn own_place(&mut self, path: &AbsPath, place: &Place) {
        for index in place.points.clone() {
            match self.points.get(index) {
                Some(point) if !point.base && point.access.is_none() => {
                    self.refuse(index, format!("every session has its own {path}, which no rule can cover"));
                }
                Some(point) if !point.base && path.as_bytes() != SHARED_MEMORY.as_bytes() => {
                    self.plan
                        .notes
                        .push(format!("{} shows nothing: every session has its own {path}", point.rule));
                }
                _ => {}
            }
        }
    }

    /// What belongs to the session alone.
    fn extra(&mut self, path: &AbsPath, source: &Source, state: State, floor: Rights) -> (State, Rights) {
        if state == State::Out {
            let why = format!("{path}, which every session needs, lies where nothing may be seen");
            self.plan.refused.push(Refusal { rule: None, why });
            return (state, floor);
        }
        let access = self.access(path);
        let tree = self.bind(source.clone(), path, access, true);
        (State::Shown { tree, narrowed: false }, self.grant(path, rights(access), floor))
    }

    /// Access begins: the tree is mounted.
    fn begin(
        &mut self,
        path: &AbsPath,
        place: &Place,
        access: Access,
        found: Found,
        floor: Rights,
    ) -> (State, Rights) {
        let hidden = (State::Hidden, floor);
        match found {
            Found::Is(stat) if stat.kind != Kind::Link => {
                let want = rights(access);
                if floor.read && !want.read {
                    self.refuse_place(place, NO_NARROW_READ);
                    return hidden;
                }
                let tree = self.bind(Source::Host(path.clone()), path, access, false);
                (
                    State::Shown { tree, narrowed: floor.execute && !want.execute },
                    self.grant(path, want, floor),
                )
            }
            Found::Is(_) | Found::ThroughLink => {
                self.repeat_link(path);
                self.note(place, |rule| format!("{rule} names a symbolic link; rules speak of real paths"));
                hidden
            }
            Found::Absent => {
                if path.as_bytes().len() > 1 {
                    self.note(place, |rule| {
                        format!("{rule} names nothing that exists; it is not seen before the next start")
                    });
                }
                hidden
            }
        }
    }

    /// Access changes inside a mounted tree.
    fn inside(
        &mut self,
        path: &AbsPath,
        place: &Place,
        access: Access,
        found: Found,
        floor: Rights,
        (tree, narrowed): (usize, bool),
    ) -> (State, Rights) {
        let want = rights(access);
        let same = (State::Shown { tree, narrowed }, floor);
        if floor.read && !want.read {
            self.refuse_place(place, NO_NARROW_READ);
            return same;
        }
        if floor.execute && !narrowed && !want.execute {
            self.uses(tree, access);
            return self.narrow(path, place, access, found, floor, same);
        }
        match found {
            Found::Is(stat) if stat.kind != Kind::Link => {}
            Found::Is(_) | Found::ThroughLink => {
                self.note(place, |rule| format!("{rule} names a symbolic link; rules speak of real paths"));
                return same;
            }
            Found::Absent => {
                if !floor.has(want) {
                    self.note(place, |rule| {
                        format!("{rule} names nothing that exists; what it adds holds from the next start")
                    });
                }
                self.uses(tree, access.meet(Access::WRITE));
                return same;
            }
        }
        if narrowed && want.execute {
            let Some(source) = self.outside(path, same.0) else { return same };
            let tree = self.bind(Source::Host(source), path, access, false);
            return (State::Shown { tree, narrowed: false }, self.grant(path, want, floor));
        }
        self.uses(tree, access);
        (same.0, self.grant(path, want, floor))
    }

    /// Starting programs ends inside an executable tree.
    fn narrow(
        &mut self,
        path: &AbsPath,
        place: &Place,
        access: Access,
        found: Found,
        floor: Rights,
        same: (State, Rights),
    ) -> (State, Rights) {
        let writes = access.has(Access::WRITE);
        let folder = place.points.iter().filter_map(|i| self.points.get(*i)).any(|p| p.folder);
        match found {
            Found::Is(stat) if stat.kind == Kind::Folder => {
                if crate::placeholders::is_one(&stat) {
                    self.plan.placeholders.push(path.clone());
                }
            }
            Found::Is(Stat { kind: Kind::File, .. }) if writes => {
                self.refuse_place(place, "starting programs cannot be taken away from one file that may be written in an executable folder; grant `all` or `read`");
                return same;
            }
            Found::Is(Stat { kind: Kind::File, mode, .. }) if mode & 0o111 != 0 => {}
            // What is not executable, and may not be changed, cannot become so.
            Found::Is(_) => return same,
            Found::Absent if !writes => return same,
            Found::Absent if folder && self.parent_exists(path, same.0) => {
                self.plan.placeholders.push(path.clone())
            }
            Found::Absent => {
                self.refuse_place(place, "starting programs cannot be taken away from what does not exist yet; make the folder, or write the rule with a trailing `/`");
                return same;
            }
            Found::ThroughLink => {
                self.refuse_place(place, "the path leads through a symbolic link; name the real one");
                return same;
            }
        }
        let Some(source) = self.outside(path, same.0) else { return same };
        let tree = self.bind(Source::Host(source), path, access, false);
        (State::Shown { tree, narrowed: true }, self.grant(path, rights(access), floor))
    }

    /// Access ends: what is there is covered.
    fn end(
        &mut self,
        path: &AbsPath,
        place: &Place,
        found: Found,
        state: State,
        floor: Rights,
    ) -> (State, Rights) {
        let shown = matches!(state, State::Shown { .. });
        let none = place
            .points
            .iter()
            .copied()
            .find(|i| self.points.get(*i).is_some_and(|p| !p.base && p.access.is_none()));
        let sealed = self.request.sealed.contains(path);
        match found {
            Found::Is(stat) if stat.kind != Kind::Link => {
                if let Some(index) = none {
                    self.check_names(path, index, state);
                }
                if shown && stat.kind == Kind::Folder {
                    if crate::placeholders::is_one(&stat) {
                        self.plan.placeholders.push(path.clone());
                    }
                    self.plan.masks.push(path.clone());
                } else if shown {
                    self.plan.file_masks.push(path.clone());
                }
            }
            // Nothing can be mounted over a link; what it leads to has a rule of its own, by its real name.
            Found::Is(_) => return (state, floor),
            Found::ThroughLink => {
                if let (Some(index), true) = (none, shown || sealed) {
                    self.refuse(
                        index,
                        "the path leads through a symbolic link; name the real one".to_owned(),
                    );
                }
                return (state, floor);
            }
            Found::Absent if shown => self.absent(path, place, sealed, state),
            Found::Absent => {}
        }
        let out = none.is_some() || sealed || shown;
        (if out { State::Out } else { state }, floor)
    }

    /// A path that is out of bounds and does not exist yet.
    fn absent(&mut self, path: &AbsPath, place: &Place, sealed: bool, state: State) {
        let folder = sealed || place.points.iter().filter_map(|i| self.points.get(*i)).any(|p| p.folder);
        if folder && self.parent_exists(path, state) {
            self.plan.placeholders.push(path.clone());
            self.plan.masks.push(path.clone());
            return;
        }
        self.note(place, |rule| {
            format!("{rule} names nothing that exists; the gate refuses to make it, but if it is made outside the session it is seen")
        });
    }

    fn parent_exists(&self, path: &AbsPath, state: State) -> bool {
        path.parent().is_some_and(|parent| {
            matches!(self.find(&parent, state), Ok(Found::Is(Stat { kind: Kind::Folder, .. })))
        })
    }

    fn check_names(&mut self, path: &AbsPath, index: usize, state: State) {
        if self.request.hardlinks_allowed {
            return;
        }
        let Some(outside) = self.outside(path, state) else { return };
        let why = match survey::second_names(self.disk, &outside) {
            Names::Single => return,
            Names::Second(file) => format!(
                "{file} has a second name, which may be read elsewhere; remove it, or set `hardlinks: allow`"
            ),
            Names::TooMany => format!(
                "more than {MOST_ENTRIES} files lie below {path}: too many to look for second names; set `hardlinks: allow`"
            ),
            Names::Unread(folder) => format!("{folder} could not be searched for files with second names"),
        };
        self.refuse(index, why);
    }

    fn bind(&mut self, source: Source, target: &AbsPath, access: Access, private: bool) -> usize {
        self.plan.binds.push(Bind {
            source,
            target: target.clone(),
            noexec: false,
            read_only: false,
            private,
        });
        let tree = self.trees.len();
        // Mount points may have to be made in what is private.
        self.trees.push(Tree { executes: false, changes: private || self.may_be_asked(target) });
        self.uses(tree, access);
        tree
    }

    fn may_be_asked(&self, target: &AbsPath) -> bool {
        self.request.requestable.iter().any(|path| target.covers(path) || path.covers(target))
    }

    fn uses(&mut self, tree: usize, access: Access) {
        if let Some(tree) = self.trees.get_mut(tree) {
            tree.executes |= rights(access).execute;
            tree.changes |= access.has(Access::WRITE);
        }
    }

    fn grant(&mut self, path: &AbsPath, want: Rights, floor: Rights) -> Rights {
        if !floor.has(want) {
            self.plan.floor.push(FloorRule { path: path.clone(), rights: want });
        }
        floor.union(want)
    }

    /// Repeats the first link on the way to a path.
    fn repeat_link(&mut self, path: &AbsPath) {
        let mut at = AbsPath::root();
        for name in path.components() {
            let Ok(next) = at.join(name) else { return };
            at = next;
            if let Ok(Found::Is(Stat { kind: Kind::Link, .. })) = self.disk.find(&at) {
                match self.disk.link(&at) {
                    Ok(to) if !self.plan.links.iter().any(|link| link.at == at) => {
                        self.plan.links.push(Link { at, to });
                    }
                    Ok(_) => {}
                    Err(error) => self.plan.notes.push(format!("{at} cannot be read: {error}")),
                }
                return;
            }
        }
    }

    fn refuse(&mut self, index: usize, why: String) {
        let rule = self.points.get(index).map(|point| point.rule.clone());
        let refusal = Refusal { rule, why };
        if !self.plan.refused.contains(&refusal) {
            self.plan.refused.push(refusal);
        }
    }

    fn refuse_place(&mut self, place: &Place, why: &str) {
        match place.points.first() {
            Some(index) => self.refuse(*index, why.to_owned()),
            None => self.plan.refused.push(Refusal { rule: None, why: why.to_owned() }),
        }
    }

    /// Notes something about the rules of a person at a place; what every session has is not worth a word.
    fn note(&mut self, place: &Place, words: impl Fn(&remit_core::Rule) -> String) {
        let rules = place.points.iter().filter_map(|i| self.points.get(*i)).filter(|p| !p.base);
        self.plan.notes.extend(rules.map(|p| words(&p.rule)));
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
