//! What the gate measures, under the names that the limits file uses.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::Quantity;

/// A gated metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Time to first token, in seconds.
    Ttft,
    /// Inter-token latency, in seconds.
    Itl,
    /// Time per output token after the first, in seconds.
    Tpot,
    /// Normalised time per output token, in seconds.
    Ntpot,
    /// Request latency, in seconds.
    RequestLatency,
    /// Completed over offered request rate.
    Throughput,
    /// Failed share of the requests.
    Failed,
}

impl Metric {
    /// All, in the order of documents.
    pub const ALL: [Self; 7] =
        [Self::Ttft, Self::Itl, Self::Tpot, Self::Ntpot, Self::RequestLatency, Self::Throughput, Self::Failed];

    /// The name in limits files and machine-readable documents.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Itl => "itl",
            Self::Tpot => "tpot",
            Self::Ntpot => "ntpot",
            Self::RequestLatency => "request_latency",
            Self::Throughput => "throughput",
            Self::Failed => "failed",
        }
    }

    /// The metric of that key.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.key() == key)
    }

    /// The latency in the stage model; `None` for throughput and failures.
    #[must_use]
    pub fn quantity(self) -> Option<Quantity> {
        match self {
            Self::Ttft => Some(Quantity::Ttft),
            Self::Itl => Some(Quantity::Itl),
            Self::Tpot => Some(Quantity::Tpot),
            Self::Ntpot => Some(Quantity::Ntpot),
            Self::RequestLatency => Some(Quantity::RequestLatency),
            Self::Throughput | Self::Failed => None,
        }
    }

    /// Whether a larger value is better.
    #[must_use]
    pub fn higher_is_better(self) -> bool {
        self == Self::Throughput
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// The number of a metric that a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Median of a latency.
    P50,
    /// 90th percentile of a latency.
    P90,
    /// 99th percentile of a latency.
    P99,
    /// Completed over offered rate.
    Ratio,
    /// Failed share.
    Rate,
}

impl Statistic {
    /// The quantiles of latencies.
    pub const QUANTILES: [Self; 3] = [Self::P50, Self::P90, Self::P99];

    /// The name in limits files.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::Ratio => "ratio",
            Self::Rate => "rate",
        }
    }

    /// The statistic of that key, if `metric` has it.
    #[must_use]
    pub fn from_key(metric: Metric, key: &str) -> Option<Self> {
        Self::of(metric).iter().copied().find(|statistic| statistic.key() == key)
    }

    /// The statistics that a metric has.
    #[must_use]
    pub fn of(metric: Metric) -> &'static [Self] {
        match metric {
            Metric::Throughput => &[Self::Ratio],
            Metric::Failed => &[Self::Rate],
            _ => &Self::QUANTILES,
        }
    }

    /// The probability of a quantile.
    #[must_use]
    pub fn probability(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.9),
            Self::P99 => Some(0.99),
            Self::Ratio | Self::Rate => None,
        }
    }

    /// Whether so many samples, over all repetitions, are enough to gate on: ten beyond the quantile.
    #[must_use]
    pub fn is_supported_by(self, samples: u64) -> bool {
        // p90 from 100 and p99 from 1000, without the rounding of 1 - 0.99.
        match self {
            Self::P50 => samples >= 20,
            Self::P90 => samples >= 100,
            Self::P99 => samples >= 1000,
            Self::Ratio | Self::Rate => samples > 0,
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}
