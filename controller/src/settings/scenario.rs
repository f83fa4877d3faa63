//! Scenarios: files of `config/scenarios/`, what a cluster treatment starts from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::treatment::Mode;

/// What a cluster treatment starts from, before the overlays.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The file's name without its ending.
    #[serde(skip_deserializing)]
    pub name: String,
    /// The file, relative to the workspace.
    #[serde(skip)]
    pub path: PathBuf,
    /// One sentence.
    pub summary: String,
    /// A guide scenario of llm-d-benchmark as the base; none starts from nothing.
    pub guide: Option<String>,
    /// Where the proxy may sit; a guide with separate prefill servers cannot do without a router.
    #[serde(default = "every_mode")]
    pub modes: Vec<Mode>,
    /// Whether the guide needs its routing sidecar in each server's pod.
    #[serde(default)]
    pub sidecar: bool,
}

fn every_mode() -> Vec<Mode> {
    vec![Mode::None, Mode::Standalone, Mode::Gateway]
}
