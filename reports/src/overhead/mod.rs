//! What a gateway itself costs: differences between treatments that were measured by the open-loop client.
//!
//! Treatments are measured interleaved (A B C, B C A, …), so each round has one run of each. A difference is taken within
//! a round, where the machine was in the same state, and its uncertainty is the spread of that difference over rounds:
//! drift of the machine cancels, and is not mistaken for precision.

mod build;
mod charts;
mod document;
mod evidence;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use build::{Component, Cost, Difference, Limit, Measure, Overhead, StageCost, TreatmentCost, build};
pub use charts::charts;
pub use document::markdown;
pub use evidence::{Client, FILE};

/// Why there is no such document.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] crate::files::Error),
    /// A file is not what the client writes.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the parser found.
        source: serde_json::Error,
    },
    /// A file of a later version.
    #[error("{}: version {found} of the client's results is newer than this program reads (1)", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A number that cannot be meant.
    #[error("{}: {what}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}
