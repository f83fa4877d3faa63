//! What a load left: found in llm-d-benchmark's workspace, judged, completed, named as campaigns name it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reports::benchmark_report::{self, parse_file_name};
use serde_yaml::{Mapping, Value};

use super::cell::Up;
use super::{Campaign, stack};
use crate::evidence::runtime_metrics;
use crate::failure::{Failure, Result};
use crate::harness::{Limits, Target, Workload, judge};
use crate::lifecycle::{Event, Observer};
use crate::provider::{Facts, Run};
use crate::settings::{ConfigTree, Settings, Treatment};

/// How deep results may lie in the workspace: `<run>/results/<experiment>/`.
const DEPTH: usize = 6;

/// Brings the load's files from `workspace` into the work folder and judges them.
///
/// # Errors
/// A measurement failure when documents are missing, cannot be meant, or describe no valid measurement.
pub(super) fn gather(up: &Up<'_>, run: Run<'_>, workspace: &Path, observer: &dyn Observer) -> Result<Mapping> {
    let missing = |what: String| {
        Failure::measurement(what).hint(format!(
            "the harness's own output is in {} and in {}",
            up.work.join("logs").display(),
            workspace.display()
        ))
    };
    let found = experiments(workspace)?;
    let folder = match found.as_slice() {
        [one] => one,
        [] => return Err(missing("llm-d-benchmark ended well and left no report".to_owned())),
        several => {
            let names: Vec<_> = several.iter().map(|folder| folder.display().to_string()).collect();
            return Err(missing(format!("there are results of several experiments: {}", names.join(", "))));
        }
    };
    take_over(folder, run.work)?;
    let stages = up.resolved.settings.workload.stages.len();
    let mut read = 0;
    for (path, stage) in documents(run.work)? {
        benchmark_report::read(&path, stage).map_err(|error| missing(error.to_string()))?;
        read += 1;
    }
    if stages > 0 && read != stages {
        return Err(missing(format!("there are reports of {read} stages, {stages} were planned")));
    }
    judged(up, run.work, observer)
}

/// Judges the harness's own files as on any other provider; a workload of the user's own has no ladder to judge by.
fn judged(up: &Up<'_>, work: &Path, observer: &dyn Observer) -> Result<Mapping> {
    let settings = &up.resolved.settings;
    let mut facts = Mapping::new();
    facts.insert("name".into(), settings.harness.name.as_str().into());
    if settings.workload.file.is_none() {
        let tree = ConfigTree::open(&up.root);
        let target = Target {
            base_url: up.endpoint.clone().unwrap_or_default(),
            model: settings.cluster.model.clone(),
            tokenizer: settings.cluster.model.clone(),
        };
        let workload = Workload::new(&tree.path("workloads"), &settings.workload, &settings.harness, &target)?;
        let limits =
            Limits { failure_rate: settings.limits.failure_rate, schedule_delay: settings.limits.schedule_delay };
        let outcome = judge(work, &workload, &limits, &[], Duration::ZERO);
        for remark in &outcome.warnings {
            let place = remark.stage.map_or_else(String::new, |stage| format!("stage {}: ", stage + 1));
            observer.notify(Event::Warning { text: format!("{place}{}", remark.what), remedy: remark.remedy.clone() });
        }
        outcome.require_valid()?;
        let recorded: u64 = outcome.stages.iter().filter_map(|stage| stage.recorded).sum();
        facts.insert("requests".into(), recorded.into());
        facts.insert("failures".into(), outcome.failed().into());
    }
    Ok(Mapping::from_iter([(Value::from("harness"), Value::Mapping(facts))]))
}

/// The folders that hold stage documents, deepest folders only.
fn experiments(workspace: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![(workspace.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        if !folder.is_dir() {
            continue;
        }
        let mut holds = false;
        for entry in fs_err::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            // Links are left alone: `latest` would lead to the same results again.
            if kind.is_dir() && depth < DEPTH && entry.file_name() != "analysis" {
                open.push((entry.path(), depth + 1));
            } else if kind.is_file() {
                holds |= entry.file_name().to_str().and_then(parse_file_name).is_some();
            }
        }
        if holds {
            found.push(folder);
        }
    }
    found.sort();
    Ok(found)
}

/// Moves an experiment's files into the work folder: copies of some GB would take the disk twice.
fn take_over(from: &Path, work: &Path) -> Result<()> {
    for entry in fs_err::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        // What was rendered here stays what was rendered here.
        let ours = work.join(&name);
        let target = if kind.is_file() && !ours.exists() { ours } else { work.join("harness").join(&name) };
        if kind.is_dir() || kind.is_file() {
            if let Some(parent) = target.parent() {
                fs_err::create_dir_all(parent)?;
            }
            fs_err::rename(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The stage documents of a folder with their stages, in order.
fn documents(folder: &Path) -> Result<Vec<(PathBuf, u32)>> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        if let Some((_, stage)) = entry.file_name().to_str().and_then(parse_file_name) {
            found.push((entry.path(), stage));
        }
    }
    found.sort_by_key(|(_, stage)| *stage);
    Ok(found)
}

/// Completes the documents, gives them their published names, and says what the manifest records.
///
/// # Errors
/// When a document cannot be read or written.
pub(super) fn publishable(campaign: &Campaign<'_>, up: &mut Up<'_>, run: Run<'_>) -> Result<Facts> {
    let settings = &campaign.resolved.settings;
    let parts = stack::parts(up)?;
    let warm_up = warm_up_stages(settings);
    for (path, stage) in documents(run.work)? {
        let text = fs_err::read_to_string(&path)?;
        let mut document: Value = serde_yaml::from_str(&text).map_err(Failure::measurement)?;
        stack::complete(&mut document, &parts, warm_up.contains(&stage))?;
        let name = benchmark_report::file_name(&run.cell.treatment, stage);
        // Written whole under the new name before the old one goes.
        fs_err::write(run.work.join(&name), reports::yaml::to_string(&document).map_err(Failure::internal)?)?;
        if path.file_name().is_none_or(|old| old != name.as_str()) {
            fs_err::remove_file(path)?;
        }
    }
    runtime_metrics::summarise(run.work)?;
    let mut repetition = Mapping::new();
    repetition.insert("config_sha256".into(), up.rendered.configuration_sha256.as_str().into());
    repetition.insert("invariant_sha256".into(), up.rendered.invariant_sha256.as_str().into());
    if settings.cluster.accelerator.kind == "sim" {
        repetition.insert("simulated".into(), true.into());
    }
    repetition.insert("gateway".into(), Value::Mapping(gateway(up)));
    repetition.insert("router_chart_version".into(), settings.pins.llm_d_router_chart.as_str().into());
    repetition.insert("namespace".into(), up.namespace.as_str().into());
    if let Some(endpoint) = &up.endpoint {
        repetition.insert("endpoint".into(), endpoint.as_str().into());
    }
    repetition.insert("reused_deployment".into(), (up.claim == Some(super::namespace::Claim::Matching)).into());
    repetition.insert("inventory".into(), serde_yaml::to_value(&up.inventory).map_err(Failure::internal)?);
    repetition.extend(std::mem::take(&mut up.load));
    Ok(Facts { treatment: details(up.treatment), repetition })
}

fn gateway(up: &Up<'_>) -> Mapping {
    let settings = &up.resolved.settings;
    let agentgateway = up.treatment.implementation == "agentgateway";
    let image = up.rendered.images.get("proxy").map_or("not-applicable", String::as_str);
    let version = if agentgateway { settings.pins.agentgateway.as_str() } else { "not-applicable" };
    [
        ("implementation", up.treatment.implementation.as_str()),
        ("mode", up.treatment.mode.as_str()),
        ("image", image),
        ("agentgateway_version", version),
    ]
    .into_iter()
    .map(|(key, value)| (key.into(), value.into()))
    .collect()
}

/// What the manifest says about a treatment.
fn details(treatment: &Treatment) -> Mapping {
    let path: Vec<Value> = treatment.request_path.iter().map(|part| part.as_str().into()).collect();
    Mapping::from_iter([
        (Value::from("display_name"), Value::from(treatment.display_name.as_str())),
        (Value::from("summary"), Value::from(treatment.summary.as_str())),
        (Value::from("request_path"), Value::Sequence(path)),
    ])
}

/// The stages declared as warm-up, by number from 0.
pub(super) fn warm_up_stages(settings: &Settings) -> std::collections::BTreeSet<u32> {
    (0..).zip(&settings.workload.stages).filter(|(_, stage)| stage.warm_up).map(|(number, _)| number).collect()
}
