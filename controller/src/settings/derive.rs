//! Defaults that follow from other settings; they only fill in what no layer gave.

use super::layer::Layer;
use super::problem::Problem;
use super::provider::{Place, ProviderFile};
use super::shape::show;

/// The number of replicas that the published ladders are written for.
const LADDER_REPLICAS: u64 = 8;

/// Fills in every setting that follows from others and was not given.
pub fn fill(layer: &mut Layer, provider: &ProviderFile) -> Result<(), Problem> {
    let local = provider.place == Place::Local;
    workload(layer)?;
    accelerator(layer)?;
    components(layer)?;
    let policy = text(layer, "routing.policy");
    let (workers, reason) = match !local && policy != "default" {
        // As many as the harness's pod has CPUs under a routing policy.
        true => (8_u64, format!("routing.policy {policy}")),
        false => (2, format!("provider {}", provider.name)),
    };
    absent(layer, "harness.workers", workers, || reason)?;
    if !local {
        storage(layer, provider)?;
    }
    scale(layer, local)?;
    gke(layer, provider)
}

fn text(layer: &Layer, name: &str) -> String {
    layer.get(name).map(|given| show(&given.value)).unwrap_or_default()
}

fn absent(
    layer: &mut Layer,
    name: &str,
    value: impl Into<serde_yaml::Value>,
    reason: impl FnOnce() -> String,
) -> Result<(), Problem> {
    if layer.get(name).is_none() { layer.derive(name, value, reason()) } else { Ok(()) }
}

fn workload(layer: &mut Layer) -> Result<(), Problem> {
    let variant = text(layer, "workload.variant");
    let (load, timeout) = match variant.as_str() {
        "deterministic" => ("constant", 120_u64),
        _ => ("poisson", 300),
    };
    let reason = || format!("workload.variant {variant}");
    absent(layer, "workload.load", load, reason)?;
    absent(layer, "workload.request_timeout", timeout, reason)
}

fn accelerator(layer: &mut Layer) -> Result<(), Problem> {
    let kind = text(layer, "cluster.accelerator.type");
    let policy = text(layer, "routing.policy");
    let guided = policy != "default" && kind == "gpu";
    let (backend, model, replicas, parallelism, deploy) = match kind.as_str() {
        "gpu" => ("vllm", "Qwen/Qwen3-32B", if guided { LADDER_REPLICAS } else { 2 }, 2_u64, 7200_u64),
        "cpu" => ("vllm", "facebook/opt-125m", 1, 1, 1500),
        _ => ("inference-sim", "facebook/opt-125m", 3, 0, 1500),
    };
    let reason = || format!("cluster.accelerator.type {kind}");
    absent(layer, "cluster.backend", backend, reason)?;
    absent(layer, "cluster.model", model, reason)?;
    absent(layer, "cluster.tensor_parallelism", parallelism, reason)?;
    absent(layer, "timeouts.modelservice_deploy", deploy, reason)?;
    absent(layer, "cluster.replicas", replicas, || match guided {
        true => format!("routing.policy {policy}"),
        false => reason(),
    })
}

fn components(layer: &mut Layer) -> Result<(), Problem> {
    let version = text(layer, "pins.agentgateway");
    absent(layer, "agentgateway.image", format!("cr.agentgateway.dev/agentgateway:{version}"), || {
        format!("pins.agentgateway {version}")
    })
}

/// On clusters the published ladders, written for eight replicas, are scaled to the replicas at hand.
fn scale(layer: &mut Layer, local: bool) -> Result<(), Problem> {
    let replicas = text(layer, "cluster.replicas");
    let published = !local && text(layer, "scenario") == "optimized-baseline";
    let (ratio, reason) = match published {
        true => (format!("{replicas}/{LADDER_REPLICAS}"), format!("cluster.replicas {replicas}")),
        false => ("1".to_owned(), "the ladder being written for this profile".to_owned()),
    };
    absent(layer, "workload.rate_scale", ratio, || reason)
}

fn storage(layer: &mut Layer, provider: &ProviderFile) -> Result<(), Problem> {
    let kind = text(layer, "cluster.accelerator.type");
    for (section, table) in [("model", &provider.model_storage), ("workload", &provider.workload_storage)] {
        let profile = text(layer, &format!("storage.{section}.profile"));
        let Some(class) = table.get(&kind).and_then(|profiles| profiles.get(&profile)) else { continue };
        let reason = || format!("storage.{section}.profile {profile} of {}", provider.path.display());
        if section == "model" {
            absent(layer, "storage.model.strategy", class.strategy.clone(), reason)?;
        }
        if let Some(name) = &class.class {
            absent(layer, &format!("storage.{section}.class"), name.clone(), reason)?;
        }
        absent(layer, &format!("storage.{section}.size"), class.size.clone(), reason)?;
    }
    Ok(())
}

/// The parts of a standard `gke_<project>_<location>_<cluster>` context, and the context from its parts.
fn gke(layer: &mut Layer, provider: &ProviderFile) -> Result<(), Problem> {
    let context = text(layer, "cluster.context");
    let mut parts = context.strip_prefix("gke_").unwrap_or_default().splitn(3, '_').filter(|part| !part.is_empty());
    for name in ["gke.project", "gke.location", "gke.cluster"] {
        if let Some(part) = parts.next() {
            absent(layer, name, part, || format!("cluster.context {context}"))?;
        }
    }
    let fallback = || "the documented default".to_owned();
    absent(layer, "gke.location", "us-central1-a", fallback)?;
    absent(layer, "gke.cluster", "agentgateway-benchmark", fallback)?;
    let project = text(layer, "gke.project");
    if !project.is_empty() {
        let id = text(layer, "gke.node_service_account_id");
        absent(layer, "gke.node_service_account", format!("{id}@{project}.iam.gserviceaccount.com"), || {
            format!("gke.project {project}")
        })?;
    }
    match provider.place {
        Place::Kind => {
            let name = text(layer, "cluster.name");
            absent(layer, "cluster.context", format!("kind-{name}"), || format!("cluster.name {name}"))
        }
        Place::Gke if !project.is_empty() => {
            let (location, cluster) = (text(layer, "gke.location"), text(layer, "gke.cluster"));
            absent(layer, "cluster.context", format!("gke_{project}_{location}_{cluster}"), || {
                "gke.project, gke.location and gke.cluster".to_owned()
            })
        }
        _ => Ok(()),
    }
}
