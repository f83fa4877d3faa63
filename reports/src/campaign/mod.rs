//! Reads a campaign folder into the model, refusing what cannot be compared.
//!
//! Both our campaigns and those of the earlier bash workflow have this layout: `campaign-manifest.yaml` and
//! `runs/<treatment>/repetition-<n>/` with one Benchmark Report document a stage. Bare result folders of inference-perf
//! and a published `metrics.csv` become campaigns too.

mod agreement;
mod bare;
mod layout;
mod published;
mod records;
mod repetition;

use std::path::{Path, PathBuf};

use crate::benchmark_report;
use crate::manifest::{self, Manifest, Status};
use crate::model::{Stack, Stage};
use crate::native;

pub(crate) use agreement::list;
pub use agreement::{Disagreement, between_ladders, between_stacks, between_workloads};
pub use bare::from_native;
pub use published::from_metrics;

/// Why a campaign could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The manifest.
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
    /// A stage's document.
    #[error(transparent)]
    Document(#[from] benchmark_report::Error),
    /// Native files.
    #[error(transparent)]
    Native(#[from] native::Error),
    /// A folder could not be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A link or a file where a folder must be, or a name that cannot be meant.
    #[error("{path}: {what}", path = path.display())]
    Layout {
        /// What is in the wrong place.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A registered repetition without evidence.
    #[error("treatment {treatment}: repetition {repetition} is registered in the manifest, but {dir} holds no evidence", dir = dir.display())]
    NoEvidence {
        /// The treatment.
        treatment: String,
        /// The repetition.
        repetition: u32,
        /// Where evidence was looked for.
        dir: PathBuf,
    },
    /// Evidence that the manifest does not know.
    #[error("{dir}: holds evidence, but the manifest does not register it", dir = dir.display())]
    NotRegistered {
        /// The folder.
        dir: PathBuf,
    },
    /// Some of a repetition's evidence is missing or contradicts the rest.
    #[error("{dir}: {what}", dir = dir.display())]
    Incomplete {
        /// The repetition's folder.
        dir: PathBuf,
        /// What is missing or contradicts.
        what: String,
    },
    /// Repetitions that do not measure the same thing.
    #[error("treatment {treatment}: repetitions {left} and {right} cannot be put together: {disagreements}", disagreements = agreement::list(disagreements))]
    Repetitions {
        /// The treatment.
        treatment: String,
        /// One repetition.
        left: u32,
        /// The other.
        right: u32,
        /// The fields that differ.
        disagreements: Vec<Disagreement>,
    },
    /// A published table that cannot be used.
    #[error("metrics.csv, line {line}: {what}")]
    Metrics {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// A campaign's evidence, checked.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The campaign's folder, for links to evidence.
    pub dir: PathBuf,
    /// What was run.
    pub manifest: Manifest,
    /// In the manifest's order; each has at least one complete or failed repetition.
    pub treatments: Vec<Treatment>,
    /// What was noticed while reading and does not prevent a report, for standard error and the report's notes.
    pub warnings: Vec<String>,
}

/// One treatment's evidence.
#[derive(Clone, Debug)]
pub struct Treatment {
    /// Its name in the manifest and on disk.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// Complete repetitions, by ascending number.
    pub repetitions: Vec<Repetition>,
    /// Repetitions that failed: named in reports, never averaged in.
    pub failed: Vec<FailedRepetition>,
    /// What was deployed; the same for all its repetitions.
    pub stack: Stack,
}

/// One complete repetition.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// From 1.
    pub number: u32,
    /// Its evidence folder.
    pub dir: PathBuf,
    /// Its stages in the order in which they ran, warm-up stages included.
    pub stages: Vec<Stage>,
}

/// A repetition that did not become a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRepetition {
    /// From 1.
    pub number: u32,
    /// Why, as the manifest says.
    pub reason: Option<String>,
}

impl Campaign {
    /// The treatment of that name.
    pub fn treatment(&self, name: &str) -> Option<&Treatment> {
        self.treatments.iter().find(|treatment| treatment.name == name)
    }

    /// Whether any treatment ran on simulated components; documents must then say so first.
    pub fn is_simulated(&self) -> bool {
        self.treatments.iter().any(|treatment| treatment.stack.is_simulated())
    }
}

/// Reads and checks a campaign's folder.
pub fn read(dir: &Path) -> Result<Campaign, Error> {
    let manifest = Manifest::read(&dir.join(manifest::FILE_NAME))?;
    let mut warnings: Vec<_> =
        manifest.unknown.keys().map(|key| format!("{}: unknown key {key:?} kept", manifest::FILE_NAME)).collect();
    layout::refuse_unregistered(dir, &manifest)?;
    let unfinished = layout::unfinished(dir, &manifest)?;
    let warm_up = manifest.warm_up_stages();
    let mut treatments = Vec::new();
    for (name, entry) in &manifest.treatments {
        let mut treatment = Treatment {
            name: name.clone(),
            display_name: entry.display_name().unwrap_or(name).to_owned(),
            repetitions: Vec::new(),
            failed: Vec::new(),
            stack: Stack::default(),
        };
        for (number, entry) in &entry.repetitions {
            // `Manifest::read` accepted the number already.
            let Ok(number) = number.parse() else { continue };
            if entry.status() == Status::Failed {
                treatment.failed.push(FailedRepetition { number, reason: entry.reason().map(Into::into) });
                continue;
            }
            let folder = layout::repetition_dir(dir, name, number);
            let read = repetition::read(&folder, name, number, &warm_up, &mut warnings)?;
            treatment.add(read)?;
        }
        let unfinished = unfinished.iter().filter(|(treatment, _)| treatment == name);
        treatment.failed.extend(unfinished.map(|&(_, number)| FailedRepetition {
            number,
            reason: Some("it did not finish: its work folder is still there".into()),
        }));
        treatment.repetitions.sort_by_key(|repetition| repetition.number);
        treatment.failed.sort_by_key(|failed| failed.number);
        treatments.push(treatment);
    }
    Ok(Campaign { dir: dir.into(), manifest, treatments, warnings })
}

impl Treatment {
    /// Adds a repetition, refusing one that measured something else.
    fn add(&mut self, read: repetition::Read) -> Result<(), Error> {
        if let Some(first) = self.repetitions.first() {
            let (left, right) = (&first.stages, &read.repetition.stages);
            let mut disagreements = agreement::between_ladders(left, right);
            disagreements.extend(agreement::between_workloads(left, right));
            disagreements.extend(agreement::between_components(&self.stack, &read.stack));
            if !disagreements.is_empty() {
                return Err(Error::Repetitions {
                    treatment: self.name.clone(),
                    left: first.number,
                    right: read.repetition.number,
                    disagreements,
                });
            }
        }
        if self.stack.components.is_empty() {
            self.stack = read.stack;
        }
        self.repetitions.push(read.repetition);
        Ok(())
    }
}
