//! Bundles and formats for other tools: Prism, github-action-benchmark, Bencher, history.
//!
//! Every export is text made from [`Series`], except the Prism bundle, which carries the stored documents themselves. A
//! number that was not measured is left out; no format here has a word for it.

pub mod bencher;
pub mod github_action_benchmark;
pub mod history;
pub mod prism;

#[cfg(test)]
mod tests;

use crate::compare::{Point, Series};
use crate::model::{Better, Level, Metric, Quantity, Statistic};

/// What the tools follow over time: enough to see a change, few enough to look at.
pub const METRICS: [Metric; 12] = [
    Metric::Latency(Quantity::Ttft, Statistic::P50),
    Metric::Latency(Quantity::Ttft, Statistic::P90),
    Metric::Latency(Quantity::Ttft, Statistic::P99),
    Metric::Latency(Quantity::Itl, Statistic::P50),
    Metric::Latency(Quantity::Itl, Statistic::P99),
    Metric::Latency(Quantity::Tpot, Statistic::P50),
    Metric::Latency(Quantity::Ntpot, Statistic::P50),
    Metric::Latency(Quantity::RequestLatency, Statistic::P50),
    Metric::Latency(Quantity::RequestLatency, Statistic::P99),
    Metric::OutputTokenRate,
    Metric::RequestRate,
    Metric::FailureRate,
];

/// A file of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Treatments and levels, as a name that stays the same from campaign to campaign.
fn place(series: &Series, point: &Point) -> String {
    let level = match point.level {
        Level::Rate(rate) => format!("{rate} requests/s"),
        Level::Concurrency(1) => "1 request in flight".to_owned(),
        Level::Concurrency(concurrency) => format!("{concurrency} requests in flight"),
    };
    format!("{} at {level}", series.name)
}

/// All curves' points with their treatment.
fn points(series: &[Series]) -> impl Iterator<Item = (&Series, &Point)> {
    series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)))
}

/// Metrics of which less, or more, is better.
fn metrics(better: Better) -> impl Iterator<Item = Metric> {
    METRICS.into_iter().filter(move |metric| metric.better() == better)
}
