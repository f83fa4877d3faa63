//! Every gcloud call of this module as words, so that what is run and what a dry run prints are the same.

use super::state::Family;
use super::target::Target;

/// The machine APIs that a project must have enabled.
pub const SERVICES: [&str; 5] = [
    "container.googleapis.com",
    "compute.googleapis.com",
    "file.googleapis.com",
    "iam.googleapis.com",
    "monitoring.googleapis.com",
];

/// The roles that the nodes' service account must have: logs, metrics and images.
pub const ROLES: [&str; 2] = ["roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader"];

/// A call without the flags that all calls have.
pub type Words = Vec<String>;

fn words(text: &str, more: impl IntoIterator<Item = String>) -> Words {
    text.split(' ').map(str::to_owned).chain(more).collect()
}

/// A call that names its location as most of Kubernetes Engine and Filestore do.
fn located(target: &Target, text: &str, name: Option<&str>, more: impl IntoIterator<Item = String>) -> Words {
    let mut all = words(text, name.map(str::to_owned));
    all.push(format!("--location={}", target.zone));
    all.extend(more);
    all
}

pub fn account() -> Words {
    words("auth list", ["--filter=status:ACTIVE".to_owned()])
}

pub fn project(target: &Target) -> Words {
    words("projects describe", [target.project.clone()])
}

pub fn services() -> Words {
    words("services list", ["--enabled".to_owned()])
}

pub fn service_account(target: &Target) -> Words {
    words("iam service-accounts describe", [target.service_account.clone()])
}

pub fn policy(target: &Target) -> Words {
    words("projects get-iam-policy", [target.project.clone()])
}

pub fn zone(target: &Target) -> Words {
    words("compute zones describe", [target.zone.clone()])
}

pub fn subnetwork(target: &Target) -> Words {
    words("compute networks subnets describe", [target.subnetwork.clone(), format!("--region={}", target.region())])
}

pub fn machine_type(target: &Target, machine: &str) -> Words {
    words("compute machine-types describe", [machine.to_owned(), format!("--zone={}", target.zone)])
}

pub fn accelerator_type(target: &Target) -> Words {
    let accelerator = target.gpu.accelerator_type.clone();
    words("compute accelerator-types describe", [accelerator, format!("--zone={}", target.zone)])
}

/// Lists rather than describes: an absent cluster is an empty list, not an error text to be understood.
pub fn clusters(target: &Target) -> Words {
    located(target, "container clusters list", None, [format!("--filter=name={}", target.cluster)])
}

pub fn create_cluster(target: &Target) -> Words {
    let labels: Vec<String> = target.labels().iter().map(|(name, value)| format!("{name}={value}")).collect();
    located(target, "container clusters create", Some(&target.cluster), [
        format!("--release-channel={}", target.channel),
        format!("--network={}", target.network),
        format!("--subnetwork={}", target.subnetwork),
        "--enable-ip-alias".to_owned(),
        format!("--machine-type={}", target.system.machine_type),
        format!("--num-nodes={}", target.system.nodes),
        format!("--service-account={}", target.service_account),
        format!("--workload-pool={}.svc.id.goog", target.project),
        // The first two are on by default and would be off if they were not named.
        "--addons=HttpLoadBalancing,HorizontalPodAutoscaling,GcePersistentDiskCsiDriver,GcpFilestoreCsiDriver,NodeLocalDNS"
            .to_owned(),
        "--enable-managed-prometheus".to_owned(),
        "--monitoring=SYSTEM,CADVISOR,KUBELET".to_owned(),
        format!("--labels={}", labels.join(",")),
    ])
}

/// One family a call: the API refuses updates of several.
pub fn update(target: &Target, family: Family) -> Words {
    let flag = match family {
        Family::PersistentDisk => "--update-addons=GcePersistentDiskCsiDriver=ENABLED".to_owned(),
        Family::Filestore => "--update-addons=GcpFilestoreCsiDriver=ENABLED".to_owned(),
        Family::LocalDns => "--update-addons=NodeLocalDNS=ENABLED".to_owned(),
        Family::ManagedPrometheus => "--enable-managed-prometheus".to_owned(),
        Family::Monitoring => "--monitoring=SYSTEM,CADVISOR,KUBELET".to_owned(),
        Family::WorkloadIdentity => format!("--workload-pool={}.svc.id.goog", target.project),
    };
    located(target, "container clusters update", Some(&target.cluster), [flag])
}

pub fn create_harness_pool(target: &Target) -> Words {
    create_pool(target, &target.harness.nodepool, &target.harness.machine_type, target.harness.nodes, Vec::new())
}

pub fn create_gpu_pool(target: &Target) -> Words {
    let gpu = &target.gpu;
    let mut more = vec![format!(
        "--accelerator=type={},count={},gpu-driver-version={}",
        gpu.accelerator_type, gpu.accelerators_per_node, gpu.driver_version
    )];
    if gpu.spot {
        more.push("--spot".to_owned());
    }
    create_pool(target, &gpu.nodepool, &gpu.machine_type, 0, more)
}

fn create_pool(target: &Target, name: &str, machine: &str, nodes: u32, more: Vec<String>) -> Words {
    let mut all = located(
        target,
        "container node-pools create",
        Some(name),
        [
            format!("--cluster={}", target.cluster),
            format!("--machine-type={machine}"),
            format!("--num-nodes={nodes}"),
            format!("--service-account={}", target.service_account),
            "--workload-metadata=GKE_METADATA".to_owned(),
        ],
    );
    all.extend(more);
    all
}

pub fn resize_gpus(target: &Target, nodes: u32) -> Words {
    let more = [format!("--node-pool={}", target.gpu.nodepool), format!("--num-nodes={nodes}")];
    located(target, "container clusters resize", Some(&target.cluster), more)
}

pub fn group(target: &Target, group: &str) -> Words {
    words("compute instance-groups managed describe", [group.to_owned(), format!("--zone={}", target.zone)])
}

pub fn instances(target: &Target, group: &str) -> Words {
    words("compute instance-groups managed list-instances", [group.to_owned(), format!("--zone={}", target.zone)])
}

pub fn credentials(target: &Target) -> Words {
    located(target, "container clusters get-credentials", Some(&target.cluster), [])
}

pub fn filestores(target: &Target) -> Words {
    located(target, "filestore instances list", None, [])
}

pub fn delete_filestore(target: &Target, instance: &str) -> Words {
    located(target, "filestore instances delete", Some(instance), ["--force".to_owned()])
}

pub fn delete_cluster(target: &Target) -> Words {
    located(target, "container clusters delete", Some(&target.cluster), [])
}
