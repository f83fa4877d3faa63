use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

use super::*;

fn normals(seed: u64, n: usize) -> Vec<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..n).map(|_| StandardNormal.sample(&mut random)).collect()
}

#[test]
fn weights_add_up_to_one_for_every_sample_size_and_quantile() {
    for n in [2, 3, 10, 60, 201, 760, 20_000] {
        for p in [0.5, 0.9, 0.99] {
            let total: f64 = Weights::new(n, p).weights.iter().sum();
            assert!((total - 1.0).abs() < 1e-6, "n = {n}, p = {p}: {total}");
        }
    }
}

#[test]
fn the_error_is_what_an_exhaustive_bootstrap_of_the_median_gives() {
    // Three values have 27 equally likely resamples; the variance of their medians, counted by hand:
    // the median is 0 in 7, 1 in 13 and 4 in 7 of them.
    let mean = (13.0 + 7.0 * 4.0) / 27.0;
    let variance = (13.0 + 7.0 * 16.0) / 27.0 - mean * mean;
    let estimate = QuantileEstimator::new().estimate(&[4.0, 0.0, 1.0], &[0.5])[0];
    assert_eq!(estimate.log, 1.0);
    assert!((estimate.se - f64::sqrt(variance)).abs() < 1e-9, "{}", estimate.se);
}

#[test]
fn the_error_agrees_with_the_spread_of_the_quantile_over_many_samples() {
    let mut estimator = QuantileEstimator::new();
    for (p, tolerance) in [(0.5, 0.06), (0.9, 0.06), (0.99, 0.15)] {
        let runs: Vec<LogQuantile> = (0..2000).map(|seed| estimator.estimate(&normals(seed, 400), &[p])[0]).collect();
        let mean = runs.iter().map(|run| run.log).sum::<f64>() / 2000.0;
        let spread = (runs.iter().map(|run| (run.log - mean).powi(2)).sum::<f64>() / 1999.0).sqrt();
        let claimed = (runs.iter().map(|run| run.se.powi(2)).sum::<f64>() / 2000.0).sqrt();
        assert!((claimed / spread - 1.0).abs() < tolerance, "p = {p}: claimed {claimed}, seen {spread}");
    }
}

#[test]
fn requests_that_depend_on_their_predecessors_widen_the_error() {
    let mut dependent = normals(7, 800);
    for i in 1..dependent.len() {
        dependent[i] += 0.6 * dependent[i - 1];
    }
    let mut estimator = QuantileEstimator::new();
    let widened = estimator.estimate(&dependent, &[0.5])[0];
    dependent.sort_unstable_by(f64::total_cmp);
    // The same values in an order that hides the dependence: every 317th in turn.
    let shuffled: Vec<f64> = (0..800).map(|i| dependent[i * 317 % 800]).collect();
    let independent = estimator.estimate(&shuffled, &[0.5])[0];
    assert!(widened.blocked && !independent.blocked);
    assert!(widened.se > 1.3 * independent.se, "{} against {}", widened.se, independent.se);
}

#[test]
fn fewer_than_two_values_have_no_error() {
    assert!(QuantileEstimator::new().estimate(&[1.0], &[0.5]).is_empty());
}

#[test]
fn summary_percentiles_of_a_lognormal_give_its_error() {
    let sigma: f64 = 0.4;
    let at = |z: f64| Some((sigma * z).exp());
    let summary = SummaryPercentiles { p50: at(0.0), p90: at(1.2816), p95: at(1.645), p99: at(2.3263) };
    let median = summary_standard_error(&summary, 0.5, 760).unwrap();
    assert!((median / (1.1 * 0.5 / 760f64.sqrt() * sigma / 0.398_942) - 1.0).abs() < 1e-3);
    let mut estimator = QuantileEstimator::new();
    for p in [0.9, 0.99] {
        let exact: f64 = (0..200)
            .map(|seed| {
                let logs: Vec<f64> = normals(seed, 760).iter().map(|z| sigma * z).collect();
                estimator.estimate(&logs, &[p])[0].se
            })
            .sum::<f64>()
            / 200.0;
        let approximate = summary_standard_error(&summary, p, 760).unwrap();
        assert!((approximate / (1.1 * exact) - 1.0).abs() < 0.1, "p = {p}: {approximate} against {exact}");
    }
}

#[test]
fn a_summary_without_the_percentiles_it_needs_has_no_error() {
    let summary = SummaryPercentiles { p50: Some(1.0), ..SummaryPercentiles::default() };
    assert_eq!(summary_standard_error(&summary, 0.5, 100), None);
    let zero = SummaryPercentiles { p50: Some(0.0), p90: Some(1.0), ..SummaryPercentiles::default() };
    assert_eq!(summary_standard_error(&zero, 0.5, 100), None);
    assert_eq!(summary_standard_error(&zero, 0.75, 100), None);
}
