//! Collects, redacts, compresses and publishes a repetition's evidence atomically.

pub mod atomic;
mod publish;

pub use publish::{PER_REQUEST, Published, SCRATCH, publish};
