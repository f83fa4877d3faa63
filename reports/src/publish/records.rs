//! `records.json`: what per-request records said when a campaign was published, because the records stay where they are.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Error;
use crate::campaign::Campaign;
use crate::files;
use crate::model::Sampled;

/// The version that is written, and the only one there is.
const SCHEMA_VERSION: u64 = 1;

/// The file's content.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema_version: u64,
    stages: Vec<Entry>,
}

/// One stage of one repetition.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    treatment: String,
    repetition: u32,
    stage: u32,
    #[serde(flatten)]
    sampled: Arc<Sampled>,
}

/// The file's text; `None` where no records were read.
pub(super) fn text(campaign: &Campaign) -> Option<String> {
    let mut stages = Vec::new();
    for treatment in &campaign.treatments {
        for repetition in &treatment.repetitions {
            stages.extend(repetition.stages.iter().filter_map(|stage| {
                let (treatment, repetition) = (treatment.name.clone(), repetition.number);
                Some(Entry { treatment, repetition, stage: stage.number, sampled: stage.sampled.clone()? })
            }));
        }
    }
    if stages.is_empty() {
        return None;
    }
    // A line a stage, so that a change is seen where it is.
    let lines = stages.iter().map(|entry| serde_json::to_string(entry).unwrap_or_default());
    let lines: Vec<String> = lines.collect();
    Some(format!("{{\"schema_version\":{SCHEMA_VERSION},\"stages\":[\n{}\n]}}\n", lines.join(",\n")))
}

/// Adds what the file says to a campaign that was read from its numbers; nothing where there is no such file.
pub(super) fn complete(path: &Path, campaign: &mut Campaign) -> Result<(), Error> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let text = files::read_text(path, files::DOCUMENT_LIMIT)?;
    let document: Document =
        serde_json::from_str(&text).map_err(|source| Error::Records { path: path.into(), source })?;
    if document.schema_version != SCHEMA_VERSION {
        return Err(Error::Version { path: path.into(), found: document.schema_version });
    }
    for entry in document.stages {
        let treatment = campaign.treatments.iter_mut().find(|treatment| treatment.name == entry.treatment);
        let repetitions = treatment.into_iter().flat_map(|treatment| &mut treatment.repetitions);
        let stages = repetitions.filter(|repetition| repetition.number == entry.repetition);
        for stage in stages.flat_map(|repetition| &mut repetition.stages).filter(|stage| stage.number == entry.stage) {
            stage.sampled = Some(entry.sampled.clone());
        }
    }
    Ok(())
}
