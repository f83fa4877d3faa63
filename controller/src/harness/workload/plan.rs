//! The ladder that a configuration plans, as inference-perf counts it.

use serde_yaml::Value;

/// One stage as it will be executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedStage {
    /// Requested requests a second; `None` for a stage of constant concurrency.
    pub rate: Option<f64>,
    /// Seconds during which requests are sent; `None` for a stage of constant concurrency.
    pub seconds: Option<f64>,
    /// Requests, exactly: `int(rate x duration)`.
    pub requests: u64,
}

/// The stages of a checked document.
pub(super) fn read(document: &Value) -> Vec<PlannedStage> {
    let stages = document.get("load").and_then(|load| load.get("stages")).and_then(Value::as_sequence);
    stages.into_iter().flatten().map(stage).collect()
}

fn stage(stage: &Value) -> PlannedStage {
    let number = |key: &str| stage.get(key).and_then(Value::as_f64);
    if let Some(requests) = stage.get("num_requests").and_then(Value::as_u64) {
        return PlannedStage { rate: None, seconds: None, requests };
    }
    let (rate, seconds) = (number("rate"), number("duration"));
    // Truncated towards zero, as Python's `int` does.
    let requests = rate.zip(seconds).map_or(0, |(rate, seconds)| (rate * seconds) as u64);
    PlannedStage { rate, seconds, requests }
}
