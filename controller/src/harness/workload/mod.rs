//! What inference-perf is told to do: a template of `config/workloads/`, or a file of the user's own, checked before any
//! load is sent.

mod check;
mod plan;

use std::path::Path;

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use serde_yaml::{Mapping, Value};

pub use self::check::Problem;
pub use self::plan::PlannedStage;
use crate::failure::Failure;
use crate::settings;

/// What the load is aimed at.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// The endpoint, without a path: `http://127.0.0.1:8000`.
    pub base_url: String,
    /// The model's name in requests.
    pub model: String,
    /// A tokenizer's folder, or its name on the Hugging Face Hub.
    pub tokenizer: String,
}

/// What templates may use.
#[derive(Serialize)]
struct Context<'a> {
    workload: &'a settings::Workload,
    harness: &'a settings::Harness,
    target: &'a Target,
    /// The ladder after scaling, where `workload.stages` is the one before.
    stages: &'a [settings::Stage],
}

/// A checked configuration of inference-perf and the ladder it plans.
#[derive(Clone, Debug)]
pub struct Workload {
    document: Value,
    plan: Vec<PlannedStage>,
}

/// Why there is no workload.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// A template cannot be rendered.
    #[error("{file}: {message}")]
    Template {
        /// The template, relative to its folder.
        file: String,
        /// What is wrong in it, with its line.
        message: String,
    },
    /// The result is not YAML.
    #[error("{file} is not YAML: {source}")]
    Yaml {
        /// The template or file.
        file: String,
        /// The parser's complaint.
        source: serde_yaml::Error,
    },
    /// It cannot be written as YAML.
    #[error("the workload cannot be written: {0}")]
    Emit(String),
    /// It would not measure what it should; all problems at once.
    #[error("{file} cannot be used:{}", .problems.iter().map(|problem| format!("\n  {problem}")).collect::<String>())]
    Problems {
        /// The template or file.
        file: String,
        /// What is wrong, with the fix of each.
        problems: Vec<Problem>,
    },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Problems { ref problems, .. } => {
                let fixes: Vec<String> = problems.iter().map(|problem| problem.fix.clone()).collect();
                fixes.into_iter().fold(Self::usage(error), Self::hint)
            }
            Error::Emit(_) => Self::internal(error),
            error => Self::usage(error),
        }
    }
}

impl Workload {
    /// The workload that settings describe: their own file if they name one, else their template of `templates` (the
    /// folder `config/workloads`), aimed at `target`.
    ///
    /// # Errors
    /// When a file is missing, is not YAML or does not render, and when the result could not be measured.
    pub fn new(
        templates: &Path,
        workload: &settings::Workload,
        harness: &settings::Harness,
        target: &Target,
    ) -> Result<Self, Error> {
        let plain = templates.join(format!("{}.yaml", workload.template));
        match &workload.file {
            Some(file) => Self::from_file(file, target),
            None if plain.is_file() => Self::from_file(&plain, target),
            None => Self::render(templates, workload, harness, target),
        }
    }

    fn render(
        templates: &Path,
        workload: &settings::Workload,
        harness: &settings::Harness,
        target: &Target,
    ) -> Result<Self, Error> {
        let file = format!("{}.yaml.j2", workload.template);
        let stages = workload.scaled_stages();
        check::stages(&stages).map_err(|problems| Error::Problems { file: file.clone(), problems })?;
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for name in template_names(templates)? {
            let source = fs_err::read_to_string(templates.join(&name))?;
            environment.add_template_owned(name.clone(), source).map_err(|error| template_error(&name, &error))?;
        }
        let text = environment
            .get_template(&file)
            .and_then(|template| template.render(Serde(Context { workload, harness, target, stages: &stages })))
            .map_err(|error| template_error(&file, &error))?;
        Self::parse(&file, &text)
    }

    /// A workload of the user's own; endpoint, model, tokenizer and place of results are ours.
    fn from_file(path: &Path, target: &Target) -> Result<Self, Error> {
        let file = path.display().to_string();
        let text = fs_err::read_to_string(path)?;
        let mut document = parse(&file, &text)?;
        if let Value::Mapping(root) = &mut document {
            let server = section(root, "server");
            server.insert("base_url".into(), target.base_url.clone().into());
            server.insert("model_name".into(), target.model.clone().into());
            server.entry("type".into()).or_insert_with(|| "vllm".into());
            section(root, "tokenizer").insert("pretrained_model_name_or_path".into(), target.tokenizer.clone().into());
            let storage = Mapping::from_iter([("path".into(), ".".into())]);
            root.insert(
                "storage".into(),
                Value::Mapping(Mapping::from_iter([("local_storage".into(), storage.into())])),
            );
        }
        Self::checked(&file, document)
    }

    fn parse(file: &str, text: &str) -> Result<Self, Error> {
        Self::checked(file, parse(file, text)?)
    }

    fn checked(file: &str, document: Value) -> Result<Self, Error> {
        let problems = check::document(&document);
        if !problems.is_empty() {
            return Err(Error::Problems { file: file.to_owned(), problems });
        }
        let plan = plan::read(&document);
        Ok(Self { document, plan })
    }

    /// The ladder, stage by stage as it will be executed.
    pub fn plan(&self) -> &[PlannedStage] {
        &self.plan
    }

    /// All requests of the ladder.
    pub fn planned_requests(&self) -> u64 {
        self.plan.iter().map(|stage| stage.requests).sum()
    }

    /// The configuration itself.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The configuration as inference-perf reads it: PyYAML reads the same values back.
    ///
    /// # Errors
    /// When it holds something that cannot be written as YAML.
    pub fn to_yaml(&self) -> Result<String, Error> {
        serde_saphyr::to_string(&self.document).map_err(|error| Error::Emit(error.to_string()))
    }

    /// Seconds after which one request is given up; `None` when it never is.
    pub(super) fn request_timeout(&self) -> Option<f64> {
        self.document.get("load")?.get("request_timeout")?.as_f64()
    }

    /// Whether responses are streamed, without which there is no time to first token.
    pub(super) fn streams(&self) -> bool {
        self.document.get("api").and_then(|api| api.get("streaming")).and_then(Value::as_bool).unwrap_or(false)
    }
}

/// The mapping below `key`, put there when it is missing or something else.
fn section<'a>(root: &'a mut Mapping, key: &str) -> &'a mut Mapping {
    let value = root.entry(key.into()).or_insert_with(|| Value::Mapping(Mapping::new()));
    if !value.is_mapping() {
        *value = Value::Mapping(Mapping::new());
    }
    match value {
        Value::Mapping(mapping) => mapping,
        _ => unreachable!("it was made a mapping just now"),
    }
}

fn parse(file: &str, text: &str) -> Result<Value, Error> {
    serde_yaml::from_str(text).map_err(|source| Error::Yaml { file: file.to_owned(), source })
}

/// All templates of the folder and of its `partials/`, by the names they include each other with.
fn template_names(folder: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for (below, prefix) in [(folder.to_owned(), ""), (folder.join("partials"), "partials/")] {
        if !below.is_dir() {
            continue;
        }
        for entry in fs_err::read_dir(below)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".yaml.j2") {
                names.push(format!("{prefix}{name}"));
            }
        }
    }
    Ok(names)
}

fn template_error(file: &str, error: &minijinja::Error) -> Error {
    let place = error.name().map(|name| match error.line() {
        Some(line) => format!("{name} line {line}: "),
        None => format!("{name}: "),
    });
    let mut message = format!("{}{error}", place.unwrap_or_default());
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message.push_str(&format!("; {cause}"));
        source = cause.source();
    }
    Error::Template { file: file.to_owned(), message }
}

#[cfg(test)]
mod tests;
