//! The numbers of a stage, independent of the file they were read from.
//!
//! Everything is in base units (seconds, tokens a second, requests a second) and absent is `None`, never 0.

mod distribution;
mod metric;
mod sampled;
mod slo;
mod stack;
mod stage;

pub use distribution::{Distribution, Percentile};
pub use metric::{Better, Metric, Quantity, Statistic};
pub use sampled::{INTERVALS, Sample, Sampled, Within, curve_shares, short};
pub use slo::{Objective, Slo, Unclear};
pub use stack::{Accelerator, Component, Parallelism, Stack};
pub use stage::{Failure, Harness, Latency, Level, Load, Prefix, Requests, Sequence, Stage, Throughput, Workload};

#[cfg(test)]
mod tests;
