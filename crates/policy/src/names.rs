//! Lookups by name that do not slow down with the number of names: one table for all literal ones, and for
//! names with wildcards an index by their literal beginning or end.

use crate::glob::Glob;

/// From a node and the name of a child to the child. One open table for a whole tree, since a decision over
/// many rules spends its time waiting for memory: a step touches a slot, the name's bytes and the child.
#[derive(Debug, Clone, Default)]
pub(crate) struct Edges {
    /// Twice as many as edges at least; a power of two, or none.
    slots: Vec<Slot>,
    names: Vec<u8>,
    count: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    parent: u32,
    /// 0: the slot is free. The root is nobody's child.
    child: u32,
    start: u32,
    length: u16,
    tag: u16,
}

/// A multiply-and-fold hash. Only people who write policies choose what is in the table.
fn hash(parent: u32, name: &[u8]) -> u64 {
    let mix = |state: u64, word: u64| {
        let product = u128::from(state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        ((product >> 64) as u64) ^ (product as u64)
    };
    let (words, rest) = name.as_chunks::<8>();
    let start = (u64::from(parent) << 32) ^ (name.len() as u64);
    let state = words.iter().fold(start, |state, word| mix(state, u64::from_le_bytes(*word)));
    let tail = rest.iter().fold(1_u64, |tail, byte| (tail << 8) | u64::from(*byte));
    mix(state, tail)
}

impl Edges {
    /// The child of that name.
    pub(crate) fn find(&self, parent: u32, name: &[u8]) -> Option<u32> {
        let hash = hash(parent, name);
        self.probe(hash)
            .take_while(|slot| slot.child != 0)
            .find(|slot| self.is(slot, hash, parent, name))
            .map(|s| s.child)
    }

    /// The child of that name; `fresh` if there was none.
    pub(crate) fn find_or_add(&mut self, parent: u32, name: &[u8], fresh: u32) -> u32 {
        if let Some(known) = self.find(parent, name) {
            return known;
        }
        if self.count.saturating_mul(2) >= self.slots.len() {
            let larger = self.slots.len().saturating_mul(2).max(16);
            let old = std::mem::replace(&mut self.slots, vec![Slot::default(); larger]);
            for slot in old.into_iter().filter(|slot| slot.child != 0) {
                self.put(hash(slot.parent, self.name(&slot)), slot);
            }
        }
        let hash = hash(parent, name);
        let start = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
        self.names.extend_from_slice(name);
        self.put(hash, Slot { parent, child: fresh, start, length, tag: (hash >> 48) as u16 });
        self.count = self.count.saturating_add(1);
        fresh
    }

    fn name(&self, slot: &Slot) -> &[u8] {
        let start = slot.start as usize;
        self.names.get(start..start.saturating_add(slot.length.into())).unwrap_or(b"")
    }

    fn is(&self, slot: &Slot, hash: u64, parent: u32, name: &[u8]) -> bool {
        slot.parent == parent && slot.tag == (hash >> 48) as u16 && self.name(slot) == name
    }

    /// All slots, beginning where the hash points.
    fn probe(&self, hash: u64) -> impl Iterator<Item = &Slot> {
        let at = (hash as usize) & self.slots.len().saturating_sub(1);
        let (head, tail) = self.slots.split_at_checked(at).unwrap_or((&[], &[]));
        tail.iter().chain(head)
    }

    fn put(&mut self, hash: u64, slot: Slot) {
        let at = (hash as usize) & self.slots.len().saturating_sub(1);
        let (head, tail) = self.slots.split_at_mut(at);
        if let Some(free) = tail.iter_mut().chain(head).find(|slot| slot.child == 0) {
            *free = slot;
        }
    }
}

/// A tree over bytes: all that stands on the way of a name belongs to one of its beginnings.
#[derive(Debug, Clone)]
struct Beginnings<T>(Vec<Beginning<T>>);

#[derive(Debug, Clone)]
struct Beginning<T> {
    next: Vec<(u8, u32)>,
    here: Option<T>,
}

impl<T> Default for Beginnings<T> {
    fn default() -> Self {
        Self(vec![Beginning { next: Vec::new(), here: None }])
    }
}

impl<T: Default> Beginnings<T> {
    /// What stands at exactly these bytes, made if need be.
    fn at(&mut self, bytes: impl Iterator<Item = u8>) -> Option<&mut T> {
        let mut at = 0_usize;
        for byte in bytes {
            let fresh = u32::try_from(self.0.len()).ok()?;
            let next = &mut self.0.get_mut(at)?.next;
            at = match next.binary_search_by_key(&byte, |edge| edge.0) {
                Ok(found) => next.get(found)?.1 as usize,
                Err(place) => {
                    next.insert(place, (byte, fresh));
                    self.0.push(Beginning { next: Vec::new(), here: None });
                    fresh as usize
                }
            };
        }
        Some(self.0.get_mut(at)?.here.get_or_insert_default())
    }

    /// What stands at each beginning of these bytes, the empty one included.
    fn each(&self, mut bytes: impl Iterator<Item = u8>, mut on: impl FnMut(&T)) {
        let mut at = self.0.first();
        while let Some(node) = at {
            if let Some(value) = &node.here {
                on(value);
            }
            let step = |byte| node.next.get(node.next.binary_search_by_key(&byte, |edge| edge.0).ok()?);
            let edge = if node.next.is_empty() { None } else { bytes.next().and_then(step) };
            at = edge.and_then(|edge| self.0.get(edge.1 as usize));
        }
    }
}

/// Names with wildcards, each with a number, by what they begin with and then by what they end with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Globs(Beginnings<Beginnings<Vec<(Glob, u32)>>>);

impl Globs {
    /// The number of a glob; `fresh` if it has none yet.
    pub(crate) fn add(&mut self, glob: &Glob, fresh: u32) -> u32 {
        let tails = self.0.at(glob.head());
        let Some(list) = tails.and_then(|tails| tails.at(glob.tail())) else { return fresh };
        match list.iter().find(|(own, _)| own == glob) {
            Some((_, known)) => *known,
            None => {
                list.push((glob.clone(), fresh));
                fresh
            }
        }
    }

    /// The numbers of all globs that match a name.
    pub(crate) fn each(&self, name: &[u8], mut on: impl FnMut(u32)) {
        self.0.each(name.iter().copied(), |tails| {
            tails.each(name.iter().rev().copied(), |list| {
                list.iter().filter(|(glob, _)| glob.matches(name)).for_each(|(_, number)| on(*number));
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::component;

    #[test]
    fn a_name_finds_every_glob_that_matches_it() {
        let texts = ["*.rs", "a*", "*", "a?c.rs", "[ab]*s", "*x*", "a*.rs"];
        let mut globs = Globs::default();
        for (number, text) in (0..).zip(texts) {
            let glob = Glob(component(text).unwrap().into());
            assert_eq!(globs.add(&glob, number), number);
            assert_eq!(globs.add(&glob, 99), number, "{text} is known");
        }
        let mut found = Vec::new();
        globs.each(b"abc.rs", |number| found.push(number));
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 3, 4, 6]);
    }

    #[test]
    fn every_edge_is_found_again_and_no_other() {
        let mut edges = Edges::default();
        assert_eq!(edges.find(0, b"a"), None);
        let name = |n: u32| format!("f{}", n % 700).into_bytes();
        for n in 1..10_000_u32 {
            assert_eq!(edges.find_or_add(n / 700, &name(n), n), n);
        }
        for n in 1..10_000_u32 {
            assert_eq!(edges.find(n / 700, &name(n)), Some(n));
            assert_eq!(edges.find_or_add(n / 700, &name(n), 99_999), n);
        }
        assert_eq!(edges.find(15, b"f1"), None);
        assert_eq!(edges.find(0, b""), None);
    }
}
