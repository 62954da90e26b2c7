//! The rules that bind one agent, ready to be asked. Within a scope a rule yields to a strictly narrower one
//! and the rest is met; the scopes are met; a `none` ends everything. Order never matters.

use crate::Access;
use crate::pattern::Pattern;
use crate::trie::{Hit, Trie};
use remit_core::{AbsPath, Layer, Rule};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a rule comes from. Rules are weighed against others of the same scope, then the scopes are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// `global_rules`.
    Global,
    /// The agent's roles and what they extend, all together.
    Role,
    /// The agent's own permissions.
    Agent,
    /// What every session has where no rule speaks.
    Base,
}

impl Scope {
    /// The layer under which the scope's answers are shown.
    pub fn layer(self) -> Layer {
        match self {
            Scope::Global | Scope::Base => Layer::System,
            Scope::Role | Scope::Agent => Layer::Agent,
        }
    }
}

/// A rule that binds an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// The paths.
    pub pattern: Pattern,
    /// What it grants; nothing: a `none` rule (or a base rule that hides).
    pub access: Access,
    /// How a person finds it again.
    pub rule: Arc<Rule>,
    /// Where it comes from.
    pub scope: Scope,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Denies, whatever else is said.
    None,
    /// Gives access.
    Grant,
    /// An unanchored `read`: narrows what others grant, and grants nothing by itself.
    Limit,
}

/// All rules of one scope and kind with the same pattern.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) scope: Scope,
    pub(crate) kind: Kind,
    /// What all of them grant.
    pub(crate) access: Access,
    pub(crate) rules: Vec<(Access, Arc<Rule>)>,
    /// Components of the literal prefix.
    prefix: u32,
    /// The first point that it stands for.
    pub(crate) point: u32,
    /// For a pattern with wildcards: the entries with wildcards that are strictly narrower, ascending.
    wild: Option<Vec<u32>>,
    /// Whether it speaks of the whole workspace, too.
    pub(crate) broad: bool,
    /// For a base rule: what it is for.
    pub(crate) words: Option<Arc<str>>,
}

impl Entry {
    /// The rule that does not grant all of `need`, else the first.
    pub(crate) fn rule(&self, need: Access) -> Option<&Arc<Rule>> {
        let lacking = self.rules.iter().find(|(access, _)| !access.has(need));
        lacking.or(self.rules.first()).map(|(_, rule)| rule)
    }
}

/// What becomes of a rule that speaks of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It counts.
    Counts,
    /// A strictly narrower rule of its scope stands in its place.
    YieldsTo(u32),
}

/// The result of all rules of a person that speak of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// A `none` rule.
    Forbidden(u32),
    /// What the rules grant together.
    Granted(Access),
    /// No rule grants or forbids; limits leave at most this.
    Unspoken(Access),
}

/// The rules, indexed.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    trie: Trie,
    entries: Vec<Entry>,
}

impl Rules {
    /// Indexes all points. `workspace` tells which rules are broad, `words` says what base rules are for, by id.
    pub(crate) fn new(points: &[Point], workspace: &AbsPath, words: &BTreeMap<Arc<str>, Arc<str>>) -> Self {
        let mut trie = Trie::default();
        let mut entries: Vec<Entry> = Vec::new();
        let mut wild: Vec<(u32, &Pattern)> = Vec::new();
        for (place, point) in (0_u32..).zip(points) {
            let kind = kind(point);
            let node = trie.place(&point.pattern);
            let number = u32::try_from(entries.len()).unwrap_or(u32::MAX);
            let known = trie.entries(node).iter().find_map(|known| {
                entries
                    .get(*known as usize)
                    .filter(|e| e.scope == point.scope && e.kind == kind)
                    .map(|_| *known)
            });
            if let Some(entry) = known.and_then(|known| entries.get_mut(known as usize)) {
                entry.access = entry.access.meet(point.access);
                entry.rules.push((point.access, Arc::clone(&point.rule)));
                continue;
            }
            trie.add(node, number);
            let is_wild = point.pattern.literal().is_none();
            if is_wild && kind != Kind::None {
                wild.push((number, &point.pattern));
            }
            entries.push(Entry {
                scope: point.scope,
                kind,
                access: point.access,
                rules: vec![(point.access, Arc::clone(&point.rule))],
                prefix: u32::try_from(point.pattern.literal_prefix().components().count())
                    .unwrap_or(u32::MAX),
                point: place,
                wild: is_wild.then(Vec::new),
                broad: point.pattern.matches(workspace),
                words: words.get(&point.rule.id).filter(|_| point.scope == Scope::Base).cloned(),
            });
        }
        rank(&trie, &mut entries, &wild);
        trie.begin_at(workspace);
        Self { trie, entries }
    }

    /// Every rule that speaks of the path.
    pub(crate) fn hits(&self, path: &AbsPath) -> Vec<Hit> {
        self.trie.walk(path)
    }

    /// The `none` entries that may cover all of a pattern's paths, by the order of the rules: few others are among
    /// them.
    pub(crate) fn nones_over(&self, pattern: &Pattern) -> Vec<&Entry> {
        let samples = [pattern.sample(b"\x01", false), pattern.sample(b"~~\x02", true)];
        let mut hits = samples.iter().flatten().map(|sample| {
            let mut met: Vec<u32> = self.hits(sample).iter().map(|hit| hit.entry).collect();
            met.sort_unstable();
            met
        });
        let all = || (0..u32::try_from(self.entries.len()).unwrap_or(u32::MAX)).collect();
        let (first, second) = (hits.next().unwrap_or_else(all), hits.next());
        first
            .into_iter()
            .filter(|number| second.as_ref().is_none_or(|second| second.binary_search(number).is_ok()))
            .filter_map(|number| self.entry(number))
            .filter(|entry| entry.kind == Kind::None)
            .collect()
    }

    /// The entry of a number.
    pub(crate) fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.get(number as usize)
    }

    fn met<'a, 'h>(&'a self, hits: &'h [Hit]) -> impl Iterator<Item = (&'h Hit, &'a Entry)> {
        hits.iter().filter_map(|hit| Some((hit, self.entry(hit.entry)?)))
    }

    /// The base rules, of those that were met.
    pub(crate) fn bases<'a, 'h>(&'a self, hits: &'h [Hit]) -> impl Iterator<Item = &'a Entry> + use<'a, 'h> {
        self.met(hits).filter(|(_, entry)| entry.scope == Scope::Base).map(|(_, entry)| entry)
    }

    /// The base rule with the longest path, of those that were met.
    pub(crate) fn base<'a>(&'a self, hits: &[Hit]) -> Option<&'a Entry> {
        self.bases(hits).max_by_key(|entry| entry.prefix)
    }

    /// The rules of a person, of those that were met, with what becomes of each.
    pub(crate) fn standings<'a, 'h>(
        &'a self,
        hits: &'h [Hit],
    ) -> impl Iterator<Item = (&'h Hit, &'a Entry, Standing)> + use<'a, 'h> {
        let people = self.met(hits).filter(|(_, entry)| entry.scope != Scope::Base);
        people.map(|(hit, entry)| {
            let narrower = self.met(hits).find(|(other, rule)| narrower((other, rule), (hit, entry)));
            let standing = narrower.map_or(Standing::Counts, |(other, _)| Standing::YieldsTo(other.entry));
            (hit, entry, standing)
        })
    }

    /// The rules of a person that count, of those that were met, outermost scope first.
    pub(crate) fn counting<'a, 'h>(
        &'a self,
        hits: &'h [Hit],
    ) -> impl Iterator<Item = &'a Entry> + use<'a, 'h> {
        [Scope::Global, Scope::Role, Scope::Agent].into_iter().flat_map(move |scope| {
            self.standings(hits)
                .filter(move |(_, entry, standing)| entry.scope == scope && *standing == Standing::Counts)
                .map(|(_, entry, _)| entry)
        })
    }

    /// What the rules of a person say together.
    pub(crate) fn weigh(&self, hits: &[Hit]) -> Weight {
        let none = self.met(hits).find(|(_, entry)| entry.kind == Kind::None);
        if let Some((hit, _)) = none {
            return Weight::Forbidden(hit.entry);
        }
        let mut spoken = false;
        let mut access = Access::ALL;
        for (_, entry, standing) in self.standings(hits) {
            spoken |= entry.kind == Kind::Grant;
            if standing == Standing::Counts {
                access = access.meet(entry.access);
            }
        }
        if spoken { Weight::Granted(access) } else { Weight::Unspoken(access) }
    }
}

fn kind(point: &Point) -> Kind {
    match point.scope {
        Scope::Base => Kind::Grant,
        _ if point.access.is_none() => Kind::None,
        _ if point.pattern.is_unanchored() => Kind::Limit,
        _ => Kind::Grant,
    }
}

/// Whether `other` speaks of strictly fewer paths than `own`, in the same scope. Both matched one path, so a
/// literal pattern and any other are compared by depth alone: the one lies within the other where its
/// beginning is at least as long as what the other takes.
fn narrower((hit, other): (&Hit, &Entry), (own_hit, own): (&Hit, &Entry)) -> bool {
    if other.scope != own.scope || other.kind == Kind::None || own.kind == Kind::None {
        return false;
    }
    match (&own.wild, &other.wild) {
        (None, None) => hit.depth > own_hit.depth,
        (None, Some(_)) => other.prefix >= own_hit.depth,
        (Some(_), None) => hit.depth >= own_hit.depth,
        (Some(narrower), Some(_)) => narrower.binary_search(&hit.entry).is_ok(),
    }
}

/// Finds, for each pattern with wildcards, the strictly narrower ones of its scope. Only what matches a sample of a
/// pattern can be wider, and the tree knows those few; a second sample sorts out nearly all of the rest before the
/// exact test.
fn rank(trie: &Trie, entries: &mut [Entry], wild: &[(u32, &Pattern)]) {
    let patterns: BTreeMap<u32, &Pattern> = wild.iter().copied().collect();
    for (number, pattern) in wild {
        let Some(scope) = entries.get(*number as usize).map(|entry| entry.scope) else { continue };
        let candidates: Vec<u32> = match pattern.sample(b"\x01", false) {
            Some(sample) => trie.walk(&sample).iter().map(|hit| hit.entry).collect(),
            None => patterns.keys().copied().collect(),
        };
        let second = pattern.sample(b"~~\x02", true);
        for other in candidates {
            let (Some(wide), Some(entry)) = (patterns.get(&other), entries.get_mut(other as usize)) else {
                continue;
            };
            let candidate = other != *number
                && entry.scope == scope
                && wide.literal_prefix().covers(pattern.literal_prefix())
                && second.as_ref().is_none_or(|sample| wide.matches(sample));
            if candidate && wide.is_wider_than(pattern) {
                // In ascending order, since the patterns are.
                entry.wild.get_or_insert_default().push(*number);
            }
        }
    }
}
