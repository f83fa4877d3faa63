//! Benchmark Report v0.2 and v0.2.1 documents: types, reading, writing, and the converter from native files.
//!
//! One document describes one stage of one repetition: the run, the stack, the load, and the results. The format is
//! llm-d-benchmark's; v0.2.1 only adds fields to v0.2.

mod convert;
mod emit;
mod names;
mod read;
mod schema;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use convert::{Context, Converted, Part, convert, stack_entries};
pub use names::{Version, file_name, parse_file_name};
pub use read::{Report, parse, read};

use crate::{files, native, yaml};

/// Why a document could not be used or made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error(transparent)]
    File(#[from] files::Error),
    /// Not YAML of the format's shape, with field, line and column; or a value that YAML cannot hold.
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
    /// A version that is not understood.
    #[error("{path}: Benchmark Report version {found:?} is not understood; 0.2 and 0.2.1 are", path = path.display())]
    Version {
        /// The document.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// A value that cannot be meant.
    #[error("{path}: {field}: {what}", path = path.display())]
    Value {
        /// The document.
        path: PathBuf,
        /// The value's place.
        field: String,
        /// What is wrong with it.
        what: String,
    },
    /// Native files could not be read.
    #[error(transparent)]
    Native(#[from] native::Error),
}
