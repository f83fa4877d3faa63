//! The scenario of a cluster treatment: a base and overlays of `config/scenarios/overlays/`, merged in order.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_yaml::{Mapping, Value};

use super::error::Error;
use super::merge::merge;
use super::names::{LONGEST, label};
use super::template;
use crate::settings::{ConfigTree, Problem, Resolved, Scenario, Treatment};

/// What overlays may use: all settings that are not secret, and what follows from them.
#[derive(Serialize)]
struct Context<'a> {
    #[serde(flatten)]
    settings: Mapping,
    names: Names,
    guide: Option<&'a str>,
    sidecar: bool,
    policy: Option<String>,
    treatment: &'a Treatment,
}

#[derive(Serialize)]
struct Names {
    model: String,
    model_service: String,
}

/// The scenario document that llm-d-benchmark reads for a treatment; `checkout` is the pinned checkout.
///
/// # Errors
/// When an overlay is missing or wrong, or the scenario's guide is not in the checkout.
pub fn scenario(
    tree: &ConfigTree,
    resolved: &Resolved,
    treatment: &Treatment,
    checkout: &Path,
) -> Result<Value, Error> {
    let scenario = tree.scenario(&resolved.settings.scenario, "scenario")?;
    let context = Context {
        settings: resolved.document(),
        names: Names {
            model: label(&[&resolved.settings.cluster.model], LONGEST),
            model_service: label(&[&resolved.settings.cluster.model, "agentgateway"], LONGEST),
        },
        guide: scenario.guide.as_deref(),
        sidecar: scenario.sidecar,
        policy: policy(tree, resolved)?,
        treatment,
    };
    let mut entry = base(&scenario, checkout)?;
    for path in overlays(tree, resolved, treatment)? {
        merge(&mut entry, template::yaml(&path, &context)?);
    }
    let mut named = Mapping::new();
    named.insert("name".into(), name(resolved, treatment).into());
    if let Value::Mapping(entries) = entry {
        named.extend(entries.into_iter().filter(|(key, _)| key.as_str() != Some("name")));
    }
    let list = Value::Sequence(vec![Value::Mapping(named)]);
    Ok(Value::Mapping(Mapping::from_iter([("scenario".into(), list)])))
}

/// The stack's name: it becomes a folder of the plan.
fn name(resolved: &Resolved, treatment: &Treatment) -> String {
    label(&[&resolved.settings.scenario, &treatment.name], LONGEST)
}

/// The overlays in order, later ones stronger.
fn overlays(tree: &ConfigTree, resolved: &Resolved, treatment: &Treatment) -> Result<Vec<PathBuf>, Error> {
    let settings = &resolved.settings;
    let kind = settings.cluster.accelerator.kind.as_str();
    let backend = match (settings.cluster.backend.as_str(), kind) {
        ("vllm", "cpu") => "vllm-cpu",
        (backend, _) => backend,
    };
    let provider = &resolved.provider.name;
    let mut wanted = vec![
        ("common".to_owned(), true),
        (format!("accelerator/{kind}"), true),
        (format!("backend/{backend}"), true),
        (format!("provider/{provider}"), true),
        (format!("provider/{provider}-{kind}"), false),
    ];
    if settings.routing.policy != "default" {
        wanted.push(("routing/policy".to_owned(), true));
    }
    if let Some(reference) = &resolved.reference {
        wanted.push((format!("reference/{}", reference.scenario), true));
    }
    if let Some(scenario) = &treatment.scenario {
        wanted.push((format!("treatment/{scenario}"), true));
    }
    let folder = tree.path("scenarios/overlays");
    let mut paths = Vec::new();
    for (name, required) in wanted {
        let path = folder.join(format!("{name}.yaml.j2"));
        match (path.is_file(), required) {
            (true, _) => paths.push(path),
            (false, false) => {}
            (false, true) => {
                return Err(crate::settings::Error::from(Problem::new(
                    format!("there is no scenario overlay `{name}`"),
                    format!("add {}", tree.relative(&path).display()),
                ))
                .into());
            }
        }
    }
    Ok(paths)
}

/// The guide's entry with the other deployment methods left out, or nothing.
fn base(scenario: &Scenario, checkout: &Path) -> Result<Value, Error> {
    let Some(guide) = &scenario.guide else { return Ok(Value::Mapping(Mapping::new())) };
    let path = checkout.join("config/scenarios/guides").join(format!("{guide}.yaml"));
    if !path.is_file() {
        return Err(crate::settings::Error::from(Problem::new(
            format!("the scenario {} starts from {}, which is not there", scenario.name, path.display()),
            "fetch the pinned checkout with `cargo xtask upstream sync`, or give one with --llm-d-benchmark-dir",
        ))
        .into());
    }
    let text = fs_err::read_to_string(&path)?;
    let invalid = |message: String| Error::Yaml { path: path.clone(), message };
    let document: Value = serde_yaml::from_str(&text).map_err(|error| invalid(error.to_string()))?;
    let entries = document.get("scenario").and_then(Value::as_sequence).map(Vec::as_slice).unwrap_or_default();
    let [entry] = entries else {
        return Err(invalid(format!("it has {} scenario entries, but one is needed", entries.len())));
    };
    let mut entry = entry.clone();
    if let Value::Mapping(entries) = &mut entry {
        for method in ["kustomize", "standalone", "fma", "nok8s"] {
            entries.shift_remove(method);
        }
    }
    Ok(entry)
}

/// The text of the routing policy's file, for the endpoint picker; none for the chart's own default.
fn policy(tree: &ConfigTree, resolved: &Resolved) -> Result<Option<String>, Error> {
    let policy = &resolved.settings.routing.policy;
    if policy == "default" {
        return Ok(None);
    }
    Ok(Some(fs_err::read_to_string(tree.path("routing").join(format!("{policy}.yaml")))?))
}
