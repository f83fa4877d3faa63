//! A summary of many values: mean, extremes and percentiles.

use serde::Serialize;

/// A summary of many values in one unit; percentiles by numpy's linear rule (type 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation.
    pub stddev: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// 0.1th percentile.
    pub p0p1: Option<f64>,
    /// 1st percentile.
    pub p1: Option<f64>,
    /// 5th percentile.
    pub p5: Option<f64>,
    /// 10th percentile.
    pub p10: Option<f64>,
    /// 25th percentile.
    pub p25: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 75th percentile.
    pub p75: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p99p9: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

/// A percentile's probability and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// The field's name, as Benchmark Report documents spell it (`p99p9`).
    pub name: &'static str,
    /// The share of values at or below it, from 0 (`min`) to 1 (`max`).
    pub probability: f64,
    /// The value, where it is known.
    pub value: Option<f64>,
}

impl Distribution {
    /// A distribution of which only the mean is known.
    pub fn of_mean(mean: f64) -> Self {
        Self { mean: Some(mean), ..Self::default() }
    }

    /// `None` when nothing is known, so that an empty summary never looks like a measured one.
    #[must_use]
    pub fn known(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }

    /// The extremes and percentiles in ascending order of probability.
    pub fn percentiles(&self) -> [Percentile; 13] {
        let at = |name, probability, value| Percentile { name, probability, value };
        [
            at("min", 0.0, self.min),
            at("p0p1", 0.001, self.p0p1),
            at("p1", 0.01, self.p1),
            at("p5", 0.05, self.p5),
            at("p10", 0.1, self.p10),
            at("p25", 0.25, self.p25),
            at("p50", 0.5, self.p50),
            at("p75", 0.75, self.p75),
            at("p90", 0.9, self.p90),
            at("p95", 0.95, self.p95),
            at("p99", 0.99, self.p99),
            at("p99p9", 0.999, self.p99p9),
            at("max", 1.0, self.max),
        ]
    }

    /// The same summary with every value multiplied by `factor`, as for a change of unit.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let by = |value: Option<f64>| value.map(|value| value * factor);
        Self {
            mean: by(self.mean),
            stddev: by(self.stddev),
            min: by(self.min),
            p0p1: by(self.p0p1),
            p1: by(self.p1),
            p5: by(self.p5),
            p10: by(self.p10),
            p25: by(self.p25),
            p50: by(self.p50),
            p75: by(self.p75),
            p90: by(self.p90),
            p95: by(self.p95),
            p99: by(self.p99),
            p99p9: by(self.p99p9),
            max: by(self.max),
        }
    }

    /// Checks that every number is finite and, unless `signed`, not negative, that percentiles ascend, and that the mean
    /// lies between the extremes. The error names the field.
    pub fn check(&self, signed: bool) -> Result<(), String> {
        let percentiles = self.percentiles();
        let named = percentiles.iter().map(|percentile| (percentile.name, percentile.value));
        for (name, value) in [("mean", self.mean), ("stddev", self.stddev)].into_iter().chain(named) {
            let Some(value) = value else { continue };
            if !value.is_finite() {
                return Err(format!("{name} is {value}"));
            }
            if value < 0.0 && (!signed || name == "stddev") {
                return Err(format!("{name} is negative ({value})"));
            }
        }
        let mut known = percentiles.iter().filter_map(|percentile| Some((percentile.name, percentile.value?)));
        if let Some(mut before) = known.next() {
            for next in known {
                if next.1 < before.1 - tolerance(before.1) {
                    return Err(format!("{} ({}) is below {} ({})", next.0, next.1, before.0, before.1));
                }
                before = next;
            }
        }
        match (self.min, self.mean, self.max) {
            (Some(min), Some(mean), _) if mean < min - tolerance(min) => {
                Err(format!("mean ({mean}) is below min ({min})"))
            }
            (_, Some(mean), Some(max)) if mean > max + tolerance(max) => {
                Err(format!("mean ({mean}) is above max ({max})"))
            }
            _ => Ok(()),
        }
    }
}

/// What floating-point sums and interpolation may differ by.
fn tolerance(value: f64) -> f64 {
    1e-9 * value.abs() + 1e-12
}
