//! `provenance.yaml`: what a published report's numbers do not say.

use std::path::Path;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_yaml::Value;

use super::{Asked, Error, Publication};
use crate::campaign::{Campaign, Treatment};
use crate::model::{Failure, Harness, Stack};
use crate::{files, yaml};

/// The version that is written, and the only one there is.
const SCHEMA_VERSION: u64 = 1;

/// The file's content.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    schema_version: u64,
    profile: String,
    /// Where the evidence is.
    #[serde(default)]
    evidence: Vec<String>,
    /// `baseline:candidate` pairs; the usual ones when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    comparisons: Vec<String>,
    /// Objectives as they were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slo: Option<String>,
    treatments: IndexMap<String, Entry>,
}

/// One treatment.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    harness: String,
    harness_version: Option<String>,
    stack: Stack,
    /// Failures by label, of each stage of each repetition that has any.
    #[serde(default)]
    failures: Vec<Failures>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failures {
    repetition: u32,
    stage: u32,
    by_label: IndexMap<String, u64>,
}

impl Provenance {
    /// What a publication of `campaign` says.
    pub fn of(campaign: &Campaign, publication: &Publication<'_>) -> Self {
        let measured = campaign.treatments.iter().filter(|treatment| !treatment.repetitions.is_empty());
        let pairs = publication.asked.comparisons.iter();
        Self {
            schema_version: SCHEMA_VERSION,
            profile: publication.profile.to_owned(),
            evidence: publication.links.to_vec(),
            comparisons: pairs.map(|(baseline, candidate)| format!("{baseline}:{candidate}")).collect(),
            slo: publication.asked.slo.as_ref().map(ToString::to_string),
            treatments: measured.map(|treatment| (treatment.name.clone(), Entry::of(treatment))).collect(),
        }
    }

    /// Reads a published report's provenance.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let document: Value = yaml::read(path, files::DOCUMENT_LIMIT)?;
        match document.get("schema_version").and_then(Value::as_u64) {
            Some(found) if found != SCHEMA_VERSION => Err(Error::Version { path: path.into(), found }),
            _ => {
                Ok(serde_yaml::from_value(document)
                    .map_err(|source| yaml::Error::Syntax { path: path.into(), source })?)
            }
        }
    }

    /// Adds to a campaign that was read from its numbers what they do not say; returns what the report was asked for.
    pub fn complete(self, campaign: &mut Campaign) -> Result<Asked, Error> {
        if !self.evidence.is_empty() {
            let links = self.evidence.into_iter().map(Value::from).collect();
            let provenance = campaign.manifest.provenance.get_or_insert_default();
            provenance.insert("evidence".into(), Value::Sequence(links));
        }
        for treatment in &mut campaign.treatments {
            if let Some(entry) = self.treatments.get(&treatment.name) {
                entry.complete(treatment);
            }
        }
        let pairs = self.comparisons.iter().filter_map(|pair| pair.split_once(':'));
        Ok(Asked {
            comparisons: pairs.map(|(baseline, candidate)| (baseline.into(), candidate.into())).collect(),
            slo: self.slo.map(|slo| slo.parse()).transpose()?,
        })
    }
}

impl Entry {
    fn of(treatment: &Treatment) -> Self {
        let stages = treatment
            .repetitions
            .iter()
            .flat_map(|repetition| repetition.stages.iter().map(move |stage| (repetition.number, stage)));
        let harness = stages.clone().map(|(_, stage)| &stage.harness).find(|harness| !harness.tool.is_empty());
        let failures = stages.filter(|(_, stage)| !stage.requests.failures_by_label.is_empty());
        Self {
            harness: harness.map(|harness| harness.tool.clone()).unwrap_or_default(),
            harness_version: harness.and_then(|harness| harness.version.clone()),
            stack: treatment.stack.clone(),
            failures: failures
                .map(|(repetition, stage)| {
                    let labels = stage.requests.failures_by_label.iter();
                    let by_label = labels.map(|failure| (failure.label.clone(), failure.count)).collect();
                    Failures { repetition, stage: stage.number, by_label }
                })
                .collect(),
        }
    }

    fn complete(&self, treatment: &mut Treatment) {
        treatment.stack = self.stack.clone();
        for repetition in &mut treatment.repetitions {
            for stage in &mut repetition.stages {
                stage.harness = Harness { tool: self.harness.clone(), version: self.harness_version.clone() };
                let failures = self.failures.iter();
                let mut failures = failures
                    .filter(|failures| failures.repetition == repetition.number && failures.stage == stage.number);
                stage.requests.failures_by_label = failures.next().map_or_else(Vec::new, |failures| {
                    let labels = failures.by_label.iter();
                    labels.map(|(label, count)| Failure { label: label.clone(), count: *count }).collect()
                });
            }
        }
    }
}
