//! Recomputes every stage's numbers from per-request records and compares them with the stored documents.
//!
//! Memory stays bounded whatever the size of the file: text is scanned through a fixed window ([`scan`]), values are held
//! up to a budget and estimated with a stated error beyond it, and stages are told apart while the records stream past.
//! Formulas are inference-perf 0.7.0's, so numbers agree to the last digits, not approximately.

mod agreement;
mod documents;
mod input;
mod limits;
mod plan;
mod record;
mod sample;
pub mod scan;
mod split;
mod tally;
mod values;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{manifest, native};
use documents::Document;
use record::Record;
use scan::Scanner;
use tally::{Reading, Tally, Tokens};

pub use agreement::{Agreement, Difference, Recomputed, SMALLEST, TOLERANCE};
pub use sample::samples;
pub use split::How;

/// Why a folder cannot be audited at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The campaign's manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
    /// The folder is neither a campaign nor a result folder.
    #[error("{}: neither a campaign (no {}) nor a result folder (no {})", .0.display(), manifest::FILE_NAME, native::PER_REQUEST_FILE)]
    NothingThere(PathBuf),
    /// No repetition has per-request records.
    #[error("{}: no repetition has {}, from which numbers could be recomputed", .0.display(), native::PER_REQUEST_FILE)]
    NoRecords(PathBuf),
}

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Audit {
    /// The format of this document.
    pub schema_version: u32,
    /// Relative difference up to which two numbers agree.
    pub tolerance: f64,
    /// Repetitions in the manifest's order.
    pub repetitions: Vec<Repetition>,
}

/// What auditing one repetition found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repetition {
    /// The treatment; `None` for a bare result folder.
    pub treatment: Option<String>,
    /// The repetition's number; `None` for a bare result folder.
    pub repetition: Option<u32>,
    /// What was found.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How auditing a repetition ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// There are no records to audit with.
    NoRecords,
    /// The records cannot be read; their documents cannot be vouched for.
    Unreadable {
        /// What is wrong with which file.
        error: String,
    },
    /// The records do not fall into as many stages as there are documents.
    NotSeparable {
        /// Records read.
        records: u64,
        /// Stages expected.
        stages: usize,
        /// Moments without any request in flight.
        idle_moments: usize,
    },
    /// The records were compared with the documents.
    Compared(Comparison),
}

/// Records compared with documents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The file of records.
    pub records_file: String,
    /// Records in it.
    pub records: u64,
    /// Bytes of text, uncompressed.
    pub bytes: u64,
    /// Largest relative error of recomputed percentiles; 0 when all values were held.
    pub percentile_error: f64,
    /// How the stages were told apart.
    pub stages: How,
    /// Each stored document's agreement.
    pub documents: Vec<DocumentAgreement>,
}

/// A stored document's agreement with the records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DocumentAgreement {
    /// Its file name.
    pub document: String,
    /// The stage that it describes; `None` for the whole run.
    pub stage: Option<u32>,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Fields that agree and fields that do not.
    #[serde(flatten)]
    pub agreement: Agreement,
}

impl Audit {
    /// Whether all that was compared agrees.
    pub fn agrees(&self) -> bool {
        self.repetitions.iter().all(|repetition| repetition.outcome.agrees())
    }
}

impl Outcome {
    /// Whether nothing speaks against the documents.
    pub fn agrees(&self) -> bool {
        match self {
            Self::NoRecords => true,
            Self::Unreadable { .. } | Self::NotSeparable { .. } => false,
            Self::Compared(comparison) => comparison.documents.iter().all(DocumentAgreement::agrees),
        }
    }
}

impl DocumentAgreement {
    /// Whether the document could be read and no field differs.
    pub fn agrees(&self) -> bool {
        self.error.is_none() && self.agreement.differences.is_empty()
    }
}

/// Audits a campaign's folder, or a bare result folder of inference-perf.
pub fn audit(dir: &Path) -> Result<Audit, Error> {
    let manifest = dir.join(manifest::FILE_NAME);
    let repetitions = if manifest.symlink_metadata().is_ok() {
        audit_campaign(dir, &manifest::Manifest::read(&manifest)?)
    } else if input::find(dir).is_some() {
        vec![Repetition { treatment: None, repetition: None, outcome: audit_repetition(dir) }]
    } else {
        return Err(Error::NothingThere(dir.into()));
    };
    if repetitions.iter().all(|repetition| repetition.outcome == Outcome::NoRecords) {
        return Err(Error::NoRecords(dir.into()));
    }
    Ok(Audit { schema_version: 1, tolerance: TOLERANCE, repetitions })
}

fn audit_campaign(dir: &Path, manifest: &manifest::Manifest) -> Vec<Repetition> {
    let mut audited = Vec::new();
    for (treatment, entry) in &manifest.treatments {
        for (number, repetition) in &entry.repetitions {
            if repetition.status() == manifest::Status::Failed {
                continue;
            }
            let folder = dir.join("runs").join(treatment).join(format!("repetition-{number}"));
            audited.push(Repetition {
                treatment: Some(treatment.clone()),
                repetition: number.parse().ok(),
                outcome: audit_repetition(&folder),
            });
        }
    }
    audited
}

/// Audits one repetition's folder of evidence.
pub fn audit_repetition(dir: &Path) -> Outcome {
    let Some(path) = input::find(dir) else { return Outcome::NoRecords };
    match compare(dir, &path) {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Unreadable { error },
    }
}

fn compare(dir: &Path, path: &Path) -> Result<Outcome, String> {
    let documents = documents::read(dir).map_err(|error| error.to_string())?;
    let config = native::Config::read(dir).map_err(|error| error.to_string())?;
    let plan = config.as_ref().map(plan::Plan::of).unwrap_or_default();
    let plans = plans(&documents, plan.counts)?;
    let stages = plans.first().map_or(1, |plan| plan.counts.len());
    let mut input = input::open(path).map_err(|error| error.to_string())?;
    let (splitter, records, bytes) =
        split_records(&mut input, plans, plan.tokens).map_err(|error| format!("{} {error}", path.display()))?;
    let split = match splitter.finish() {
        Ok(split) => split,
        Err(idle_moments) => return Ok(Outcome::NotSeparable { records, stages, idle_moments }),
    };
    let percentile_error = split.stages.iter().map(Tally::error).fold(0.0, f64::max);
    let documents = compare_documents(&documents, split.stages);
    Ok(Outcome::Compared(Comparison {
        records_file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        records,
        bytes,
        percentile_error,
        stages: split.how,
        documents,
    }))
}

/// What the stages' counts may be: the configuration's plan where it has as many stages as there are documents, and what
/// the documents themselves say.
fn plans(documents: &[Document], configured: Vec<u64>) -> Result<Vec<split::Plan>, String> {
    let mut stored = BTreeMap::new();
    for document in documents {
        if let (Some(number), Ok(stage)) = (document.number, &document.stage) {
            stored.entry(number).or_insert(stage.requests.total);
        }
    }
    let numbers = documents.iter().filter_map(|document| document.number).collect::<BTreeSet<_>>();
    if numbers.len() > split::STAGES || configured.len() > split::STAGES {
        return Err(format!("more than {} stages are not told apart", split::STAGES));
    }
    let mut plans = Vec::new();
    if !configured.is_empty() && (numbers.is_empty() || configured.len() == numbers.len()) {
        plans.push(split::Plan { source: "config.yaml", counts: configured });
    }
    if !numbers.is_empty() {
        let counts = numbers.iter().map(|number| stored.get(number).copied().unwrap_or(0)).collect();
        plans.push(split::Plan { source: "stage documents", counts });
    }
    Ok(plans)
}

fn split_records(
    input: &mut dyn Read,
    plans: Vec<split::Plan>,
    tokens: Tokens,
) -> Result<(split::Splitter, u64, u64), scan::Error> {
    let mut splitter = split::Splitter::new(plans, tokens);
    let (records, bytes) = read_records(input, |record| splitter.push(record))?;
    Ok((splitter, records, bytes))
}

/// Hands every record of a file to `take`; returns how many there are and the bytes of their text.
fn read_records(input: &mut dyn Read, mut take: impl FnMut(&Record)) -> Result<(u64, u64), scan::Error> {
    let mut scanner = Scanner::new(input);
    let (mut record, mut records, mut first) = (Record::default(), 0, true);
    scanner.expect(b'[', "an array of records is missing")?;
    while scanner.member(b']', &mut first)? {
        record.read(&mut scanner)?;
        take(&record);
        records += 1;
    }
    if !scanner.at_end()? {
        return Err(scanner.syntax("something follows the array of records"));
    }
    Ok((records, scanner.offset()))
}

/// Compares each document with its stage, in the order of the documents' numbers, and the summary with all stages.
fn compare_documents(documents: &[Document], mut tallies: Vec<Tally>) -> Vec<DocumentAgreement> {
    let numbers: BTreeSet<u32> = documents.iter().filter_map(|document| document.number).collect();
    let mut recomputed: BTreeMap<Option<u32>, Recomputed> =
        numbers.into_iter().zip(&mut tallies).map(|(number, tally)| (Some(number), recompute(tally, number))).collect();
    if documents.iter().any(|document| document.number.is_none()) {
        let mut tallies = tallies.into_iter();
        let mut whole = tallies.next().unwrap_or_default();
        tallies.for_each(|tally| whole.merge(tally));
        recomputed.insert(None, recompute(&mut whole, 0));
    }
    let compared = documents.iter().map(|document| {
        let (agreement, error) = match (&document.stage, recomputed.get(&document.number)) {
            (Ok(stage), Some(ours)) => (ours.agreement(stage), None),
            (Ok(_), None) => (Agreement::default(), Some("no records belong to this stage".to_owned())),
            (Err(error), _) => (Agreement::default(), Some(error.clone())),
        };
        DocumentAgreement { document: document.name.clone(), stage: document.number, error, agreement }
    });
    compared.collect()
}

fn recompute(tally: &mut Tally, number: u32) -> Recomputed {
    Recomputed {
        native: tally.stage(number, Reading::Native),
        report: tally.stage(number, Reading::Report),
        detailed: tally.is_detailed(),
        error: tally.error(),
    }
}
