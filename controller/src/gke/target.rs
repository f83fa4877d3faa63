//! Which project, zone, cluster and pools are meant, checked before anything is asked of them.

use std::time::Duration;

use crate::failure::{Failure, Result};
use crate::render::MANAGED_BY;
use crate::settings::{Gke, GpuPool, Lifecycle, Origin, Place, Pool, Resolved};

/// Label of a cluster that this program made: who manages it.
pub const MANAGED_BY_LABEL: &str = "managed_by";
/// Label of a cluster that this program made: what for.
pub const PURPOSE_LABEL: &str = "purpose";
/// The purpose.
pub const PURPOSE: &str = "inference-benchmark";

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// One question.
    pub look: Duration,
    /// Making or changing the cluster or a pool.
    pub provision: Duration,
    /// GPU nodes becoming allocatable, from the request to the last one.
    pub ready: Duration,
    /// One verified deletion.
    pub cleanup: Duration,
}

/// The infrastructure that is wanted.
#[derive(Clone, Debug)]
pub struct Target {
    /// Project.
    pub project: String,
    /// Zone.
    pub zone: String,
    /// Cluster.
    pub cluster: String,
    /// Network.
    pub network: String,
    /// Subnetwork.
    pub subnetwork: String,
    /// Release channel.
    pub channel: String,
    /// System pods.
    pub system: Pool,
    /// Harness.
    pub harness: Pool,
    /// Model servers.
    pub gpu: GpuPool,
    /// Service account of all nodes.
    pub service_account: String,
    /// How long things may take.
    pub deadlines: Deadlines,
    /// What becomes of the cluster after a campaign.
    pub lifecycle: Lifecycle,
    /// Whether it may be destroyed.
    pub allow_destroy: bool,
}

impl Target {
    /// What the settings ask for.
    ///
    /// # Errors
    /// Usage failures: another provider, no project, a region, pools of one name, a context of another cluster.
    pub fn new(resolved: &Resolved) -> Result<Self> {
        if resolved.provider.place != Place::Gke {
            return Err(Failure::usage(format!("provider {} is not GKE", resolved.provider.name))
                .hint("choose a profile of GKE (`cargo xtask profiles`), or --provider gke"));
        }
        let gke = &resolved.settings.gke;
        let project = gke.project.clone().ok_or_else(|| {
            Failure::usage("no project is named").hint("set BENCHMARK_GKE_PROJECT or --set gke.project=NAME")
        })?;
        zone(&gke.location)?;
        pools(gke)?;
        let target = Self {
            service_account: gke
                .node_service_account
                .clone()
                .unwrap_or_else(|| format!("{}@{project}.iam.gserviceaccount.com", gke.node_service_account_id)),
            project,
            zone: gke.location.clone(),
            cluster: gke.cluster.clone(),
            network: gke.network.clone(),
            subnetwork: gke.subnetwork.clone(),
            channel: gke.release_channel.clone(),
            system: gke.system.clone(),
            harness: gke.harness.clone(),
            gpu: gke.gpu.clone(),
            deadlines: Deadlines {
                look: seconds(gke.look_timeout),
                provision: seconds(gke.provision_timeout),
                ready: seconds(gke.gpu.ready_timeout),
                cleanup: seconds(gke.cleanup_timeout),
            },
            lifecycle: gke.cluster_lifecycle,
            allow_destroy: gke.allow_destroy,
        };
        target.check_context(resolved)?;
        Ok(target)
    }

    /// The context that gcloud gives the cluster.
    pub fn context(&self) -> String {
        format!("gke_{}_{}_{}", self.project, self.zone, self.cluster)
    }

    /// The region of the zone.
    pub fn region(&self) -> &str {
        self.zone.rsplit_once('-').map_or(&self.zone, |(region, _)| region)
    }

    /// The labels by which a cluster of ours is known.
    pub fn labels(&self) -> [(&'static str, &'static str); 2] {
        [(MANAGED_BY_LABEL, MANAGED_BY), (PURPOSE_LABEL, PURPOSE)]
    }

    /// How many GPUs the whole pool has.
    pub fn gpus(&self) -> u64 {
        u64::from(self.gpu.target_nodes) * u64::from(self.gpu.accelerators_per_node)
    }

    /// The pool's nodes and what they are, for people: `8 x a3-highgpu-2g (Spot)`.
    pub fn gpu_nodes(&self) -> String {
        let spot = if self.gpu.spot { " (Spot)" } else { "" };
        format!("{} x {}{spot}", self.gpu.target_nodes, self.gpu.machine_type)
    }

    /// A context that somebody chose must be that of this very cluster.
    fn check_context(&self, resolved: &Resolved) -> Result<()> {
        let derived = matches!(resolved.origin("cluster.context"), None | Some(Origin::Derived(_)));
        let Some(context) = resolved.settings.cluster.context.as_deref().filter(|_| !derived) else { return Ok(()) };
        if context == self.context() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "the context {context} is not the cluster {} in {} of project {}",
            self.cluster, self.zone, self.project
        ))
        .hint(format!("leave BENCHMARK_KUBE_CONTEXT out, or set it to {}", self.context())))
    }
}

fn seconds(seconds: f64) -> Duration {
    // A year is longer than anything waits, and every f64 below it is a valid duration.
    Duration::from_secs_f64(seconds.clamp(0.0, 31_536_000.0))
}

/// GPUs are had by zone; a region would make three times the nodes.
fn zone(location: &str) -> Result<()> {
    let parts: Vec<&str> = location.split('-').collect();
    let is_zone = parts.len() == 3
        && parts[1].ends_with(|c: char| c.is_ascii_digit())
        && parts[2].len() == 1
        && parts[2].starts_with(|c: char| c.is_ascii_lowercase());
    if is_zone {
        return Ok(());
    }
    let what = if parts.len() == 2 { "a region, not a zone" } else { "not a zone" };
    Err(Failure::usage(format!("gke.location {location} is {what}"))
        .hint("name a zone that has the accelerators, for instance us-central1-a"))
}

fn pools(gke: &Gke) -> Result<()> {
    let names = [
        ("gke.system.nodepool", &gke.system.nodepool),
        ("gke.harness.nodepool", &gke.harness.nodepool),
        ("gke.gpu.nodepool", &gke.gpu.nodepool),
    ];
    for (index, (key, name)) in names.iter().enumerate() {
        if let Some((other, _)) = names[..index].iter().find(|(_, earlier)| earlier == name) {
            return Err(Failure::usage(format!("{key} and {other} are both the pool {name}"))
                .hint("give each pool a name of its own: the GPU pool is resized to zero, the others must stay"));
        }
    }
    Ok(())
}
