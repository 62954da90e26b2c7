//! Lookups by name that do not slow down with the number of names: a fast hash for literal ones, and for
//! names with wildcards an index by their literal beginning or end.

use crate::glob::Glob;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A multiply-and-fold hash. Only people who write policies choose the keys.
#[derive(Default)]
pub(crate) struct Fold(u64);

impl Fold {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        self.0 = ((product >> 64) as u64) ^ (product as u64);
    }
}

impl Hasher for Fold {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        let tail = rest.iter().fold(1_u64, |tail, byte| (tail << 8) | u64::from(*byte));
        self.mix(tail);
    }
    fn write_usize(&mut self, n: usize) {
        self.0 ^= n as u64;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// From a name, or a whole path, to something.
pub(crate) type Names<T> = HashMap<Box<[u8]>, T, BuildHasherDefault<Fold>>;

/// A tree over bytes: all that stands on the way of a name is a candidate for it.
#[derive(Debug, Clone, Default)]
struct Beginnings {
    nodes: Vec<Beginning>,
}

#[derive(Debug, Clone, Default)]
struct Beginning {
    next: Vec<(u8, u32)>,
    here: Vec<u32>,
}

impl Beginnings {
    fn add(&mut self, bytes: impl Iterator<Item = u8>, value: u32) {
        if self.nodes.is_empty() {
            self.nodes.push(Beginning::default());
        }
        let mut at = 0_usize;
        for byte in bytes {
            let fresh = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
            let Some(node) = self.nodes.get_mut(at) else { return };
            at = match node.next.binary_search_by_key(&byte, |edge| edge.0) {
                Ok(found) => node.next.get(found).map_or(at, |edge| edge.1 as usize),
                Err(place) => {
                    node.next.insert(place, (byte, fresh));
                    self.nodes.push(Beginning::default());
                    fresh as usize
                }
            };
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.here.push(value);
        }
    }

    fn each(&self, bytes: impl Iterator<Item = u8>, mut on: impl FnMut(u32)) {
        let Some(mut node) = self.nodes.first() else { return };
        node.here.iter().for_each(|value| on(*value));
        for byte in bytes {
            let found = node.next.binary_search_by_key(&byte, |edge| edge.0).ok();
            match found.and_then(|at| node.next.get(at)).and_then(|edge| self.nodes.get(edge.1 as usize)) {
                Some(next) => node = next,
                None => return,
            }
            node.here.iter().for_each(|value| on(*value));
        }
    }
}

/// Names with wildcards, each with a number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Globs {
    list: Vec<(Glob, u32)>,
    by_head: Beginnings,
    by_tail: Beginnings,
}

impl Globs {
    /// The number of a glob; `fresh` if it has none yet.
    pub(crate) fn add(&mut self, glob: &Glob, fresh: u32) -> u32 {
        let (head, tail) = (glob.head().count(), glob.tail().count());
        let mut known = None;
        let mut keep = |index: u32| {
            known = known.or(self.list.get(index as usize).filter(|(own, _)| own == glob).map(|(_, node)| *node));
        };
        if tail > head {
            self.by_tail.each(glob.tail(), &mut keep);
        } else {
            self.by_head.each(glob.head(), &mut keep);
        }
        if let Some(known) = known {
            return known;
        }
        let index = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        if tail > head {
            self.by_tail.add(glob.tail(), index);
        } else {
            self.by_head.add(glob.head(), index);
        }
        self.list.push((glob.clone(), fresh));
        fresh
    }

    /// The numbers of all globs that match a name.
    pub(crate) fn each(&self, name: &[u8], mut on: impl FnMut(u32)) {
        if self.list.is_empty() {
            return;
        }
        let mut test = |index: u32| {
            if let Some((glob, node)) = self.list.get(index as usize)
                && glob.matches(name)
            {
                on(*node);
            }
        };
        self.by_head.each(name.iter().copied(), &mut test);
        self.by_tail.each(name.iter().rev().copied(), &mut test);
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
    fn the_hash_tells_short_names_apart() {
        let hash = |bytes: &[u8]| {
            let mut fold = Fold::default();
            fold.write(bytes);
            fold.finish()
        };
        let names: std::collections::HashSet<u64> =
            (0..10_000_u32).map(|n| hash(format!("f{n}").as_bytes())).collect();
        assert_eq!(names.len(), 10_000);
        assert_ne!(hash(b"\0"), hash(b"\0\0"));
    }
}
