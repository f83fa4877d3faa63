//! Clusters: where, which accelerators, model servers, storage, timeouts, and the components' versions.

use super::{Key, Section};
use crate::settings::shape::Shape::{Boolean, Choice, Path, Positive, Text, Whole};

pub(super) const SECTION: Section = Section {
    title: "Clusters",
    about: "Used by the `kind`, `kube` and `gke` providers.",
    places: super::CLUSTERS,
    keys: &[
        Key::new("keep", Boolean, "BENCHMARK_KEEP", "Leave the deployment of the last treatment in place.")
            .default("false"),
        Key::new("cluster.name", Text, "CLUSTER_NAME", "Name of the Kind cluster.").default("agentgateway-benchmark"),
        Key::new(
            "cluster.context",
            Text,
            "BENCHMARK_KUBE_CONTEXT",
            "Context to use; follows from the provider's cluster name when absent. The current context is never changed.",
        ),
        Key::new(
            "cluster.endpoint_path",
            Choice(&["internal", "external"]),
            "BENCHMARK_ENDPOINT_PATH",
            "Reach the treatment by its Service in the cluster, or by the load balancer's external address.",
        )
        .default("internal"),
        Key::new(
            "cluster.accelerator.type",
            Text,
            "BENCHMARK_ACCELERATOR_TYPE",
            "`sim` (no accelerator, simulated servers), `cpu` or `gpu`.",
        )
        .default("sim"),
        Key::new(
            "cluster.accelerator.model",
            Text,
            "BENCHMARK_ACCELERATOR_MODEL",
            "Accelerator model, for instance `h100`; detected from the nodes when `auto`.",
        )
        .default("auto"),
        Key::new(
            "cluster.backend",
            Text,
            "BENCHMARK_BACKEND_TYPE",
            "Model server: `inference-sim` or `vllm`; follows from the accelerator type when absent.",
        ),
        Key::new(
            "cluster.model",
            Text,
            "BENCHMARK_MODEL",
            "Model as named on Hugging Face; follows from the accelerator type when absent.",
        ),
        Key::new(
            "cluster.replicas",
            Whole(1),
            "BENCHMARK_REPLICAS",
            "Model servers; follows from accelerator type and routing policy when absent.",
        ),
        Key::new(
            "cluster.tensor_parallelism",
            Whole(0),
            "BENCHMARK_TENSOR_PARALLELISM",
            "Accelerators of one model server; follows from the accelerator type when absent.",
        ),
        Key::new(
            "cluster.hardware_model",
            Text,
            "BENCHMARK_HARDWARE_MODEL",
            "Hardware named in reports; detected when absent.",
        ),
        Key::new("cluster.secret_namespace", Text, "BENCHMARK_SECRET_NAMESPACE", "Namespace of the source secret.")
            .default("benchmark-secrets"),
        Key::new("cluster.hf_secret", Text, "BENCHMARK_HF_SECRET_NAME", "Secret that holds the Hugging Face token.")
            .default("llm-d-hf-token"),
        Key::new(
            "cluster.gpu_release",
            Choice(&["never", "after-run", "after-load"]),
            "BENCHMARK_GPU_RELEASE_POLICY",
            "When GPU nodes are given back: not by a run, after it, or as soon as its load has ended.",
        )
        .default("never"),
        Key::new(
            "storage.model.profile",
            Choice(&["default", "shared", "high-throughput-shared"]),
            "BENCHMARK_MODEL_STORAGE_PROFILE",
            "Storage of model weights; the provider's file gives strategy, class and size.",
        )
        .default("default"),
        Key::new(
            "storage.model.strategy",
            Choice(&["default", "filestore"]),
            "BENCHMARK_MODEL_STORAGE_STRATEGY",
            "How model storage is provided; follows from the profile when absent.",
        ),
        Key::new(
            "storage.model.class",
            Text,
            "BENCHMARK_MODEL_STORAGE_CLASS",
            "Storage class of model weights; follows from the profile when absent.",
        ),
        Key::new(
            "storage.model.size",
            Text,
            "BENCHMARK_MODEL_STORAGE_SIZE",
            "Size of model storage, for instance `80Gi`; follows from the profile when absent.",
        ),
        Key::new(
            "storage.model.cache_policy",
            Choice(&["ephemeral", "retain"]),
            "BENCHMARK_MODEL_CACHE_POLICY",
            "Whether downloaded weights outlive the campaign.",
        )
        .default("ephemeral"),
        Key::new(
            "storage.model.cache_id",
            Text,
            "BENCHMARK_MODEL_CACHE_ID",
            "Name of a retained cache; follows from the model when absent.",
        ),
        Key::new(
            "storage.workload.profile",
            Choice(&["default", "shared"]),
            "BENCHMARK_WORKLOAD_STORAGE_PROFILE",
            "Storage of the harness's results.",
        )
        .default("default"),
        Key::new(
            "storage.workload.class",
            Text,
            "BENCHMARK_WORKLOAD_STORAGE_CLASS",
            "Storage class of results; follows from the profile when absent.",
        ),
        Key::new(
            "storage.workload.size",
            Text,
            "BENCHMARK_WORKLOAD_STORAGE_SIZE",
            "Size of results storage; follows from the profile when absent.",
        ),
        Key::new("timeouts.data_access", Positive, "BENCHMARK_DATA_ACCESS_TIMEOUT", "Seconds for the data-access pod.")
            .default("600"),
        Key::new(
            "timeouts.modelservice_deploy",
            Positive,
            "BENCHMARK_MODELSERVICE_DEPLOY_TIMEOUT",
            "Seconds for model servers to become ready; 7200 with GPUs, 1500 otherwise, when absent.",
        ),
    ],
};

pub(super) const COMPONENTS: Section = Section {
    title: "Components",
    about: "Versions that are pinned in `config/pins.yaml`, and where components come from.",
    places: super::CLUSTERS,
    keys: &[
        Key::new(
            "pins.inference_perf",
            Text,
            "BENCHMARK_INFERENCE_PERF_VERSION",
            "inference-perf, from the Python package index.",
        ),
        Key::new(
            "pins.llm_d_benchmark",
            Text,
            "LLM_D_BENCHMARK_REF",
            "Commit of llm-d-benchmark; a branch or tag is resolved once and recorded.",
        ),
        Key::new("pins.agentgateway", Text, "AGW_VERSION", "agentgateway."),
        Key::new(
            "pins.llm_d_router_chart",
            Text,
            "BENCHMARK_ROUTER_CHART_VERSION",
            "llm-d-router chart; an immutable vX.Y.Z only.",
        ),
        Key::new("pins.vllm", Text, "BENCHMARK_VLLM_VERSION", "vLLM image tag for GPUs."),
        Key::new("pins.vllm_cpu", Text, "BENCHMARK_VLLM_CPU_VERSION", "vLLM image tag for CPUs."),
        Key::new("pins.llm_d_inference_sim", Text, "BENCHMARK_INFERENCE_SIM_VERSION", "llm-d-inference-sim image tag."),
        Key::new("pins.envoy", Text, "BENCHMARK_ENVOY_VERSION", "Envoy image tag of `envoy-standalone`."),
        Key::new(
            "pins.collector_image",
            Text,
            "BENCHMARK_COLLECTOR_IMAGE",
            "Image with a Python in which metrics are sampled in the cluster.",
        ),
        Key::new("pins.helm_diff", Text, "BENCHMARK_HELM_DIFF_HELM4_VERSION", "helm-diff plugin for Helm 4."),
        Key::new(
            "agentgateway.image",
            Text,
            "AGW_IMAGE",
            "Data-plane image; the release image of the pinned version when absent.",
        ),
        Key::new(
            "agentgateway.namespace",
            Text,
            "AGW_CONTROLLER_NAMESPACE",
            "Namespace of the agentgateway controller.",
        )
        .default("agentgateway-system"),
        Key::new(
            "gateway.implementation",
            Text,
            "BENCHMARK_GATEWAY_IMPLEMENTATION",
            "Check that the treatment uses this implementation; the treatment's own when absent.",
        ),
        Key::new(
            "gateway.mode",
            Text,
            "BENCHMARK_ROUTER_MODE",
            "Check that the treatment uses this router mode (none, standalone, gateway); the treatment's own when absent.",
        ),
        Key::new("upstream.dir", Path, "LLM_D_BENCHMARK_DIR", "A checkout of llm-d-benchmark to use as it is."),
        Key::new(
            "upstream.cache_dir",
            Path,
            "LLM_D_BENCHMARK_CACHE_DIR",
            "Where the pinned checkout is kept; a folder of the user's cache when absent.",
        ),
        Key::new(
            "upstream.planner",
            Text,
            "LLM_D_BENCHMARK_PLANNER",
            "Where its planner package is installed from: a folder, an archive or what pip takes; what its own installer names when absent.",
        ),
        Key::new("upstream.url", Text, "LLM_D_BENCHMARK_URL", "Repository the pinned commit is fetched from.")
            .default("https://github.com/llm-d/llm-d-benchmark.git"),
    ],
};
