//! Medians, and rounds in which both sides take turns.

use anyhow::{Result, ensure};
use std::time::Instant;

/// What two sides took, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pairs {
    /// Median of ours.
    pub(crate) ours: f64,
    /// Median of the other.
    pub(crate) peer: f64,
    /// Median over the rounds of ours by the other.
    pub(crate) ratio: f64,
}

impl Pairs {
    /// From what both took round by round.
    pub(crate) fn of(ours: &[f64], peer: &[f64]) -> Result<Self> {
        ensure!(!ours.is_empty() && ours.len() == peer.len(), "both sides need the same number of rounds");
        ensure!(peer.iter().all(|it| *it > 0.0), "a round of the other side took no time");
        let ratios: Vec<f64> = ours.iter().zip(peer).map(|(a, b)| a / b).collect();
        Ok(Self { ours: median(ours), peer: median(peer), ratio: median(&ratios) })
    }

    /// The median over the rounds of what ours took more than the other, in seconds.
    pub(crate) fn over(ours: &[f64], peer: &[f64]) -> f64 {
        median(&ours.iter().zip(peer).map(|(a, b)| a - b).collect::<Vec<_>>())
    }
}

/// The middle one; 0 of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// How long `work` took, in seconds.
pub(crate) fn seconds<T>(work: impl FnOnce() -> Result<T>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_of_pairs_not_of_medians() -> Result<()> {
        let pairs = Pairs::of(&[1.0, 4.0, 9.0], &[1.0, 1.0, 10.0])?;
        assert_eq!(pairs, Pairs { ours: 4.0, peer: 1.0, ratio: 1.0 });
        assert!(Pairs::of(&[1.0], &[]).is_err());
        assert!(Pairs::of(&[1.0], &[0.0]).is_err());
        Ok(())
    }
}
