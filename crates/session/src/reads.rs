//! Which reads, and which programs that are started, have a record already: one for each path in each tool call.

use remit_core::{AbsPath, CallId, Verb};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// How many have records of their own in one session; all that come later are only counted.
const MOST: usize = 16_384;

/// What becomes of one that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It is the first of its kind: a record.
    First,
    /// It has one: a count.
    Again,
    /// There is no room for more records: a count of what is left out.
    LeftOut,
}

/// What is recorded already.
#[derive(Debug, Default)]
pub struct Reads {
    seen: Mutex<HashSet<(Option<CallId>, Verb, AbsPath)>>,
}

impl Reads {
    /// Notes one.
    pub fn note(&self, call: Option<&CallId>, verb: Verb, path: &AbsPath) -> Told {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = (call.cloned(), verb, path.clone());
        match (seen.contains(&kind), seen.len() < MOST) {
            (true, _) => Told::Again,
            (false, true) => {
                seen.insert(kind);
                Told::First
            }
            (false, false) => Told::LeftOut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_is_told_once_for_each_call_and_a_flood_of_paths_is_bounded() {
        let reads = Reads::default();
        let path = |n: usize| AbsPath::new(format!("/w/{n}")).unwrap();
        let call = CallId::new("one").unwrap();
        assert_eq!(reads.note(None, Verb::Read, &path(0)), Told::First);
        assert_eq!(reads.note(None, Verb::Read, &path(0)), Told::Again);
        assert_eq!(reads.note(None, Verb::Execute, &path(0)), Told::First);
        assert_eq!(reads.note(Some(&call), Verb::Read, &path(0)), Told::First);
        let told = (1..2 * MOST).map(|n| reads.note(None, Verb::Read, &path(n)));
        assert_eq!(told.filter(|told| *told == Told::First).count(), MOST - 3);
        assert_eq!(reads.note(None, Verb::Read, &path(0)), Told::Again);
        assert_eq!(reads.note(None, Verb::Read, &path(3 * MOST)), Told::LeftOut);
    }
}
