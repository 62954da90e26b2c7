//! A quick no for many patterns at once: could any of them mean a path that ends in this name?

use crate::pattern::{Pattern, Segment};

/// The first and last bytes that names may have which patterns end in. Patterns share 64 places, so that a name
/// costs two looks, however many patterns there are.
#[derive(Debug, Clone)]
pub struct LastNames {
    heads: [u64; 256],
    tails: [u64; 256],
}

impl LastNames {
    /// For these patterns.
    pub fn of<'a>(patterns: impl IntoIterator<Item = &'a Pattern>) -> Self {
        let mut names = Self { heads: [0; 256], tails: [0; 256] };
        for (pattern, place) in patterns.into_iter().zip((0..u64::BITS).cycle()) {
            let (head, tail) = ends(pattern);
            mark(&mut names.heads, head, place);
            mark(&mut names.tails, tail, place);
        }
        names
    }

    /// For patterns that are not known: every name may be meant.
    pub fn any() -> Self {
        Self { heads: [1; 256], tails: [1; 256] }
    }

    /// Whether one of the patterns may mean a path with this last component, not merely what is below it. `true`
    /// says nothing.
    pub fn may_be(&self, name: &[u8]) -> bool {
        let at = |table: &[u64; 256], byte: Option<&u8>| {
            byte.and_then(|byte| table.get(usize::from(*byte))).copied().unwrap_or(u64::MAX)
        };
        at(&self.heads, name.first()) & at(&self.tails, name.last()) != 0
    }
}

/// The first and the last byte of what the pattern ends in, where there is only one.
fn ends(pattern: &Pattern) -> (Option<u8>, Option<u8>) {
    match pattern.rest().last() {
        Some(Segment::Name(name)) => (name.first().copied(), name.last().copied()),
        Some(Segment::Glob(glob)) => (glob.head().next(), glob.tail().next()),
        Some(Segment::Dirs) => (None, None),
        None => {
            let name = pattern.literal_prefix().file_name().unwrap_or_default();
            (name.first().copied(), name.last().copied())
        }
    }
}

fn mark(table: &mut [u64; 256], byte: Option<u8>, place: u32) {
    let bit = 1u64.rotate_left(place);
    for (at, places) in (0..=u8::MAX).zip(table) {
        if byte.is_none_or(|byte| byte == at) {
            *places |= bit;
        }
    }
}
