//! Providers: files of `config/providers/`.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Where treatments run, and the defaults that follow from it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderFile {
    /// The file's name without its ending.
    #[serde(skip_deserializing)]
    pub name: String,
    /// The file, relative to the workspace.
    #[serde(skip)]
    pub path: PathBuf,
    /// One sentence.
    pub summary: String,
    /// Which code runs it.
    pub place: Place,
    /// Accelerator types it can run.
    #[serde(default)]
    pub accelerators: Vec<String>,
    /// Values of settings below the profile's, by dotted name.
    #[serde(default)]
    pub settings: IndexMap<String, serde_yaml::Value>,
    /// Model storage by accelerator type and storage profile.
    #[serde(default)]
    pub model_storage: IndexMap<String, IndexMap<String, StorageClass>>,
    /// Results storage by accelerator type and storage profile.
    #[serde(default)]
    pub workload_storage: IndexMap<String, IndexMap<String, StorageClass>>,
}

/// Which code runs a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Embedded servers on this machine.
    Local,
    /// A Kind cluster.
    Kind,
    /// An existing context.
    Kube,
    /// GKE.
    Gke,
}

/// What a storage profile means.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StorageClass {
    /// `default` or `filestore`.
    #[serde(default = "default_strategy")]
    pub strategy: String,
    /// Storage class; the cluster's default class when absent.
    pub class: Option<String>,
    /// Size.
    pub size: String,
}

fn default_strategy() -> String {
    "default".to_owned()
}
