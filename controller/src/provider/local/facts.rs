//! What manifest and documents say about a treatment and what it ran on.

use std::collections::BTreeSet;

use reports::benchmark_report::Part;
use reports::model::{Accelerator, Component, Parallelism, Stack};
use serde_yaml::{Mapping, Value};

use super::ground::Ground;
use crate::settings::{Settings, Treatment};

/// The name under which documents list everything that is simulated.
pub(super) const TOOL: &str = Stack::SIMULATED_TOOL;

/// The name of the embedded router in front of servers that are not simulated.
const ROUTER: &str = "embedded-router";

/// The name of the picker that real proxies ask.
const PICKER: &str = "testbed-picker";

/// What the manifest says about a treatment.
pub(super) fn details(treatment: &Treatment) -> Mapping {
    let path: Vec<Value> = treatment.request_path.iter().map(|part| part.as_str().into()).collect();
    [
        ("display_name", Value::from(treatment.display_name.as_str())),
        ("summary", Value::from(treatment.summary.as_str())),
        ("request_path", Value::Sequence(path)),
    ]
    .into_iter()
    .map(|(key, value)| (key.into(), value))
    .collect()
}

/// The stages declared as warm-up, by number from 0.
pub(super) fn warm_up_stages(settings: &Settings) -> BTreeSet<u32> {
    (0..).zip(&settings.workload.stages).filter(|(_, stage)| stage.warm_up).map(|(number, _)| number).collect()
}

/// The proxy of a treatment: its program and version.
fn proxy(treatment: &Treatment, ground: &Ground) -> (String, String) {
    let own = env!("CARGO_PKG_VERSION").to_owned();
    match ground.proxies.of(treatment) {
        Some(found) => (found.product.name().to_owned(), found.version.clone()),
        None if ground.backends.is_empty() => (TOOL.to_owned(), own),
        None => (ROUTER.to_owned(), own),
    }
}

/// What the manifest says about a repetition's gateway.
pub(super) fn gateway(treatment: &Treatment, ground: &Ground) -> Mapping {
    let (image, version) = proxy(treatment, ground);
    [
        ("implementation", treatment.implementation.clone()),
        ("mode", treatment.mode.as_str().to_owned()),
        ("image", image),
        ("version", version),
    ]
    .into_iter()
    .map(|(key, value)| (key.into(), value.into()))
    .collect()
}

/// What stood between the client and the accelerators.
pub(super) fn stack(treatment: &Treatment, settings: &Settings, ground: &Ground, configuration: &Value) -> Vec<Part> {
    let (tool, tool_version) = proxy(treatment, ground);
    let router =
        Component { label: treatment.name.clone(), kind: "generic".into(), tool, tool_version, ..Component::default() };
    let mut parts = vec![
        Part { component: engine(settings, ground), description: None, config: configuration.get("hardware").cloned() },
        Part {
            component: router,
            description: Some(treatment.summary.clone()),
            config: configuration.get("router").cloned(),
        },
    ];
    if let Some(config) = configuration.get("picker") {
        let picker = Component {
            label: "endpoint-picker".into(),
            kind: "generic".into(),
            tool: PICKER.into(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            ..Component::default()
        };
        parts.push(Part { component: picker, description: None, config: Some(config.clone()) });
    }
    parts
}

fn engine(settings: &Settings, ground: &Ground) -> Component {
    let common = Component {
        label: "model-servers".into(),
        kind: "inference_engine".into(),
        role: Some("replica".into()),
        model: Some(settings.cluster.model.clone()),
        ..Component::default()
    };
    let Some(told) = ground.told.first() else {
        let count = u64::from(settings.testbed.servers);
        return Component {
            tool: TOOL.into(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            replicas: Some(count),
            accelerator: Some(Accelerator {
                model: format!("simulated {}", settings.testbed.hardware),
                count: Some(count),
                parallelism: Parallelism { tp: Some(1), ..Parallelism::default() },
            }),
            ..common
        };
    };
    Component {
        tool: told.engine.clone().unwrap_or_else(|| "openai-compatible".into()),
        tool_version: told.version.clone().unwrap_or_else(|| "unknown".into()),
        replicas: Some(ground.backends.len() as u64),
        ..common
    }
}
