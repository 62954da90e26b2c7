//! The planner. It goes down the tree over the places where a rule begins to speak. Where access begins, a
//! mount shows the tree; where it ends (`none`), a mask covers it; where reading or starting programs is
//! added, the floor gets a rule; where starting programs is taken away, a noexec mount does it. Writing needs
//! nothing here: the gate judges every change, and the floor lets nobody else write.

use super::finish::finish;
use super::tracked::{Git, Tracked};
use super::{
    Bind, Disk, FloorRule, Found, Kind, Link, Plan, Point, Refusal, Rights, Rules, Source, Stat, Where,
};
use remit_core::AbsPath;
use remit_policy::Access;

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
    /// What git tracks, if the rules lie in a work tree and that is known.
    pub tracked: Option<Tracked<'a>>,
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
    planner.uses_by_wildcard();
    for (bind, tree) in planner.plan.binds.iter_mut().zip(&planner.trees) {
        bind.noexec = !tree.executes;
        bind.read_only = !tree.changes;
    }
    planner.plan.listed = planner.trees.iter().all(|tree| tree.reads);
    finish(&mut planner.plan, disk);
    if request.advisory {
        let refused = std::mem::take(&mut planner.plan.refused);
        planner.plan.notes.extend(refused.iter().map(|r| format!("not held: {r}")));
    }
    planner.plan
}

/// A path where some rule begins to speak.
#[derive(Default)]
pub(super) struct Place {
    /// The rules that name it, by index.
    pub(super) points: Vec<usize>,
    /// It is shown even if nothing is granted.
    pub(super) shown: bool,
    pub(super) extra: Option<Source>,
    /// It is shown to git.
    pub(super) git: Git,
    /// A folder that could not be listed, with a rule that may hide or narrow something below it.
    pub(super) closed: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing is mounted.
    Hidden,
    /// Seen through the mount of this index; `narrowed`: a noexec mount inside an executable tree.
    Shown { tree: usize, narrowed: bool },
    /// Out of bounds: whatever lies below is.
    Out,
}

/// What is granted anywhere in a mount; the same indexes as [`Plan::binds`].
pub(super) struct Tree {
    /// From its top: whatever is seen in it may be listed.
    pub(super) reads: bool,
    pub(super) executes: bool,
    pub(super) changes: bool,
    /// Nothing of it is granted: it is there to be looked at by git.
    pub(super) bare: bool,
}

pub(super) struct Planner<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) disk: &'a dyn Disk,
    pub(super) points: Vec<Point>,
    pub(super) extras: Vec<&'a Extra>,
    pub(super) plan: Plan,
    pub(super) trees: Vec<Tree>,
}

/// Folders that the view makes itself.
pub(super) const OWN: [&str; 3] = ["/proc", "/dev", "/run/remit"];

pub(super) const NO_NARROW_READ: &str =
    "reading cannot be taken away inside a readable folder, except by `none`";

/// The one of them in which rules grant something.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

pub(super) fn own(path: &AbsPath) -> bool {
    OWN.iter().any(|own| {
        path.as_bytes().strip_prefix(own.as_bytes()).is_some_and(|r| matches!(r.first(), None | Some(b'/')))
    })
}

pub(super) fn rights(access: Access) -> Rights {
    let read = access.has(Access::READ);
    Rights { read, execute: read && access.has(Access::EXECUTE) }
}

/// Sorts a folder directly before all that lies below it.
pub(super) fn in_tree_order(path: &AbsPath) -> Vec<u8> {
    path.as_bytes().iter().map(|b| if *b == b'/' { 0 } else { *b }).collect()
}

impl Planner<'_> {
    pub(super) fn access(&self, path: &AbsPath) -> Access {
        if self.request.sealed.iter().any(|sealed| sealed.covers(path)) {
            return Access::NONE;
        }
        self.request.rules.access(path)
    }

    /// What stands at a path of the view, seen from outside.
    pub(super) fn find(&self, path: &AbsPath, state: State) -> Result<Found, String> {
        match self.outside(path, state) {
            Some(path) => {
                self.disk.find(&path).map_err(|error| format!("{path} cannot be looked at: {error}"))
            }
            None => Ok(Found::Absent),
        }
    }

    /// Where a path of the view lies on the machine; none in memory, and none under a layer, where a mount of what
    /// lies below would lead past it.
    pub(super) fn outside(&self, path: &AbsPath, state: State) -> Option<AbsPath> {
        let State::Shown { tree, .. } = state else { return Some(path.clone()) };
        let bind = self.plan.binds.get(tree)?;
        match &bind.source {
            Source::Host(source) => AbsPath::lexical(source, bind.target.strip(path)?).ok(),
            Source::Memory | Source::Layered { .. } => None,
        }
    }

    /// A person's rule for something of the machine that lies where the session has a folder of its own, such as a
    /// work tree below `/tmp`: it is shown there.
    pub(super) fn of_the_machine(&self, path: &AbsPath, place: &Place, tree: usize) -> bool {
        let person =
            place.points.iter().filter_map(|i| self.points.get(*i)).any(|p| !p.base && !p.access.is_none());
        let private = self.plan.binds.get(tree).is_some_and(|bind| bind.private);
        private && person && matches!(self.disk.find(path), Ok(Found::Is(stat)) if stat.kind != Kind::Link)
    }

    /// Whether no rule can grant anything at or below: a literal `none`, or sealed.
    pub(super) fn closed_for_good(&self, path: &AbsPath) -> bool {
        self.request.sealed.iter().any(|sealed| sealed.covers(path))
            || self.points.iter().any(|p| {
                !p.base && p.access.is_none() && matches!(&p.place, Where::Path(none) if none.covers(path))
            })
    }

    /// Covers what cannot be looked through, since a rule hides or narrows something in it: whoever may change the
    /// permission bits could look later. `within`: a path in it, or itself.
    pub(super) fn cover(&mut self, within: &AbsPath, rule: Option<usize>, state: State) -> State {
        let State::Shown { tree, .. } = state else { return State::Out };
        let top = self.plan.binds.get(tree).map_or_else(AbsPath::root, |bind| bind.target.clone());
        // The bits may change between two looks, so the innermost folder that is seen by now is covered as a whole.
        let mut folder = within.clone();
        while folder != top
            && !matches!(self.find(&folder, state), Ok(Found::Is(Stat { kind: Kind::Folder, .. })))
            && let Some(parent) = folder.parent()
        {
            folder = parent;
        }
        if folder == top || !top.covers(&folder) {
            let why = format!(
                "{folder} cannot be listed or entered, so what is below it cannot be covered; `chmod u+rwx {folder}`"
            );
            match rule {
                Some(index) => self.refuse(index, why),
                None => self.plan.refused.push(Refusal { rule: None, why }),
            }
        } else if !self.plan.masks.contains(&folder) {
            self.plan.notes.push(format!("{folder} cannot be listed or entered, and rules speak of what is below it, so all of it is covered; `chmod u+rwx {folder}` before the next start"));
            self.plan.masks.push(folder);
        }
        State::Out
    }

    /// The folders that must be made, or were made for another session, so that `path` can stand: it comes last.
    /// None where something else than a folder is in the way, or this user may not make it.
    pub(super) fn stand_ins(&self, path: &AbsPath, state: State) -> Option<Vec<AbsPath>> {
        let mut folders = vec![path.clone()];
        let mut absent = matches!(self.find(path, state), Ok(Found::Absent));
        let mut at = path.parent()?;
        loop {
            match self.find(&at, state) {
                Ok(Found::Is(Stat { kind: Kind::Folder, .. }))
                    if absent && !self.disk.may_make_in(&self.outside(&at, state)?) =>
                {
                    return None;
                }
                Ok(Found::Is(stat)) if crate::placeholders::is_one(&stat) => absent = false,
                Ok(Found::Is(Stat { kind: Kind::Folder, .. })) => break,
                Ok(Found::Absent) => absent = true,
                _ => return None,
            }
            let above = at.parent()?;
            folders.push(std::mem::replace(&mut at, above));
        }
        folders.reverse();
        Some(folders)
    }

    /// Keeps stand-ins for the session, each once.
    pub(super) fn keep(&mut self, folders: Vec<AbsPath>) {
        for folder in folders {
            if !self.plan.placeholders.contains(&folder) {
                self.plan.placeholders.push(folder);
            }
        }
    }

    pub(super) fn bind(&mut self, source: Source, target: &AbsPath, access: Access, private: bool) -> usize {
        self.plan.binds.push(Bind {
            source,
            target: target.clone(),
            noexec: false,
            read_only: false,
            private,
        });
        let tree = self.trees.len();
        // Mount points may have to be made in what is private.
        let changes = private || self.may_be_asked(target);
        self.trees.push(Tree { reads: access.has(Access::READ), executes: false, changes, bare: false });
        self.uses(tree, access);
        tree
    }

    pub(super) fn may_be_asked(&self, target: &AbsPath) -> bool {
        self.request.requestable.iter().any(|path| target.covers(path) || path.covers(target))
    }

    pub(super) fn uses(&mut self, tree: usize, access: Access) {
        if let Some(tree) = self.trees.get_mut(tree) {
            tree.executes |= rights(access).execute;
            tree.changes |= access.has(Access::WRITE);
        }
    }

    /// What rules with wildcards let change may have any name below their prefixes.
    fn uses_by_wildcard(&mut self) {
        for point in self.points.iter().filter(|point| point.access.has(Access::WRITE)) {
            let Where::Wild { prefix, .. } = &point.place else { continue };
            for (bind, tree) in self.plan.binds.iter().zip(&mut self.trees) {
                let meets = bind.target.covers(prefix) || prefix.covers(&bind.target);
                tree.changes |= meets && !tree.bare;
            }
        }
    }

    pub(super) fn grant(&mut self, path: &AbsPath, want: Rights, floor: Rights) -> Rights {
        if !floor.has(want) {
            self.plan.floor.push(FloorRule { path: path.clone(), rights: want });
        }
        floor.union(want)
    }

    /// Repeats the first link on the way to a path.
    pub(super) fn repeat_link(&mut self, path: &AbsPath) {
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

    pub(super) fn refuse(&mut self, index: usize, why: String) {
        let rule = self.points.get(index).map(|point| point.rule.clone());
        let refusal = Refusal { rule, why };
        if !self.plan.refused.contains(&refusal) {
            self.plan.refused.push(refusal);
        }
    }

    pub(super) fn refuse_place(&mut self, place: &Place, why: &str) {
        match place.points.first() {
            Some(index) => self.refuse(*index, why.to_owned()),
            None => self.plan.refused.push(Refusal { rule: None, why: why.to_owned() }),
        }
    }

    /// Notes something about the rules of a person at a place; what every session has is not worth a word.
    pub(super) fn note(&mut self, place: &Place, words: impl Fn(&remit_core::Rule) -> String) {
        let rules = place.points.iter().filter_map(|i| self.points.get(*i)).filter(|p| !p.base);
        self.plan.notes.extend(rules.map(|p| words(&p.rule)));
    }
}

#[cfg(test)]
mod tests;
