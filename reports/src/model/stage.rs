//! One stage of a ladder: the load that was asked for, what was sent, what came back.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::{Distribution, Sampled};

/// One stage of one repetition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stage {
    /// The stage's position in its ladder, from 0, as executed.
    pub number: u32,
    /// Whether the workload declared it a warm-up stage.
    pub warm_up: bool,
    /// What was asked for and what was sent.
    pub load: Load,
    /// How many requests, and how they ended.
    pub requests: Requests,
    /// Latencies of the requests that succeeded.
    pub latency: Latency,
    /// Rates over the whole stage, its drain included.
    pub throughput: Throughput,
    /// What produced the numbers.
    pub harness: Harness,
    /// What was sent; must match for two stages to be comparable.
    pub workload: Workload,
    /// What its per-request records say, where there are any and they were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Arc<Sampled>>,
}

/// The load of a stage. Three rates exist and are kept apart: requested, achieved (sent), completed
/// ([`Throughput::requests`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Load {
    /// Requested (offered) requests a second.
    pub requested_rate: Option<f64>,
    /// Requested number of requests in flight, where the load was concurrent rather than a rate.
    pub concurrency: Option<u64>,
    /// Achieved send rate: requests over the time from the first to the last send. `None` for a single request.
    pub achieved_rate: Option<f64>,
    /// Seconds from the first to the last send.
    pub send_seconds: Option<f64>,
    /// Seconds by which each send was late; small negative values occur.
    pub schedule_delay: Option<Distribution>,
}

/// What places a stage on a ladder's axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Requested requests a second.
    Rate(f64),
    /// Requested number of requests in flight.
    Concurrency(u64),
}

/// Counts of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Requests {
    /// Requests sent.
    pub total: u64,
    /// Requests that ended in an error; `None` when the document does not say.
    pub failures: Option<u64>,
    /// Requests that did not end.
    pub incomplete: Option<u64>,
    /// Failures by label, most frequent first.
    pub failures_by_label: Vec<Failure>,
    /// Input tokens of each successful request.
    pub input_length: Option<Distribution>,
    /// Output tokens of each successful request.
    pub output_length: Option<Distribution>,
}

/// One kind of failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The harness's label, such as `503 - Service Unavailable`.
    pub label: String,
    /// How many requests.
    pub count: u64,
}

/// Latencies of the successful requests of a stage, in seconds (per token where the name says so).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Time to first token.
    pub ttft: Option<Distribution>,
    /// Inter-token latency: gaps between consecutive tokens, all requests' gaps together.
    pub itl: Option<Distribution>,
    /// Time per output token after the first: `(last - first token) / (tokens - 1)`.
    pub tpot: Option<Distribution>,
    /// Normalised time per output token: `request latency / tokens`.
    pub ntpot: Option<Distribution>,
    /// End-to-end request latency.
    pub request: Option<Distribution>,
}

/// Rates over a stage: totals divided by the time from its first start to its last end, drain included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Throughput {
    /// Input tokens a second.
    pub input_tokens: Option<f64>,
    /// Whether the input rate was derived as total minus output.
    pub input_tokens_derived: bool,
    /// Output tokens a second.
    pub output_tokens: Option<f64>,
    /// Input and output tokens a second.
    pub total_tokens: Option<f64>,
    /// Completed requests a second.
    pub requests: Option<f64>,
    /// The time that the rates are over, in seconds.
    pub seconds: Option<f64>,
}

/// The load generator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Harness {
    /// Its name.
    pub tool: String,
    /// Its version, where known.
    pub version: Option<String>,
}

/// What was sent, as far as documents describe it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Workload {
    /// Hash of the workload's configuration.
    pub cfg_id: Option<String>,
    /// `random`, `sampled` or `unknown`.
    pub source: Option<String>,
    /// Input tokens a request; measured where the configuration does not fix it.
    pub input: Option<Sequence>,
    /// Output tokens a request; measured where the configuration does not fix it.
    pub output: Option<Sequence>,
    /// The prefixes that requests share.
    pub prefix: Option<Prefix>,
}

/// A sequence length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sequence {
    /// `fixed`, `gaussian`, `uniform` or `other`.
    pub distribution: String,
    /// Primary value, in tokens.
    pub value: f64,
}

/// Shared prefixes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Prefix {
    /// Tokens of a prefix.
    pub tokens: Option<f64>,
    /// Groups of requests, each with its prefix.
    pub groups: Option<u64>,
    /// Different prompts in a group.
    pub prompts_per_group: Option<u64>,
}

impl Harness {
    /// The name under which stages are listed that nobody measured: computed in virtual time.
    pub const FORECAST_TOOL: &str = "forecast";
}

impl Stage {
    /// The stage's place on the ladder's axis: its concurrency where the load was concurrent, its requested rate
    /// otherwise. `None` when the document names neither.
    pub fn level(&self) -> Option<Level> {
        match (self.load.concurrency, self.load.requested_rate) {
            (Some(concurrency), _) => Some(Level::Concurrency(concurrency)),
            (None, Some(rate)) => Some(Level::Rate(rate)),
            (None, None) => None,
        }
    }

    /// The time that the stage's rates are over, in seconds: as stored, or as successes over completed requests a second.
    pub fn measured_seconds(&self) -> Option<f64> {
        self.throughput.seconds.or_else(|| {
            let rate = self.throughput.requests.filter(|&rate| rate > 0.0)?;
            Some(self.requests.successes()? as f64 / rate)
        })
    }

    /// Whether no request succeeded.
    pub fn all_failed(&self) -> bool {
        self.requests.failures.is_some_and(|failures| failures >= self.requests.total)
    }

    /// Whether the median inter-token latency says nothing because several tokens arrive in one chunk: inside a chunk
    /// all gaps are 0, so the median falls to 0 while tokens still take time.
    pub fn itl_is_chunked(&self) -> bool {
        let Some(itl) = self.latency.itl else { return false };
        matches!((itl.p50, itl.mean), (Some(p50), Some(mean)) if mean > 0.0 && p50 < 0.01 * mean)
    }

    /// Removes numbers that a file carries although nothing was measured, and derives the input rate where both the
    /// total and the output rate exist. Both readers end with it.
    pub(crate) fn settle(&mut self) {
        if self.all_failed() {
            // The harness writes rates of 0 for a stage in which nothing succeeded.
            self.latency = Latency::default();
            self.throughput = Throughput { seconds: self.throughput.seconds, ..Throughput::default() };
            if self.requests.total > 0 {
                self.throughput.requests = Some(0.0);
            }
        }
        let outputs = self.requests.output_length.and_then(|length| length.mean.or(length.max));
        let without_outputs = match (outputs, self.throughput.output_tokens) {
            (Some(mean), _) => mean <= 0.0,
            (None, Some(rate)) => rate <= 0.0,
            (None, None) => false,
        };
        if without_outputs {
            // Normalised by zero tokens: the harness writes 0, which would be the best value of all.
            self.latency.ntpot = None;
        }
        let throughput = &mut self.throughput;
        let both = throughput.total_tokens.zip(throughput.output_tokens).filter(|(total, output)| total >= output);
        if let (None, Some((total, output))) = (throughput.input_tokens, both) {
            throughput.input_tokens = Some(total - output);
            throughput.input_tokens_derived = true;
        }
    }
}

impl Requests {
    /// Requests that succeeded; a document without failures counts all as successful only if it says 0.
    pub fn successes(&self) -> Option<u64> {
        self.failures.map(|failures| self.total.saturating_sub(failures))
    }

    /// Failed share of all requests, from 0 to 1.
    pub fn failure_rate(&self) -> Option<f64> {
        let failures = self.failures?;
        (self.total > 0).then(|| failures as f64 / self.total as f64)
    }
}

impl Level {
    /// The number on the axis.
    pub fn value(self) -> f64 {
        match self {
            Self::Rate(rate) => rate,
            Self::Concurrency(concurrency) => concurrency as f64,
        }
    }

    /// The unit of this very number: `requests/s`, and `request/s` of one.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rate(1.0) => "request/s",
            Self::Rate(_) => "requests/s",
            Self::Concurrency(1) => "request in flight",
            Self::Concurrency(_) => "requests in flight",
        }
    }

    /// What the axis shows, with its unit.
    pub fn axis(self) -> &'static str {
        match self {
            Self::Rate(_) => "requested rate (requests/s)",
            Self::Concurrency(_) => "requested concurrency (requests in flight)",
        }
    }

    /// Whether both name the same point of the same axis (rates to 1e-6 relative, as text formats round).
    pub fn same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Rate(a), Self::Rate(b)) => (a - b).abs() <= 1e-6 * a.abs().max(b.abs()),
            (Self::Concurrency(a), Self::Concurrency(b)) => a == b,
            _ => false,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "{rate}"),
            Self::Concurrency(concurrency) => write!(f, "{concurrency}"),
        }
    }
}
