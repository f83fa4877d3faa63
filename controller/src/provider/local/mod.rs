//! The local provider: model servers and routers on loopback, simulated and embedded or the user's own, and the real
//! harness.

mod binary;
mod configs;
mod facts;
mod ground;
mod identity;
mod metrics;
mod picker;
mod picks;
mod pinning;
mod proxy;
mod servers;
mod stack;

use std::path::PathBuf;
use std::time::Duration;

use reports::benchmark_report;
use serde_yaml::{Mapping, Value};

use self::facts::warm_up_stages;
use self::ground::Ground;
use self::metrics::Sampler;
use self::pinning::Pinning;
pub(super) use self::pinning::command as on_cores;
pub(super) use self::servers::this_program;
use self::stack::{Real, Stack};
use super::{Facts, Harness, Load, OPEN_LOOP, Provider, Run};
use crate::campaign::CampaignId;
use crate::campaign::identity::sha256;
use crate::evidence::{self, SCRATCH};
use crate::failure::{Failure, Result};
use crate::lifecycle::{Event, Observer};
use crate::process::Session;
use crate::settings::{LocalRouter, Resolved, Treatment};

pub(super) use self::identity::{complete, identity};

/// Runs treatments on this machine.
pub struct Local<'a> {
    root: PathBuf,
    campaign: CampaignId,
    resolved: &'a Resolved,
    session: &'a Session,
    harness: Box<dyn Harness + 'a>,
    ground: Ground,
    picker: Option<PathBuf>,
    pinning: Pinning,
    up: Option<Up>,
}

/// A treatment that is up.
struct Up {
    stack: Stack,
    /// Servers of the user's whose caches could not be emptied.
    warm: Vec<String>,
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
        Self {
            root: root.into(),
            campaign,
            resolved,
            session,
            harness,
            ground: Ground::default(),
            picker: None,
            pinning: Pinning::default(),
            up: None,
        }
    }

    fn treatment(&self, run: Run<'_>) -> Result<&'a Treatment> {
        let found = self.resolved.treatments.iter().find(|treatment| treatment.name == run.cell.treatment);
        found.ok_or_else(|| Failure::internal(format!("treatment {} is not planned", run.cell.treatment)))
    }

    fn plan<'p>(&'p self, run: Run<'p>, treatment: &Treatment) -> Result<stack::Plan<'p>> {
        let settings = &self.resolved.settings;
        let config = servers::configure(&self.root, settings, treatment, &self.ground.addresses())?;
        let real = self.ground.proxies.of(treatment).map(|found| {
            let picks = treatment.local.is_some_and(|local| asks_picker(local.router));
            let picker = self.picker.as_deref().filter(|_| picks).map(|program| {
                let file = picker::Config {
                    servers: Vec::new(),
                    model: settings.cluster.model.clone(),
                    policy: servers::policy(&self.root, settings),
                    hardware: self.ground.backends.is_empty().then(|| config.hardware.clone()),
                    seed: settings.testbed.seed,
                    delay_seconds: servers::delay_seconds(settings, treatment),
                };
                (program, file)
            });
            Real { found, picker, port: settings.proxy.port, mode: treatment.mode }
        });
        Ok(stack::Plan {
            config,
            backends: &self.ground.backends,
            real,
            pinning: &self.pinning,
            scratch: run.work.join(SCRATCH),
            evidence: run.work,
        })
    }

    fn up(&mut self) -> Result<&mut Up> {
        self.up.as_mut().ok_or_else(|| Failure::internal("no treatment is up"))
    }
}

impl Provider for Local<'_> {
    fn name(&self) -> &'static str {
        "local"
    }

    fn prepare(&mut self, observer: &dyn Observer) -> Result<Mapping> {
        self.ground = Ground::survey(self.resolved, self.session)?;
        for what in self.ground.remarks() {
            observer.notify(Event::Preparing { what });
        }
        let asked = |treatment: &Treatment| treatment.local.is_some_and(|local| asks_picker(local.router));
        let real = |treatment: &&Treatment| self.ground.proxies.of(treatment).is_some() && asked(treatment);
        if self.resolved.treatments.iter().any(|treatment| real(&treatment)) {
            let told = || {
                let what = "building the endpoint picker for real proxies, once: this takes a few minutes".to_owned();
                observer.notify(Event::Preparing { what });
            };
            self.picker = Some(picker::program(&self.root, &self.resolved.settings, self.session, told)?);
        }
        let mut provenance = self.harness.prepare(self.session, observer)?;
        if self.resolved.settings.harness.name == OPEN_LOOP {
            // Fractions of a millisecond are lost where components take each other's time.
            self.pinning = Pinning::of_this_machine();
            observer.notify(Event::Preparing { what: self.pinning.said.clone() });
            provenance.insert("cpu_pinning".into(), self.pinning.said.as_str().into());
        }
        for found in self.ground.proxies.all() {
            let version = Value::from(found.version.as_str());
            provenance.insert(format!("{}_version", found.product.name()).into(), version);
            provenance.insert(found.product.name().into(), found.path.display().to_string().into());
        }
        Ok(provenance)
    }

    fn standup(&mut self, run: Run<'_>, observer: &dyn Observer) -> Result<()> {
        let treatment = self.treatment(run)?;
        let plan = self.plan(run, treatment)?;
        let mut document = servers::effective(&plan.config)?;
        if let Some(real) = &plan.real {
            document.insert("proxy".into(), real.found.product.name().into());
            document.insert("proxy_version".into(), real.found.version.as_str().into());
            if real.picker.is_some() {
                let policy = servers::read_document(&servers::policy(&self.root, &self.resolved.settings))?;
                document.insert("picker".into(), policy);
            }
        }
        let configuration = reports::yaml::to_string(&document).map_err(Failure::internal)?;
        fs_err::write(run.work.join("testbed.yaml"), &configuration)?;
        let session = self.session.logging_to(run.work.join("logs"));
        let stack = Stack::start(plan, &session)?;
        self.up = Some(Up { stack, warm: Vec::new(), configuration, sampler: None, load: Mapping::new() });
        let up = self.up()?;
        up.warm = up.stack.cool()?;
        for url in &up.warm {
            let text = format!("{url} offers no way to empty its prefix cache");
            let remedy = "what earlier treatments left in it helps later ones: use --set order=rotated and repetitions";
            observer.notify(Event::Warning { text, remedy: remedy.to_owned() });
        }
        Ok(())
    }

    fn smoketest(&mut self, _run: Run<'_>) -> Result<()> {
        let settings = &self.resolved.settings;
        self.up()?.stack.smoketest(&settings.cluster.model)
    }

    fn load(&mut self, run: Run<'_>, observer: &dyn Observer) -> Result<()> {
        let metrics = &self.resolved.settings.metrics;
        let constant = self.resolved.settings.testbed.first_token_ms.is_some();
        let upstream_errors = constant && self.ground.backends.is_empty();
        let up = self.up.as_mut().ok_or_else(|| Failure::internal("no treatment is up"))?;
        if metrics.runtime {
            let interval = Duration::from_secs_f64(metrics.interval);
            up.sampler = Some(Sampler::start(up.stack.sources(), interval, run.work)?);
        }
        let endpoint = up.stack.endpoint().to_owned();
        let session = self.session.logging_to(run.work.join("logs"));
        let processes = up.stack.processes();
        let load = Load {
            session: &session,
            endpoint: &endpoint,
            work: run.work,
            observer,
            processes: &processes,
            cores: self.pinning.client.as_deref(),
            upstream_errors,
        };
        let outcome = self.harness.run(load);
        // Servers that died explain a failed load better than the load does.
        up.stack.check()?;
        up.load = outcome?;
        Ok(())
    }

    fn collect(&mut self, run: Run<'_>) -> Result<Facts> {
        let treatment = self.treatment(run)?;
        let settings = &self.resolved.settings;
        let ground = self.ground.clone();
        let up = self.up()?;
        let pages = up.sampler.take().map(Sampler::finish).transpose()?;
        let config_sha256 = sha256(&up.configuration);
        let mut repetition = Mapping::new();
        repetition.insert("config_sha256".into(), config_sha256.into());
        repetition.insert("simulated".into(), ground.backends.is_empty().into());
        repetition.insert("gateway".into(), facts::gateway(treatment, &ground).into());
        if !ground.backends.is_empty() {
            repetition.insert("prefix_caches_emptied".into(), up.warm.is_empty().into());
        }
        repetition.extend(std::mem::take(&mut up.load));
        let servers = pages.iter().filter_map(|pages| pages.get("router")).flat_map(|page| picks::per_server(page));
        repetition.insert("servers".into(), Value::Sequence(servers.collect()));
        let configuration = serde_yaml::from_str(&up.configuration).map_err(Failure::internal)?;
        let context = benchmark_report::Context {
            campaign_id: self.campaign.to_string(),
            treatment: run.cell.treatment.clone(),
            repetition: run.cell.repetition,
            harness_version: identity::harness_version(settings),
            stack: facts::stack(treatment, settings, &ground, &configuration),
            warm_up_stages: warm_up_stages(settings),
        };
        evidence::convert(run.work, &context)?;
        Ok(Facts { treatment: facts::details(treatment), repetition })
    }

    fn teardown(&mut self, _run: Run<'_>) -> Result<()> {
        self.up.take().map_or(Ok(()), |up| up.stack.stop())
    }
}

/// Whether the proxy asks an endpoint picker.
fn asks_picker(router: LocalRouter) -> bool {
    matches!(router, LocalRouter::Sidecar | LocalRouter::Gateway)
}
