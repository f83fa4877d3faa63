//! The campaign manifest: what was run, with what identity and provenance.
//!
//! The format is that of the earlier bash workflow (`suite: llm-d-benchmark`, `schema_version: 1`): an ordered mapping
//! whose identity and repetition entries are free-form. Keys are kept in the order in which they were read, unknown ones
//! included, so that reading and writing changes nothing else.

use std::path::Path;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_yaml::{Mapping, Value};

use crate::{files, yaml};

mod identity;
#[cfg(test)]
mod tests;

pub use identity::{Difference, differences};

/// The manifest's name in a campaign folder.
pub const FILE_NAME: &str = "campaign-manifest.yaml";
/// The newest version that is understood, and the one that is written.
pub const SCHEMA_VERSION: u64 = 1;
/// The suite of the earlier workflow's campaigns and of ours.
pub const SUITE: &str = "llm-d-benchmark";

/// Why a manifest could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not readable as YAML of the manifest's shape.
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
    /// Written by a newer program.
    #[error("{path}: schema_version {found} is newer than {SCHEMA_VERSION}, the newest that is understood here", path = path.display())]
    NewerVersion {
        /// The manifest.
        path: std::path::PathBuf,
        /// Its version.
        found: u64,
    },
    /// A field has a value that cannot be meant.
    #[error("{path}: {what}", path = path.display())]
    Invalid {
        /// The manifest.
        path: std::path::PathBuf,
        /// The field and what is wrong with it.
        what: String,
    },
}

/// A campaign's manifest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format's version.
    pub schema_version: u64,
    /// The campaign's name.
    pub campaign_id: String,
    /// The kind of campaign; [`SUITE`] for all that are understood here.
    pub suite: String,
    /// Everything that must match for runs to be comparable.
    #[serde(default)]
    pub identity: Mapping,
    /// How the campaign came about: versions, machine, command. Never compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Mapping>,
    /// Treatments by name, in the order of their first run.
    #[serde(default)]
    pub treatments: IndexMap<String, TreatmentEntry>,
    /// Keys of the file that this program does not know; kept.
    #[serde(flatten)]
    pub unknown: IndexMap<String, Value>,
}

/// One treatment of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreatmentEntry {
    /// Repetitions by number, as text, in the order in which they were run.
    #[serde(default)]
    pub repetitions: IndexMap<String, RepetitionEntry>,
    /// Other keys, such as `display_name`; kept.
    #[serde(flatten)]
    pub details: IndexMap<String, Value>,
}

/// One repetition: a free-form mapping with typed accessors for the keys that matter here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RepetitionEntry(pub Mapping);

/// How a repetition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Its evidence is published. The earlier workflow registered only these and wrote no status.
    Complete,
    /// It failed; its evidence, if any, is not a measurement.
    Failed,
}

impl Manifest {
    /// A manifest of a new campaign.
    pub fn new(campaign_id: impl Into<String>, identity: Mapping) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            campaign_id: campaign_id.into(),
            suite: SUITE.into(),
            identity,
            ..Self::default()
        }
    }

    /// Reads a manifest, refusing a newer version and values that cannot be meant.
    pub fn read(path: &Path) -> Result<Self, Error> {
        // The version first: a newer manifest may have another shape, and its version is the better message.
        let document: Value = yaml::read(path, files::DOCUMENT_LIMIT)?;
        let version = document.get("schema_version").and_then(Value::as_u64);
        if let Some(found) = version.filter(|&version| version > SCHEMA_VERSION) {
            return Err(Error::NewerVersion { path: path.into(), found });
        }
        let manifest: Self =
            serde_yaml::from_value(document).map_err(|source| yaml::Error::Syntax { path: path.into(), source })?;
        manifest.check().map_err(|what| Error::Invalid { path: path.into(), what })?;
        Ok(manifest)
    }

    /// The manifest as YAML text; a program that reads YAML 1.1 reads back the same values.
    pub fn to_yaml(&self) -> Result<String, Error> {
        Ok(yaml::to_string(self)?)
    }

    /// The repetition's entry, to be filled by its caller; treatment and repetition are created when absent.
    pub fn repetition_mut(&mut self, treatment: &str, repetition: u32) -> &mut RepetitionEntry {
        let treatment = self.treatments.entry(treatment.to_owned()).or_default();
        treatment.repetitions.entry(repetition.to_string()).or_default()
    }

    /// The repetition's entry.
    pub fn repetition(&self, treatment: &str, repetition: u32) -> Option<&RepetitionEntry> {
        self.treatments.get(treatment)?.repetitions.get(&repetition.to_string())
    }

    /// Text of a key in the identity, looked up by path: `["model"]`, `["storage", "model", "class"]`.
    pub fn identity_text(&self, path: &[&str]) -> Option<String> {
        identity::text(identity::at(&self.identity, path)?)
    }

    /// Stages that the identity declares as warm-up (`warm_up_stages: [0]`), by their number.
    pub fn warm_up_stages(&self) -> Vec<u32> {
        let declared = identity::at(&self.identity, &["warm_up_stages"]).and_then(Value::as_sequence);
        declared
            .into_iter()
            .flatten()
            .filter_map(|stage| stage.as_u64().and_then(|stage| u32::try_from(stage).ok()))
            .collect()
    }

    fn check(&self) -> Result<(), String> {
        if self.schema_version == 0 {
            return Err("schema_version 0 does not exist".into());
        }
        if self.suite != SUITE {
            return Err(format!("suite {:?} is not understood; {SUITE:?} is", self.suite));
        }
        if self.campaign_id.is_empty() {
            return Err("campaign_id is empty".into());
        }
        for (name, treatment) in &self.treatments {
            check_name(name).map_err(|why| format!("treatment {name:?}: {why}"))?;
            for number in treatment.repetitions.keys() {
                // `01` and `1` would name one folder twice.
                if number.parse::<u32>().ok().filter(|&n| n > 0).is_none_or(|n| n.to_string() != *number) {
                    return Err(format!("treatment {name:?}: repetition {number:?} is not a number from 1"));
                }
            }
        }
        Ok(())
    }
}

impl TreatmentEntry {
    /// The name for people, where the campaign recorded one.
    pub fn display_name(&self) -> Option<&str> {
        self.details.get("display_name").and_then(Value::as_str)
    }
}

impl RepetitionEntry {
    /// Text at a path of keys: `["gateway", "image"]`. Numbers and booleans as written.
    pub fn text(&self, path: &[&str]) -> Option<String> {
        identity::text(identity::at(&self.0, path)?)
    }

    /// The value at a path of keys.
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        identity::at(&self.0, path)
    }

    /// Sets a top-level key.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.into(), value.into());
    }

    /// How the repetition ended: `status: failed`, or complete.
    pub fn status(&self) -> Status {
        match self.0.get("status").and_then(Value::as_str) {
            Some("failed") => Status::Failed,
            _ => Status::Complete,
        }
    }

    /// Why it failed (`reason`), when it did.
    pub fn reason(&self) -> Option<&str> {
        self.0.get("reason").and_then(Value::as_str)
    }

    /// Hash of the configuration that was deployed.
    pub fn config_sha256(&self) -> Option<&str> {
        self.0.get("config_sha256").and_then(Value::as_str)
    }
}

/// Longest name of a treatment in bytes: two of them and `-vs-` still make a comparison's folder name, and one makes a
/// document's file name, within the 255 bytes that file systems allow.
pub const NAME_LIMIT: usize = 120;

/// Refuses a name that is not one plain folder name: separators, `.`, `..`, control characters, more than [`NAME_LIMIT`]
/// bytes.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("the name is empty");
    }
    if name == "." || name == ".." {
        return Err("the name is a path, not a name");
    }
    if name.contains(['/', '\\']) {
        return Err("the name contains a path separator");
    }
    if name.chars().any(char::is_control) {
        return Err("the name contains a control character");
    }
    if name.len() > NAME_LIMIT {
        return Err("the name is longer than 120 bytes");
    }
    Ok(())
}
