//! Latency histograms in Prometheus' form.

use std::fmt::Write;

/// Upper bounds of the buckets, in seconds.
const BOUNDS: [f64; 24] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
    0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0,
];

/// Counts of durations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    /// Counts one duration, in seconds.
    pub fn add(&mut self, seconds: f64) {
        self.count += 1;
        self.sum += seconds;
        if let Some(bucket) = BOUNDS.iter().position(|&bound| seconds <= bound) {
            self.buckets[bucket] += 1;
        }
    }

    /// Writes the histogram as the metric `name` with `labels` (`key="value"`, without braces).
    pub fn write(&self, page: &mut String, name: &str, help: &str, labels: &str) {
        let mut lines = || -> std::fmt::Result {
            writeln!(page, "# HELP {name} {help}\n# TYPE {name} histogram")?;
            let mut below = 0;
            for (bound, bucket) in BOUNDS.iter().zip(self.buckets) {
                below += bucket;
                writeln!(page, "{name}_bucket{{{labels},le=\"{bound}\"}} {below}")?;
            }
            writeln!(page, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", self.count)?;
            writeln!(page, "{name}_sum{{{labels}}} {}\n{name}_count{{{labels}}} {}", self.sum, self.count)
        };
        // Writing into a String cannot fail.
        lines().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_what_is_above_all_bounds_counts_too() {
        let mut histogram = Histogram::default();
        for seconds in [0.001, 0.003, 100.0] {
            histogram.add(seconds);
        }
        let mut page = String::new();
        histogram.write(&mut page, "h", "help", "a=\"b\"");
        assert!(page.contains("h_bucket{a=\"b\",le=\"0.001\"} 1\n"), "{page}");
        assert!(page.contains("h_bucket{a=\"b\",le=\"0.005\"} 2\n"), "{page}");
        assert!(page.contains("h_bucket{a=\"b\",le=\"40\"} 2\nh_bucket{a=\"b\",le=\"+Inf\"} 3\n"), "{page}");
        assert!(page.contains("h_count{a=\"b\"} 3\n"), "{page}");
    }
}
