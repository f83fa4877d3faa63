//! How many repetitions tell two treatments apart.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{HEADLINE, log_deviation};
use crate::compare::{CONFIDENCE, MIN_REPETITIONS, NOISE_FLOOR, Series};
use crate::model::Metric;

/// Probability with which a difference is to be found.
pub const POWER: f64 = 0.8;

/// More repetitions than anybody runs; beyond them the answer is that it cannot be told.
const MOST: usize = 1000;

/// Two treatments, one metric at the highest rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Needed {
    /// The baseline's name.
    pub baseline: String,
    /// The candidate's name.
    pub candidate: String,
    /// The metric's key.
    pub metric: String,
    /// The rate.
    pub requested_qps: f64,
    /// The forecast difference of medians, relative to the baseline.
    pub difference: Option<f64>,
    /// Repetitions of each that tell the forecast difference from none; `None` where even a thousand do not.
    pub for_difference: Option<usize>,
    /// For each difference that was asked for: it (as a fraction), and the repetitions.
    pub at: Vec<(f64, Option<usize>)>,
}

/// Repetitions of each of two treatments after which a relative difference of `difference` is called in `POWER` of all
/// campaigns, by the test that comparisons use (two-sided, [`CONFIDENCE`], on logarithms).
///
/// The sample size for two means, `n = (t(1 - a/2) + t(power))^2 (s1^2 + s2^2) / d^2` with t quantiles at 2n - 2 degrees of
/// freedom (Chow, Shao, Wang and Lokhnygina, Sample Size Calculations in Clinical Research, 3rd edition 2018, section 3.2),
/// where d is the difference of logarithms and s the deviations between runs, never below [`NOISE_FLOOR`]; at least
/// [`MIN_REPETITIONS`]. `None` where a thousand are not enough.
pub fn repetitions_needed(deviations: [f64; 2], difference: f64) -> Option<usize> {
    let effect = difference.ln_1p();
    let variance: f64 = deviations.iter().map(|deviation| deviation.max(NOISE_FLOOR).powi(2)).sum();
    if effect == 0.0 || !effect.is_finite() {
        return None;
    }
    (MIN_REPETITIONS..=MOST).find(|&n| {
        let freedom = 2.0 * (n as f64 - 1.0);
        let Ok(student) = StudentsT::new(0.0, 1.0, freedom) else { return false };
        let quantiles = student.inverse_cdf(0.5 + CONFIDENCE / 2.0) + student.inverse_cdf(POWER);
        n as f64 >= quantiles.powi(2) * variance / effect.powi(2)
    })
}

/// The first treatment against every other, at the highest rate that both have.
pub(super) fn of(series: &[Series], differences: &[f64]) -> Vec<Needed> {
    let Some((baseline, candidates)) = series.split_first() else { return Vec::new() };
    let pairs = candidates.iter().flat_map(|candidate| HEADLINE.map(|metric| (candidate, metric)));
    pairs.filter_map(|(candidate, metric)| one(baseline, candidate, metric, differences)).collect()
}

fn one(baseline: &Series, candidate: &Series, metric: Metric, differences: &[f64]) -> Option<Needed> {
    let top = baseline.top()?;
    let (left, right) = (top.spread(metric)?, candidate.at(top.level)?.spread(metric)?);
    let deviations = [log_deviation(&left.values)?, log_deviation(&right.values)?];
    let difference = (left.median != 0.0).then(|| right.median / left.median - 1.0);
    Some(Needed {
        baseline: baseline.name.clone(),
        candidate: candidate.name.clone(),
        metric: metric.key(),
        requested_qps: top.level.value(),
        difference,
        for_difference: difference.and_then(|difference| repetitions_needed(deviations, difference)),
        at: differences.iter().map(|&asked| (asked, repetitions_needed(deviations, asked))).collect(),
    })
}
