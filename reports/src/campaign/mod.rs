//! Reads a campaign folder into the model, refusing what cannot be compared.

use std::path::PathBuf;

use crate::manifest::Manifest;
use crate::model::{Stack, Stage};

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
