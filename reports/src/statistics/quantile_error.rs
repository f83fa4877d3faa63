//! Standard errors of sample quantiles on the log scale, exact and without random numbers.
//!
//! The Maritz-Jarrett estimator (Maritz and Jarrett, "A note on estimating the variance of the sample median", JASA 73,
//! 1978) is the variance that an infinite bootstrap of an order statistic would give: the bootstrap puts probability
//! `I(i/n; a, b) - I((i-1)/n; a, b)` on the i-th smallest value, `I` being the regularised incomplete beta function. The
//! shape parameters here are real, so that the estimate belongs to the interpolated (type 7) quantile at
//! `h = (n - 1) p + 1`: `a = h`, `b = n - h + 1`.
//!
//! All functions take logarithms: the error of a log quantile is the relative error of the quantile, whatever its unit.

use std::collections::HashMap;

use statrs::function::beta::beta_reg;

use super::percentile_of_sorted;

/// Requests that follow one another are taken for independent up to this lag-1 autocorrelation.
pub const INDEPENDENCE_LIMIT: f64 = 0.2;

/// How many contiguous blocks the block version uses, where there are samples enough for five a block.
const BLOCKS: usize = 20;

/// A quantile's logarithm, its standard error and how that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogQuantile {
    /// Natural logarithm of the quantile.
    pub log: f64,
    /// Standard error of `log`.
    pub se: f64,
    /// Whether the error was widened because the samples depend on their predecessors.
    pub blocked: bool,
}

/// Weights of the order statistics `first..first + weights.len()` (from 0) for one sample size and probability.
#[derive(Debug)]
struct Weights {
    first: usize,
    weights: Vec<f64>,
}

/// Computes quantiles with their errors; keeps the weights of each (sample size, probability) it has met.
#[derive(Debug, Default)]
pub struct QuantileEstimator {
    weights: HashMap<(usize, u64), Weights>,
    sorted: Vec<f64>,
}

impl QuantileEstimator {
    /// An estimator that has met no sample size yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The log quantiles at `probabilities` of log values given in the order in which the requests started.
    ///
    /// Empty when there are fewer than two values, or when one is not a number.
    pub fn estimate(&mut self, ordered_logs: &[f64], probabilities: &[f64]) -> Vec<LogQuantile> {
        let n = ordered_logs.len();
        if n < 2 {
            return Vec::new();
        }
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.clear();
        sorted.extend_from_slice(ordered_logs);
        sorted.sort_unstable_by(f64::total_cmp);
        let dependent = lag_one_autocorrelation(ordered_logs) > INDEPENDENCE_LIMIT;
        let estimates = probabilities
            .iter()
            .filter_map(|&p| {
                let log = percentile_of_sorted(&sorted, p)?;
                let independent = self.weights_for(n, p).standard_error(&sorted);
                let widening = if dependent { block_inflation(ordered_logs, log, p) } else { 1.0 };
                Some(LogQuantile { log, se: independent * widening.sqrt(), blocked: dependent })
            })
            .collect();
        self.sorted = sorted;
        estimates
    }

    fn weights_for(&mut self, n: usize, p: f64) -> &Weights {
        self.weights.entry((n, p.to_bits())).or_insert_with(|| Weights::new(n, p))
    }
}

impl Weights {
    /// Weights further than nine binomial standard deviations from the quantile are below 1e-15 and left out.
    fn new(n: usize, p: f64) -> Self {
        let size = n as f64;
        let a = (size - 1.0) * p + 1.0;
        let b = size - a + 1.0;
        let reach = 9.0 * (size * p * (1.0 - p)).sqrt() + 9.0;
        let first = (a - reach).max(0.0) as usize;
        let last = ((a + reach) as usize).min(n);
        let cdf = |i: usize| match i {
            0 => 0.0,
            i if i >= n => 1.0,
            i => beta_reg(a, b, i as f64 / size),
        };
        let mut below = cdf(first);
        let weights = (first..last)
            .map(|i| {
                let upto = cdf(i + 1);
                let weight = upto - below;
                below = upto;
                weight
            })
            .collect();
        Self { first, weights }
    }

    fn standard_error(&self, sorted: &[f64]) -> f64 {
        let window = sorted.get(self.first..).unwrap_or_default();
        // Centred on a value of the window, so that the difference of squares loses no digits.
        let centre = window.first().copied().unwrap_or_default();
        let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
        for (weight, value) in self.weights.iter().zip(window) {
            let x = value - centre;
            total += weight;
            first += weight * x;
            second += weight * x * x;
        }
        let mean = first / total;
        (second / total - mean * mean).max(0.0).sqrt()
    }
}

/// Correlation of each value with its predecessor; 0 for constant or too few values.
#[must_use]
pub fn lag_one_autocorrelation(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 3 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let variance: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    if variance <= 0.0 {
        return 0.0;
    }
    let covariance: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    covariance / variance
}

/// How much larger the variance of the quantile is than for independent samples, at least 1.
///
/// Batch means over contiguous blocks of the indicator "at most the quantile": the variance of their mean, divided by the
/// binomial `p (1 - p) / n` that independence would give. The density, which turns the one into the other scale, cancels.
#[must_use]
pub fn block_inflation(ordered: &[f64], quantile: f64, p: f64) -> f64 {
    let n = ordered.len();
    let blocks = BLOCKS.min(n / 5);
    if blocks < 4 {
        return 1.0;
    }
    let shares: Vec<f64> = (0..blocks)
        .map(|block| {
            let values = &ordered[block * n / blocks..(block + 1) * n / blocks];
            values.iter().filter(|&&x| x <= quantile).count() as f64 / values.len() as f64
        })
        .collect();
    let count = blocks as f64;
    let mean = shares.iter().sum::<f64>() / count;
    let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / (count * (count - 1.0));
    (variance / (p * (1.0 - p) / n as f64)).max(1.0)
}

/// Percentiles of a distribution of which nothing else is known, as a report's document has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SummaryPercentiles {
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// The standard error of a log quantile from summary percentiles alone, widened by a tenth because it is approximate.
///
/// `sqrt(p (1 - p) / n) * s / phi(z_p)`, where the log-scale spread `s` is read off the percentiles around `p` as if the
/// logarithms were normal there: `ln(p90/p50) / 1.2816` for the median, `ln(p95/p50) / 1.645` for p90 (the median's
/// where p95 is absent), `ln(p99/p90) / 1.045` for p99. `None` for other quantiles, or when a percentile it needs is
/// absent or not positive.
#[must_use]
pub fn summary_standard_error(summary: &SummaryPercentiles, p: f64, n: u64) -> Option<f64> {
    const WIDENING: f64 = 1.1;
    let log_ratio = |high: Option<f64>, low: Option<f64>| match (high, low) {
        (Some(high), Some(low)) if high > 0.0 && low > 0.0 && high.is_finite() => Some((high / low).ln().max(0.0)),
        _ => None,
    };
    let body = log_ratio(summary.p90, summary.p50).map(|ratio| ratio / 1.2816);
    // Normal density at the standard normal quantile of p.
    let (spread, density) = match p {
        0.5 => (body?, 0.398_942),
        0.9 => (log_ratio(summary.p95, summary.p50).map(|ratio| ratio / 1.645).or(body)?, 0.175_498),
        0.99 => (log_ratio(summary.p99, summary.p90)? / 1.045, 0.026_652),
        _ => return None,
    };
    (n > 0).then(|| WIDENING * (p * (1.0 - p) / n as f64).sqrt() * spread / density)
}

#[cfg(test)]
mod tests;
