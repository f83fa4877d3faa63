//! Latencies as histograms, and what is read from them.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Microseconds that a histogram can hold: five minutes.
const HIGHEST: u64 = 300_000_000;

/// Significant digits: a bucket is at most 0.1% wide.
const DIGITS: u8 = 3;

/// A histogram of durations in microseconds.
#[derive(Clone, Debug)]
pub struct Recording {
    histogram: Option<Histogram<u64>>,
    sum: f64,
}

impl Default for Recording {
    fn default() -> Self {
        // The bounds are constants that the library accepts; `None` would only mean that nothing is recorded.
        Self { histogram: Histogram::new_with_bounds(1, HIGHEST, DIGITS).ok(), sum: 0.0 }
    }
}

/// What is read from a histogram; all in microseconds, from recorded values (nearest rank).
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Percentiles {
    /// How many values there are.
    pub count: u64,
    /// Their mean, exact.
    pub mean: Option<f64>,
    /// The smallest.
    pub min: Option<f64>,
    /// The 50th percentile.
    pub p50: Option<f64>,
    /// The 90th percentile.
    pub p90: Option<f64>,
    /// The 99th percentile; absent below 100 values.
    pub p99: Option<f64>,
    /// The 99.9th percentile; absent below 1,000 values.
    pub p999: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

impl Recording {
    /// Records a duration.
    pub fn add(&mut self, time: std::time::Duration) {
        let microseconds = time.as_secs_f64() * 1e6;
        self.sum += microseconds;
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record((microseconds.round() as u64).max(1));
        }
    }

    /// Adds all of another's values.
    pub fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        if let (Some(mine), Some(other)) = (&mut self.histogram, &other.histogram) {
            // Both have the same bounds.
            mine.add(other).unwrap_or_default();
        }
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// The value below which this share of all values lies, microseconds; `None` without values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let histogram = self.histogram.as_ref().filter(|histogram| !histogram.is_empty())?;
        Some(histogram.value_at_quantile(share) as f64)
    }

    /// What is read from it.
    pub fn percentiles(&self) -> Percentiles {
        let count = self.count();
        let at_least = |least: u64, share: f64| self.quantile(share).filter(|_| count >= least);
        Percentiles {
            count,
            mean: (count > 0).then(|| self.sum / count as f64),
            min: self.quantile(0.0),
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p99: at_least(100, 0.99),
            p999: at_least(1000, 0.999),
            max: self.quantile(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn percentiles_are_right_to_a_thousandth_and_absent_where_values_are_too_few() {
        let mut recording = Recording::default();
        assert_eq!(recording.percentiles(), Percentiles::default());
        for value in 1..=500_u64 {
            recording.add(Duration::from_micros(value * 10));
        }
        let told = recording.percentiles();
        assert_eq!((told.count, told.mean, told.p999), (500, Some(2505.0), None));
        for (found, exact) in [(told.p50, 2500.0), (told.p90, 4500.0), (told.p99, 4950.0), (told.max, 5000.0)] {
            assert!((found.unwrap() / exact - 1.0_f64).abs() < 0.002, "{found:?} {exact}");
        }
        let mut both = Recording::default();
        both.merge(&recording);
        both.merge(&recording);
        assert_eq!((both.count(), both.quantile(0.5)), (1000, recording.quantile(0.5)));
    }
}
