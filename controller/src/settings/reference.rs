//! Reference profiles: files of `config/references/`, published configurations that are reproduced exactly.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A published configuration: settings that must hold and images that must be observed before any load.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The file's name without its ending.
    #[serde(skip_deserializing)]
    pub name: String,
    /// The file, relative to the workspace.
    #[serde(skip)]
    pub path: PathBuf,
    /// One sentence.
    pub summary: String,
    /// Settings by dotted name; any other value for one of them is a conflict.
    pub settings: IndexMap<String, serde_yaml::Value>,
    /// Scenario overlay, a file of `config/scenarios/reference/`.
    pub scenario: String,
    /// Images that must be observed, by component; templates over the settings.
    pub images: IndexMap<String, String>,
}
