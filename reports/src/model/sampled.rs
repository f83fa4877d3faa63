//! What single requests say about a stage that its summary does not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Quantity, Statistic};
use crate::statistics::QuantileInterval;

/// Percentiles for which intervals are computed.
pub const INTERVALS: [Statistic; 6] =
    [Statistic::P50, Statistic::P75, Statistic::P90, Statistic::P95, Statistic::P99, Statistic::P99p9];

/// What a stage's per-request records say beyond its document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// Each latency that successful requests have.
    pub quantities: BTreeMap<Quantity, Sample>,
    /// How many requests met the limits, when limits were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
}

/// The values of one latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// How many values: requests, or gaps between tokens.
    pub count: u64,
    /// Largest relative error of the values below; 0 unless there were too many to hold.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub error: f64,
    /// Confidence intervals of percentiles, in seconds; a percentile for which there are too few values has none.
    pub intervals: BTreeMap<Statistic, QuantileInterval>,
    /// The cumulative distribution: the values, in seconds, within which the [`curve_shares`] of all values lie. Empty where
    /// it is not drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<f64>,
}

/// Successful requests that met limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Within {
    /// By limit; `None` where no request has the latency.
    pub each: Vec<Option<u64>>,
    /// All limits at once; `None` where one of them is.
    pub all: Option<u64>,
}

/// The shares of a curve: each percent, the tails finer.
pub fn curve_shares() -> impl Iterator<Item = f64> {
    let percents = (1..100).map(|percent| f64::from(percent) / 100.0);
    [0.0, 0.001].into_iter().chain(percents).chain([0.999, 1.0])
}

/// Six significant digits: more than a chart shows, and a third of the bytes.
pub fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_a_bounded_number_of_points_in_ascending_order() {
        let shares: Vec<f64> = curve_shares().collect();
        assert_eq!(shares.len(), 103);
        assert!(shares.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((shares[0], shares[102]), (0.0, 1.0));
    }
}
