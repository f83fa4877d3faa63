//! Bencher Metric Format: JSON of benchmarks, their measures, and each measure's value with bounds.

use indexmap::IndexMap;
use serde::Serialize;

use super::{METRICS, place, points};
use crate::compare::Series;
use crate::model::Metric;

/// Longest name of a benchmark that Bencher takes, in characters.
const NAME: usize = 1024;

#[derive(Serialize)]
struct Value {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// One benchmark a treatment and level: the median over repetitions, bounded by the smallest and the largest of them.
/// A single repetition has no bounds.
pub fn document(series: &[Series]) -> Result<String, serde_json::Error> {
    let benchmarks: IndexMap<String, IndexMap<String, Value>> = points(series)
        .map(|(series, point)| {
            let measures = METRICS.into_iter().filter_map(|metric| {
                let spread = point.spread(metric)?;
                let bounded = spread.count() > 1;
                let value = Value {
                    value: spread.median,
                    lower_value: bounded.then_some(spread.min),
                    upper_value: bounded.then_some(spread.max),
                };
                Some((measure(metric), value))
            });
            (place(series, point).chars().take(NAME).collect(), measures.collect())
        })
        .collect();
    Ok(serde_json::to_string_pretty(&benchmarks)? + "\n")
}

/// The measure's slug. Bencher's own `latency` and `throughput` are in other units and are not used.
fn measure(metric: Metric) -> String {
    metric.key().replace('_', "-")
}
