//! Benchmark Report documents beside the native files they are made from.

use std::path::Path;

use reports::benchmark_report::{self, Context, Error};

use crate::failure::{Failure, Result};

/// Writes one Benchmark Report document for each stage that the harness left in `work`.
///
/// # Errors
/// A measurement failure when native files are missing or cannot be meant.
pub fn convert(work: &Path, context: &Context) -> Result<()> {
    let documents = benchmark_report::convert(work, context).map_err(|error| match error {
        Error::Yaml(reports::yaml::Error::Emit(_)) => Failure::internal(error),
        error => Failure::measurement(error).hint(format!("the harness's files are in {}", work.display())),
    })?;
    for document in documents {
        fs_err::write(work.join(&document.file_name), document.text)?;
    }
    Ok(())
}
