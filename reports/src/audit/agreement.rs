//! Whether a stored stage says what its records say.

use serde::Serialize;

use crate::model::{Distribution, Quantity, Stage};

/// Relative difference that rounding explains: both sides add thousands of doubles in different order.
pub const TOLERANCE: f64 = 1e-9;
/// Difference in seconds, or in tokens, below which two numbers are the same: the resolution of the clock.
pub const SMALLEST: f64 = 1e-9;

/// A field whose stored number does not follow from the records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The field, as `latency.ttft.p99`.
    pub field: String,
    /// What the document says.
    pub stored: f64,
    /// What the records say; `None` when they give nothing for it.
    pub recomputed: Option<f64>,
}

/// What comparing a document found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// Fields in which document and records agree.
    pub agreeing: usize,
    /// Fields in which they do not.
    pub differences: Vec<Difference>,
}

/// A stage as its records give it.
#[derive(Clone, Debug)]
pub struct Recomputed {
    /// Read as native files have it.
    pub native: Stage,
    /// Read as Benchmark Report documents may have it; a field that follows either reading agrees.
    pub report: Stage,
    /// Whether the records hold what token latencies need.
    pub detailed: bool,
    /// Relative error of recomputed percentiles, and of nothing else; 0 while all values were held.
    pub error: f64,
}

impl Recomputed {
    /// Compares the numbers that a stored stage has with these. What the document does not hold is not missed: formats
    /// differ in it.
    pub fn agreement(&self, stored: &Stage) -> Agreement {
        let mut agreement = Agreement::default();
        let ours = &self.native;
        let count = |count: u64| Some(count as f64);
        agreement.number("requests.total", count(stored.requests.total), count(ours.requests.total), 0.0);
        let failures = |stage: &Stage| stage.requests.failures.and_then(count);
        agreement.number("requests.failures", failures(stored), failures(ours), 0.0);
        agreement.number("load.achieved_rate", stored.load.achieved_rate, ours.load.achieved_rate, 0.0);
        agreement.number("load.send_seconds", stored.load.send_seconds, ours.load.send_seconds, 0.0);
        let (theirs, mine) = (&stored.throughput, &ours.throughput);
        agreement.number("throughput.input_tokens", theirs.input_tokens, mine.input_tokens, 0.0);
        agreement.number("throughput.output_tokens", theirs.output_tokens, mine.output_tokens, 0.0);
        agreement.number("throughput.total_tokens", theirs.total_tokens, mine.total_tokens, 0.0);
        agreement.number("throughput.requests", theirs.requests, mine.requests, 0.0);
        agreement.number("throughput.seconds", theirs.seconds, mine.seconds, 0.0);
        agreement.distribution(
            "requests.input_length",
            stored.requests.input_length,
            ours.requests.input_length,
            self.error,
        );
        let output_length = |stage: &Stage| stage.requests.output_length;
        agreement.either("requests.output_length", output_length(stored), self, output_length);
        for quantity in Quantity::ALL {
            // Without response metadata in the records nothing is known about single tokens.
            if self.detailed || matches!(quantity, Quantity::Ntpot | Quantity::RequestLatency) {
                let field = format!("latency.{}", quantity.key());
                agreement.either(&field, quantity.of(stored), self, |stage| quantity.of(stage));
            }
        }
        agreement
    }
}

impl Agreement {
    /// Compares with both readings and keeps the native one unless only the other agrees.
    fn either(
        &mut self,
        field: &str,
        stored: Option<Distribution>,
        ours: &Recomputed,
        of: impl Fn(&Stage) -> Option<Distribution>,
    ) {
        let [native, report] = [&ours.native, &ours.report].map(|stage| {
            let mut attempt = Self::default();
            attempt.distribution(field, stored, of(stage), ours.error);
            attempt
        });
        let chosen = if report.differences.is_empty() { report } else { native };
        self.agreeing += chosen.agreeing;
        self.differences.extend(chosen.differences);
    }

    fn distribution(&mut self, field: &str, stored: Option<Distribution>, ours: Option<Distribution>, error: f64) {
        let Some(stored) = stored else { return };
        let ours = ours.unwrap_or_default();
        self.number(&format!("{field}.mean"), stored.mean, ours.mean, 0.0);
        self.number(&format!("{field}.stddev"), stored.stddev, ours.stddev, 1e-6);
        for (theirs, mine) in stored.percentiles().into_iter().zip(ours.percentiles()) {
            let exact = matches!(theirs.name, "min" | "max");
            let error = if exact { 0.0 } else { error };
            self.number(&format!("{field}.{}", theirs.name), theirs.value, mine.value, error);
        }
    }

    fn number(&mut self, field: &str, stored: Option<f64>, recomputed: Option<f64>, error: f64) {
        let Some(stored) = stored else { return };
        let agrees = recomputed.is_some_and(|ours| {
            (stored - ours).abs() <= SMALLEST.max((TOLERANCE + error) * stored.abs().max(ours.abs()))
        });
        if agrees {
            self.agreeing += 1;
        } else {
            self.differences.push(Difference { field: field.to_owned(), stored, recomputed });
        }
    }
}
