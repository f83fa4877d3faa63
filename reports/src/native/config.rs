//! `config.yaml`: the configuration as the harness understood it.

use std::path::{Path, PathBuf};

use serde_yaml::{Mapping, Value};

use super::{CONFIG_FILE, Error};
use crate::{files, yaml};

/// A configuration of inference-perf.
#[derive(Clone, Debug, PartialEq)]
pub struct Config(pub Value);

/// What requests look like, as far as the configuration fixes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataShape {
    /// The kind of data: `shared_prefix`, `random`.
    pub kind: String,
    /// Input tokens a request: how they are distributed and their main value.
    pub input: Option<(String, f64)>,
    /// As `input`, for output tokens.
    pub output: Option<(String, f64)>,
    /// Tokens of the prefix that requests of a group share.
    pub prefix: Option<u64>,
    /// Groups of requests with one prefix each.
    pub groups: Option<u64>,
    /// Different prompts in a group.
    pub prompts_per_group: Option<u64>,
    /// Seed of the data.
    pub seed: Option<u64>,
}

impl Config {
    /// Reads a result folder's configuration; `None` where there is none.
    pub fn read(dir: &Path) -> Result<Option<Self>, Error> {
        let path = dir.join(CONFIG_FILE);
        if !fs_err::exists(&path)? {
            return Ok(None);
        }
        Ok(Some(Self(yaml::read(&path, files::DOCUMENT_LIMIT)?)))
    }

    /// The value at a path of keys.
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(&self.0, |value, key| value.get(*key)).filter(|value| !value.is_null())
    }

    fn text(&self, path: &[&str]) -> Option<&str> {
        self.get(path)?.as_str()
    }

    fn number(&self, path: &[&str]) -> Option<f64> {
        self.get(path)?.as_f64()
    }

    fn count(&self, path: &[&str]) -> Option<u64> {
        self.get(path)?.as_u64()
    }

    /// How many stages the run was to have; `None` for loads that find their stages as they go.
    pub fn planned_stages(&self) -> Option<usize> {
        if self.get(&["load", "sweep"]).is_some() {
            return None;
        }
        self.get(&["load", "stages"])?.as_sequence().map(Vec::len).filter(|&stages| stages > 0)
    }

    /// `poisson`, `constant`, `concurrent`.
    pub fn load_kind(&self) -> Option<&str> {
        self.text(&["load", "type"])
    }

    /// What requests look like.
    pub fn data(&self) -> DataShape {
        let kind = self.text(&["data", "type"]).unwrap_or_default().to_owned();
        if kind != "shared_prefix" {
            let of = |side: &str| {
                let mean = self.number(&["data", side, "mean"])?;
                let spread = self.number(&["data", side, "std_dev"]).or_else(|| self.number(&["data", side, "std"]));
                let shape = if spread == Some(0.0) { "fixed" } else { "gaussian" };
                Some((shape.to_owned(), mean))
            };
            return DataShape {
                input: of("input_distribution"),
                output: of("output_distribution"),
                kind,
                ..DataShape::default()
            };
        }
        let path = |key| ["data", "shared_prefix", key];
        // Renamed in 0.7: `num_groups` and `num_prompts_per_group` before.
        let either = |new, old| self.count(&path(new)).or_else(|| self.count(&path(old)));
        let prefix = self.count(&path("system_prompt_len"));
        let question = self.count(&path("question_len"));
        let varied = |key| self.get(&path(key)).is_some();
        let shape = |key| if varied(key) { "other" } else { "fixed" }.to_owned();
        DataShape {
            kind,
            input: prefix
                .zip(question)
                .map(|(prefix, question)| (shape("question_distribution"), (prefix + question) as f64)),
            output: self.count(&path("output_len")).map(|tokens| (shape("output_distribution"), tokens as f64)),
            prefix,
            groups: either("num_unique_system_prompts", "num_groups"),
            prompts_per_group: either("num_users_per_system_prompt", "num_prompts_per_group"),
            seed: self.count(&path("seed")),
        }
    }

    /// The configuration without what must not leave the machine: keys and tokens, headers, credentials in addresses, and
    /// the folders of absolute paths.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mut value = self.0.clone();
        redact(&mut value);
        Self(value)
    }

    /// The part that decides what is sent, whatever it is sent to: for a hash that is the same for all treatments.
    /// Storage, addresses and the seed that the harness draws for itself when none is given are left out.
    pub fn workload(&self) -> Value {
        let mut kept = Mapping::new();
        for part in ["api", "data", "load"] {
            if let Some(value) = self.redacted().0.get(part) {
                kept.insert(part.into(), value.clone());
            }
        }
        if let Some(load) = kept.get_mut("load").and_then(Value::as_mapping_mut) {
            load.shift_remove("base_seed");
        }
        Value::Mapping(kept)
    }
}

/// Keys whose values are secrets wherever they stand.
const SECRETS: [&str; 6] = ["api_key", "token", "headers", "authorization", "password", "hf_token"];

fn redact(value: &mut Value) {
    match value {
        Value::Mapping(mapping) => {
            for (key, value) in mapping.iter_mut() {
                let secret = key.as_str().is_some_and(|key| SECRETS.contains(&key.to_ascii_lowercase().as_str()));
                if secret && !value.is_null() {
                    *value = "REDACTED".into();
                } else {
                    redact(value);
                }
            }
        }
        Value::Sequence(values) => values.iter_mut().for_each(redact),
        Value::String(text) => {
            if let Some(bare) = without_userinfo(text).or_else(|| without_folders(text)) {
                *text = bare;
            }
        }
        Value::Tagged(tagged) => redact(&mut tagged.value),
        _ => {}
    }
}

/// `https://user:password@host/x` without its credentials.
fn without_userinfo(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let (_, host) = authority.rsplit_once('@')?;
    Some(format!("{scheme}://{host}{}", &rest[authority.len()..]))
}

/// The last name of an absolute path: its folders name machines and people.
fn without_folders(text: &str) -> Option<String> {
    let path = PathBuf::from(text);
    path.is_absolute().then(|| path.file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy().into_owned()))
}
