//! Files written by inference-perf 0.4 to 0.7.

mod record;

pub use record::{ComputedMetrics, Info, Record, RecordError};
