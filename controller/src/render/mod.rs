//! Templates and deep merge: scenarios, specs and workloads.
//!
//! Everything rendered here is read by Python programs, so it leaves through [`emit`], which PyYAML reads back unchanged.

mod emit;
mod error;
mod template;

pub use emit::emit;
pub use error::Error;
