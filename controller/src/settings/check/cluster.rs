//! Combinations of accelerators, model servers, policies and scenarios that clusters can run.

use super::{from, named};
use crate::settings::problem::{Error, Problem};
use crate::settings::provider::Place;
use crate::settings::resolve::Resolved;
use crate::settings::tree::ConfigTree;
use crate::settings::typed::CachePolicy;

/// Accelerator types that the upstream knows and this program does not drive.
const OTHER_ACCELERATORS: [&str; 5] = ["amd", "xpu", "hpu", "tpu/v6", "tpu/v7"];
/// Model servers that the upstream knows and this program does not drive.
const OTHER_BACKENDS: [&str; 3] = ["sglang", "trtllm", "triton"];
/// The only model that the published routing policies were fitted for.
const POLICY_MODEL: &str = "Qwen/Qwen3-32B";

pub fn check(tree: &ConfigTree, resolved: &Resolved, problems: &mut Vec<Problem>) -> Result<(), Error> {
    scenario(tree, resolved, problems)?;
    accelerator(resolved, problems);
    policy(resolved, problems);
    components(resolved, problems);
    if resolved.provider.place == Place::Gke && resolved.settings.gke.project.is_none() {
        problems.push(Problem::new(
            "the provider gke needs a project",
            "set BENCHMARK_GKE_PROJECT or --set gke.project=NAME, or give a gke_<project>_<location>_<cluster> context",
        ));
    }
    if resolved.settings.storage.model.cache_policy == CachePolicy::Retain {
        problems.push(Problem::new(
            format!(
                "a model cache that outlives its namespace is not implemented{}",
                from(resolved, "storage.model.cache_policy")
            ),
            "leave storage.model.cache_policy at ephemeral: weights are then loaded anew for each treatment",
        ));
    }
    if resolved.provider.place == Place::Kube && resolved.settings.cluster.context.is_none() {
        problems.push(Problem::new(
            "the provider kube needs a context",
            "set BENCHMARK_KUBE_CONTEXT or --set cluster.context=NAME; `kubectl config get-contexts` lists them",
        ));
    }
    Ok(())
}

fn scenario(tree: &ConfigTree, resolved: &Resolved, problems: &mut Vec<Problem>) -> Result<(), Error> {
    let name = &resolved.settings.scenario;
    let origin = resolved.origin("scenario").map(ToString::to_string).unwrap_or_default();
    let Some(scenario) = named(tree.scenario(name, origin), problems)? else { return Ok(()) };
    for treatment in &resolved.treatments {
        if !scenario.modes.contains(&treatment.mode) {
            problems.push(Problem::new(
                format!("the scenario {name} needs a router, which the treatment {} does not have", treatment.name),
                "choose a standalone or gateway treatment, or the scenario agentgateway-comparison",
            ));
        }
    }
    Ok(())
}

fn accelerator(resolved: &Resolved, problems: &mut Vec<Problem>) {
    let cluster = &resolved.settings.cluster;
    let (kind, backend) = (cluster.accelerator.kind.as_str(), cluster.backend.as_str());
    let types = resolved.provider.accelerators.join(", ");
    if !resolved.provider.accelerators.iter().any(|known| known == kind) {
        let what = if OTHER_ACCELERATORS.contains(&kind) { "not implemented" } else { "unknown here" };
        problems.push(Problem::new(
            format!(
                "accelerator type {kind} is {what} on {}{}",
                resolved.provider.name,
                from(resolved, "cluster.accelerator.type")
            ),
            format!("choose one of {types}"),
        ));
        return;
    }
    let fitting = if kind == "sim" { "inference-sim" } else { "vllm" };
    if backend != fitting {
        let what = if OTHER_BACKENDS.contains(&backend) { "is not implemented" } else { "does not run on it" };
        problems.push(Problem::new(
            format!("model server {backend} {what}: accelerator type {kind}{}", from(resolved, "cluster.backend")),
            format!("use {fitting} with {kind}, or another accelerator type ({types})"),
        ));
    }
    let parallelism = cluster.tensor_parallelism;
    if (kind == "gpu") != (parallelism > 0) && !(kind == "cpu" && parallelism == 1) {
        problems.push(Problem::new(
            format!(
                "tensor parallelism {parallelism} does not fit accelerator type {kind}{}",
                from(resolved, "cluster.tensor_parallelism")
            ),
            "use 0 with sim, 1 with cpu, 1 or more with gpu",
        ));
    }
}

/// Policies other than the default were published for one scenario, model and parallelism.
fn policy(resolved: &Resolved, problems: &mut Vec<Problem>) {
    let settings = &resolved.settings;
    let policy = settings.routing.policy.as_str();
    if policy == "default" {
        if settings.scenario == "optimized-baseline" && settings.cluster.accelerator.kind != "gpu" {
            problems.push(Problem::new(
                format!("scenario optimized-baseline needs GPUs{}", from(resolved, "scenario")),
                "set cluster.accelerator.type=gpu, or use the scenario agentgateway-comparison",
            ));
        }
        return;
    }
    let cluster = &settings.cluster;
    let required = [
        ("scenario", settings.scenario.clone(), "optimized-baseline"),
        ("cluster.accelerator.type", cluster.accelerator.kind.clone(), "gpu"),
        ("cluster.backend", cluster.backend.clone(), "vllm"),
        ("cluster.model", cluster.model.clone(), POLICY_MODEL),
        ("cluster.tensor_parallelism", cluster.tensor_parallelism.to_string(), "2"),
    ];
    for (key, is, needed) in required {
        if is != needed {
            problems.push(Problem::new(
                format!("routing policy {policy} needs {key} {needed}, not {is}{}", from(resolved, key)),
                format!("set {key}={needed}, or routing.policy=default"),
            ));
        }
    }
}

fn components(resolved: &Resolved, problems: &mut Vec<Problem>) {
    let chart = &resolved.settings.pins.llm_d_router_chart;
    let parts: Vec<_> = chart.strip_prefix('v').unwrap_or_default().split('.').collect();
    if parts.len() != 3 || !parts.iter().all(|part| part.parse::<u32>().is_ok()) {
        problems.push(Problem::new(
            format!(
                "llm-d-router chart {chart} is not an immutable release{}",
                from(resolved, "pins.llm_d_router_chart")
            ),
            "use a version of the form vX.Y.Z",
        ));
    }
}
