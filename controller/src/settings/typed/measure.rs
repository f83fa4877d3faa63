//! Harness, validity, reports, metrics, secrets.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize, Serializer};

/// The program that sends load.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Harness {
    /// `inference-perf`.
    pub name: String,
    /// Interpreter for its environment.
    pub python: Option<PathBuf>,
    /// Worker processes; the harness's own choice when absent.
    pub workers: Option<u32>,
    /// Requests in flight for each worker.
    pub worker_max_concurrency: u32,
    /// Seconds without progress that end a run.
    pub no_progress_timeout: f64,
}

/// Secrets; none of them is ever printed.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Secrets {
    /// Hugging Face token.
    #[serde(serialize_with = "masked")]
    pub hf_token: Option<SecretString>,
}

/// Says that a secret is there, never what it is.
fn masked<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(|_| crate::settings::layer::HIDDEN).serialize(serializer)
}

/// What makes a measurement invalid, and the service level.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Highest share of failed requests, 0 to 1.
    pub failure_rate: f64,
    /// Highest median schedule delay of a stage, seconds.
    pub schedule_delay: f64,
    /// Service level for the first token, seconds.
    pub ttft: Option<f64>,
    /// Service level for later tokens, seconds.
    pub tpot: Option<f64>,
}

/// Reports.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Campaign to report on.
    pub campaign_dir: Option<PathBuf>,
    /// `baseline:candidate` pairs; empty for each against the first.
    #[serde(default)]
    pub comparisons: Vec<String>,
    /// Formats.
    pub formats: Vec<String>,
}

/// Runtime metrics and collection.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Whether servers and routers are sampled.
    pub runtime: bool,
    /// Seconds between samples.
    pub interval: f64,
    /// Managed monitoring on GKE.
    pub gke_monitoring: GkeMonitoring,
    /// One archive instead of single files.
    pub fast_collect: bool,
}

/// Managed Prometheus on GKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GkeMonitoring {
    /// When available.
    Auto,
    /// A run without it is refused.
    Required,
    /// Never.
    Off,
}
