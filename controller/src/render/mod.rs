//! Templates and deep merge: the scenario and specification of a cluster treatment.
//!
//! Everything rendered here is read by Python programs, so it leaves through [`emit`], which PyYAML reads back unchanged.

mod emit;
mod error;
mod invariant;
mod merge;
pub mod names;
mod scenario;
mod spec;
mod template;
mod treatment;

#[cfg(test)]
mod tests;

pub use emit::emit;
pub use error::Error;
pub use treatment::{Places, Rendered, treatment};
