//! All files of one treatment, and the images it must show.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde_yaml::Value;

use super::emit::emit;
use super::error::Error;
use super::{invariant, scenario, spec, template};
use crate::settings::{ConfigTree, Resolved, Treatment};

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
    /// Images that must be observed, by component.
    pub images: IndexMap<String, String>,
}

/// Renders a treatment for `folder`, the place its files will be written to, and a pinned checkout.
///
/// # Errors
/// When an overlay, the guide or the workload cannot be rendered.
pub fn treatment(
    tree: &ConfigTree,
    resolved: &Resolved,
    treatment: &Treatment,
    places: Places<'_>,
    workload: &str,
) -> Result<Rendered, Error> {
    let document = scenario::scenario(tree, resolved, treatment, places.checkout)?;
    let load: Value = serde_yaml::from_str(workload)
        .map_err(|error| Error::Yaml { path: PathBuf::from("workload.yaml"), message: error.to_string() })?;
    let invariant = invariant::document(&document, &load);
    Ok(Rendered {
        scenario: emit(&document)?,
        spec: emit(&spec::spec(places.checkout, &places.folder.join("scenario.yaml")))?,
        workload: workload.to_owned(),
        invariant_sha256: invariant::hash(&invariant),
        invariant: emit(&invariant)?,
        images: images(tree, resolved, treatment)?,
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
        for (name, text) in [
            ("scenario.yaml", &self.scenario),
            ("spec.yaml", &self.spec),
            ("workload.yaml", &self.workload),
            ("invariant.yaml", &self.invariant),
        ] {
            fs_err::write(folder.join(name), text)?;
        }
        Ok(())
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
