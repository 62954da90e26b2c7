//! A second, naive reading of the rules' meaning, for comparison: plain lists, plain matching, and inclusion
//! of patterns by trying every path of a small world.

use remit_core::Effect;
use remit_policy::Access;

/// Names that tell the patterns of the tests apart.
const NAMES: [&str; 5] = ["a", "b", "c", "ab", "cb"];

/// Every path of up to five of the names.
pub(crate) fn universe() -> Vec<Vec<&'static str>> {
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..5 {
        last = last.iter().flat_map(|path| NAMES.map(|name| [path.as_slice(), &[name]].concat())).collect();
        all.extend(last.iter().cloned());
    }
    all
}

fn name(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => name(rest, text) || (!text.is_empty() && name(pattern, &text[1..])),
        ([b'?', rest @ ..], [_, after @ ..]) => name(rest, after),
        ([b'[', b'a', b'b', b']', rest @ ..], [first, after @ ..]) => {
            b"ab".contains(first) && name(rest, after)
        }
        ([own, rest @ ..], [first, after @ ..]) => own == first && name(rest, after),
        _ => false,
    }
}

/// `P`, `P/*` and `P/**` are `P` and all below it.
pub(crate) fn matches(pattern: &[String], path: &[&str]) -> bool {
    match (pattern, path) {
        _ if pattern.iter().all(|part| part == "*" || part == "**") => true,
        ([first, rest @ ..], _) if first == "**" => {
            matches(rest, path) || (!path.is_empty() && matches(pattern, &path[1..]))
        }
        ([first, rest @ ..], [name_of, after @ ..]) => {
            name(first.as_bytes(), name_of.as_bytes()) && matches(rest, after)
        }
        _ => false,
    }
}

/// A rule: its scope (0 global, 1 role, 2 agent), pattern and access.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) scope: usize,
    pub(crate) pattern: Vec<String>,
    pub(crate) access: Access,
}

impl Rule {
    fn set(&self, universe: &[Vec<&str>]) -> Vec<bool> {
        universe.iter().map(|path| matches(&self.pattern, path)).collect()
    }

    fn is_limit(&self) -> bool {
        let mut pattern = self.pattern.as_slice();
        while let [head @ .., last] = pattern
            && (last == "*" || last == "**")
        {
            pattern = head;
        }
        pattern.first().is_some_and(|first| first == "**")
    }
}

/// Everything that the answer depends on.
pub(crate) struct Model<'a> {
    pub(crate) rules: &'a [Rule],
    pub(crate) base: &'a [(Vec<&'static str>, Access)],
    pub(crate) ceiling: Access,
    pub(crate) default: Effect,
}

/// The model, with each rule's paths counted out.
pub(crate) struct Counted<'a> {
    model: Model<'a>,
    sets: Vec<Vec<bool>>,
}

impl<'a> Counted<'a> {
    pub(crate) fn new(model: Model<'a>, universe: &[Vec<&str>]) -> Self {
        let sets = model.rules.iter().map(|rule| rule.set(universe)).collect();
        Self { model, sets }
    }

    fn strictly_within(&self, narrow: usize, wide: usize) -> bool {
        let pairs = || self.sets[narrow].iter().zip(&self.sets[wide]);
        pairs().all(|(n, w)| !n || *w) && pairs().any(|(n, w)| *w && !n)
    }

    /// The effect for the path of that number, needing that access.
    pub(crate) fn answer(&self, number: usize, path: &[&str], need: Access) -> Effect {
        let Model { rules, base, ceiling, default } = &self.model;
        let matching: Vec<usize> = (0..rules.len()).filter(|rule| self.sets[*rule][number]).collect();
        if matching.iter().any(|rule| rules[*rule].access.is_none()) {
            return Effect::Deny;
        }
        let mut met = Access::ALL;
        for scope in 0..3 {
            let own: Vec<usize> =
                matching.iter().copied().filter(|rule| rules[*rule].scope == scope).collect();
            for rule in &own {
                if !own.iter().any(|other| self.strictly_within(*other, *rule)) {
                    met = met.meet(rules[*rule].access);
                }
            }
        }
        let yes = |access: Access| if access.has(need) { Effect::Allow } else { Effect::Deny };
        if matching.iter().any(|rule| !rules[*rule].is_limit()) {
            return yes(met.meet(*ceiling));
        }
        let covering = base.iter().filter(|(folder, _)| path.starts_with(folder));
        let offered =
            covering.max_by_key(|(folder, _)| folder.len()).map_or(Access::NONE, |(_, access)| *access);
        match default {
            _ if offered.meet(met).has(need) => Effect::Allow,
            Effect::Deny => Effect::Deny,
            _ if met.meet(*ceiling).has(need) => *default,
            _ => Effect::Deny,
        }
    }
}
