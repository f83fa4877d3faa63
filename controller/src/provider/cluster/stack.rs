//! Completes a Benchmark Report document with what llm-d-benchmark cannot know of a run against a given endpoint: model
//! servers with their hardware and parallelism, picker, proxy.

use reports::benchmark_report::{Part, stack_entries};
use reports::model::{Accelerator, Component, Parallelism};
use serde_yaml::{Mapping, Value};

use super::cell::Up;
use crate::failure::{Failure, Result};
use crate::render::names::Image;
use crate::settings::Mode;

/// The components between the client and the accelerators.
///
/// # Errors
/// When the rendered scenario cannot be read back.
pub(super) fn parts(up: &Up<'_>) -> Result<Vec<Part>> {
    let settings = &up.resolved.settings;
    let cluster = &settings.cluster;
    let scenario: Value = serde_yaml::from_str(&up.rendered.scenario).map_err(Failure::internal)?;
    let server = Image::of(&up.rendered.model_server);
    let tool = match cluster.backend.as_str() {
        "inference-sim" => "llm-d-inference-sim",
        backend => backend,
    };
    let hardware = cluster.hardware_model.clone().or_else(|| up.inventory.hardware.clone()).unwrap_or_else(|| {
        match (cluster.accelerator.kind.as_str(), cluster.accelerator.model.as_str()) {
            ("sim", _) => "simulated".to_owned(),
            (kind, "auto") => kind.to_owned(),
            (_, model) => model.to_owned(),
        }
    });
    let split = u64::from(cluster.tensor_parallelism.max(1));
    let engine = Component {
        label: "model-servers".into(),
        kind: "inference_engine".into(),
        tool: tool.into(),
        tool_version: server.tag,
        role: Some("replica".into()),
        replicas: Some(cluster.replicas.into()),
        model: Some(cluster.model.clone()),
        accelerator: Some(Accelerator {
            model: hardware,
            count: Some(u64::from(cluster.replicas) * split),
            parallelism: Parallelism { tp: Some(split), ..Parallelism::default() },
        }),
        ..Component::default()
    };
    let entry = scenario.get("scenario").and_then(|list| list.get(0)).cloned().unwrap_or_default();
    let config = |path: &[&str]| path.iter().try_fold(&entry, |value, key| value.get(*key)).cloned();
    let mut parts = vec![Part { component: engine, description: None, config: config(&["modelservice", "decode"]) }];
    if up.treatment.mode != Mode::None {
        if let Some(epp) = up.rendered.images.get("epp") {
            let component = generic("endpoint-picker", "llm-d-router-endpoint-picker", epp);
            parts.push(Part { component, description: None, config: config(&["modelservice", "router", "epp"]) });
        }
        let image = up.rendered.images.get("proxy").map_or("", String::as_str);
        let component = generic(&up.treatment.name, &up.treatment.implementation, image);
        let proxy = config(&["modelservice", "router", "proxy"]).or_else(|| config(&["modelservice", "gateway"]));
        parts.push(Part { component, description: Some(up.treatment.summary.clone()), config: proxy });
    }
    Ok(parts)
}

fn generic(label: &str, tool: &str, image: &str) -> Component {
    Component {
        label: label.to_owned(),
        kind: "generic".into(),
        tool: tool.to_owned(),
        tool_version: image.to_owned(),
        ..Component::default()
    }
}

/// Puts the components into a document and marks its stage when it is a warm-up.
///
/// # Errors
/// When the document is no mapping.
pub(super) fn complete(document: &mut Value, parts: &[Part], warm_up: bool) -> Result<()> {
    let entries = stack_entries(parts).map_err(Failure::internal)?;
    *place(document, &["scenario", "stack"])? = entries;
    if warm_up {
        *place(document, &["results", "observability", "load_generator", "warm_up"])? = Value::Bool(true);
    }
    Ok(())
}

/// The value at a path of keys, made where it is not there.
fn place<'v>(document: &'v mut Value, path: &[&str]) -> Result<&'v mut Value> {
    let mut value = document;
    for key in path {
        if value.is_null() {
            *value = Value::Mapping(Mapping::new());
        }
        let Value::Mapping(entries) = value else {
            return Err(Failure::measurement(format!("a report has no mapping above `{key}`")));
        };
        value = entries.entry((*key).into()).or_insert(Value::Null);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_completed_and_keeps_what_it_has() {
        let mut document: Value =
            serde_yaml::from_str("{version: '0.2', scenario: {load: {a: 1}, stack: [old]}, results: {b: 2}}").unwrap();
        let part = Part { component: generic("proxy", "agentgateway", "a:1"), description: None, config: None };
        complete(&mut document, &[part], true).unwrap();
        assert_eq!(document["scenario"]["load"]["a"], Value::from(1));
        assert_eq!(document["scenario"]["stack"][0]["standardized"]["tool"], Value::from("agentgateway"));
        assert_eq!(document["results"]["observability"]["load_generator"]["warm_up"], Value::from(true));
        assert_eq!(document["results"]["b"], Value::from(2));
        assert!(complete(&mut Value::from("text"), &[], false).is_err());
    }
}
