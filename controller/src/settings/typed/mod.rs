//! The typed settings; their meaning, units and defaults are declared in [`keys`](super::keys()).

mod cluster;
mod gke;
mod local;
mod measure;
mod workload;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use self::cluster::{
    Accelerator, Agentgateway, CachePolicy, Cluster, EndpointPath, Gateway, GpuRelease, ModelStorage, Pins, Storage,
    Timeouts, Upstream, WorkloadStorage,
};
pub use self::gke::{CpuPool, Gke, GpuPool, Lifecycle, Pool};
pub use self::local::{Backend, Proxy, RouterChoice, Tokenizer};
pub use self::measure::{GkeMonitoring, Harness, Limits, Metrics, Report, Secrets};
pub use self::workload::{Arrivals, Data, Variant, Workload};

/// All settings of a campaign, after layering, derivation and checks.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Identifier, when one was given.
    pub campaign: Option<String>,
    /// Family of results.
    pub suite: String,
    /// Name of the provider's file.
    pub provider: String,
    /// Names of the treatments, in order.
    pub treatments: Vec<String>,
    /// Repetitions of each treatment.
    pub repetitions: u32,
    /// The only repetition to run, when the campaign is split up.
    pub repetition: Option<u32>,
    /// Order of treatments over repetitions.
    pub order: Order,
    /// `agentgateway-comparison` or an upstream guide.
    pub scenario: String,
    /// Routing.
    pub routing: Routing,
    /// Published configuration to reproduce.
    pub reference: Option<String>,
    /// Folder of campaigns.
    pub results_dir: PathBuf,
    /// Continue an unfinished campaign.
    pub resume: bool,
    /// Leave the last deployment in place.
    pub keep: bool,
    /// Embedded servers.
    pub testbed: Testbed,
    /// Real proxies on this machine.
    pub proxy: Proxy,
    /// Real servers.
    #[serde(default)]
    pub backend: Backend,
    /// Load.
    pub workload: Workload,
    /// Harness.
    pub harness: Harness,
    /// Secrets.
    pub secrets: Secrets,
    /// Validity and service level.
    pub limits: Limits,
    /// Reports.
    pub report: Report,
    /// Runtime metrics and collection.
    pub metrics: Metrics,
    /// Kubernetes.
    pub cluster: Cluster,
    /// Storage.
    pub storage: Storage,
    /// Deadlines.
    pub timeouts: Timeouts,
    /// Versions.
    pub pins: Pins,
    /// agentgateway's image and namespace.
    pub agentgateway: Agentgateway,
    /// Expectations about the treatment's gateway.
    pub gateway: Gateway,
    /// The llm-d-benchmark checkout.
    pub upstream: Upstream,
    /// GKE.
    pub gke: Gke,
}

/// Order of treatments over repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The same in each repetition.
    Fixed,
    /// Rotated by one in each repetition.
    Rotated,
}

/// Routing.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// `default`, or the name of a file of `config/routing/`.
    pub policy: String,
}

/// The `local` provider's servers and routers.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Testbed {
    /// Name of a file of `config/hardware/`.
    pub hardware: String,
    /// Number of servers.
    pub servers: u32,
    /// Seed of the routers' random choices.
    pub seed: u64,
    /// Milliseconds added to a request by `canary-delay`, instead of the treatment file's.
    pub delay_ms: Option<f64>,
    /// Milliseconds to the first token of servers that answer at constant times; simulated hardware when absent.
    pub first_token_ms: Option<f64>,
    /// Milliseconds between their tokens.
    pub token_ms: f64,
}
