//! Collects, redacts, compresses and publishes a repetition's evidence atomically.

pub mod atomic;
mod convert;
mod publish;
pub mod runtime_metrics;

pub use convert::convert;
pub use publish::{PER_REQUEST, Published, SCRATCH, publish};
