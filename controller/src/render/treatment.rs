//! All files of one treatment, and the images it must show.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::Serialize;
use serde_yaml::{Mapping, Value};

use super::emit::emit;
use super::error::Error;
use super::names::{Image, hex};
use super::steps::{MANAGED_BY, Subject};
use super::{invariant, scenario, spec, template};
use crate::settings::{ConfigTree, Resolved, Treatment};

/// The namespace's manifest.
pub const NAMESPACE_FILE: &str = "namespace.yaml";
/// The manifest that gives agentgateway as a Gateway its image.
pub const PARAMETERS_FILE: &str = "data-plane.yaml";
/// The manifests of the metrics collector.
pub const COLLECTOR_FILE: &str = "collector.yaml";

/// What a treatment is rendered into.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// `scenario.yaml`.
    pub scenario: String,
    /// `spec.yaml`; names the scenario's and the checkout's paths.
    pub spec: String,
    /// `workload.yaml`.
    pub workload: String,
    /// `invariant.yaml`: what must be the same in all treatments of a comparison.
    pub invariant: String,
    /// SHA-256 of the invariant document.
    pub invariant_sha256: String,
    /// SHA-256 of what the treatment is deployed from: two deployments with the same one are alike.
    pub configuration_sha256: String,
    /// Images that must be observed, by component.
    pub images: IndexMap<String, String>,
    /// The model server's image.
    pub model_server: String,
    /// The metrics collector's image; `None` when nothing is sampled.
    pub collector_image: Option<String>,
    /// Manifests by file name: namespace, data plane, collector.
    pub manifests: IndexMap<&'static str, String>,
}

/// Renders a treatment for `folder`, the place its files will be written to, and a pinned checkout.
///
/// # Errors
/// When an overlay, the guide or the workload cannot be rendered.
pub fn treatment(
    tree: &ConfigTree,
    resolved: &Resolved,
    subject: Subject<'_>,
    places: Places<'_>,
    workload: &str,
) -> Result<Rendered, Error> {
    let treatment = subject.treatment;
    let document = scenario::scenario(tree, resolved, treatment, places.checkout)?;
    let load: Value = serde_yaml::from_str(workload)
        .map_err(|error| Error::Yaml { path: PathBuf::from("workload.yaml"), message: error.to_string() })?;
    let invariant = invariant::document(&document, &load);
    let scenario = emit(&document)?;
    let settings = &resolved.settings;
    let configuration_sha256 = hex(&hash(&[&scenario, &settings.pins.llm_d_benchmark]));
    Ok(Rendered {
        spec: emit(&spec::spec(places.checkout, &places.folder.join("scenario.yaml")))?,
        workload: workload.to_owned(),
        invariant_sha256: invariant::hash(&invariant),
        invariant: emit(&invariant)?,
        images: images(tree, resolved, treatment)?,
        model_server: model_server(&document),
        collector_image: settings.metrics.runtime.then(|| settings.pins.collector_image.clone()),
        manifests: manifests(tree, resolved, subject, &configuration_sha256)?,
        configuration_sha256,
        scenario,
    })
}

/// Where a treatment's files will be, and the checkout they refer to; both absolute.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The folder of the rendered files.
    pub folder: &'a Path,
    /// The pinned checkout of llm-d-benchmark.
    pub checkout: &'a Path,
}

impl Rendered {
    /// Writes the files into `folder`, which is made when it is not there.
    ///
    /// # Errors
    /// When a file cannot be written; its path is in the error.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        fs_err::create_dir_all(folder)?;
        let own = [
            ("scenario.yaml", &self.scenario),
            ("spec.yaml", &self.spec),
            ("workload.yaml", &self.workload),
            ("invariant.yaml", &self.invariant),
        ];
        for (name, text) in own.into_iter().chain(self.manifests.iter().map(|(name, text)| (*name, text))) {
            fs_err::write(folder.join(name), text)?;
        }
        Ok(())
    }

    /// The images that a node needs for it, each once: the model server's, those that must be observed, the collector's.
    pub fn needed_images(&self) -> Vec<String> {
        let all = std::iter::once(&self.model_server).chain(self.images.values()).chain(&self.collector_image);
        let mut images: Vec<String> = Vec::new();
        for image in all {
            if !images.contains(image) {
                images.push(image.clone());
            }
        }
        images
    }
}

/// The treatment's expected images; a reference profile names them for the components that the treatment has.
fn images(tree: &ConfigTree, resolved: &Resolved, treatment: &Treatment) -> Result<IndexMap<String, String>, Error> {
    let context = resolved.document();
    let mut images = IndexMap::new();
    for (component, image) in &treatment.images {
        images.insert(component.clone(), template::line(&tree.root().join(&treatment.path), image, &context)?);
    }
    if let Some(reference) = &resolved.reference {
        for (component, image) in &reference.images {
            if component == "model-server" || images.contains_key(component) {
                images.insert(component.clone(), template::line(&reference.path, image, &context)?);
            }
        }
    }
    Ok(images)
}

/// The image that the scenario gives the model servers.
fn model_server(scenario: &Value) -> String {
    let entry = scenario.get("scenario").and_then(|list| list.get(0));
    let image = entry.and_then(|entry| entry.get("common")?.get("images")?.get("vllm"));
    let part = |key: &str| image.and_then(|image| image.get(key)).and_then(Value::as_str).unwrap_or_default();
    format!("{}:{}", part("repository"), part("tag"))
}

/// What the manifests' templates may use.
#[derive(Serialize)]
struct Context<'a> {
    #[serde(flatten)]
    settings: Mapping,
    namespace: &'a str,
    campaign: &'a str,
    configuration: &'a str,
    managed_by: &'static str,
    treatment: &'a Treatment,
    image: Image,
    collector: Collector,
}

#[derive(Serialize)]
struct Collector {
    script: String,
    targets: Value,
}

/// The manifests of `config/cluster/`, those of the collector only when something is sampled.
fn manifests(
    tree: &ConfigTree,
    resolved: &Resolved,
    subject: Subject<'_>,
    configuration: &str,
) -> Result<IndexMap<&'static str, String>, Error> {
    let folder = tree.path("cluster");
    let targets = folder.join("targets.yaml");
    let context = Context {
        settings: resolved.document(),
        namespace: subject.namespace,
        campaign: subject.campaign,
        configuration,
        managed_by: MANAGED_BY,
        treatment: subject.treatment,
        image: Image::of(&resolved.settings.agentgateway.image),
        collector: Collector {
            script: fs_err::read_to_string(folder.join("collect.py"))?,
            targets: serde_yaml::from_str(&fs_err::read_to_string(&targets)?)
                .map_err(|error| Error::Yaml { path: targets, message: error.to_string() })?,
        },
    };
    let mut wanted = vec![NAMESPACE_FILE];
    if subject.is_agentgateway_gateway() {
        wanted.push(PARAMETERS_FILE);
    }
    if resolved.settings.metrics.runtime {
        wanted.push(COLLECTOR_FILE);
    }
    let render = |name: &'static str| {
        let document = template::yaml(&folder.join(format!("{name}.j2")), &context)?;
        Ok((name, emit(&document)?))
    };
    wanted.into_iter().map(render).collect()
}

fn hash(parts: &[&str]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    hash.finalize().to_vec()
}
