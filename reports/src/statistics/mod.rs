//! Percentiles, confidence intervals and tests; pure functions without random numbers.

mod percentile;
mod spread;

pub use percentile::{median, percentile, percentile_of_sorted};
pub use spread::Spread;
