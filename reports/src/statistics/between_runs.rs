//! Variance between repetitions beyond what their samples explain, and what a comparison can detect.

use super::significance::critical_value;

/// One repetition's value and its sampling standard error, on the log scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Logarithm of the measured value.
    pub log: f64,
    /// Standard error of `log` from the samples of this repetition.
    pub se: f64,
}

/// A between-run standard deviation estimated from groups of repetitions that should not differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetweenRuns {
    /// The estimate on the log scale, i.e. relative; 0 when the samples explain all of the spread.
    pub tau: f64,
    /// Degrees of freedom: repetitions minus groups.
    pub df: u64,
    /// How many groups had at least two repetitions.
    pub groups: u64,
}

/// Accumulates groups for the moment estimator of DerSimonian and Laird, pooled over groups.
///
/// In a group of repetitions with weights `w = 1 / se^2`, `Q = sum w (y - mean_w)^2` has the expectation
/// `df + tau^2 (sum w - sum w^2 / sum w)`; solving for `tau^2` with all groups added up gives the estimate
/// (DerSimonian and Laird, Controlled Clinical Trials 7, 1986). An error of zero would take all the weight, so errors are
/// held above a hundredth of a percent.
#[derive(Clone, Copy, Debug, Default)]
pub struct BetweenRunsEstimator {
    excess: f64,
    scale: f64,
    df: u64,
    groups: u64,
}

impl BetweenRunsEstimator {
    /// Adds repetitions of the same thing; fewer than two say nothing and are left out.
    pub fn add(&mut self, group: &[Measured]) {
        if group.len() < 2 {
            return;
        }
        let weight = |run: &Measured| 1.0 / run.se.max(1e-4).powi(2);
        let total: f64 = group.iter().map(weight).sum();
        let squares: f64 = group.iter().map(|run| weight(run).powi(2)).sum();
        let mean = group.iter().map(|run| weight(run) * run.log).sum::<f64>() / total;
        let q: f64 = group.iter().map(|run| weight(run) * (run.log - mean).powi(2)).sum();
        let df = group.len() - 1;
        // Groups with the same number of repetitions count alike, however many samples each has: the weights are
        // brought to a mean of one, or the groups with the smallest errors would decide alone.
        let norm = total / group.len() as f64;
        self.excess += (q - df as f64) / norm;
        self.scale += (total - squares / total) / norm;
        self.df += df as u64;
        self.groups += 1;
    }

    /// The estimate; `None` while no group had two repetitions.
    #[must_use]
    pub fn finish(self) -> Option<BetweenRuns> {
        let squared = (self.scale > 0.0).then(|| (self.excess / self.scale).max(0.0))?;
        Some(BetweenRuns { tau: squared.sqrt(), df: self.df, groups: self.groups })
    }
}

/// The smallest relative effect that would be called significant in 95 of 100 campaigns.
///
/// `threshold` is the log effect above which a row is called (the larger of critical value x error and the tolerance);
/// the true effect must lie `t(0.95, df)` errors beyond it.
#[must_use]
pub fn minimum_detectable_effect(threshold: f64, se: f64, df: f64) -> f64 {
    (threshold + critical_value(0.05, df) * se).exp_m1()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn estimate(tau: f64, se: f64, groups: usize) -> BetweenRuns {
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let mut normal = move || -> f64 { StandardNormal.sample(&mut random) };
        let mut estimator = BetweenRunsEstimator::default();
        for _ in 0..groups {
            let group: Vec<Measured> = (0..3).map(|_| Measured { log: tau * normal() + se * normal(), se }).collect();
            estimator.add(&group);
        }
        estimator.finish().unwrap()
    }

    #[test]
    fn the_spread_between_runs_is_found_beneath_the_sampling_error() {
        let found = estimate(0.05, 0.03, 4000);
        assert!((found.tau - 0.05).abs() < 0.002, "{found:?}");
        assert_eq!((found.df, found.groups), (8000, 4000));
    }

    #[test]
    fn spread_that_the_samples_explain_is_not_counted_again() {
        assert!(estimate(0.0, 0.03, 4000).tau < 0.006);
    }

    #[test]
    fn single_repetitions_say_nothing_about_their_spread() {
        let mut estimator = BetweenRunsEstimator::default();
        estimator.add(&[Measured { log: 0.0, se: 0.1 }]);
        assert_eq!(estimator.finish(), None);
    }

    #[test]
    fn an_effect_at_the_threshold_is_not_yet_detectable() {
        let effect = minimum_detectable_effect(0.09, 0.02, 20.0);
        assert!((effect - (0.09f64 + 1.7247 * 0.02).exp_m1()).abs() < 1e-5);
    }
}
