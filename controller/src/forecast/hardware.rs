//! Which hardware model a campaign is computed with.

use std::path::{Path, PathBuf};

use reports::model::{Accelerator, Component, Parallelism, Stack};
use testbed::config::Hardware;

use crate::campaign::identity::sha256;
use crate::failure::{Failure, Result};
use crate::settings::{Place, Resolved, Settings, Treatment};

/// Where a model came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file of `config/hardware/`, by name.
    Name(String),
    /// A file that was named by its path.
    File(PathBuf),
}

/// A hardware model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Where it came from.
    pub source: Source,
    /// The model itself.
    pub hardware: Hardware,
    /// Hash of its file.
    pub sha256: String,
}

impl Model {
    /// The model that was asked for by name or path; else the testbed's own for local campaigns; else the one that
    /// describes the campaign's model on its accelerators.
    ///
    /// # Errors
    /// A usage failure when there is none, or it is impossible.
    pub fn find(root: &Path, resolved: &Resolved, asked: Option<&str>) -> Result<Self> {
        let settings = &resolved.settings;
        match (asked, resolved.provider.place) {
            (Some(asked), _) => Self::named(root, asked),
            (None, Place::Local) => Self::named(root, &settings.testbed.hardware),
            (None, Place::Kind | Place::Kube | Place::Gke) => Self::fitting(root, settings),
        }
    }

    fn named(root: &Path, name: &str) -> Result<Self> {
        if name.ends_with(".yaml") || name.contains('/') {
            return Self::read(Source::File(name.into()), Path::new(name));
        }
        let path = folder(root).join(format!("{name}.yaml"));
        if !path.is_file() {
            let hint = format!("there are: {}; a path ending in .yaml is taken as a file", names(root)?.join(", "));
            return Err(Failure::usage(format!("there is no hardware model `{name}`")).hint(hint));
        }
        Self::read(Source::Name(name.to_owned()), &path)
    }

    fn fitting(root: &Path, settings: &Settings) -> Result<Self> {
        let cluster = &settings.cluster;
        for name in names(root)? {
            let model = Self::named(root, &name)?;
            let fits = model.hardware.describes.as_ref().is_some_and(|describes| {
                let accelerator = describes.accelerator.eq_ignore_ascii_case(&cluster.accelerator.model);
                let parallel = model.hardware.gpus_per_server == cluster.tensor_parallelism;
                describes.model == cluster.model && accelerator && parallel
            });
            if fits {
                return Ok(model);
            }
        }
        let what = format!(
            "no hardware model describes {} on {} {} a server",
            cluster.model, cluster.tensor_parallelism, cluster.accelerator.model
        );
        Err(Failure::usage(what)
            .hint("name one that is near enough with --hardware")
            .hint("or fit one to a measured campaign with `cargo xtask forecast --calibrate CAMPAIGN_DIR`"))
    }

    fn read(source: Source, path: &Path) -> Result<Self> {
        let text = fs_err::read_to_string(path).map_err(Failure::usage)?;
        let hardware = Hardware::read(path).map_err(Failure::usage)?;
        Ok(Self { source, hardware, sha256: sha256(&text) })
    }

    /// Its name, for people.
    pub fn name(&self) -> String {
        match &self.source {
            Source::Name(name) => name.clone(),
            Source::File(path) => path.display().to_string(),
        }
    }

    /// What a treatment's runs ran on: all of it simulated.
    pub(super) fn stack(&self, treatment: &Treatment, servers: usize, settings: &Settings) -> Stack {
        let component = |label: &str, kind: &str| Component {
            label: label.to_owned(),
            kind: kind.to_owned(),
            tool: Stack::SIMULATED_TOOL.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Component::default()
        };
        let servers = servers as u64;
        let gpus = u64::from(self.hardware.gpus_per_server);
        let engine = Component {
            role: Some("replica".to_owned()),
            replicas: Some(servers),
            model: Some(settings.cluster.model.clone()),
            accelerator: Some(Accelerator {
                model: self.hardware.description.clone(),
                count: Some(servers * gpus),
                parallelism: Parallelism { tp: Some(gpus.max(1)), ..Parallelism::default() },
            }),
            ..component("model-servers", "inference_engine")
        };
        Stack { components: vec![engine, component(&treatment.name, "generic")] }
    }
}

fn folder(root: &Path) -> PathBuf {
    root.join("config/hardware")
}

fn names(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs_err::read_dir(folder(root))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".yaml").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}
