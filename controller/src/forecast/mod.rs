//! Forecasts: a campaign computed in virtual time before anything is started or paid for.
//!
//! [`Plan`] turns settings into one [`testbed::forecast::Setup`] a treatment; [`Plan::compute`] runs every seed of every
//! treatment and returns what a campaign of that many repetitions would be, with the [`Forecast`] over it. Works for every
//! profile whose hardware has a model in `config/hardware/`.

mod calibrate;
mod fits;
mod hardware;
mod stages;
mod workload;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use indexmap::IndexMap;
use reports::campaign::{Campaign, Repetition, Treatment as Runs};
use reports::forecast::{Band, Cost, Forecast};
use reports::manifest::{Manifest, RepetitionEntry, TreatmentEntry};
use reports::statistics::Spread;
use serde_yaml::{Mapping, Value};
use testbed::config::{Hardware, Policy};
use testbed::forecast::{Load, Route, Setup, Shape};

pub use calibrate::{Calibration, Errors, calibrate, read as read_measured};
pub use fits::require_admissible;
pub use hardware::{Model, Source};

use crate::campaign::plan::schedule_seconds;
use crate::failure::{Failure, Result};
use crate::provider::unplaced;
use crate::settings::{Mode, Place, Resolved, Treatment};

/// What is asked of a forecast beyond the settings.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Runs of each treatment; at least 2.
    pub seeds: u32,
    /// Which hardware model; the one that fits the settings when absent.
    pub hardware: Option<String>,
    /// Relative differences that repetitions are to tell apart.
    pub differences: Vec<f64>,
    /// Seconds to start the model servers before a repetition.
    pub standup_seconds: f64,
}

/// A forecast that can be computed: every file read, every prompt hashed.
#[derive(Debug)]
pub struct Plan<'a> {
    resolved: &'a Resolved,
    asked: Asked,
    model: Model,
    setups: Vec<(&'a Treatment, Setup)>,
    workload: reports::model::Workload,
}

/// What was computed.
#[derive(Debug)]
pub struct Computed {
    /// The runs, as the repetitions of a campaign.
    pub campaign: Campaign,
    /// What they say.
    pub forecast: Forecast,
    /// Requests computed.
    pub requests: usize,
}

impl<'a> Plan<'a> {
    /// Plans the forecast of the campaign that `resolved` describes.
    ///
    /// # Errors
    /// Usage failures: no hardware model, a workload that cannot be computed, a prompt that could never be admitted.
    pub fn new(root: &Path, resolved: &'a Resolved, asked: Asked) -> Result<Self> {
        let model = Model::find(root, resolved, asked.hardware.as_deref())?;
        Self::with_model(root, resolved, asked, model)
    }

    fn with_model(root: &Path, resolved: &'a Resolved, asked: Asked, model: Model) -> Result<Self> {
        if asked.seeds < 2 {
            return Err(Failure::usage("a band needs at least 2 runs").hint("leave `--seeds` away for 40"));
        }
        let settings = &resolved.settings;
        let document = unplaced(root, settings)?;
        let (shape, load) = workload::read(&document)?;
        let servers = match resolved.provider.place {
            Place::Local => settings.testbed.servers,
            Place::Kind | Place::Kube | Place::Gke => settings.cluster.replicas,
        };
        let policy = policy(root, &settings.routing.policy, &model.hardware)?;
        let mut setups = Vec::new();
        for treatment in &resolved.treatments {
            let route = match treatment.mode {
                Mode::None => Route::Service,
                Mode::Standalone | Mode::Gateway => Route::Picker(Arc::clone(&policy)),
            };
            let own = treatment.local.map_or(0.0, |local| local.delay_ms);
            let delay = settings.testbed.delay_ms.filter(|_| own > 0.0).unwrap_or(own);
            let setup =
                setup(&model.hardware, servers as usize, route, &shape, load.clone(), settings.workload.data.seed)?;
            setups.push((treatment, setup.delayed(delay / 1000.0)));
        }
        if setups.is_empty() {
            return Err(Failure::usage("there is no treatment to compute").hint("name one with --treatment"));
        }
        let workload = workload::described(&document, &shape);
        Ok(Self { resolved, asked, model, setups, workload })
    }

    /// The hardware model that is used.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The same with other coefficients.
    fn with_hardware(&self, hardware: Hardware) -> Result<Self> {
        let setup = |(treatment, setup): &(&'a Treatment, Setup)| {
            Ok((*treatment, setup.with_hardware(hardware.clone()).map_err(unusable)?))
        };
        Ok(Self {
            setups: self.setups.iter().map(setup).collect::<Result<_>>()?,
            model: Model { hardware: hardware.clone(), ..self.model.clone() },
            asked: self.asked.clone(),
            workload: self.workload.clone(),
            resolved: self.resolved,
        })
    }

    /// The treatments' names.
    fn treatments(&self) -> Vec<&str> {
        self.setups.iter().map(|(treatment, _)| treatment.name.as_str()).collect()
    }

    /// The ladder's rates.
    fn rates(&self) -> Vec<f64> {
        self.setups[0].1.load().stages.iter().map(|stage| stage.rate).collect()
    }

    /// Runs every seed of every treatment, on all cores.
    ///
    /// # Errors
    /// An internal failure: the engine has a fault.
    pub fn compute(&self, id: &str) -> Result<Computed> {
        let computed = self.run_all()?;
        let mut campaign =
            Campaign { dir: id.into(), manifest: self.manifest(id), treatments: Vec::new(), warnings: Vec::new() };
        let mut costs = IndexMap::new();
        let mut requests = 0;
        for ((treatment, setup), runs) in self.setups.iter().zip(computed) {
            let seconds = Spread::of(runs.iter().map(|run| schedule_seconds(setup.load().stages.len(), run.seconds)));
            if let Some(load_seconds) = seconds.as_ref().and_then(Band::of) {
                let cost = Cost {
                    load_seconds,
                    standup_seconds: self.asked.standup_seconds,
                    accelerators: self.model.hardware.gpus_per_server * u32::try_from(setup.servers()).unwrap_or(0),
                };
                costs.insert(treatment.name.clone(), cost);
            }
            requests += setup.load().requests() * runs.len();
            let repetition = |(number, run): (u32, Run)| Repetition { number, dir: id.into(), stages: run.stages };
            campaign.treatments.push(Runs {
                name: treatment.name.clone(),
                display_name: treatment.display_name.clone(),
                repetitions: (1..).zip(runs).map(repetition).collect(),
                failed: Vec::new(),
                stack: self.model.stack(treatment, setup.servers(), &self.resolved.settings),
            });
        }
        let forecast = Forecast::of(&campaign, &self.model.hardware.description, &costs, &self.asked.differences)
            .map_err(Failure::internal)?;
        Ok(Computed { campaign, forecast, requests })
    }

    /// Every run of every treatment, in order; cores take the next run as they become free.
    fn run_all(&self) -> Result<Vec<Vec<Run>>> {
        let seeds = self.asked.seeds as usize;
        let next = AtomicUsize::new(0);
        let all = self.setups.len() * seeds;
        let work = || {
            let mut done = Vec::new();
            loop {
                let job = next.fetch_add(1, Ordering::Relaxed);
                if job >= all {
                    return done;
                }
                let (treatment, setup) = &self.setups[job / seeds];
                done.push((job, self.run(treatment, setup, job % seeds)));
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(all);
        let done = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
            let joined =
                workers.into_iter().map(|worker| worker.join().map_err(|_| Failure::internal("a run panicked")));
            joined.collect::<Result<Vec<_>>>()
        })?;
        let mut done: Vec<(usize, Result<Run>)> = done.into_iter().flatten().collect();
        done.sort_by_key(|(job, _)| *job);
        let mut done = done.into_iter().map(|(_, run)| run);
        self.setups.iter().map(|_| done.by_ref().take(seeds).collect()).collect()
    }

    fn run(&self, treatment: &Treatment, setup: &Setup, number: usize) -> Result<Run> {
        let outcomes = setup.run(seed(&treatment.name, number)).map_err(Failure::internal)?;
        let warm_up = self.resolved.settings.workload.stages.iter().map(|stage| stage.warm_up);
        let warm_up: Vec<bool> = warm_up.chain(std::iter::repeat(false)).take(outcomes.len()).collect();
        let seconds = outcomes.last().map_or(0.0, |stage| stage.end);
        let stages = (0..).zip(setup.load().stages.iter().zip(&outcomes)).zip(warm_up);
        let stage =
            |((number, (load, outcome)), warm_up)| stages::stage(number, load, outcome, warm_up, &self.workload);
        Ok(Run { stages: stages.map(stage).collect(), seconds })
    }

    fn manifest(&self, id: &str) -> Manifest {
        let settings = &self.resolved.settings;
        let text = |key: &str, value: &str| (Value::from(key), Value::from(value));
        let identity = Mapping::from_iter([
            (Value::from("forecast"), Value::from(true)),
            text("profile", &self.resolved.profile.name),
            text("cluster_provider", &self.resolved.provider.name),
            text("model", &settings.cluster.model),
            text("accelerator_model", &self.model.hardware.description),
            (Value::from("replicas"), Value::from(self.setups[0].1.servers())),
            text("routing_policy", &settings.routing.policy),
            text("workload", &settings.workload.template),
            text("hardware", &self.model.name()),
            text("hardware_sha256", &self.model.sha256),
        ]);
        let provenance = Mapping::from_iter([
            text("testbed_version", env!("CARGO_PKG_VERSION")),
            (Value::from("runs"), Value::from(self.asked.seeds)),
        ]);
        let entry = |(treatment, _): &(&Treatment, Setup)| {
            let repetitions = (1..=self.asked.seeds).map(|run| (run.to_string(), RepetitionEntry::default()));
            let details = [("display_name".to_owned(), treatment.display_name.as_str().into())];
            let entry = TreatmentEntry { repetitions: repetitions.collect(), details: details.into_iter().collect() };
            (treatment.name.clone(), entry)
        };
        Manifest {
            provenance: Some(provenance),
            treatments: self.setups.iter().map(entry).collect(),
            ..Manifest::new(id, identity)
        }
    }
}

/// One run of one treatment.
struct Run {
    stages: Vec<reports::model::Stage>,
    /// From the first stage's start to the last answer.
    seconds: f64,
}

/// A run's seed: treatments draw their own arrivals and placements, as repetitions of a campaign do.
fn seed(treatment: &str, number: usize) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in treatment.bytes().chain(number.to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

/// The routing policy of that name; `default` is what the router's chart deploys.
fn policy(root: &Path, name: &str, hardware: &Hardware) -> Result<Arc<Policy>> {
    let path = root.join("config/routing").join(format!("{name}.yaml"));
    Ok(Arc::new(Policy::read(&path, &hardware.plugin_defaults).map_err(Failure::usage)?))
}

fn setup(hardware: &Hardware, servers: usize, route: Route, shape: &Shape, load: Load, seed: u64) -> Result<Setup> {
    Setup::new(hardware, servers, route, shape, load, seed).map_err(unusable)
}

/// A workload or model that cannot be computed, with what to change.
fn unusable(error: testbed::forecast::Error) -> Failure {
    use testbed::forecast::Error;
    match error {
        Error::Rejected(_) => Failure::usage(error).hint(
            "shorten prompts or answers (workload.data.prefix_tokens, .question_tokens, .input_tokens, .output_tokens), or \
             choose a hardware model with a larger KV cache",
        ),
        Error::Unfinished(_) => Failure::internal(error),
        _ => Failure::usage(error),
    }
}
