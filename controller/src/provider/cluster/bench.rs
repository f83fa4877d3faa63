//! llm-d-benchmark's program, told what to do for a cell.

use std::path::Path;
use std::time::Duration;

use secrecy::SecretString;
use serde_yaml::{Mapping, Value};

use super::Campaign;
use super::cell::Up;
use super::token;
use crate::cluster::Kubectl;
use crate::failure::{Failure, Kind, Result};
use crate::harness::python;
use crate::lifecycle::{Event, Observer};
use crate::process::{Command, Finished};
use crate::render::Step;
use crate::upstream::{self, Checkout, Environment};

/// Rendering manifests takes seconds; a first look at a model's size needs the network.
const PLAN: Duration = Duration::from_secs(600);
/// What standup does besides the two things that have deadlines of their own: charts, gateways, volumes.
const STANDUP_BESIDES: f64 = 1800.0;
const SMOKETEST: Duration = Duration::from_secs(900);
const TEARDOWN: Duration = Duration::from_secs(1800);
/// What a run does besides its load: the harness's pod starts, reports are written, some GB are collected.
const RUN_BESIDES: f64 = 7200.0;
/// Between asking it to end and killing it: it passes the signal on to what it has started.
const GRACE: Duration = Duration::from_secs(20);

/// The installed program, with all it needs to know.
pub(super) struct Bench {
    checkout: Checkout,
    environment: Environment,
    token: Option<SecretString>,
}

impl Bench {
    /// Fetches the checkout, installs it, and has the Hugging Face token ready.
    ///
    /// # Errors
    /// When one of them cannot be had.
    pub(super) fn prepare(campaign: &Campaign<'_>, observer: &dyn Observer) -> Result<Self> {
        let settings = &campaign.resolved.settings;
        let tell = |what: String| observer.notify(Event::Preparing { what });
        tell(format!("fetching llm-d-benchmark {}", settings.pins.llm_d_benchmark));
        let spec = upstream::Spec::of(settings, upstream::cache_folder());
        let checkout = upstream::sync(campaign.session, &spec).map_err(Failure::from)?;
        for text in &checkout.warnings {
            let remedy = "give no --llm-d-benchmark-dir to use the pinned one".to_owned();
            observer.notify(Event::Warning { text: text.clone(), remedy });
        }
        let request = upstream::Request {
            checkout: checkout.clone(),
            planner: settings.upstream.planner.clone(),
            python: python::Request {
                version: settings.pins.inference_perf.clone(),
                requirements: campaign.root.join("config/requirements"),
                python: settings.harness.python.clone(),
                cache: python::cache_folder(),
            },
        };
        let mut told = String::new();
        let environment = Environment::prepare(campaign.session, &request, &mut |what| {
            if what != told {
                told.clone_from(&what);
                tell(what);
            }
        })?;
        Ok(Self { checkout, environment, token: settings.secrets.hf_token.clone() })
    }

    /// The checkout's folder.
    pub(super) fn checkout(&self) -> &Path {
        &self.checkout.folder
    }

    /// What the manifest records: commit, versions, everything that is installed.
    pub(super) fn provenance(&self) -> Result<Mapping> {
        let record = serde_yaml::to_value(self.environment.record()).map_err(Failure::internal)?;
        let checkout = Mapping::from_iter([
            (Value::from("commit"), Value::from(self.checkout.commit.as_str())),
            (Value::from("revision"), Value::from(self.checkout.revision.as_str())),
            (Value::from("callers_checkout"), Value::from(self.checkout.callers)),
            (Value::from("environment"), record),
        ]);
        Ok(Mapping::from_iter([(Value::from("llm_d_benchmark"), Value::Mapping(checkout))]))
    }

    /// Without a token in the environment, takes the one that the cluster keeps in the configured Secret.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub(super) fn find_token(&mut self, kubectl: &Kubectl, campaign: &Campaign<'_>) -> Result<()> {
        if self.token.is_none() {
            self.token = token::from_cluster(kubectl, &campaign.resolved.settings.cluster)?;
        }
        if let Some(token) = &self.token {
            campaign.session.redactor().add(token);
        }
        Ok(())
    }

    /// Renders all manifests, and believes only the ones it finds.
    ///
    /// # Errors
    /// When it does not render, or says that it met errors.
    pub(super) fn plan(&self, up: &Up<'_>) -> Result<()> {
        let step = up.steps().plan();
        let finished = self.execute(up, &up.kubectl, &step, PLAN)?;
        let said = format!("{}\n{}", finished.stdout_tail, finished.stderr_tail);
        let failed = said.lines().find(|line| line.contains("Errors: ") && !line.contains("Errors: 0"));
        match failed {
            None => Ok(()),
            Some(line) => Err(Failure::measurement(format!("llm-d-benchmark could not render the treatment: {line}"))
                .hint(format!("read {}", up.work.join("logs").display()))),
        }
    }

    /// Deploys.
    ///
    /// # Errors
    /// When it does not become ready in its time.
    pub(super) fn standup(&self, up: &Up<'_>) -> Result<()> {
        let timeouts = &up.resolved.settings.timeouts;
        let limit = timeouts.data_access + timeouts.modelservice_deploy + STANDUP_BESIDES;
        self.execute(up, &up.kubectl, &up.steps().standup(), Duration::from_secs_f64(limit)).map(drop)
    }

    /// Sends one small request.
    ///
    /// # Errors
    /// When there is no answer.
    pub(super) fn smoketest(&self, up: &Up<'_>) -> Result<()> {
        self.execute(up, &up.kubectl, &up.steps().smoketest(), SMOKETEST).map(drop)
    }

    /// Runs the load to its end.
    ///
    /// # Errors
    /// When it fails or takes far longer than it can.
    pub(super) fn run(&self, up: &Up<'_>) -> Result<()> {
        let workload = &up.resolved.settings.workload;
        let drained = workload.stages.len() as f64 * workload.request_timeout;
        let limit = Duration::from_secs_f64(workload.seconds() + drained + RUN_BESIDES);
        self.execute(up, &up.kubectl, &up.steps().run(up.endpoint.as_deref()), limit).map(drop)
    }

    /// Removes what standup made.
    ///
    /// # Errors
    /// When it says that it could not; the caller looks for itself.
    pub(super) fn teardown(&self, up: &Up<'_>, kubectl: &Kubectl) -> Result<()> {
        self.execute(up, kubectl, &up.steps().teardown(), TEARDOWN).map(drop)
    }

    fn execute(&self, up: &Up<'_>, kubectl: &Kubectl, step: &Step, limit: Duration) -> Result<Finished> {
        let command = self.environment.command(step.name, kubectl.kubeconfig()).args(step.argv.iter().skip(1));
        let command = self.with_token(command).folder(&up.checkout).timeout(limit).grace(GRACE);
        command.run(kubectl.session()).map_err(|error| error.failure(Kind::Measurement))
    }

    /// llm-d-benchmark takes the token from its environment and makes a Secret of it in the namespace.
    fn with_token(&self, command: Command) -> Command {
        match &self.token {
            Some(token) => command.secret_env("HF_TOKEN", token),
            None => command,
        }
    }
}
