//! Lookups by name that do not slow down with the number of names: one table for all literal ones, and for
//! names with wildcards an index by their literal beginning, end and middle.

use crate::glob::Glob;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

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

/// Which names the children of one node have, in 64 places: a quick no that costs no look into the table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Children(u64);

impl Children {
    fn place(hash: u64) -> u64 {
        1 << (hash >> 32 & 63)
    }
}

impl Edges {
    /// The child of that name, of a node that has these.
    pub(crate) fn find(&self, parent: u32, children: Children, name: &[u8]) -> Option<u32> {
        if children.0 == 0 {
            return None;
        }
        let hash = hash(parent, name);
        if children.0 & Children::place(hash) == 0 {
            return None;
        }
        self.probe(hash)
            .take_while(|slot| slot.child != 0)
            .find(|slot| self.is(slot, hash, parent, name))
            .map(|s| s.child)
    }

    /// The child of that name; `fresh` if there was none.
    pub(crate) fn find_or_add(
        &mut self,
        parent: u32,
        children: &mut Children,
        name: &[u8],
        fresh: u32,
    ) -> u32 {
        if let Some(known) = self.find(parent, *children, name) {
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
        children.0 |= Children::place(hash);
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

/// What has a beginning in common with a name. Beginnings are told apart by their hashes alone, so what is found may
/// be another's: whoever asks looks again.
#[derive(Debug, Clone, Default)]
struct Beginnings<T> {
    /// What has the empty one.
    empty: T,
    others: HashMap<u64, T, BuildHasherDefault<AsItIs>>,
    /// A quick no for most hashes.
    hashes: Places,
    /// The same after a few bytes, for all beginnings that have so many.
    openings: Places,
    /// Bit `n`: there are beginnings of so many bytes. The last one stands for more, too.
    lengths: u64,
}

/// A hash is hashed already.
#[derive(Debug, Clone, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = longer(self.0, *byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The hash of a beginning that has one byte more.
fn longer(hash: u64, byte: u8) -> u64 {
    (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Which hashes there are, in 256 places.
#[derive(Debug, Clone, Default)]
struct Places([u64; 4]);

impl Places {
    fn of(hash: u64) -> (usize, u64) {
        ((hash >> 62) as usize, 1 << (hash >> 56 & 63))
    }

    fn add(&mut self, hash: u64) {
        let (word, bit) = Self::of(hash);
        if let Some(places) = self.0.get_mut(word) {
            *places |= bit;
        }
    }

    fn may_have(&self, hash: u64) -> bool {
        let (word, bit) = Self::of(hash);
        self.0.get(word).is_some_and(|places| places & bit != 0)
    }
}

/// How many bytes tell most names apart.
const OPENING: u32 = 4;

const MOST_LENGTHS: u32 = u64::BITS - 1;

impl<T: Default> Beginnings<T> {
    /// What stands at exactly these bytes, made if need be.
    fn at(&mut self, bytes: impl Iterator<Item = u8>) -> &mut T {
        let (mut hash, mut length) = (0, 0_u32);
        for byte in bytes {
            hash = longer(hash, byte);
            length = length.saturating_add(1);
            if length == OPENING {
                self.openings.add(hash);
            }
        }
        if length == 0 {
            return &mut self.empty;
        }
        self.hashes.add(hash);
        self.lengths |= 1 << length.min(MOST_LENGTHS);
        self.others.entry(hash).or_default()
    }

    /// What stands at each beginning of these bytes but the empty one.
    fn each(&self, bytes: impl Iterator<Item = u8>, mut on: impl FnMut(&T)) {
        let (mut hash, mut length) = (0, 0_u32);
        for byte in bytes {
            length = MOST_LENGTHS.min(length.saturating_add(1));
            let lengths = self.lengths >> length;
            if lengths == 0 {
                return;
            }
            hash = longer(hash, byte);
            if length == OPENING && !self.openings.may_have(hash) {
                return;
            }
            if lengths & 1 != 0
                && self.hashes.may_have(hash)
                && let Some(value) = self.others.get(&hash)
            {
                on(value);
            }
        }
    }
}

/// Globs with their numbers.
type List = Vec<(Glob, u32)>;

/// Globs with one head and one tail.
#[derive(Debug, Clone, Default)]
struct Alike {
    /// Those with nothing else that is literal.
    plain: List,
    /// The others, by what they have in the middle.
    middles: Option<Box<Beginnings<List>>>,
}

impl Alike {
    fn list(&mut self, glob: &Glob) -> &mut List {
        match glob.middle().next() {
            None => &mut self.plain,
            Some(_) => self.middles.get_or_insert_default().at(glob.middle()),
        }
    }

    /// Each list that may have a glob for the name; one comes again if its middle does.
    fn each(&self, name: &[u8], mut on: impl FnMut(&List)) {
        on(&self.plain);
        if let Some(middles) = &self.middles {
            (0..name.len()).filter_map(|at| name.get(at..)).for_each(|rest| {
                middles.each(rest.iter().copied(), &mut on);
            });
        }
    }
}

/// Names with wildcards, each with a number, by what they begin with, then by what they end with, then by what
/// they have in the middle.
#[derive(Debug, Clone, Default)]
pub(crate) struct Globs(Beginnings<Beginnings<Alike>>);

impl Globs {
    /// The number of a glob; `fresh` if it has none yet.
    pub(crate) fn add(&mut self, glob: &Glob, fresh: u32) -> u32 {
        let list = self.0.at(glob.head()).at(glob.tail()).list(glob);
        match list.iter().find(|(own, _)| own == glob) {
            Some((_, known)) => *known,
            None => {
                list.push((glob.clone(), fresh));
                fresh
            }
        }
    }

    /// The numbers of all globs that match a name; one may come more than once.
    pub(crate) fn each(&self, name: &[u8], mut on: impl FnMut(u32)) {
        let mut in_list = |list: &List| {
            list.iter().filter(|(glob, _)| glob.matches(name)).for_each(|(_, number)| on(*number));
        };
        let mut by_tail = |tails: &Beginnings<Alike>| {
            tails.empty.each(name, &mut in_list);
            tails.each(name.iter().rev().copied(), |alike| alike.each(name, &mut in_list));
        };
        by_tail(&self.0.empty);
        self.0.each(name.iter().copied(), by_tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::component;
    use std::collections::BTreeSet;

    #[test]
    fn a_name_finds_every_glob_that_matches_it() {
        let texts =
            ["*.rs", "a*", "*", "a?c.rs", "[ab]*s", "*x*", "a*.rs", "*c*r*", "a*c.*s", "*bc.*x*", "?b*.rs"];
        let mut globs = Globs::default();
        for (number, text) in (0..).zip(texts) {
            let glob = Glob(component(text).unwrap().into());
            assert_eq!(globs.add(&glob, number), number);
            assert_eq!(globs.add(&glob, 99), number, "{text} is known");
        }
        let mut found = Vec::new();
        globs.each(b"abc.rs", |number| found.push(number));
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 3, 4, 6, 7, 8, 10]);
    }

    #[test]
    fn the_index_answers_what_each_glob_answers_itself() {
        let letters = |mut n: usize, of: &str| -> String {
            let of: Vec<char> = of.chars().collect();
            let mut text = String::new();
            while n > 0 {
                text.push(of[n % of.len()]);
                n /= of.len();
            }
            text
        };
        let text = (1..3000).map(|n| letters(n, "ab*?")).filter(|text| text.contains(['*', '?']));
        let all: Vec<Glob> = text.filter_map(|text| Some(Glob(component(&text).ok()?.into()))).collect();
        let mut globs = Globs::default();
        let numbers: Vec<u32> = (0..).zip(&all).map(|(fresh, glob)| globs.add(glob, fresh)).collect();
        for name in (1..200).map(|n| letters(n, "abc")) {
            let mut found = BTreeSet::new();
            globs.each(name.as_bytes(), |number| found.extend([number]));
            let own = all.iter().zip(&numbers).filter(|(glob, _)| glob.matches(name.as_bytes()));
            assert_eq!(found, own.map(|(_, number)| *number).collect(), "{name}");
        }
    }

    #[test]
    fn every_edge_is_found_again_and_no_other() {
        let mut edges = Edges::default();
        let mut of = [Children::default(); 16];
        assert_eq!(edges.find(0, Children::default(), b"a"), None);
        let name = |n: u32| format!("f{}", n % 700).into_bytes();
        for n in 1..10_000_u32 {
            assert_eq!(edges.find_or_add(n / 700, &mut of[n as usize / 700], &name(n), n), n);
        }
        for n in 1..10_000_u32 {
            assert_eq!(edges.find(n / 700, of[n as usize / 700], &name(n)), Some(n));
            assert_eq!(edges.find_or_add(n / 700, &mut of[n as usize / 700], &name(n), 99_999), n);
        }
        assert_eq!(edges.find(15, of[0], b"f1"), None);
        assert_eq!(edges.find(0, of[0], b""), None);
    }
}
