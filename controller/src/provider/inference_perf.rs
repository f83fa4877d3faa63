//! inference-perf on this machine, as a provider's harness.

use std::path::PathBuf;
use std::time::Duration;

use serde_yaml::{Mapping, Value};

use super::{Harness, Load};
use crate::evidence::SCRATCH;
use crate::failure::{Failure, Result};
use crate::harness::python::{self, Environment};
use crate::harness::{self, Limits, Options, Outcome, PlannedStage, Target, Workload};
use crate::lifecycle::{self, Event, Observer};
use crate::process::Session;
use crate::settings::{Settings, Tokenizer};

/// The folder of a cell's tokenizer in [`SCRATCH`].
const TOKENIZER: &str = "tokenizer";

/// The workload that these settings describe, without the places of this machine: what two campaigns have in common
/// when they send the same load.
///
/// # Errors
/// A usage failure when the workload could not be run.
pub(crate) fn unplaced(root: &std::path::Path, settings: &Settings) -> Result<Workload> {
    workload(root, settings, "http://endpoint", TOKENIZER)
}

fn workload(root: &std::path::Path, settings: &Settings, endpoint: &str, tokenizer: &str) -> Result<Workload> {
    let target = Target {
        base_url: endpoint.to_owned(),
        model: settings.cluster.model.clone(),
        tokenizer: tokenizer.to_owned(),
    };
    Ok(Workload::new(&root.join("config/workloads"), &settings.workload, &settings.harness, &target)?)
}

/// The pinned inference-perf in its private environment.
pub struct InferencePerf<'a> {
    root: PathBuf,
    settings: &'a Settings,
    environment: Option<Environment>,
}

impl<'a> InferencePerf<'a> {
    /// The harness of the workspace at `root`.
    pub fn new(root: impl Into<PathBuf>, settings: &'a Settings) -> Self {
        Self { root: root.into(), settings, environment: None }
    }

    /// What the environment is made from.
    pub fn request(&self) -> python::Request {
        python::Request {
            version: self.settings.pins.inference_perf.clone(),
            requirements: self.root.join("config/requirements"),
            python: self.settings.harness.python.clone(),
            cache: python::cache_folder(),
        }
    }
}

impl Harness for InferencePerf<'_> {
    fn prepare(&mut self, session: &Session, observer: &dyn Observer) -> Result<Mapping> {
        let version = &self.settings.pins.inference_perf;
        observer.notify(Event::Preparing { what: format!("looking for inference-perf {version}") });
        let mut told = String::new();
        let environment = Environment::prepare(session, &self.request(), &mut |progress| {
            let what = describe(version, &progress);
            if what != told {
                observer.notify(Event::Preparing { what: what.clone() });
                told = what;
            }
        })?;
        let record = serde_yaml::to_value(environment.record()).map_err(Failure::internal)?;
        self.environment = Some(environment);
        Ok(Mapping::from_iter([(Value::from("harness_environment"), record)]))
    }

    fn run(&mut self, load: Load<'_>) -> Result<Mapping> {
        let environment = self.environment.as_ref().ok_or_else(|| Failure::internal("the harness is not prepared"))?;
        let tokenizer = match self.settings.backend.tokenizer() {
            Some(Tokenizer::Folder(folder)) => std::path::absolute(folder)?,
            Some(Tokenizer::Words) | None => {
                let tokenizer = load.work.join(SCRATCH).join(TOKENIZER);
                fs_err::create_dir_all(&tokenizer)?;
                testbed::tokenizer::write(&tokenizer)?;
                tokenizer
            }
        };
        let workload = workload(&self.root, self.settings, load.endpoint, &tokenizer.to_string_lossy())?;
        let options = Options {
            no_progress: Duration::from_secs_f64(self.settings.harness.no_progress_timeout),
            limits: Limits {
                failure_rate: self.settings.limits.failure_rate,
                schedule_delay: self.settings.limits.schedule_delay,
            },
            hf_token: self.settings.secrets.hf_token.clone(),
        };
        let plan = workload.plan().to_vec();
        let mut watcher = |progress: harness::Progress| {
            if let Some(position) = position(&plan, &progress) {
                load.observer.notify(Event::Load(position));
            }
        };
        let outcome = harness::run(load.session, environment, &workload, load.work, &options, &mut watcher)?;
        for remark in &outcome.warnings {
            let place = remark.stage.map_or_else(String::new, |stage| format!("stage {}: ", stage + 1));
            load.observer
                .notify(Event::Warning { text: format!("{place}{}", remark.what), remedy: remark.remedy.clone() });
        }
        outcome.require_valid()?;
        Ok(facts(&environment.record().inference_perf, &outcome))
    }
}

/// What the manifest records of a run.
fn facts(version: &str, outcome: &Outcome) -> Mapping {
    let recorded: u64 = outcome.stages.iter().filter_map(|stage| stage.recorded).sum();
    let mut harness = Mapping::new();
    harness.insert("name".into(), "inference-perf".into());
    harness.insert("version".into(), version.into());
    harness.insert("seconds".into(), ((outcome.elapsed.as_secs_f64() * 1e3).round() / 1e3).into());
    harness.insert("requests".into(), recorded.into());
    harness.insert("failures".into(), outcome.failed().into());
    Mapping::from_iter([(Value::from("harness"), Value::Mapping(harness))])
}

fn describe(version: &str, progress: &python::Progress) -> String {
    match progress {
        python::Progress::Waiting => "waiting: another run is installing the same environment".to_owned(),
        python::Progress::Creating(interpreter) => format!("making a private environment with {interpreter}"),
        python::Progress::Installing { packages, of: Some(of) } => {
            // Told in tenths: a line for each package would be a screenful.
            let tenth = (packages * 10 / (*of).max(1)) * 10;
            format!("installing inference-perf {version}, {tenth}% of {of} packages")
        }
        python::Progress::Installing { of: None, .. } => format!("installing inference-perf {version}"),
        python::Progress::Verifying => format!("trying inference-perf {version}"),
    }
}

/// Where a run is, for people; `None` between stages.
fn position(plan: &[PlannedStage], progress: &harness::Progress) -> Option<lifecycle::Load> {
    let stage = progress.stage?;
    let planned = plan.get(stage)?;
    Some(lifecycle::Load {
        stage: stage + 1,
        stages: progress.stages,
        rate: planned.rate,
        done: progress.done,
        planned: progress.planned,
        remaining: Some(Duration::from_secs_f64(progress.seconds_left.max(0.0))),
    })
}
