//! Names for single numbers of a stage, so that tables, charts, deltas and gates ask for them alike.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Distribution, Stage};

/// One number of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// A statistic of a latency distribution of the successful requests, in seconds.
    Latency(Quantity, Statistic),
    /// Input tokens a second.
    InputTokenRate,
    /// Output tokens a second.
    OutputTokenRate,
    /// Input and output tokens a second.
    TotalTokenRate,
    /// Completed requests a second.
    RequestRate,
    /// Requested (offered) requests a second.
    RequestedRate,
    /// Achieved send rate in requests a second.
    AchievedRate,
    /// Failed share of all requests, 0 to 1.
    FailureRate,
    /// Failed requests.
    Failures,
    /// Requests sent.
    Requests,
}

/// A latency of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Time to first token.
    Ttft,
    /// Inter-token latency.
    Itl,
    /// Time per output token after the first.
    Tpot,
    /// Normalised time per output token.
    Ntpot,
    /// End-to-end request latency.
    RequestLatency,
}

/// A statistic of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// Smallest value.
    Min,
    /// Median.
    P50,
    /// 75th percentile.
    P75,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P99p9,
    /// Largest value.
    Max,
}

/// Which direction is an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Latencies, failures.
    Lower,
    /// Throughput.
    Higher,
    /// Neither: a description of the load.
    Neither,
}

impl Metric {
    /// Every metric of documents, in their order.
    pub fn all() -> Vec<Self> {
        let mut all = vec![
            Self::RequestedRate,
            Self::AchievedRate,
            Self::RequestRate,
            Self::InputTokenRate,
            Self::OutputTokenRate,
            Self::TotalTokenRate,
        ];
        for quantity in Quantity::ALL {
            all.extend(Statistic::ALL.into_iter().map(|statistic| Self::Latency(quantity, statistic)));
        }
        all.extend([Self::Failures, Self::Requests, Self::FailureRate]);
        all
    }

    /// The number's value in a stage, in base units.
    pub fn of(self, stage: &Stage) -> Option<f64> {
        match self {
            Self::Latency(quantity, statistic) => quantity.of(stage).and_then(|summary| statistic.of(&summary)),
            Self::InputTokenRate => stage.throughput.input_tokens,
            Self::OutputTokenRate => stage.throughput.output_tokens,
            Self::TotalTokenRate => stage.throughput.total_tokens,
            Self::RequestRate => stage.throughput.requests,
            Self::RequestedRate => stage.load.requested_rate,
            Self::AchievedRate => stage.load.achieved_rate,
            Self::FailureRate => stage.requests.failure_rate(),
            Self::Failures => stage.requests.failures.map(|failures| failures as f64),
            Self::Requests => Some(stage.requests.total as f64),
        }
    }

    /// Which direction is an improvement.
    pub fn better(self) -> Better {
        match self {
            Self::Latency(..) | Self::FailureRate | Self::Failures => Better::Lower,
            Self::InputTokenRate | Self::OutputTokenRate | Self::TotalTokenRate | Self::RequestRate => Better::Higher,
            Self::RequestedRate | Self::AchievedRate | Self::Requests => Better::Neither,
        }
    }

    /// The unit of [`Metric::of`], for axes and table heads; empty for plain numbers.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Latency(Quantity::Ttft | Quantity::RequestLatency, _) => "s",
            Self::Latency(..) => "s/token",
            Self::InputTokenRate | Self::OutputTokenRate | Self::TotalTokenRate => "tokens/s",
            Self::RequestRate | Self::RequestedRate | Self::AchievedRate => "requests/s",
            Self::FailureRate | Self::Failures | Self::Requests => "",
        }
    }

    /// The name in machine-readable files: `ttft_p50_seconds`.
    pub fn key(self) -> String {
        match self {
            Self::Latency(quantity, statistic) => format!("{}_{}_seconds", quantity.key(), statistic.key()),
            Self::InputTokenRate => "input_tokens_per_second".into(),
            Self::OutputTokenRate => "output_tokens_per_second".into(),
            Self::TotalTokenRate => "total_tokens_per_second".into(),
            Self::RequestRate => "requests_per_second".into(),
            Self::RequestedRate => "requested_qps".into(),
            Self::AchievedRate => "achieved_qps".into(),
            Self::FailureRate => "failure_rate".into(),
            Self::Failures => "failures".into(),
            Self::Requests => "requests".into(),
        }
    }
}

impl fmt::Display for Metric {
    /// The name for people: `TTFT p50`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Latency(quantity, statistic) => return write!(f, "{quantity} {}", statistic.label()),
            Self::InputTokenRate => "Input tokens/s",
            Self::OutputTokenRate => "Output tokens/s",
            Self::TotalTokenRate => "Total tokens/s",
            Self::RequestRate => "Completed requests/s",
            Self::RequestedRate => "Requested requests/s",
            Self::AchievedRate => "Achieved send rate (requests/s)",
            Self::FailureRate => "Failure rate",
            Self::Failures => "Failures",
            Self::Requests => "Requests",
        };
        f.write_str(name)
    }
}

impl Quantity {
    /// All latencies, in the order of documents.
    pub const ALL: [Self; 5] = [Self::Ttft, Self::Itl, Self::Tpot, Self::Ntpot, Self::RequestLatency];

    /// The distribution in a stage.
    pub fn of(self, stage: &Stage) -> Option<Distribution> {
        let latency = &stage.latency;
        match self {
            Self::Ttft => latency.ttft,
            Self::Itl => latency.itl,
            Self::Tpot => latency.tpot,
            Self::Ntpot => latency.ntpot,
            Self::RequestLatency => latency.request,
        }
    }

    /// The name in machine-readable files.
    pub fn key(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Itl => "itl",
            Self::Tpot => "tpot",
            Self::Ntpot => "ntpot",
            Self::RequestLatency => "request_latency",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ttft => "TTFT",
            Self::Itl => "ITL",
            Self::Tpot => "TPOT",
            Self::Ntpot => "NTPOT",
            Self::RequestLatency => "Request latency",
        })
    }
}

impl Statistic {
    /// All statistics, in the order of documents.
    pub const ALL: [Self; 9] =
        [Self::Mean, Self::Min, Self::P50, Self::P75, Self::P90, Self::P95, Self::P99, Self::P99p9, Self::Max];

    /// The statistic of a distribution.
    pub fn of(self, distribution: &Distribution) -> Option<f64> {
        match self {
            Self::Mean => distribution.mean,
            Self::Min => distribution.min,
            Self::P50 => distribution.p50,
            Self::P75 => distribution.p75,
            Self::P90 => distribution.p90,
            Self::P95 => distribution.p95,
            Self::P99 => distribution.p99,
            Self::P99p9 => distribution.p99p9,
            Self::Max => distribution.max,
        }
    }

    /// The share of values at or below it; `None` for the mean and the extremes.
    pub fn share(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P75 => Some(0.75),
            Self::P90 => Some(0.9),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::P99p9 => Some(0.999),
            Self::Mean | Self::Min | Self::Max => None,
        }
    }

    /// The name in machine-readable files.
    pub fn key(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Min => "min",
            Self::P50 => "p50",
            Self::P75 => "p75",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P99p9 => "p99p9",
            Self::Max => "max",
        }
    }

    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::P99p9 => "p99.9",
            other => other.key(),
        }
    }
}
