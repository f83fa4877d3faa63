//! Google Kubernetes Engine.

use serde::{Deserialize, Serialize};

/// Project, cluster and node pools.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Gke {
    /// Project; given or named by the context whenever the provider is `gke`.
    pub project: Option<String>,
    /// Zone.
    pub location: String,
    /// Cluster.
    pub cluster: String,
    /// Network.
    pub network: String,
    /// Subnetwork.
    pub subnetwork: String,
    /// Release channel.
    pub release_channel: String,
    /// System pods.
    pub system: Pool,
    /// Harness.
    pub harness: Pool,
    /// Model servers without GPUs.
    pub cpu: CpuPool,
    /// GPU nodes.
    pub gpu: GpuPool,
    /// Seconds for each verified deletion.
    pub cleanup_timeout: f64,
    /// Seconds for one question.
    pub look_timeout: f64,
    /// Seconds for making or changing the cluster or one pool.
    pub provision_timeout: f64,
    /// Name of a file of `config/prices/`.
    pub prices: String,
    /// What happens to the cluster afterwards.
    pub cluster_lifecycle: Lifecycle,
    /// Confirmation for destroying it.
    pub allow_destroy: bool,
    /// Service account of nodes; `None` only without a project.
    pub node_service_account: Option<String>,
    /// Its id.
    pub node_service_account_id: String,
}

/// A pool of plain nodes.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Name.
    pub nodepool: String,
    /// Machine type.
    pub machine_type: String,
    /// Nodes.
    pub nodes: u32,
}

/// The pool that serves models without GPUs.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CpuPool {
    /// Name.
    pub nodepool: String,
}

/// The pool of GPU nodes.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GpuPool {
    /// Name.
    pub nodepool: String,
    /// Machine type.
    pub machine_type: String,
    /// Accelerator.
    pub accelerator_type: String,
    /// Accelerators of one node.
    pub accelerators_per_node: u32,
    /// Nodes held while load runs.
    pub target_nodes: u32,
    /// Driver version.
    pub driver_version: String,
    /// Spot nodes.
    pub spot: bool,
    /// Seconds for nodes to become allocatable.
    pub ready_timeout: f64,
}

/// What happens to the cluster after a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lifecycle {
    /// It stays.
    Retain,
    /// It is destroyed.
    Destroy,
}
