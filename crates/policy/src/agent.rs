//! What one agent may do with paths, by the policy's rules, the base and the default alone.

use crate::rules::{Entry, Kind, Point, Rules, Scope, Weight};
use crate::trie::Hit;
use crate::{Access, Pattern, World};
use remit_core::{AbsPath, Effect, Layer, Reason, Rule, Why};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rule by which [`World::protected`] names what git runs by itself.
const GIT_HOOKS: &str = "protected.git-hooks";

/// `max_access`: the ceiling of what rules and the default give. The base is not a grant and stays as it is,
/// else an agent that may only read could not even be started.
#[derive(Debug, Clone)]
pub(crate) struct Ceiling {
    pub(crate) access: Access,
    pub(crate) rule: Arc<Rule>,
}

/// `default_policy`.
#[derive(Debug, Clone)]
pub(crate) struct Fallback {
    pub(crate) effect: Effect,
    pub(crate) rule: Option<Arc<Rule>>,
    /// What is said when a person must be asked.
    pub(crate) asks: Arc<str>,
}

/// The compiled rules of one agent.
#[derive(Debug, Clone)]
pub struct AgentPolicy {
    rules: Rules,
    points: Vec<Point>,
    ceiling: Option<Ceiling>,
    fallback: Fallback,
    /// The workspace's `.git`, if the agent has it because it has some of the work tree, and what of it; and the
    /// hooks that git runs there.
    git: Vec<(AbsPath, Access)>,
    /// Files that may be written and are no folders, by their path.
    siblings: BTreeMap<Box<[u8]>, AbsPath>,
    /// What names files by wildcard that may be written, such as `src/*.rs`.
    kinds: Vec<Pattern>,
    /// Single paths of a person's rules that give less than what holds around them, in order.
    narrowed: Vec<(AbsPath, Arc<Rule>, Layer)>,
}

/// What answered.
#[derive(Clone, Copy)]
enum By<'a> {
    Forbidden(&'a Entry),
    /// Rules; and the base rule for `.git`, if it adds to them.
    Rules(Option<&'a Entry>),
    /// No rule; the base rule that speaks, if one does, and then the default.
    Nobody(Option<&'a Entry>),
}

/// The answer of all path rules.
struct Settled<'a> {
    /// What may be done.
    access: Access,
    /// What the rules alone give, or for base and default what limits leave, under the ceiling.
    ruled: Access,
    by: By<'a>,
}

impl AgentPolicy {
    /// Indexes the points of an agent, and adds those of the base.
    pub(crate) fn new(
        mut points: Vec<Point>,
        ceiling: Option<Ceiling>,
        fallback: Fallback,
        world: &World,
    ) -> AgentPolicy {
        let mut words: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
        for base in &world.base {
            words.insert(Arc::clone(&base.id), Arc::clone(&base.why));
            points.push(base_point(&base.path, base.access, &base.id));
        }
        let rules = Rules::new(&points, &world.workspace, &words);
        let mut agent = AgentPolicy {
            rules,
            points,
            ceiling,
            fallback,
            git: Vec::new(),
            siblings: BTreeMap::new(),
            kinds: Vec::new(),
            narrowed: Vec::new(),
        };
        if let Some((git, access)) = agent.git_of_the_work_tree(world) {
            // The longest base path wins, so this one must not offer less than those above it.
            let above = agent.rules.base(&agent.rules.hits(&git)).map_or(Access::NONE, |base| base.access);
            let id: Arc<str> = Arc::from("base.git");
            words.insert(Arc::clone(&id), Arc::from("git's own records of the work tree"));
            agent.points.push(base_point(&git, access.union(above), &id));
            if let Some(linked) = &world.linked {
                agent.points.push(base_point(&linked.common, access.meet(Access::READ), &id));
                agent.points.extend(linked.written.iter().map(|path| base_point(path, access, &id)));
            }
            agent.git.push((git.clone(), access));
            if access.has(Access::READ) {
                let id: Arc<str> = Arc::from("base.git-hooks");
                words.insert(
                    Arc::clone(&id),
                    Arc::from("what git runs by itself, and nobody inside can change"),
                );
                let run = Access::READ.union(Access::EXECUTE);
                for hooks in hooks(&git, world) {
                    agent.points.push(base_point(&hooks, run, &id));
                    agent.git.push((hooks, run));
                }
                let id: Arc<str> = Arc::from("base.git-settings");
                words.insert(Arc::clone(&id), Arc::from("what git is told of the files here"));
                let settings = agent.settings_of_git(world);
                agent.points.extend(settings.iter().map(|path| base_point(path, Access::READ, &id)));
            }
            agent.rules = Rules::new(&agent.points, &world.workspace, &words);
        }
        let files = || agent.points.iter().filter(|p| p.access.has(Access::WRITE));
        agent.kinds =
            files().map(|point| &point.pattern).filter(|p| p.names_a_kind_of_file()).cloned().collect();
        agent.siblings = files()
            .filter_map(|point| point.pattern.literal())
            .filter(|path| world.single_files.contains(*path) && agent.access(path).has(Access::WRITE))
            .map(|path| (Box::from(path.as_bytes()), path.clone()))
            .collect();
        agent.narrowed = agent.narrowings();
        agent
    }

    /// The same agent with more rules.
    pub(crate) fn with(&self, more: impl Iterator<Item = Point>, world: &World) -> AgentPolicy {
        let people = self.points.iter().filter(|point| point.scope != Scope::Base).cloned();
        AgentPolicy::new(people.chain(more).collect(), self.ceiling.clone(), self.fallback.clone(), world)
    }

    fn narrowings(&self) -> Vec<(AbsPath, Arc<Rule>, Layer)> {
        let people = self.points.iter().filter(|point| point.scope != Scope::Base);
        let mut narrowed: Vec<_> = people
            .filter_map(|point| Some((point.pattern.literal()?, point)))
            .filter(|(path, _)| {
                path.parent().is_some_and(|around| !self.access(path).has(self.access(&around)))
            })
            .map(|(path, point)| (path.clone(), Arc::clone(&point.rule), point.scope.layer()))
            .collect();
        narrowed.sort_by(|one, other| one.0.as_bytes().cmp(other.0.as_bytes()));
        narrowed
    }

    /// The reason to refuse another name, or a link, on the way to a path at which access ends or narrows: what a
    /// person puts there later would lie where less is held.
    pub(crate) fn on_the_way(&self, path: &AbsPath) -> Option<Reason> {
        let folder = [path.as_bytes().strip_suffix(b"/").unwrap_or(path.as_bytes()), b"/"].concat();
        let at = self.narrowed.partition_point(|(narrowed, ..)| narrowed.as_bytes() < folder.as_slice());
        let (_, rule, layer) =
            self.narrowed.get(at).filter(|(narrowed, ..)| narrowed.as_bytes().starts_with(&folder))?;
        let why = format!("only a new folder may take a name on the way to what the rule {rule} speaks of");
        Some(denied(*layer, Some(rule), Why::Unjudged(why.into())))
    }

    /// Whether a path belongs to git's records of the work tree, which the agent has since it has some of that.
    pub(crate) fn is_gits(&self, path: &AbsPath) -> bool {
        self.git.iter().any(|(git, _)| git.covers(path))
    }

    /// Whether it is a file that may be written by a rule of its own: nothing but a plain file may take its name.
    pub fn is_single_file(&self, path: &AbsPath) -> bool {
        self.siblings.contains_key(path.as_bytes())
    }

    /// Whether a person's rule names the path itself, or one below it.
    pub fn names_below(&self, path: &AbsPath) -> bool {
        let people = self.points.iter().filter(|point| point.scope != Scope::Base);
        people.filter_map(|point| point.pattern.literal()).any(|named| path.covers(named))
    }

    /// Whether any rule can say something else of a path below than of the folder itself.
    pub(crate) fn speaks_below(&self, folder: &AbsPath) -> bool {
        self.points.iter().any(|point| match point.pattern.literal() {
            Some(path) => path != folder && folder.covers(path),
            None => related(point.pattern.literal_prefix(), folder),
        })
    }

    /// Whether a person's rule names a path, or one below it, or may grant something there by wildcard: a view may
    /// have a mount there.
    pub fn may_stand_apart(&self, path: &AbsPath) -> bool {
        let people = self.points.iter().filter(|point| point.scope != Scope::Base);
        people.into_iter().any(|point| match point.pattern.literal() {
            Some(named) => path.covers(named),
            None => !point.access.is_none() && related(point.pattern.literal_prefix(), path),
        })
    }

    /// Whether access ends or narrows at some path below.
    pub fn narrows_below(&self, path: &AbsPath) -> bool {
        self.on_the_way(path).is_some()
    }

    /// What may be done with a path without asking anybody: the path rules alone, with base, `none`, ceiling
    /// and default; protected paths and temporary siblings are not looked at.
    pub fn access(&self, path: &AbsPath) -> Access {
        self.settle(path, &self.rules.hits(path)).access
    }

    /// Every rule that binds this agent, base rules last.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The `none` rule that covers a path, if one does.
    pub fn none_rule(&self, path: &AbsPath) -> Option<&Arc<Rule>> {
        match self.settle(path, &self.rules.hits(path)).by {
            By::Forbidden(entry) => entry.rule(Access::ALL),
            _ => None,
        }
    }

    /// The first `none` rule of a person that provably covers all of a pattern's paths, if one does.
    pub fn none_over(&self, pattern: &Pattern) -> Option<&Arc<Rule>> {
        let points =
            self.rules.nones_over(pattern).into_iter().filter_map(|e| self.points.get(e.point as usize));
        { points }.find(|none| none.pattern.covers(pattern)).map(|none| &none.rule)
    }

    /// The ceiling of what rules and the default give; everything, if none is set.
    pub fn max_access(&self) -> Access {
        self.ceiling.as_ref().map_or(Access::ALL, |ceiling| ceiling.access)
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(crate) fn ceiling(&self) -> Option<&Ceiling> {
        self.ceiling.as_ref()
    }

    fn settle<'a>(&'a self, path: &AbsPath, hits: &[Hit]) -> Settled<'a> {
        let (access, ruled, by) = match self.rules.weigh(hits) {
            Weight::Forbidden(number) => match self.rules.entry(number) {
                Some(entry) => (Access::NONE, Access::NONE, By::Forbidden(entry)),
                None => (Access::NONE, Access::NONE, By::Nobody(None)),
            },
            Weight::Granted(access) => {
                let ruled = access.meet(self.max_access());
                let git = self.git.iter().filter(|(git, _)| git.covers(path));
                let git = git.fold(Access::NONE, |all, (_, access)| all.union(*access));
                let (base, more) = match self.rules.base(hits) {
                    Some(base) if !git.is_none() && self.spoken_broadly(hits) => {
                        (Some(base), base.access.meet(git))
                    }
                    _ => (None, Access::NONE),
                };
                (ruled.union(more), ruled, By::Rules(base))
            }
            Weight::Unspoken(limit) => {
                let base = self.rules.base(hits);
                let offered = base.map_or(Access::NONE, |base| base.access.meet(limit));
                let ruled = limit.meet(self.max_access());
                let default = if self.fallback.effect == Effect::Allow { ruled } else { Access::NONE };
                (offered.union(default), ruled, By::Nobody(base))
            }
        };
        Settled { access, ruled, by }
    }

    /// Whether all rules of a person that speak of the path speak of the whole workspace.
    fn spoken_broadly(&self, hits: &[Hit]) -> bool {
        self.rules.standings(hits).all(|(_, entry, _)| entry.broad)
    }

    /// The answer for one path, with its reason.
    pub(crate) fn judge(&self, path: &AbsPath, need: Access) -> Reason {
        let hits = self.rules.hits(path);
        let settled = self.settle(path, &hits);
        if settled.access.has(need) {
            return self.allowed(&hits, &settled, need);
        }
        let offered = |base: Option<&Entry>| base.is_some_and(|base| base.access.has(need));
        match settled.by {
            By::Forbidden(entry) => return denied(entry.scope.layer(), entry.rule(need), Why::None),
            By::Nobody(base)
                if !offered(base) && (self.fallback.effect == Effect::Deny || settled.ruled.has(need)) =>
            {
                return self.unspoken();
            }
            By::Rules(_) | By::Nobody(_) => {}
        }
        let culprit = self.rules.counting(&hits).find(|entry| !entry.access.has(need));
        match (culprit, &self.ceiling) {
            (Some(entry), _) => denied(entry.scope.layer(), entry.rule(need), Why::NotGranted),
            (None, Some(ceiling)) => denied(Layer::Agent, Some(&ceiling.rule), Why::Ceiling),
            (None, None) => denied(Layer::Agent, None, Why::NoRule),
        }
    }

    fn allowed(&self, hits: &[Hit], settled: &Settled<'_>, need: Access) -> Reason {
        // A grant of a person is named before what every session has.
        let base = match settled.by {
            By::Nobody(base) => base.filter(|base| base.access.has(need)),
            By::Rules(git) if !settled.ruled.has(need) => git,
            _ => None,
        };
        if let Some(base) = base {
            let why = base.words.clone().map_or(Why::Granted, Why::Base);
            return Reason {
                layer: Layer::System,
                effect: Effect::Allow,
                rule: base.rule(need).cloned(),
                why,
            };
        }
        let (layer, rule) = match (settled.by, self.rules.counting(hits).last()) {
            (By::Rules(_), Some(entry)) => (entry.scope.layer(), entry.rule(need)),
            _ => (Layer::Agent, self.fallback.rule.as_ref()),
        };
        Reason { layer, effect: Effect::Allow, rule: rule.cloned(), why: Why::Granted }
    }

    /// `default_policy`, where it does not allow.
    fn unspoken(&self) -> Reason {
        let why = match self.fallback.effect {
            Effect::Ask => Why::Unjudged(Arc::clone(&self.fallback.asks)),
            _ => Why::NoRule,
        };
        Reason { layer: Layer::Agent, effect: self.fallback.effect, rule: self.fallback.rule.clone(), why }
    }

    /// The writable file of which this path is a temporary sibling (`<name>.<anything>` beside it), unless a
    /// rule speaks of the sibling in particular: one that does not speak of the file, too.
    pub(crate) fn sibling_of(&self, path: &AbsPath) -> Option<AbsPath> {
        if self.siblings.is_empty() && self.kinds.is_empty() {
            return None;
        }
        let bytes = path.as_bytes();
        let name = path.file_name()?;
        let folder = bytes.len().saturating_sub(name.len());
        let dots = name.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
        let ends = dots.filter(|at| at.saturating_add(1) < name.len()).map(|at| folder.saturating_add(at));
        ends.filter_map(|end| self.written_file(bytes.get(..end)?)).find(|file| {
            let own = self.rules.hits(path);
            let files = self.rules.hits(file);
            self.rules.standings(&own).all(|(hit, entry, _)| {
                entry.kind != Kind::None && files.iter().any(|other| other.entry == hit.entry)
            })
        })
    }

    /// The path, if a rule that means a file, and not a folder and all below it, lets it be written.
    fn written_file(&self, path: &[u8]) -> Option<AbsPath> {
        if let Some(file) = self.siblings.get(path) {
            return Some(file.clone());
        }
        let file = AbsPath::new(path).ok()?;
        let folder = file.parent()?;
        let meant = self.kinds.iter().any(|kind| kind.matches(&file) && !kind.matches(&folder));
        (meant && self.access(&file).has(Access::WRITE)).then_some(file)
    }

    /// The reason that allows a temporary sibling of `file`.
    pub(crate) fn sibling(&self, file: &AbsPath) -> Reason {
        let reason = self.judge(file, Access::WRITE);
        Reason { why: Why::Sibling(file.clone()), ..reason }
    }

    /// The files by which git is told of the work tree, in the folders above those that the agent has.
    fn settings_of_git(&self, world: &World) -> Vec<AbsPath> {
        if self.access(&world.workspace).has(Access::READ) {
            return Vec::new();
        }
        let granted = self.points.iter().filter(|p| p.scope != Scope::Base && !p.access.is_none());
        let mut folders: Vec<AbsPath> = Vec::new();
        for pattern in granted.map(|point| &point.pattern) {
            let mut at = match pattern.literal() {
                Some(path) => path.parent(),
                None => Some(pattern.literal_prefix().clone()),
            };
            while let Some(folder) = at.filter(|folder| world.workspace.covers(folder)) {
                at = folder.parent();
                folders.push(folder);
            }
        }
        folders.sort_unstable();
        folders.dedup();
        let names = |folder: &AbsPath| SETTINGS.map(|name| folder.join(name).ok());
        folders.iter().flat_map(names).flatten().collect()
    }

    /// The `.git` that an agent has who has some of its work tree: reading where anything there may be read,
    /// writing where anything may be written. Nothing if a rule speaks of `.git` itself, or of a part of it.
    fn git_of_the_work_tree(&self, world: &World) -> Option<(AbsPath, Access)> {
        let git = world.workspace.join(b".git").ok()?;
        let people = || self.points.iter().filter(|point| point.scope != Scope::Base);
        let speaks = |point: &Point| {
            git.covers(point.pattern.literal_prefix())
                || (point.pattern.matches(&git) && !point.pattern.matches(&world.workspace))
        };
        if people().any(speaks) {
            return None;
        }
        let granted = people().filter(|point| !point.access.is_none()).filter_map(|point| {
            let path = if point.pattern.matches(&world.workspace) {
                world.workspace.clone()
            } else {
                point.pattern.sample(b"x", false).filter(|path| world.workspace.covers(path))?
            };
            Some(self.access(&path))
        });
        let access = granted.fold(Access::NONE, Access::union).meet(Access::READ.union(Access::WRITE));
        (!access.is_none()).then_some((git, access))
    }
}

/// What git reads in the folders of a work tree. Without it, what is ignored would be added by a commit of all
/// changes, and files would be taken into it as they are where a setting says otherwise.
const SETTINGS: [&[u8]; 3] = [b".gitignore", b".gitattributes", b".gitmodules"];

/// Where git's hooks lie: in its own folder, in the one that worktrees share, and where the configuration leads to
/// in the work tree. All of them are protected.
fn hooks(git: &AbsPath, world: &World) -> Vec<AbsPath> {
    let common = world.linked.as_ref().map(|linked| &linked.common);
    let usual = [Some(git), common].into_iter().flatten().filter_map(|git| git.join(b"hooks").ok());
    let inside =
        |path: &AbsPath| world.workspace.covers(path) || common.is_some_and(|common| common.covers(path));
    let named = world.protected.iter().filter(|one| &*one.id == GIT_HOOKS && inside(&one.path));
    let mut all: Vec<AbsPath> = usual.chain(named.map(|one| one.path.clone())).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether one lies in the other.
fn related(one: &AbsPath, other: &AbsPath) -> bool {
    one.covers(other) || other.covers(one)
}

fn denied(layer: Layer, rule: Option<&Arc<Rule>>, why: Why) -> Reason {
    Reason { layer, effect: Effect::Deny, rule: rule.cloned(), why }
}

fn base_point(path: &AbsPath, access: Access, id: &Arc<str>) -> Point {
    let pattern = crate::Pattern::of(path);
    let text = Arc::from(format!("{pattern} {access}"));
    Point {
        pattern,
        access,
        rule: Arc::new(Rule { id: Arc::clone(id), text, place: None }),
        scope: Scope::Base,
    }
}
