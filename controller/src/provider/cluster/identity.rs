//! What must match for cluster campaigns to be comparable, with the names of the earlier workflow's manifests.

use std::path::Path;

use serde::Serialize;
use serde_yaml::{Mapping, Value};

use crate::campaign::Identity;
use crate::failure::{Failure, Result};
use crate::render;
use crate::settings::{ConfigTree, Resolved};

/// The identity of a campaign; needs no cluster, no checkout and no network.
///
/// # Errors
/// Usage failures: what cannot be rendered.
pub fn identity(root: &Path, resolved: &Resolved) -> Result<Identity> {
    let settings = &resolved.settings;
    let tree = ConfigTree::open(root);
    let workload = render::workload(&tree, resolved)?;
    let cluster = &settings.cluster;
    let storage = mapping([
        (
            "model",
            Value::Mapping(mapping([
                ("profile", value(&settings.storage.model.profile)?),
                ("strategy", value(&settings.storage.model.strategy)?),
                ("class", value(&settings.storage.model.class)?),
                ("size", value(&settings.storage.model.size)?),
            ])),
        ),
        (
            "workload",
            Value::Mapping(mapping([
                ("profile", value(&settings.storage.workload.profile)?),
                ("class", value(&settings.storage.workload.class)?),
                ("size", value(&settings.storage.workload.size)?),
            ])),
        ),
    ]);
    let metrics = mapping([
        ("enabled", settings.metrics.runtime.into()),
        ("interval_seconds", settings.metrics.interval.into()),
        ("gke_monitoring", value(settings.metrics.gke_monitoring)?),
    ]);
    let mut identity = Identity::new()
        .with("scenario", &settings.scenario)?
        .with("cluster_provider", &resolved.provider.name)?
        .with("accelerator_type", &cluster.accelerator.kind)?
        .with("accelerator_model", &cluster.accelerator.model)?
        .with("backend_type", &cluster.backend)?
        .with("model", &cluster.model)?
        .with("replicas", cluster.replicas)?
        .with("tensor_parallelism", cluster.tensor_parallelism)?
        .with("routing_policy", &settings.routing.policy)?
        .with("workload_variant", settings.workload.variant)?
        .with("harness", &settings.harness.name)?
        .with("workload", &settings.workload.template)?
        .with_hash("workload", workload)
        .with("warm_up_stages", super::results::warm_up_stages(settings))?
        .with("llm_d_benchmark_ref", &settings.pins.llm_d_benchmark)?
        .with("router_chart_version", &settings.pins.llm_d_router_chart)?
        .with("agentgateway_image", &settings.agentgateway.image)?
        .with("endpoint_path", cluster.endpoint_path)?
        .with("storage", storage)?
        .with("runtime_metrics", metrics)?;
    if let Some(reference) = &settings.reference {
        identity = identity.with("reference_profile", reference)?;
    }
    if cluster.accelerator.kind == "sim" {
        identity = identity.with("simulated", true)?;
    }
    Ok(identity)
}

fn value(of: impl Serialize) -> Result<Value> {
    serde_yaml::to_value(of).map_err(Failure::internal)
}

fn mapping<const N: usize>(entries: [(&str, Value); N]) -> Mapping {
    // What has no value is left out, as everywhere.
    entries.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.into(), value)).collect()
}
