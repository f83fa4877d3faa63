//! A bundle for llm-d Prism's upload: one folder a repetition, which Prism takes for one run named after the folder.
//!
//! Prism reads every YAML and JSON file of a folder that it does not know as a sidecar as a stage of its own: native
//! stage files beside the documents would count each stage twice, and so would two versions of one document. A bundle
//! therefore holds one document a stage and the sidecars, and nothing else.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::benchmark_report::{Version, parse_file_name};
use crate::campaign::Campaign;
use crate::files::{self, DOCUMENT_LIMIT};
use crate::publish::scan;

/// Files that Prism reads beside the stages, where they exist.
const SIDECARS: [&str; 3] = ["run_metadata.yaml", "config.yaml", "summary_lifecycle_metrics.json"];
/// Metrics of servers, which Prism attaches as evidence.
const METRICS_SUFFIX: &str = "_prometheus_metrics.json";

/// Why no bundle was made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] files::Error),
    /// Something cannot be listed or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A repetition has no document to upload.
    #[error("{}: no Benchmark Report document in it", .0.display())]
    NoDocuments(PathBuf),
    /// A file holds what must not leave the machine.
    #[error(transparent)]
    Unpublishable(#[from] scan::Refusal),
    /// The bundle's folder is there already.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
}

/// Writes the campaign's bundle into `output`, which must not exist yet, and returns its folders.
pub fn bundle(campaign: &Campaign, output: &Path) -> Result<Vec<PathBuf>, Error> {
    if output.symlink_metadata().is_ok() {
        return Err(Error::Exists(output.into()));
    }
    let mut contents = Vec::new();
    for treatment in &campaign.treatments {
        for repetition in &treatment.repetitions {
            let name = format!("{}-{}-repetition-{}", campaign.manifest.campaign_id, treatment.name, repetition.number);
            contents.push((output.join(name), collect(&repetition.dir)?));
        }
    }
    let all = contents
        .iter()
        .flat_map(|(folder, files)| files.iter().map(move |(name, bytes)| (folder.join(name), bytes.as_slice())));
    scan::refuse(all, &scan::Rules::default())?;
    for (folder, files) in &contents {
        fs_err::create_dir_all(folder)?;
        for (name, bytes) in files {
            fs_err::write(folder.join(name), bytes)?;
        }
    }
    Ok(contents.into_iter().map(|(folder, _)| folder).collect())
}

/// The names and contents of one repetition's files that belong into a bundle.
fn collect(dir: &Path) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut documents: BTreeMap<u32, (Version, String)> = BTreeMap::new();
    let mut names = Vec::new();
    for entry in fs_err::read_dir(dir)? {
        let Some(name) = entry?.file_name().to_str().map(str::to_owned) else { continue };
        if let Some((version, stage)) = parse_file_name(&name) {
            let kept = documents.entry(stage).or_insert_with(|| (version, name.clone()));
            if version < kept.0 {
                *kept = (version, name);
            }
        } else if SIDECARS.contains(&name.as_str()) || name.ends_with(METRICS_SUFFIX) {
            names.push(name);
        }
    }
    if documents.is_empty() {
        return Err(Error::NoDocuments(dir.into()));
    }
    names.extend(documents.into_values().map(|(_, name)| name));
    names.sort_unstable();
    let read = names.into_iter().map(|name| Ok((name.clone(), files::read(&dir.join(&name), DOCUMENT_LIMIT)?)));
    read.collect()
}
