//! Whether one pattern's language lies in another's. Both are small automata over bytes; the walk looks for a
//! path of the one that the other does not match. Exact, unless it would take too many states.

use crate::glob::{Class, Token};
use crate::pattern::Segment;
use std::collections::{BTreeSet, HashSet};

/// Pairs of states after which the walk gives up.
const MOST_STATES: usize = 4096;

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inclusion {
    /// Every path of the one is matched by the other.
    Yes,
    /// There is a path that is not.
    No,
    /// Too large to tell.
    Unknown,
}

/// One step of an automaton. A path is a sequence of `/name`; after the last step anything below is accepted.
enum Step {
    Slash,
    Byte(Class),
    Star,
    Dirs,
}

/// A position before a step; `inside` is true within a component that `**` takes, and after the last step
/// below what the pattern names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct State {
    at: usize,
    inside: bool,
}

struct Automaton(Vec<Step>);

impl Automaton {
    fn new<'a>(segments: impl Iterator<Item = &'a Segment>) -> Self {
        let mut steps = Vec::new();
        for segment in segments {
            match segment {
                Segment::Dirs => steps.push(Step::Dirs),
                Segment::Name(name) => {
                    steps.push(Step::Slash);
                    steps.extend(name.iter().map(|byte| Step::Byte(Class::one(*byte))));
                }
                Segment::Glob(glob) => {
                    steps.push(Step::Slash);
                    steps.extend(glob.0.iter().map(|token| match token {
                        Token::Byte(byte) => Step::Byte(Class::one(*byte)),
                        Token::Class(class) => Step::Byte(*class),
                        Token::Star => Step::Star,
                    }));
                }
            }
        }
        Self(steps)
    }

    fn accepts(&self, state: State) -> bool {
        state.at == self.0.len()
    }

    /// Accepts whatever follows.
    fn is_open(&self, state: State) -> bool {
        self.accepts(state) && state.inside
    }

    /// Adds a state and those that follow from it without a byte.
    fn reach(&self, state: State, out: &mut BTreeSet<State>) {
        let mut state = Some(state);
        while let Some(now) = state.take_if(|now| out.insert(*now)) {
            if matches!(self.0.get(now.at), Some(Step::Star | Step::Dirs)) {
                state = Some(State { at: now.at.saturating_add(1), inside: false });
            }
        }
    }

    fn step(&self, state: State, byte: u8, out: &mut BTreeSet<State>) {
        let next = State { at: state.at.saturating_add(1), inside: false };
        let within = State { inside: true, ..state };
        match self.0.get(state.at) {
            Some(Step::Slash) if byte == b'/' => self.reach(next, out),
            Some(Step::Byte(class)) if class.has(byte) => self.reach(next, out),
            Some(Step::Star) if byte != b'/' => self.reach(state, out),
            Some(Step::Dirs) | None if state.inside || byte == b'/' => self.reach(within, out),
            _ => {}
        }
    }
}

/// One byte for each way in which the steps of both can tell bytes apart, and `/`.
fn alphabet(a: &Automaton, b: &Automaton) -> Vec<u8> {
    let classes: BTreeSet<Class> =
        a.0.iter()
            .chain(&b.0)
            .filter_map(|step| match step {
                Step::Byte(class) => Some(*class),
                _ => None,
            })
            .collect();
    let mut seen = HashSet::new();
    let kinds = |byte: &u8| classes.iter().map(|class| class.has(*byte)).collect::<Vec<_>>();
    let mut bytes: Vec<u8> = Class::full().bytes().filter(|byte| seen.insert(kinds(byte))).collect();
    bytes.push(b'/');
    bytes
}

/// Whether `wide` includes `between` (literal names) followed by `narrow`.
pub(crate) fn includes(wide: &[Segment], between: &[u8], narrow: &[Segment]) -> Inclusion {
    let names: Vec<Segment> =
        between.split(|b| *b == b'/').filter(|n| !n.is_empty()).map(|n| Segment::Name(n.into())).collect();
    let narrow = Automaton::new(names.iter().chain(narrow));
    let wide = Automaton::new(wide.iter());
    let alphabet = alphabet(&narrow, &wide);
    let start = State { at: 0, inside: false };
    let mut own = BTreeSet::new();
    narrow.reach(start, &mut own);
    let mut other = BTreeSet::new();
    wide.reach(start, &mut other);
    let mut seen = HashSet::new();
    let mut work: Vec<(State, BTreeSet<State>, bool)> =
        own.into_iter().map(|state| (state, other.clone(), false)).collect();
    while let Some((state, others, slash)) = work.pop() {
        if others.iter().any(|s| wide.is_open(*s)) || !seen.insert((state, others.clone(), slash)) {
            continue;
        }
        if seen.len() > MOST_STATES {
            return Inclusion::Unknown;
        }
        if narrow.accepts(state) && !slash && !others.iter().any(|s| wide.accepts(*s)) {
            return Inclusion::No;
        }
        for byte in alphabet.iter().copied().filter(|byte| !(slash && *byte == b'/')) {
            let mut next = BTreeSet::new();
            narrow.step(state, byte, &mut next);
            if next.is_empty() {
                continue;
            }
            let mut reached = BTreeSet::new();
            others.iter().for_each(|s| wide.step(*s, byte, &mut reached));
            work.extend(next.into_iter().map(|state| (state, reached.clone(), byte == b'/')));
        }
    }
    Inclusion::Yes
}
