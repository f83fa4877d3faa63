//! Everything that a cluster campaign would use, without touching a cluster.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::Serialize;

use super::error::Error;
use super::names::namespace;
use super::steps::{Step, Steps, Subject};
use super::treatment::{Places, treatment};
use crate::campaign::Cell;
use crate::campaign::order::schedule;
use crate::failure::{Failure, Result};
use crate::harness::{Target, Workload};
use crate::settings::{ConfigTree, Place, Resolved};

/// What llm-d-benchmark puts into a workload when it knows model and endpoint.
const MODEL: &str = "REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_MODEL";
const ENDPOINT: &str = "REPLACE_ENV_LLMDBENCH_HARNESS_STACK_ENDPOINT_URL";

/// A planned campaign, cell by cell in the order they would run.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The campaign's id.
    pub campaign: String,
    /// The folder of the rendered files.
    pub folder: PathBuf,
    /// The folder that llm-d-benchmark's commands run in.
    pub checkout: PathBuf,
    /// The cells.
    pub cells: Vec<PlannedCell>,
}

/// One treatment of one repetition.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedCell {
    /// Treatment.
    pub treatment: String,
    /// Repetition, from 1.
    pub repetition: u32,
    /// Namespace.
    pub namespace: String,
    /// Folder of its files.
    pub folder: PathBuf,
    /// Hash of what must be the same in all treatments.
    pub invariant_sha256: String,
    /// Images that would have to be observed.
    pub images: IndexMap<String, String>,
    /// Commands in order.
    pub steps: Vec<Step>,
}

/// Renders every cell of a campaign below `folder`; `checkout` is the pinned checkout, which only guide scenarios read.
///
/// # Errors
/// When the provider is `local`, and when something cannot be rendered or written.
pub fn plan(tree: &ConfigTree, resolved: &Resolved, campaign: &str, folder: &Path, checkout: &Path) -> Result<Plan> {
    if resolved.provider.place == Place::Local {
        return Err(Failure::usage("the provider local has nothing to render for a cluster")
            .hint("choose a cluster's profile, for instance --profile kind-smoke")
            .hint("`cargo xtask benchmark --dry-run` shows what a local campaign would do"));
    }
    let workload = workload(tree, resolved)?;
    let settings = &resolved.settings;
    let mut planned = Vec::new();
    for cell in schedule(&settings.treatments, settings.repetitions, settings.order) {
        if settings.repetition.is_none_or(|only| only == cell.repetition) {
            planned.push(plan_cell(
                tree,
                resolved,
                &cell,
                &Shared { campaign, folder, checkout, workload: &workload },
            )?);
        }
    }
    Ok(Plan { campaign: campaign.to_owned(), folder: folder.to_owned(), checkout: checkout.to_owned(), cells: planned })
}

struct Shared<'a> {
    campaign: &'a str,
    folder: &'a Path,
    checkout: &'a Path,
    workload: &'a str,
}

fn plan_cell(tree: &ConfigTree, resolved: &Resolved, cell: &Cell, shared: &Shared<'_>) -> Result<PlannedCell> {
    let chosen = tree.treatment(&cell.treatment, "treatments").map_err(Error::from)?;
    let folder = shared.folder.join(&cell.treatment).join(format!("repetition-{}", cell.repetition));
    let places = Places { folder: &folder, checkout: shared.checkout };
    let namespace = namespace(shared.campaign, &cell.treatment, cell.repetition);
    let subject = Subject { campaign: shared.campaign, treatment: &chosen, namespace: &namespace };
    let rendered = treatment(tree, resolved, subject, places, shared.workload)?;
    rendered.write(&folder)?;
    let steps = Steps { resolved, subject, places };
    Ok(PlannedCell {
        treatment: cell.treatment.clone(),
        repetition: cell.repetition,
        steps: steps.all(rendered.needed_images().iter().map(String::as_str)),
        invariant_sha256: rendered.invariant_sha256,
        images: rendered.images,
        namespace,
        folder,
    })
}

/// The workload for a cluster: llm-d-benchmark fills in model and endpoint. A file of the user's own passes unchanged.
pub fn workload(tree: &ConfigTree, resolved: &Resolved) -> Result<String> {
    let settings = &resolved.settings;
    if let Some(file) = &settings.workload.file {
        return Ok(fs_err::read_to_string(file)?);
    }
    let target = Target { base_url: ENDPOINT.to_owned(), model: MODEL.to_owned(), tokenizer: MODEL.to_owned() };
    let workload = Workload::new(&tree.path("workloads"), &settings.workload, &settings.harness, &target)?;
    Ok(workload.to_yaml()?)
}
