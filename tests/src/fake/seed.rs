//! What a cloud begins as.

use serde_json::{Value, json};

/// The project that exists.
pub const PROJECT: &str = "bench-project";
/// The zone that has everything.
pub const ZONE: &str = "us-central1-a";
/// The cluster's usual name.
pub const CLUSTER: &str = "agentgateway-benchmark";
/// Its context.
pub const CONTEXT: &str = "gke_bench-project_us-central1-a_agentgateway-benchmark";

/// A project that can have a cluster and has none yet. Nothing lags.
pub fn gke() -> Value {
    let nodes = format!("agentgateway-benchmark-nodes@{PROJECT}.iam.gserviceaccount.com");
    let member = format!("serviceAccount:{nodes}");
    let machines = json!({
        "e2-standard-4": {"guestCpus": 4, "memoryMb": 16384},
        "e2-standard-32": {"guestCpus": 32, "memoryMb": 131_072},
        "a3-highgpu-2g": {
            "guestCpus": 52, "memoryMb": 479_232,
            "accelerators": [{"guestAcceleratorCount": 2, "guestAcceleratorType": "nvidia-h100-80gb"}],
        },
    });
    json!({
        "lag": 0,
        "gcloud": {
            "account": "robot@bench.example",
            "projects": {PROJECT: {
                "services": [
                    "container.googleapis.com", "compute.googleapis.com", "file.googleapis.com", "iam.googleapis.com",
                    "monitoring.googleapis.com",
                ],
                "service_accounts": [nodes],
                "bindings": [
                    {"role": "roles/container.defaultNodeServiceAccount", "members": [member]},
                    {"role": "roles/artifactregistry.reader", "members": [member]},
                ],
                "subnetworks": ["default"],
                "zones": {ZONE: {"machine_types": machines, "accelerators": ["nvidia-h100-80gb", "nvidia-l4"]}},
            }},
            "clusters": {}, "filestore": [], "groups": {},
        },
        "kubernetes": {},
    })
}

/// A Kind cluster of this name with one node and a default storage class.
pub fn kind(name: &str) -> Value {
    json!({
        "lag": 0,
        "kubernetes": {format!("kind-{name}"): {"version": 1, "objects": {
            "nodes//kind-control-plane": {
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "kind-control-plane", "labels": {"kubernetes.io/os": "linux"}},
                "status": {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "4", "memory": "16Gi"}},
            },
            "storageclasses//standard": {
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "rancher.io/local-path",
                "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            },
        }}},
    })
}
