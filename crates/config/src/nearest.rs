//! The word that somebody probably meant.

/// The candidate that is closest to `word`, if one is close: at most a third of the longer word's letters
/// changed, dropped, added or swapped with a neighbour. Case, `-` and `_` do not count.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = fold(word)?;
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = fold(candidate)?;
            let far = distance(&word, &other);
            (far <= word.len().max(other.len()).div_ceil(3)).then_some((far, candidate))
        })
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// The only candidate that can have been meant: the same but for case, `-` and `_`, or at most two slips away
/// while no other is near.
pub(crate) fn certain<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let folded = fold(word)?;
    let far = |candidate: &str| fold(candidate).map_or(usize::MAX, |other| distance(&folded, &other));
    let only = |near: &dyn Fn(&str) -> bool| {
        let mut all = candidates.iter().filter(|candidate| near(candidate));
        all.next().copied().filter(|_| all.next().is_none())
    };
    only(&|candidate| far(candidate) == 0).or_else(|| {
        let near = |candidate: &str| nearest(word, [candidate]).is_some();
        only(&near).filter(|candidate| far(candidate) <= 2)
    })
}

/// The words as a list in backticks.
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(super::finding::shown).collect::<Vec<_>>().join(", ")
}

/// `did you mean …? ` (if a word is near) and the words that may stand there.
pub fn hint(word: &str, candidates: &[&str]) -> String {
    let known = match candidates.len() {
        0 => "none is known here".to_owned(),
        1..=24 => format!("known here: {}", listed(candidates.iter().copied())),
        n => format!("{n} are known here"),
    };
    match nearest(word, candidates.iter().copied()) {
        Some(near) => format!("did you mean {}? {known}", super::finding::shown(near)),
        None => known,
    }
}

/// Longer words are no slips of the keyboard, and comparing them costs their product.
const LONGEST: usize = 64;

fn fold(word: &str) -> Option<Vec<char>> {
    let folded: Vec<char> = word
        .chars()
        .take(LONGEST + 1)
        .flat_map(char::to_lowercase)
        .map(|c| if c == '_' { '-' } else { c })
        .collect();
    (folded.len() <= LONGEST && !folded.is_empty()).then_some(folded)
}

/// Edit distance in which a swap of two neighbours is one step.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (above[j] + usize::from(x != y)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let keys = ["permissions", "roles", "read-write", "cli"];
        assert_eq!(nearest("permisions", keys), Some("permissions"));
        assert_eq!(nearest("read_write", keys), Some("read-write"));
        assert_eq!(nearest("ROELS", keys), Some("roles"));
        assert_eq!(nearest("banana", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest(&"r".repeat(100_000), keys), None);
    }

    #[test]
    fn a_swap_is_one_step() {
        let word = |s: &str| s.chars().collect::<Vec<_>>();
        assert_eq!(distance(&word("ab"), &word("ba")), 1);
        assert_eq!(distance(&word("kitten"), &word("sitting")), 3);
        assert_eq!(distance(&word(""), &word("abc")), 3);
    }
}
