//! The workspace's `config/` folder.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::node::Node;
use super::problem::{Error, Problem};
use super::provider::ProviderFile;
use super::reference::Reference;
use super::scenario::Scenario;
use super::treatment::Treatment;

/// The folder in which everything that needs no Rust may be changed.
#[derive(Clone, Debug)]
pub struct ConfigTree {
    root: PathBuf,
}

/// A file that can be chosen by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name: the file's without its ending.
    pub name: String,
    /// What it says about itself.
    pub summary: String,
    /// The file, relative to the workspace.
    pub path: PathBuf,
}

impl ConfigTree {
    /// The `config/` folder of the workspace at `root`.
    pub fn open(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The workspace's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a file or folder of `config/`.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join("config").join(relative)
    }

    /// `path` relative to the workspace, for people.
    pub fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_owned()
    }

    /// The names of the YAML files in a folder of `config/`, sorted; a folder that is not there has none.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, Error> {
        let path = self.path(folder);
        if !path.is_dir() {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        for entry in fs_err::read_dir(path)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "yaml")
                && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// The file that `name` chooses in a folder, or what is wrong with the name.
    pub fn find(&self, what: &str, folder: &str, name: &str, origin: impl std::fmt::Display) -> Result<PathBuf, Error> {
        let names = self.names(folder)?;
        if names.iter().any(|known| known == name) {
            return Ok(self.path(folder).join(format!("{name}.yaml")));
        }
        let known: Vec<_> = names.iter().map(String::as_str).collect();
        Err(Problem::unknown(what, name, origin, &known).into())
    }

    /// Reads a file into a type; unknown fields, duplicate keys and wrong shapes are errors with line and column.
    pub fn read<T: DeserializeOwned>(&self, path: &Path) -> Result<T, Error> {
        let text = fs_err::read_to_string(path)?;
        serde_saphyr::from_str(&text).map_err(|error| self.invalid(path, error.to_string()))
    }

    /// Reads a file with the lines of its entries.
    pub fn read_node(&self, path: &Path) -> Result<Node, Error> {
        let text = fs_err::read_to_string(path)?;
        Node::parse(&text).map_err(|message| self.invalid(path, message))
    }

    /// A treatment by name.
    pub fn treatment(&self, name: &str, origin: impl std::fmt::Display) -> Result<Treatment, Error> {
        let path = self.find("treatment", "treatments", name, origin)?;
        let treatment = self.read(&path)?;
        Ok(Treatment { name: name.to_owned(), path: self.relative(&path), ..treatment })
    }

    /// The path of a workload template: `config/workloads/<name>.yaml.j2`, or the `.yaml` file of that name.
    pub fn workload_template(&self, name: &str, origin: impl std::fmt::Display) -> Result<PathBuf, Error> {
        const ENDINGS: [&str; 2] = [".yaml.j2", ".yaml"];
        let folder = self.path("workloads");
        let mut known = Vec::new();
        if folder.is_dir() {
            for entry in fs_err::read_dir(&folder)? {
                let file = entry?.file_name().to_string_lossy().into_owned();
                known.extend(ENDINGS.iter().find_map(|ending| file.strip_suffix(ending)).map(str::to_owned));
            }
        }
        known.sort();
        let found = ENDINGS.iter().map(|ending| folder.join(format!("{name}{ending}"))).find(|path| path.is_file());
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        found.ok_or_else(|| Problem::unknown("workload", name, origin, &known).into())
    }

    /// A provider by name.
    pub fn provider(&self, name: &str, origin: impl std::fmt::Display) -> Result<ProviderFile, Error> {
        let path = self.find("provider", "providers", name, origin)?;
        let provider = self.read(&path)?;
        Ok(ProviderFile { name: name.to_owned(), path: self.relative(&path), ..provider })
    }

    /// A reference profile by name.
    pub fn reference(&self, name: &str, origin: impl std::fmt::Display) -> Result<Reference, Error> {
        let path = self.find("reference profile", "references", name, origin)?;
        let reference = self.read(&path)?;
        Ok(Reference { name: name.to_owned(), path: self.relative(&path), ..reference })
    }

    /// A scenario by name.
    pub fn scenario(&self, name: &str, origin: impl std::fmt::Display) -> Result<Scenario, Error> {
        let path = self.find("scenario", "scenarios", name, origin)?;
        let scenario = self.read(&path)?;
        Ok(Scenario { name: name.to_owned(), path: self.relative(&path), ..scenario })
    }

    /// All treatments, sorted by name.
    pub fn treatments(&self) -> Result<Vec<Treatment>, Error> {
        self.names("treatments")?.iter().map(|name| self.treatment(name, "config/treatments")).collect()
    }

    /// All profiles with their descriptions, sorted by name.
    pub fn profiles(&self) -> Result<Vec<Listed>, Error> {
        self.listed("profiles", "description")
    }

    /// The files of a folder with the summary that each gives under `field`, sorted by name.
    pub fn listed(&self, folder: &str, field: &str) -> Result<Vec<Listed>, Error> {
        let list = |name: String| {
            let path = self.path(folder).join(format!("{name}.yaml"));
            let document = self.read_node(&path)?.into_value();
            let summary = document.get(field).and_then(serde_yaml::Value::as_str).unwrap_or_default().to_owned();
            Ok(Listed { name, summary, path: self.relative(&path) })
        };
        self.names(folder)?.into_iter().map(list).collect()
    }

    fn invalid(&self, path: &Path, message: String) -> Error {
        Error::File { path: self.relative(path), message }
    }
}
