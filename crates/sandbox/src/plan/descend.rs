//! The way down the tree: what is done where access begins, changes and ends.

use super::expansion::{self, MOST_ENTRIES, Names};
use super::planner::{NO_NARROW_READ, Place, Planner, SHARED_MEMORY, State, own, rights};
use super::{Found, Kind, Point, Refusal, Rights, Source, Stat};
use remit_core::AbsPath;
use remit_policy::Access;

/// What holds below a place, on the way down.
struct Level {
    path: AbsPath,
    state: State,
    /// What the floor grants by now.
    floor: Rights,
}

impl Planner<'_> {
    pub(super) fn descend(&mut self, places: &[(AbsPath, Place)]) {
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
            Ok(found) => self.new_folder(path, place, access, found, (state, floor)),
            // Nothing of it can be read or listed, whatever stands there.
            Err(_) if self.is_bare(state) => return (state, floor),
            Err(_) if self.takes_away(access, state, floor) => {
                let folder = path.parent().unwrap_or_else(AbsPath::root);
                return (self.cover(&folder, place.points.first().copied(), state), floor);
            }
            Err(note) => {
                self.plan.notes.push(note);
                return (state, floor);
            }
        };
        if access.is_none()
            && let Some(done) = self.for_git(path, place, found, state, floor)
        {
            return done;
        }
        let asked_for = place.shown && !self.closed_for_good(path);
        if access.is_none() && !asked_for {
            return self.end(path, place, found, state, floor);
        }
        let (state, floor) = match state {
            State::Shown { .. } if access.is_none() => (state, floor),
            State::Shown { tree, narrowed } => {
                self.inside(path, place, access, found, floor, (tree, narrowed))
            }
            _ => self.begin(path, place, access, found, floor),
        };
        match (state, place.closed) {
            (State::Shown { .. }, Some(_)) => (self.cover(path, place.closed, state), floor),
            _ => (state, floor),
        }
    }

    /// A folder that is granted as one, so that it can be made by the first who needs it, is there from the start:
    /// in a folder that the view makes itself nobody can make it, and the floor can grant nothing in what is not
    /// there. What stands at the path then.
    fn new_folder(
        &mut self,
        path: &AbsPath,
        place: &Place,
        access: Access,
        found: Found,
        (state, floor): (State, Rights),
    ) -> Found {
        let granted = |p: &Point| !p.base && p.folder && p.access.has(Access::WRITE);
        let want = rights(access);
        let needed = match state {
            State::Hidden => true,
            State::Shown { narrowed, .. } => {
                let narrows = floor.execute && !narrowed && !want.execute;
                !self.private(state) && !narrows && (!floor.has(want) || (narrowed && want.execute))
            }
            State::Out => false,
        };
        let folder = place.points.iter().filter_map(|i| self.points.get(*i)).any(granted);
        if !needed || !folder || !access.has(Access::WRITE) {
            return found;
        }
        let Some(outside) = self.outside(path, state) else { return found };
        match found {
            Found::Is(stat) if stat.kind == Kind::Folder => {
                self.plan.new_folders.push(outside);
                found
            }
            Found::Absent if self.can_be_made(&outside) => {
                self.plan.new_folders.push(outside);
                Found::Is(Stat { kind: Kind::Folder, mode: 0o755, names: 2, own: true })
            }
            other => other,
        }
    }

    /// Whether a folder can be made at this path of the machine.
    fn can_be_made(&self, path: &AbsPath) -> bool {
        let Some(parent) = path.parent() else { return false };
        let there = matches!(self.disk.find(&parent), Ok(Found::Is(Stat { kind: Kind::Folder, .. })));
        self.plan.new_folders.contains(&parent) || (there && self.disk.may_make_in(&parent))
    }

    /// Whether a place gives less than what is seen around it.
    fn takes_away(&self, access: Access, state: State, floor: Rights) -> bool {
        matches!(state, State::Shown { .. }) && (access.is_none() || !rights(access).has(floor))
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
        // What may be started and not changed stands apart, so that nothing else of the tree can be started.
        let apart = !floor.execute && !access.has(Access::WRITE);
        if want.execute && (narrowed || apart) {
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
            Found::Is(stat) if stat.kind == Kind::Folder => self.share(path, &stat, same.0),
            Found::Is(Stat { kind: Kind::Link, .. }) if writes => {
                self.refuse_place(place, "the path is a symbolic link; name the real one");
                return same;
            }
            Found::Is(Stat { kind: Kind::File, .. }) if writes => {
                self.refuse_place(place, "starting programs cannot be taken away from one file that may be written in an executable folder; grant `all` or `read`");
                return same;
            }
            Found::Is(Stat { kind: Kind::File, mode, .. }) if mode & 0o111 != 0 => {}
            // What is not executable, and may not be changed, cannot become so.
            Found::Is(_) => return same,
            Found::Absent if !writes => return same,
            Found::Absent if folder && let Some(made) = self.stand_ins(path, same.0) => self.keep(made),
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
    pub(super) fn end(
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
                    self.share(path, &stat, state);
                    self.plan.masks.push(path.clone());
                } else if shown {
                    self.plan.file_masks.push(path.clone());
                    self.note(place, |rule| {
                        format!("{rule} covers {path} as it is now; if it is replaced outside the session by another file, that one is seen")
                    });
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
            // What lies behind a folder of the session's own is out of sight already; what is there for git's sake
            // can neither be read nor listed.
            Found::Absent if self.private(state) || self.is_bare(state) => return (state, floor),
            Found::Absent if shown => self.absent(path, place, sealed, state),
            Found::Absent => {}
        }
        let out = none.is_some() || sealed || shown;
        (if out { State::Out } else { state }, floor)
    }

    /// A folder that was made for another session stays until this one has ended, too.
    fn share(&mut self, path: &AbsPath, stat: &Stat, state: State) {
        if crate::placeholders::is_one(stat)
            && let Some(made) = self.stand_ins(path, state)
        {
            self.keep(made);
        }
    }

    fn private(&self, state: State) -> bool {
        matches!(state, State::Shown { tree, .. } if self.plan.binds.get(tree).is_some_and(|bind| bind.private))
    }

    /// A path that is out of bounds and does not exist yet.
    fn absent(&mut self, path: &AbsPath, place: &Place, sealed: bool, state: State) {
        let folder = sealed || place.points.iter().filter_map(|i| self.points.get(*i)).any(|p| p.folder);
        if folder && let Some(made) = self.stand_ins(path, state) {
            self.keep(made);
            self.plan.masks.push(path.clone());
            return;
        }
        self.note(place, |rule| {
            format!("{rule} names nothing that exists; the gate refuses to make it, but if it is made outside the session it is seen")
        });
    }

    fn check_names(&mut self, path: &AbsPath, index: usize, state: State) {
        if self.request.hardlinks_allowed {
            return;
        }
        let Some(outside) = self.outside(path, state) else { return };
        let why = match expansion::second_names(self.disk, &outside) {
            Names::Single => return,
            Names::Second(file) => format!(
                "{file} has a second name, which may be read elsewhere; remove it, or set `hardlinks: allow`"
            ),
            Names::TooMany => format!(
                "more than {MOST_ENTRIES} files lie below {path}: too many to look for second names; set `hardlinks: allow`"
            ),
            Names::Unread(folder) => format!(
                "{folder} could not be searched for files with second names, which may be read elsewhere; `chmod u+rwx {folder}`, or set `hardlinks: allow`"
            ),
        };
        self.refuse(index, why);
    }
}
