//! Tests: Student's t, Fisher's exact test, Holm's correction.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::gamma::ln_gamma;

/// One-sided p-value of a t statistic: the probability of a value at least as large without an effect.
///
/// 1 for a statistic that is not a number, so that what cannot be computed is never significant.
#[must_use]
pub fn upper_tail(t: f64, df: f64) -> f64 {
    if t.is_nan() {
        return 1.0;
    }
    // The survival function keeps small probabilities that `1 - cdf` would round away.
    student(df).map_or(1.0, |distribution| distribution.sf(t))
}

/// The t value that is exceeded with probability `alpha` without an effect; infinite where `alpha` is 0.
#[must_use]
pub fn critical_value(alpha: f64, df: f64) -> f64 {
    if alpha <= 0.0 {
        return f64::INFINITY;
    }
    student(df).map_or(f64::INFINITY, |distribution| -distribution.inverse_cdf(alpha))
}

fn student(df: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, df).ok()
}

/// p-values adjusted by Holm's step-down method, in the order given.
///
/// Rejecting where the adjusted value is below `alpha` keeps the chance of any false alarm among them below `alpha`,
/// however the tests depend on one another (Holm, Scandinavian Journal of Statistics 6, 1979).
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut running: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        running = running.max(p_values[index] * (p_values.len() - rank) as f64).min(1.0);
        adjusted[index] = running;
    }
    adjusted
}

/// Failures among requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proportion {
    /// How many requests failed.
    pub failures: u64,
    /// How many there were.
    pub total: u64,
}

impl Proportion {
    /// The failed share; `None` without requests.
    #[must_use]
    pub fn rate(self) -> Option<f64> {
        (self.total > 0).then(|| self.failures as f64 / self.total as f64)
    }
}

/// Fisher's exact test, one-sided: the probability of at least as many failures in `new` when both fail equally often.
#[must_use]
pub fn fisher_exact(new: Proportion, baseline: Proportion) -> f64 {
    let failures = new.failures + baseline.failures;
    let total = new.total + baseline.total;
    let most = failures.min(new.total);
    if new.failures == 0 {
        return 1.0;
    }
    let ln_all = ln_choose(total, new.total);
    let ln_probability = |k: u64| ln_choose(failures, k) + ln_choose(total - failures, new.total - k) - ln_all;
    let least = new.total.saturating_sub(total - failures);
    let tail: f64 = (new.failures.max(least)..=most).map(|k| ln_probability(k).exp()).sum();
    tail.min(1.0)
}

fn ln_choose(n: u64, k: u64) -> f64 {
    ln_gamma(n as f64 + 1.0) - ln_gamma(k as f64 + 1.0) - ln_gamma((n - k) as f64 + 1.0)
}

/// Upper 95% bound (one-sided, Clopper-Pearson) of a proportion of which `events` were seen in `trials`.
#[must_use]
pub fn upper_bound(events: u64, trials: u64) -> f64 {
    if events >= trials {
        return 1.0;
    }
    bisect(|p| binomial_lower_tail(events, trials, p) > 0.05)
}

/// Lower 95% bound (one-sided, Clopper-Pearson) of a proportion of which `events` were seen in `trials`.
#[must_use]
pub fn lower_bound(events: u64, trials: u64) -> f64 {
    1.0 - upper_bound(trials - events.min(trials), trials)
}

/// P(X <= k) for a binomial variable, through the incomplete beta function.
fn binomial_lower_tail(k: u64, n: u64, p: f64) -> f64 {
    statrs::function::beta::beta_reg((n - k) as f64, k as f64 + 1.0, 1.0 - p)
}

/// The largest p in [0, 1] for which a decreasing condition still holds.
fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_values_agree_with_the_printed_tables() {
        for (alpha, df, expected) in [(0.05, 20.0, 1.7247), (0.005, 20.0, 2.8453), (0.005, 10.0, 3.1693)] {
            assert!((critical_value(alpha, df) - expected).abs() < 1e-4);
            assert!((upper_tail(expected, df) - alpha).abs() < 1e-5);
        }
    }

    #[test]
    fn far_tails_are_small_but_not_zero() {
        let p = upper_tail(15.0, 30.0);
        assert!(p > 0.0 && p < 1e-13, "{p}");
    }

    #[test]
    fn what_is_not_a_number_is_never_significant() {
        assert_eq!(upper_tail(f64::NAN, 20.0), 1.0);
        assert_eq!(critical_value(0.0, 20.0), f64::INFINITY);
    }

    #[test]
    fn holm_steps_down_and_never_reorders() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (seen, expected) in adjusted.iter().zip(expected) {
            assert!((seen - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn fishers_test_gives_the_tea_tasting_probabilities() {
        let three_of_four = fisher_exact(Proportion { failures: 3, total: 4 }, Proportion { failures: 1, total: 4 });
        assert!((three_of_four - 17.0 / 70.0).abs() < 1e-9, "{three_of_four}");
        let none = fisher_exact(Proportion { failures: 0, total: 760 }, Proportion { failures: 4, total: 760 });
        assert_eq!(none, 1.0);
    }

    #[test]
    fn two_percent_failures_after_none_are_beyond_doubt() {
        let p = fisher_exact(Proportion { failures: 46, total: 2280 }, Proportion { failures: 0, total: 6840 });
        assert!(p < 1e-20, "{p}");
    }

    #[test]
    fn bounds_of_a_proportion_agree_with_the_rule_of_three() {
        assert!((upper_bound(0, 1000) - 0.002_991).abs() < 1e-5);
        assert!((lower_bound(1000, 1000) - 0.997_009).abs() < 1e-5);
        assert_eq!(upper_bound(5, 5), 1.0);
    }
}
