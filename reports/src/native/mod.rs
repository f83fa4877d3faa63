//! Files written by inference-perf 0.4 to 0.7.
//!
//! Keys moved between versions: `prompt_len` through 0.6.1 became `prompt_tokens` in 0.7.0, `achieved_rate` is 0 for a
//! single request, latency objects are null when nothing succeeded, the median is `median`, never `p50`.

mod config;
mod record;
mod stage;
mod validation;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use config::{Config, DataShape};
pub use record::{ComputedMetrics, Info, Record, RecordError};
pub use stage::StageFile;
pub use validation::{Finding, Validation};

use crate::files;

/// The configuration that inference-perf writes beside its results.
pub const CONFIG_FILE: &str = "config.yaml";
/// All stages in one summary, warm-up included; never a stage.
pub const SUMMARY_FILE: &str = "summary_lifecycle_metrics.json";
/// The harness's own consistency checks.
pub const VALIDATION_FILE: &str = "validation.json";
/// One record a request; may also be gzipped, with `.gz` appended.
pub const PER_REQUEST_FILE: &str = "per_request_lifecycle_metrics.json";

/// Why native files could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] files::Error),
    /// The configuration could not be read.
    #[error(transparent)]
    Yaml(#[from] crate::yaml::Error),
    /// The folder could not be listed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A file is not the JSON that inference-perf writes; truncated ones are named here too.
    #[error("{path}: {source}", path = path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the parser found, and where.
        source: serde_json::Error,
    },
    /// A number that cannot be meant.
    #[error("{path}: {field}: {what}", path = path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The number's place.
        field: String,
        /// What is wrong with it.
        what: String,
    },
    /// No stage's file is there.
    #[error("{dir}: no stage_<n>_lifecycle_metrics.json in it", dir = dir.display())]
    NoStages {
        /// The folder.
        dir: PathBuf,
    },
}

/// A result folder of inference-perf.
#[derive(Clone, Debug)]
pub struct Results {
    /// The folder.
    pub dir: PathBuf,
    /// The configuration, when it is there.
    pub config: Option<Config>,
    /// Stages in numeric order.
    pub stages: Vec<StageFile>,
}

impl Results {
    /// Reads the stages and the configuration of a result folder.
    pub fn read(dir: &Path) -> Result<Self, Error> {
        let config = Config::read(dir)?;
        let files = stage_files(dir)?;
        if files.is_empty() {
            return Err(Error::NoStages { dir: dir.into() });
        }
        let stages =
            files.into_iter().map(|(number, path)| StageFile::read(&path, number)).collect::<Result<_, _>>()?;
        Ok(Self { dir: dir.into(), config, stages })
    }
}

/// The stages' files of a folder, in numeric order. Only the exact name counts: `stage_0_prometheus_metrics.json`,
/// `adapter_x_stage_0_lifecycle_metrics.json` and the like are other things.
pub fn stage_files(dir: &Path) -> Result<Vec<(u32, PathBuf)>, Error> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        if let Some(number) = entry.file_name().to_str().and_then(stage_number) {
            found.push((number, entry.path()));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The name of a stage's file.
pub fn stage_file_name(number: u32) -> String {
    format!("stage_{number}_lifecycle_metrics.json")
}

fn stage_number(name: &str) -> Option<u32> {
    let number = name.strip_prefix("stage_")?.strip_suffix("_lifecycle_metrics.json")?;
    // `parse` alone would accept `+1` and `01`.
    number.parse().ok().filter(|parsed: &u32| parsed.to_string() == number)
}
