//! `validation.json` (0.7): the harness's own consistency checks.
//!
//! Warnings are not failures: negative schedule delays and ladders that do not rise are in almost every run. Errors mean
//! that the harness's own numbers do not agree.

use std::path::Path;

use indexmap::IndexMap;
use serde::Deserialize;

use super::{Error, VALIDATION_FILE};
use crate::files;

/// What the harness found in its own reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validation {
    /// Suspicious, not wrong.
    pub warnings: Vec<Finding>,
    /// Numbers that do not agree with each other.
    pub errors: Vec<Finding>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Finding {
    /// The check's name: `cross_report.stage_rates`.
    pub check: String,
    /// What was found.
    pub message: String,
    /// The file, when it concerns one.
    #[serde(default)]
    pub report: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    global: Group,
    #[serde(default)]
    reports: IndexMap<String, Group>,
}

#[derive(Default, Deserialize)]
struct Group {
    #[serde(default)]
    warnings: Vec<Finding>,
    #[serde(default)]
    errors: Vec<Finding>,
}

impl Validation {
    /// Reads a result folder's findings; `None` where the version wrote none.
    pub fn read(dir: &Path) -> Result<Option<Self>, Error> {
        let path = dir.join(VALIDATION_FILE);
        if !fs_err::exists(&path)? {
            return Ok(None);
        }
        let text = files::read_text(&path, files::DOCUMENT_LIMIT)?;
        let document: Document = serde_json::from_str(&text).map_err(|source| Error::Json { path, source })?;
        let mut validation = Self::default();
        for group in std::iter::once(document.global).chain(document.reports.into_values()) {
            validation.warnings.extend(group.warnings);
            validation.errors.extend(group.errors);
        }
        Ok(Some(validation))
    }
}
