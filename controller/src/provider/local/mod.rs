//! The local provider: simulated model servers and routers on loopback, and the real harness.

mod http;
mod metrics;
mod picks;
mod servers;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use reports::benchmark_report::{self, Part};
use reports::model::{Accelerator, Component, Parallelism, Stack};
use serde_yaml::{Mapping, Value};

use self::metrics::Sampler;
use self::servers::Servers;
use super::inference_perf::unplaced;
use super::{Facts, Harness, Load, Provider, Run};
use crate::campaign::identity::sha256;
use crate::campaign::{CampaignId, Identity};
use crate::evidence::{self, SCRATCH};
use crate::failure::{Failure, Result};
use crate::lifecycle::Observer;
use crate::process::Session;
use crate::settings::{Resolved, Settings, Treatment};

/// What the simulated servers run on, in the words of the earlier workflow.
const ACCELERATOR: &str = "sim";

/// The name under which documents list everything that is simulated.
const TOOL: &str = Stack::SIMULATED_TOOL;

/// Runs treatments on this machine.
pub struct Local<'a> {
    root: PathBuf,
    campaign: CampaignId,
    resolved: &'a Resolved,
    session: &'a Session,
    harness: Box<dyn Harness + 'a>,
    up: Option<Up>,
}

/// A treatment that is up.
struct Up {
    servers: Servers,
    configuration: String,
    sampler: Option<Sampler>,
    load: Mapping,
}

impl<'a> Local<'a> {
    /// A provider for the workspace at `root`; its programs are recorded in `session`.
    pub fn new(
        root: impl Into<PathBuf>,
        campaign: CampaignId,
        resolved: &'a Resolved,
        session: &'a Session,
        harness: Box<dyn Harness + 'a>,
    ) -> Self {
        Self { root: root.into(), campaign, resolved, session, harness, up: None }
    }

    fn treatment(&self, run: Run<'_>) -> Result<&'a Treatment> {
        let found = self.resolved.treatments.iter().find(|treatment| treatment.name == run.cell.treatment);
        found.ok_or_else(|| Failure::internal(format!("treatment {} is not planned", run.cell.treatment)))
    }

    fn up(&mut self) -> Result<&mut Up> {
        self.up.as_mut().ok_or_else(|| Failure::internal("no treatment is up"))
    }
}

/// Checks that every treatment can be configured, before any of them is started.
///
/// # Errors
/// Usage failures, as `testbed serve` would give them.
pub(super) fn identity(root: &std::path::Path, resolved: &Resolved) -> Result<Identity> {
    let settings = &resolved.settings;
    let workload = unplaced(root, settings)?.to_yaml()?;
    for treatment in &resolved.treatments {
        let config = servers::configure(root, settings, treatment)?;
        let hardware = testbed::config::Hardware::read(&config.hardware).map_err(Failure::usage)?;
        if let Some(policy) = &config.router.policy {
            testbed::config::Policy::read(policy, &hardware.plugin_defaults).map_err(Failure::usage)?;
        }
    }
    let hardware = root.join("config/hardware").join(format!("{}.yaml", settings.testbed.hardware));
    let policy = root.join("config/routing").join(format!("{}.yaml", settings.routing.policy));
    let identity = Identity::new()
        .with("scenario", &settings.scenario)?
        .with("cluster_provider", &resolved.provider.name)?
        .with("simulated", true)?
        .with("accelerator_type", ACCELERATOR)?
        .with("accelerator_model", &settings.testbed.hardware)?
        .with("backend_type", TOOL)?
        .with("testbed_version", env!("CARGO_PKG_VERSION"))?
        .with("model", &settings.cluster.model)?
        .with("replicas", settings.testbed.servers)?
        .with("routing_policy", &settings.routing.policy)?
        .with("harness", &settings.harness.name)?
        .with("harness_version", &settings.pins.inference_perf)?
        .with("workload", &settings.workload.template)?
        .with("workload_variant", settings.workload.variant)?
        .with("warm_up_stages", warm_up_stages(settings))?
        .with_hash("workload", workload)
        .with_hash("hardware", fs_err::read(hardware).map_err(Failure::usage)?);
    // A policy only says something about campaigns in which a picker reads it.
    if policy.is_file() { Ok(identity.with_hash("routing_policy", fs_err::read(policy)?)) } else { Ok(identity) }
}

impl Provider for Local<'_> {
    fn name(&self) -> &'static str {
        "local"
    }

    fn prepare(&mut self, observer: &dyn Observer) -> Result<Mapping> {
        self.harness.prepare(self.session, observer)
    }

    fn standup(&mut self, run: Run<'_>, _observer: &dyn Observer) -> Result<()> {
        let config = servers::configure(&self.root, &self.resolved.settings, self.treatment(run)?)?;
        let configuration = reports::yaml::to_string(&servers::effective(&config)?).map_err(Failure::internal)?;
        fs_err::write(run.work.join("testbed.yaml"), &configuration)?;
        let session = self.session.logging_to(run.work.join("logs"));
        let servers = Servers::start(&config, &run.work.join(SCRATCH), &session)?;
        self.up = Some(Up { servers, configuration, sampler: None, load: Mapping::new() });
        Ok(())
    }

    fn smoketest(&mut self, _run: Run<'_>) -> Result<()> {
        let model = self.resolved.settings.cluster.model.clone();
        self.up()?.servers.smoketest(&model)
    }

    fn load(&mut self, run: Run<'_>, observer: &dyn Observer) -> Result<()> {
        let metrics = &self.resolved.settings.metrics;
        let up = self.up.as_mut().ok_or_else(|| Failure::internal("no treatment is up"))?;
        if metrics.runtime {
            let interval = Duration::from_secs_f64(metrics.interval);
            up.sampler = Some(Sampler::start(up.servers.sources(), interval, run.work)?);
        }
        let endpoint = up.servers.endpoint()?.to_owned();
        let session = self.session.logging_to(run.work.join("logs"));
        let load = Load { session: &session, endpoint: &endpoint, work: run.work, observer };
        let outcome = self.harness.run(load);
        // Servers that died explain a failed load better than the load does.
        up.servers.check()?;
        up.load = outcome?;
        Ok(())
    }

    fn collect(&mut self, run: Run<'_>) -> Result<Facts> {
        let treatment = self.treatment(run)?;
        let settings = &self.resolved.settings;
        let up = self.up()?;
        let pages = up.sampler.take().map(Sampler::finish).transpose()?;
        let config_sha256 = sha256(&up.configuration);
        let gateway: Mapping = [
            ("implementation", treatment.implementation.as_str()),
            ("mode", treatment.mode.as_str()),
            ("image", TOOL),
            ("version", env!("CARGO_PKG_VERSION")),
        ]
        .into_iter()
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
        let mut repetition = Mapping::new();
        repetition.insert("config_sha256".into(), config_sha256.into());
        repetition.insert("simulated".into(), true.into());
        repetition.insert("gateway".into(), gateway.into());
        repetition.extend(std::mem::take(&mut up.load));
        let servers = pages.iter().filter_map(|pages| pages.get("router")).flat_map(|page| picks::per_server(page));
        repetition.insert("servers".into(), Value::Sequence(servers.collect()));
        let configuration = serde_yaml::from_str(&up.configuration).map_err(Failure::internal)?;
        let context = benchmark_report::Context {
            campaign_id: self.campaign.to_string(),
            treatment: run.cell.treatment.clone(),
            repetition: run.cell.repetition,
            harness_version: settings.pins.inference_perf.clone(),
            stack: stack(treatment, settings, &configuration),
            warm_up_stages: warm_up_stages(settings),
        };
        evidence::convert(run.work, &context)?;
        Ok(Facts { treatment: details(treatment), repetition })
    }

    fn teardown(&mut self, _run: Run<'_>) -> Result<()> {
        self.up.take().map_or(Ok(()), |up| up.servers.stop())
    }
}

/// What the manifest says about a treatment.
fn details(treatment: &Treatment) -> Mapping {
    let path: Vec<Value> = treatment.request_path.iter().map(|part| part.as_str().into()).collect();
    [
        ("display_name", Value::from(treatment.display_name.as_str())),
        ("summary", Value::from(treatment.summary.as_str())),
        ("request_path", Value::Sequence(path)),
    ]
    .into_iter()
    .map(|(key, value)| (key.into(), value))
    .collect()
}

/// The stages declared as warm-up, by number from 0.
fn warm_up_stages(settings: &Settings) -> BTreeSet<u32> {
    (0..).zip(&settings.workload.stages).filter(|(_, stage)| stage.warm_up).map(|(number, _)| number).collect()
}

/// What stood between the client and the simulated accelerators.
fn stack(treatment: &Treatment, settings: &Settings, configuration: &Value) -> Vec<Part> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let engine = Component {
        label: "model-servers".into(),
        kind: "inference_engine".into(),
        tool: TOOL.into(),
        tool_version: version.clone(),
        cfg_id: None,
        role: Some("replica".into()),
        replicas: Some(settings.testbed.servers.into()),
        model: Some(settings.cluster.model.clone()),
        accelerator: Some(Accelerator {
            model: format!("simulated {}", settings.testbed.hardware),
            count: Some(settings.testbed.servers.into()),
            parallelism: Parallelism { tp: Some(1), ..Parallelism::default() },
        }),
    };
    let router = Component {
        label: treatment.name.clone(),
        kind: "generic".into(),
        tool: TOOL.into(),
        tool_version: version,
        ..Component::default()
    };
    vec![
        Part { component: engine, description: None, config: configuration.get("hardware").cloned() },
        Part {
            component: router,
            description: Some(treatment.summary.clone()),
            config: configuration.get("router").cloned(),
        },
    ]
}
