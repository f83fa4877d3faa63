//! The stored documents of a repetition: what the records are compared with.

use std::path::Path;

use crate::model::Stage;
use crate::native::{self, StageFile};
use crate::{benchmark_report, files};

/// Benchmark Report documents that inference-perf 0.7 writes itself, before their stage's number.
const PARTIAL: &str = "inference-perf.partial.stage_";

/// One stored document.
#[derive(Debug)]
pub struct Document {
    /// Its file name.
    pub name: String,
    /// The stage that it describes; `None` for the whole run.
    pub number: Option<u32>,
    /// Its numbers, or why they cannot be read.
    pub stage: Result<Stage, String>,
}

/// All stored documents in a repetition's folder, by stage: native files, Benchmark Report documents of every version,
/// and the summary of the whole run.
pub fn read(dir: &Path) -> Result<Vec<Document>, files::Error> {
    let mut documents = Vec::new();
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let path = entry.path();
        let (number, stage) = if name == native::SUMMARY_FILE {
            (None, StageFile::read(&path, 0).map(|file| file.stage).map_err(|error| error.to_string()))
        } else if let Some(number) = numbered(&name, "stage_", "_lifecycle_metrics.json") {
            (Some(number), StageFile::read(&path, number).map(|file| file.stage).map_err(|error| error.to_string()))
        } else {
            let report = benchmark_report::parse_file_name(&name).map(|(_, number)| number);
            let Some(number) = report.or_else(|| numbered(&name, PARTIAL, ".yaml")) else { continue };
            let read = benchmark_report::read(&path, number);
            (Some(number), read.map(|report| report.stage).map_err(|error| error.to_string()))
        };
        documents.push(Document { name, number, stage });
    }
    documents.sort_by(|a, b| (a.number.unwrap_or(u32::MAX), &a.name).cmp(&(b.number.unwrap_or(u32::MAX), &b.name)));
    Ok(documents)
}

/// The number between `before` and `after`, written as numbers are.
fn numbered(name: &str, before: &str, after: &str) -> Option<u32> {
    let digits = name.strip_prefix(before)?.strip_suffix(after)?;
    digits.parse().ok().filter(|number: &u32| number.to_string() == digits)
}
