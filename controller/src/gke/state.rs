//! What a cluster and its pools are, read from gcloud's description and held against what is wanted.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::target::Target;
use crate::cluster::object::{items, text};

/// A part of a cluster that is switched on by an update of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// The persistent-disk driver.
    PersistentDisk,
    /// The Filestore driver.
    Filestore,
    /// NodeLocal DNSCache.
    LocalDns,
    /// Managed Service for Prometheus.
    ManagedPrometheus,
    /// Metrics of system, cAdvisor and kubelet.
    Monitoring,
    /// Workload identity.
    WorkloadIdentity,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PersistentDisk => "the persistent-disk driver",
            Self::Filestore => "the Filestore driver",
            Self::LocalDns => "NodeLocal DNSCache",
            Self::ManagedPrometheus => "managed Prometheus",
            Self::Monitoring => "monitoring of system, cAdvisor and kubelet",
            Self::WorkloadIdentity => "workload identity",
        })
    }
}

/// What monitoring must collect.
const COMPONENTS: [&str; 3] = ["SYSTEM_COMPONENTS", "CADVISOR", "KUBELET"];

/// Whether a cluster bears both labels of ours.
pub fn is_ours(target: &Target, cluster: &Value) -> bool {
    target.labels().iter().all(|(name, value)| cluster["resourceLabels"][*name] == *value)
}

/// The parts that are still off, in the order in which they are switched on.
pub fn missing(target: &Target, cluster: &Value) -> Vec<Family> {
    let enabled = |pointer: &str| cluster.pointer(pointer).and_then(Value::as_bool).unwrap_or(false);
    let collected = items(cluster, "/monitoringConfig/componentConfig/enableComponents");
    let pool = format!("{}.svc.id.goog", target.project);
    [
        (Family::PersistentDisk, enabled("/addonsConfig/gcePersistentDiskCsiDriverConfig/enabled")),
        (Family::Filestore, enabled("/addonsConfig/gcpFilestoreCsiDriverConfig/enabled")),
        (Family::LocalDns, enabled("/addonsConfig/dnsCacheConfig/enabled")),
        (Family::ManagedPrometheus, enabled("/monitoringConfig/managedPrometheusConfig/enabled")),
        (Family::Monitoring, COMPONENTS.iter().all(|wanted| collected.iter().any(|it| it == wanted))),
        (Family::WorkloadIdentity, text(cluster, "/workloadIdentityConfig/workloadPool") == pool),
    ]
    .into_iter()
    .filter_map(|(family, on)| (!on).then_some(family))
    .collect()
}

/// What cannot be changed and is not as wanted, each with what to do.
pub fn incompatible(target: &Target, cluster: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut hold = |what: &str, is: &str, wanted: &str, key: &str| {
        if is != wanted {
            let problem = format!("the cluster {}'s {what} is {is}, not {wanted}", target.cluster);
            found.push((problem, format!("set {key}={is}, or name another cluster with gke.cluster")));
        }
    };
    let last = |pointer: &str| text(cluster, pointer).rsplit('/').next().unwrap_or_default().to_owned();
    hold("network", &last("/network"), &target.network, "gke.network");
    hold("subnetwork", &last("/subnetwork"), &target.subnetwork, "gke.subnetwork");
    let channel = text(cluster, "/releaseChannel/channel").to_lowercase();
    hold("release channel", &channel, &target.channel.to_lowercase(), "gke.release_channel");
    let status = text(cluster, "/status");
    if !["RUNNING", "RECONCILING"].contains(&status) {
        found.push((
            format!("the cluster {} is {status}", target.cluster),
            "wait until it is RUNNING, or mend it in the console".to_owned(),
        ));
    }
    found.extend(pools(target, cluster));
    found
}

/// A pool of the cluster.
pub fn pool<'a>(cluster: &'a Value, name: &str) -> Option<&'a Value> {
    items(cluster, "/nodePools").iter().find(|pool| pool["name"] == name)
}

/// The instance groups behind a pool.
pub fn groups(pool: &Value) -> Vec<String> {
    let urls = items(pool, "/instanceGroupUrls").iter().filter_map(Value::as_str);
    urls.filter_map(|url| url.rsplit('/').next()).map(str::to_owned).collect()
}

fn pools(target: &Target, cluster: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, machine) in [
        (&target.system.nodepool, &target.system.machine_type),
        (&target.harness.nodepool, &target.harness.machine_type),
        (&target.gpu.nodepool, &target.gpu.machine_type),
    ] {
        let Some(pool) = pool(cluster, name) else { continue };
        let mut differs = Vec::new();
        let mut hold = |what: &str, is: String, wanted: String| {
            if is != wanted {
                differs.push(format!("{what} {is} instead of {wanted}"));
            }
        };
        hold("machine type", text(pool, "/config/machineType").to_owned(), machine.clone());
        hold("service account", text(pool, "/config/serviceAccount").to_owned(), target.service_account.clone());
        // A pool that grows by itself cannot be held at zero.
        let autoscaling = pool.pointer("/autoscaling/enabled").and_then(Value::as_bool).unwrap_or(false);
        hold("autoscaling", on(autoscaling), on(false));
        if *name == target.gpu.nodepool {
            let accelerator = |field: &str| text(pool, &format!("/config/accelerators/0/{field}")).to_owned();
            hold("accelerator", accelerator("acceleratorType"), target.gpu.accelerator_type.clone());
            hold("accelerators a node", accelerator("acceleratorCount"), target.gpu.accelerators_per_node.to_string());
            let spot = pool.pointer("/config/spot").and_then(Value::as_bool).unwrap_or(false);
            hold("Spot", on(spot), on(target.gpu.spot));
        }
        if !differs.is_empty() {
            found.push((
                format!("the node pool {name} is there with {}", differs.join(", ")),
                format!("pools are not replaced: give the setting of the pool {name} what it has, or another name"),
            ));
        }
    }
    found
}

fn on(on: bool) -> String {
    if on { "on".to_owned() } else { "off".to_owned() }
}
