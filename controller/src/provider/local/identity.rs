//! What must match for two campaigns on this machine to be comparable.

use std::path::Path;

use super::super::OPEN_LOOP;
use super::super::inference_perf::unplaced;
use super::facts::{TOOL, warm_up_stages};
use super::ground::Ground;
use super::servers;
use crate::campaign::Identity;
use crate::failure::{Failure, Result};
use crate::forecast;
use crate::process::Session;
use crate::settings::{Resolved, Settings};

/// What the simulated servers run on, in the words of the earlier workflow.
const ACCELERATOR: &str = "sim";

/// Checks that every treatment can be configured, before any of them is started, and returns what identifies the campaign.
///
/// # Errors
/// Usage failures, as `testbed serve` would give them.
pub(in crate::provider) fn identity(root: &Path, resolved: &Resolved) -> Result<Identity> {
    let settings = &resolved.settings;
    let ground = Ground::survey(resolved, &Session::unrecorded())?;
    let addresses = ground.addresses();
    let planned = unplaced(root, settings)?;
    let workload = planned.to_yaml()?;
    for treatment in &resolved.treatments {
        let config = servers::configure(root, settings, treatment, &addresses)?;
        let hardware = testbed::config::Hardware::read(&config.hardware).map_err(Failure::usage)?;
        if addresses.is_empty() && config.constant.is_none() {
            forecast::require_admissible(&planned, &hardware)?;
        }
        if let Some(policy) = &config.router.policy {
            testbed::config::Policy::read(policy, &hardware.plugin_defaults).map_err(Failure::usage)?;
        }
    }
    let hardware = servers::hardware(root, settings);
    let policy = servers::policy(root, settings);
    let identity =
        Identity::new().with("scenario", &settings.scenario)?.with("cluster_provider", &resolved.provider.name)?;
    let identity = match ground.told.first() {
        None => identity
            .with("simulated", true)?
            .with("accelerator_type", ACCELERATOR)?
            .with("accelerator_model", &settings.testbed.hardware)?
            .with("backend_type", TOOL)?
            .with("testbed_version", env!("CARGO_PKG_VERSION"))?,
        Some(told) => identity
            .with("simulated", false)?
            .with("backend_type", &told.engine)?
            .with("backend_version", &told.version)?
            .with("backend_tokenizer", &settings.backend.tokenizer)?,
    };
    let replicas = if addresses.is_empty() { settings.testbed.servers as usize } else { addresses.len() };
    let mut identity = identity
        .with("model", &settings.cluster.model)?
        .with("replicas", replicas)?
        .with("routing_policy", &settings.routing.policy)?
        .with("harness", &settings.harness.name)?
        .with("harness_version", harness_version(settings))?
        .with("workload", &settings.workload.template)?
        .with("workload_variant", settings.workload.variant)?
        .with("warm_up_stages", warm_up_stages(settings))?
        .with_hash("workload", workload);
    if let Some(first) = settings.testbed.first_token_ms {
        identity = identity.with("constant_ms", [first, settings.testbed.token_ms])?;
    }
    if ground.told.is_empty() {
        identity = identity.with_hash("hardware", fs_err::read(hardware).map_err(Failure::usage)?);
    }
    // Only where real proxies run: campaigns of the embedded router stay comparable with earlier ones.
    for found in ground.proxies.all() {
        identity = identity.with(&format!("{}_version", found.product.name()), &found.version)?;
    }
    // A policy only says something about campaigns in which a picker reads it.
    if policy.is_file() { Ok(identity.with_hash("routing_policy", fs_err::read(policy)?)) } else { Ok(identity) }
}

/// The version of the program that sends the load.
pub(super) fn harness_version(settings: &Settings) -> String {
    match settings.harness.name.as_str() {
        OPEN_LOOP => env!("CARGO_PKG_VERSION").to_owned(),
        _ => settings.pins.inference_perf.clone(),
    }
}

/// Fills in what the user's servers tell: the model that they serve.
///
/// # Errors
/// Usage failures: a server that does not answer, or serves another model.
pub(in crate::provider) fn complete(mut resolved: Resolved) -> Result<Resolved> {
    if resolved.settings.backend.urls.is_empty() {
        return Ok(resolved);
    }
    let ground = Ground::survey(&resolved, &Session::unrecorded())?;
    if let Some(model) = ground.model(&resolved)? {
        resolved.settings.cluster.model = model;
    }
    Ok(resolved)
}
