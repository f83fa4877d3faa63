//! Exact confidence intervals of quantiles from single values, without assuming any distribution.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

/// A confidence interval of a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantileInterval {
    /// The lower end: one of the values.
    pub low: f64,
    /// The upper end: one of the values.
    pub high: f64,
    /// How often such an interval covers the true quantile: at least the confidence asked for.
    pub coverage: f64,
}

/// The ranks, from 1, of the values between which a quantile lies with some confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// The lower end.
    pub low: u64,
    /// The upper end.
    pub high: u64,
    /// How often such ranks enclose the true quantile.
    pub coverage: f64,
}

/// The ranks for the `p` quantile of `count` values: the number of values below the true quantile is binomial, so
/// `[x(l), x(u)]` covers it with probability `P(l <= B < u)` (David and Nagaraja, Order Statistics, 7.1). Each tail is given
/// at most half of what `confidence` leaves. `None` when there are too few values for the confidence, as in the tails of
/// short stages.
///
/// It speaks of the requests of one run, taken as independent; how runs differ is another matter.
pub fn interval_ranks(count: u64, p: f64, confidence: f64) -> Option<Ranks> {
    let inside = |share: f64| share > 0.0 && share < 1.0;
    if count == 0 || !inside(p) || !inside(confidence) {
        return None;
    }
    let binomial = Binomial::new(p, count).ok()?;
    let tail = (1.0 - confidence) / 2.0;
    // x(l) with l from 1: the largest l with P(B < l) <= tail, and the smallest u with P(B >= u) <= tail.
    let low = largest(count, |rank| binomial.cdf(rank - 1) <= tail)?;
    let high = largest(count, |rank| 1.0 - binomial.cdf(rank - 1) > tail)? + 1;
    (high <= count).then(|| Ranks { low, high, coverage: binomial.cdf(high - 1) - binomial.cdf(low - 1) })
}

/// [`interval_ranks`] at one confidence, each pair of count and quantile computed once: stages of one ladder, and the
/// latencies of one stage, share theirs.
#[derive(Debug, Default)]
pub struct RankIntervals {
    known: HashMap<(u64, u64), Option<Ranks>>,
}

impl RankIntervals {
    /// Confidence of the intervals.
    pub const CONFIDENCE: f64 = 0.99;

    /// The ranks for the `p` quantile of `count` values.
    pub fn of(&mut self, count: u64, p: f64) -> Option<Ranks> {
        *self.known.entry((count, p.to_bits())).or_insert_with(|| interval_ranks(count, p, Self::CONFIDENCE))
    }
}

/// The largest rank from 1 to `count` for which `holds`, which must turn from true to false once.
fn largest(count: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if !holds(1) {
        return None;
    }
    let (mut yes, mut no) = (1, count + 1);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    Some(yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tabled ranks for the median at 95%: 10 values 2 to 9 (97.9%), 20 values 6 to 15 (95.9%), 100 values 40 to 61 (96.5%).
    #[test]
    fn the_ranks_are_the_tabled_ones() {
        for (count, low, high, coverage) in [(10, 2, 9, 0.9785), (20, 6, 15, 0.9586), (100, 40, 61, 0.9648)] {
            let found = interval_ranks(count, 0.5, 0.95).unwrap();
            assert_eq!((found.low, found.high), (low, high), "{count}");
            assert!((found.coverage - coverage).abs() < 1e-4, "{count}: {}", found.coverage);
        }
    }

    #[test]
    fn a_tail_needs_enough_values() {
        assert_eq!(interval_ranks(5, 0.5, 0.95), None);
        assert_eq!(interval_ranks(100, 0.99, 0.95), None);
        assert!(interval_ranks(1000, 0.99, 0.95).is_some());
        assert_eq!(interval_ranks(0, 0.5, 0.95), None);
    }

    #[test]
    fn the_interval_covers_as_often_as_it_says() {
        // A fixed linear congruential sequence: the test needs many samples, not good randomness.
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let trials = 4_000;
        let mut covered = 0;
        for _ in 0..trials {
            let mut sample: Vec<f64> = (0..60).map(|_| next()).collect();
            sample.sort_unstable_by(f64::total_cmp);
            let ranks = interval_ranks(60, 0.9, 0.9).unwrap();
            let at = |rank: u64| sample[rank as usize - 1];
            covered += usize::from((at(ranks.low)..=at(ranks.high)).contains(&0.9));
        }
        let share = covered as f64 / f64::from(trials);
        assert!((0.88..0.97).contains(&share), "{share}");
    }
}
