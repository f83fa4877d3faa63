//! Kubernetes, storage, deadlines and component versions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where and on what treatments run in a cluster.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Kind cluster.
    pub name: String,
    /// Context.
    pub context: Option<String>,
    /// How the treatment is reached.
    pub endpoint_path: EndpointPath,
    /// Accelerators.
    pub accelerator: Accelerator,
    /// Model server.
    pub backend: String,
    /// Model.
    pub model: String,
    /// Model servers.
    pub replicas: u32,
    /// Accelerators of one model server.
    pub tensor_parallelism: u32,
    /// Hardware named in reports.
    pub hardware_model: Option<String>,
    /// Namespace of the source secret.
    pub secret_namespace: String,
    /// Secret with the Hugging Face token.
    pub hf_secret: String,
    /// When GPU nodes are given back.
    pub gpu_release: GpuRelease,
}

/// Accelerators.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Accelerator {
    /// `sim`, `cpu` or `gpu`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Model or `auto`.
    pub model: String,
}

/// How a treatment is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndpointPath {
    /// By its Service in the cluster.
    Internal,
    /// By the load balancer's address.
    External,
}

/// When GPU nodes are given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuRelease {
    /// Not by a run.
    Never,
    /// After the run.
    AfterRun,
    /// As soon as its load has ended.
    AfterLoad,
}

/// Storage.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Model weights.
    pub model: ModelStorage,
    /// Results.
    pub workload: WorkloadStorage,
}

/// Storage of model weights; strategy, class and size are `None` only for the local provider.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ModelStorage {
    /// Profile.
    pub profile: String,
    /// `default` or `filestore`.
    pub strategy: Option<String>,
    /// Storage class; the cluster's default class when absent.
    pub class: Option<String>,
    /// Size.
    pub size: Option<String>,
    /// Whether weights outlive the campaign.
    pub cache_policy: CachePolicy,
    /// Name of a retained cache.
    pub cache_id: Option<String>,
}

/// Whether weights outlive the campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CachePolicy {
    /// No.
    Ephemeral,
    /// Yes.
    Retain,
}

/// Storage of results.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadStorage {
    /// Profile.
    pub profile: String,
    /// Storage class; the cluster's default class when absent.
    pub class: Option<String>,
    /// Size.
    pub size: Option<String>,
}

/// Deadlines, seconds.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    /// Data-access pod.
    pub data_access: f64,
    /// Model servers.
    pub modelservice_deploy: f64,
}

/// Versions that belong together; see `config/pins.yaml`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// inference-perf.
    pub inference_perf: String,
    /// llm-d-benchmark: a commit, tag or branch.
    pub llm_d_benchmark: String,
    /// agentgateway.
    pub agentgateway: String,
    /// llm-d-router chart.
    pub llm_d_router_chart: String,
    /// vLLM for GPUs.
    pub vllm: String,
    /// vLLM for CPUs.
    pub vllm_cpu: String,
    /// llm-d-inference-sim.
    pub llm_d_inference_sim: String,
    /// Envoy.
    pub envoy: String,
    /// Image of the metrics collector.
    pub collector_image: String,
    /// helm-diff for Helm 4.
    pub helm_diff: String,
}

/// agentgateway in a cluster.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Agentgateway {
    /// Data-plane image with tag.
    pub image: String,
    /// Controller's namespace.
    pub namespace: String,
}

/// Expectations about the treatment's gateway.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// Implementation every treatment must use.
    pub implementation: Option<String>,
    /// Router mode every treatment must use.
    pub mode: Option<String>,
}

/// The llm-d-benchmark checkout.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// A caller's checkout.
    pub dir: Option<PathBuf>,
    /// Where ours is kept.
    pub cache_dir: Option<PathBuf>,
    /// Where the planner package is installed from; what the checkout's own installer names when absent.
    pub planner: Option<String>,
    /// Repository.
    pub url: String,
}
