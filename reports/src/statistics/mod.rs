//! Percentiles, confidence intervals and tests; pure functions without random numbers.

pub mod between_runs;
mod order;
mod percentile;
pub mod quantile_error;
pub mod significance;
mod spread;

pub use order::{QuantileInterval, RankIntervals, Ranks, interval_ranks};
pub use percentile::{median, percentile, percentile_of_sorted};
pub use spread::Spread;
