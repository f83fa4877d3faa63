//! Google Kubernetes Engine.

use super::{Key, Section};
use crate::settings::provider::Place;
use crate::settings::shape::Shape::{Boolean, Choice, Positive, Text, Whole};

pub(super) const SECTION: Section = Section {
    title: "GKE",
    about: "Used by the `gke` provider. Project, location and cluster follow from a `gke_<project>_<location>_<cluster>` context.",
    places: &[Place::Gke],
    keys: &[
        Key::new("gke.project", Text, "BENCHMARK_GKE_PROJECT", "Project; required unless the context names it."),
        Key::new("gke.location", Text, "BENCHMARK_GKE_LOCATION", "Zone; `us-central1-a` when absent."),
        Key::new("gke.cluster", Text, "BENCHMARK_GKE_CLUSTER", "Cluster; `agentgateway-benchmark` when absent."),
        Key::new("gke.network", Text, "BENCHMARK_GKE_NETWORK", "Network.").default("default"),
        Key::new("gke.subnetwork", Text, "BENCHMARK_GKE_SUBNETWORK", "Subnetwork.").default("default"),
        Key::new("gke.release_channel", Text, "BENCHMARK_GKE_RELEASE_CHANNEL", "Release channel.").default("stable"),
        Key::new("gke.system.nodepool", Text, "BENCHMARK_GKE_SYSTEM_NODEPOOL", "Pool of system pods.")
            .default("default-pool"),
        Key::new("gke.system.machine_type", Text, "BENCHMARK_GKE_SYSTEM_MACHINE_TYPE", "Its machine type.")
            .default("e2-standard-4"),
        Key::new("gke.system.nodes", Whole(1), "BENCHMARK_GKE_SYSTEM_NODES", "Its number of nodes.").default("1"),
        Key::new("gke.harness.nodepool", Text, "BENCHMARK_GKE_HARNESS_NODEPOOL", "Pool of the harness.")
            .default("bench-cpu"),
        Key::new("gke.harness.machine_type", Text, "BENCHMARK_GKE_HARNESS_MACHINE_TYPE", "Its machine type.")
            .default("e2-standard-32"),
        Key::new("gke.harness.nodes", Whole(1), "BENCHMARK_GKE_HARNESS_NODES", "Its number of nodes.").default("1"),
        Key::new("gke.cpu.nodepool", Text, "BENCHMARK_GKE_CPU_NODEPOOL", "Pool of model servers that need no GPU.")
            .default("default-pool"),
        Key::new("gke.gpu.nodepool", Text, "BENCHMARK_GKE_GPU_NODEPOOL", "Pool of GPU nodes.").default("gpu-h100"),
        Key::new("gke.gpu.machine_type", Text, "BENCHMARK_GKE_GPU_MACHINE_TYPE", "Its machine type.")
            .default("a3-highgpu-2g"),
        Key::new("gke.gpu.accelerator_type", Text, "BENCHMARK_GKE_GPU_ACCELERATOR_TYPE", "Its accelerator.")
            .default("nvidia-h100-80gb"),
        Key::new(
            "gke.gpu.accelerators_per_node",
            Whole(1),
            "BENCHMARK_GKE_GPU_ACCELERATORS_PER_NODE",
            "Accelerators of one node.",
        )
        .default("2"),
        Key::new("gke.gpu.target_nodes", Whole(1), "BENCHMARK_GKE_GPU_TARGET_NODES", "Nodes held while load runs.")
            .default("8"),
        Key::new("gke.gpu.driver_version", Text, "BENCHMARK_GKE_GPU_DRIVER_VERSION", "Driver version.")
            .default("default"),
        Key::new("gke.gpu.spot", Boolean, "BENCHMARK_GKE_GPU_SPOT", "Whether its nodes are Spot nodes.")
            .default("true"),
        Key::new(
            "gke.gpu.ready_timeout",
            Positive,
            "BENCHMARK_GKE_GPU_READY_TIMEOUT",
            "Seconds for GPU nodes to become allocatable.",
        )
        .default("2400"),
        Key::new(
            "gke.cleanup_timeout",
            Positive,
            "BENCHMARK_GKE_CLEANUP_TIMEOUT",
            "Seconds for each verified deletion.",
        )
        .default("1200"),
        Key::new(
            "gke.look_timeout",
            Positive,
            "BENCHMARK_GKE_LOOK_TIMEOUT",
            "Seconds for one question to gcloud or kubectl.",
        )
        .default("120"),
        Key::new(
            "gke.provision_timeout",
            Positive,
            "BENCHMARK_GKE_PROVISION_TIMEOUT",
            "Seconds for making or changing the cluster or one pool.",
        )
        .default("2400"),
        Key::new(
            "gke.cluster_lifecycle",
            Choice(&["retain", "destroy"]),
            "BENCHMARK_GKE_CLUSTER_LIFECYCLE",
            "What happens to the cluster after a campaign.",
        )
        .default("retain"),
        Key::new(
            "gke.allow_destroy",
            Boolean,
            "BENCHMARK_GKE_ALLOW_DESTROY",
            "Confirms that the cluster may be destroyed.",
        )
        .default("false"),
        Key::new(
            "gke.node_service_account",
            Text,
            "BENCHMARK_GKE_NODE_SERVICE_ACCOUNT",
            "Service account of nodes; `<id>@<project>.iam.gserviceaccount.com` when absent.",
        ),
        Key::new(
            "gke.prices",
            Text,
            "BENCHMARK_GKE_PRICES",
            "Prices and durations of `gke plan --estimate`: a file of `config/prices/`.",
        )
        .default("gke-us-central1"),
        Key::new("gke.node_service_account_id", Text, "BENCHMARK_GKE_NODE_SERVICE_ACCOUNT_ID", "Its id.")
            .default("agentgateway-benchmark-nodes"),
    ],
};
