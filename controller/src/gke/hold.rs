//! GPU nodes around each run: taken before it when asked to, given back when the policy says so.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use serde_yaml::Mapping;

use super::gpu::Gpus;
use super::site::Site;
use crate::cluster::object::{items, name};
use crate::cluster::{Error, Kubectl};
use crate::failure::{Failure, Kind, Result};
use crate::lifecycle::{Event, Observer};
use crate::provider::{Facts, Provider, Release, Run, Told};
use crate::render::names::namespace;
use crate::settings::GpuRelease;

/// The file that says when and why GPU nodes were given back, among a repetition's evidence.
pub const FILE: &str = "gpu-release.yaml";
/// Workloads that can be scaled to zero.
const WORKLOADS: [&str; 2] = ["deployments", "statefulsets"];

/// What is held, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// When nodes are given back.
    pub policy: GpuRelease,
    /// Whether they are taken before each run; otherwise somebody else has taken them.
    pub take: bool,
}

/// The run that is going on, for whoever watches its load.
#[derive(Debug, Default)]
struct Current(Mutex<Option<(String, PathBuf)>>);

impl Current {
    fn set(&self, run: Option<(String, PathBuf)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = run;
    }

    fn get(&self) -> Option<(String, PathBuf)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Gives GPU nodes back as soon as the last request of a load has ended.
#[derive(Debug)]
pub struct AfterLoad {
    site: Site,
    policy: GpuRelease,
    current: Arc<Current>,
}

impl Release for AfterLoad {
    fn load_ended(&self, cluster: &Kubectl, told: Told) -> Result<()> {
        let Some((namespace, work)) = self.current.get().filter(|_| self.policy == GpuRelease::AfterLoad) else {
            return Ok(());
        };
        let mut record = Record::new(self.policy, told);
        // Servers that still run would keep their nodes busy with draining; without them the resize is quick.
        match scale_down(cluster, &namespace) {
            Ok(scaled) => record.scaled_to_zero = scaled,
            Err(error) => record.not_scaled = Some(error.to_string()),
        }
        give_back(&self.site, &mut record)?;
        record.write(&work)
    }
}

/// What is written into [`FILE`].
#[derive(Debug, Serialize)]
struct Record {
    policy: GpuRelease,
    source: Told,
    traffic_complete: Timestamp,
    scaled_to_zero: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_scaled: Option<String>,
    /// When no node and no instance was left to be seen.
    released: Option<Timestamp>,
    seconds: Option<f64>,
}

impl Record {
    fn new(policy: GpuRelease, source: Told) -> Self {
        Self {
            policy,
            source,
            traffic_complete: Timestamp::now(),
            scaled_to_zero: Vec::new(),
            not_scaled: None,
            released: None,
            seconds: None,
        }
    }

    fn write(&self, work: &Path) -> Result<()> {
        let text = serde_saphyr::to_string(self).map_err(Failure::internal)?;
        Ok(fs_err::write(work.join(FILE), text)?)
    }
}

fn give_back(site: &Site, record: &mut Record) -> Result<()> {
    Gpus::new(site).down(&|_| {})?;
    let now = Timestamp::now();
    record.seconds = Some((now.duration_since(record.traffic_complete).as_secs_f64() * 10.0).round() / 10.0);
    record.released = Some(now);
    Ok(())
}

/// Scales every workload that asks for GPUs to zero; returns their names.
fn scale_down(kubectl: &Kubectl, namespace: &str) -> Result<Vec<String>, Error> {
    let here = format!("--namespace={namespace}");
    let mut scaled = Vec::new();
    for kind in WORKLOADS {
        let all = kubectl.list(kind, &[&here])?;
        for workload in all.iter().filter(|workload| wants_gpus(workload)) {
            let which = format!("{kind}/{}", name(workload));
            let words = ["scale", &which, "--replicas=0", &here];
            kubectl.command("scale to zero", &words).run(kubectl.session())?;
            scaled.push(which);
        }
    }
    Ok(scaled)
}

fn wants_gpus(workload: &Value) -> bool {
    items(workload, "/spec/template/spec/containers")
        .iter()
        .any(|container| container.pointer("/resources/limits/nvidia.com~1gpu").is_some_and(|count| *count != "0"))
}

/// A provider whose runs have GPU nodes on these terms.
pub struct Hold<'a> {
    inner: Box<dyn Provider + 'a>,
    site: Site,
    terms: Terms,
    campaign: String,
    current: Arc<Current>,
}

impl<'a> Hold<'a> {
    /// Puts the terms around the provider that `inner` makes of its release.
    pub fn new(
        site: Site,
        terms: Terms,
        campaign: &str,
        inner: impl FnOnce(AfterLoad) -> Box<dyn Provider + 'a>,
    ) -> Self {
        let current = Arc::default();
        let session = site.session().clone();
        let release = AfterLoad { site: site.within(&session), policy: terms.policy, current: Arc::clone(&current) };
        Self { inner: inner(release), site, terms, campaign: campaign.to_owned(), current }
    }
}

impl Provider for Hold<'_> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn prepare(&mut self, observer: &dyn Observer) -> Result<Mapping> {
        self.inner.prepare(observer)
    }

    fn standup(&mut self, run: Run<'_>, observer: &dyn Observer) -> Result<()> {
        if self.terms.take {
            // Nodes that are there already are no news to gcloud: the resize is idempotent.
            Gpus::new(&self.site).up(&|what| observer.notify(Event::Preparing { what: what.to_owned() }))?;
        }
        self.inner.standup(run, observer)
    }

    fn smoketest(&mut self, run: Run<'_>) -> Result<()> {
        self.inner.smoketest(run)
    }

    fn load(&mut self, run: Run<'_>, observer: &dyn Observer) -> Result<()> {
        let namespace = namespace(&self.campaign, &run.cell.treatment, run.cell.repetition);
        self.current.set(Some((namespace, run.work.to_owned())));
        let loaded = self.inner.load(run, observer);
        self.current.set(None);
        loaded
    }

    fn collect(&mut self, run: Run<'_>) -> Result<Facts> {
        let mut facts = self.inner.collect(run)?;
        let policy = serde_yaml::to_value(self.terms.policy).map_err(Failure::internal)?;
        let pool = self.site.target().gpu.nodepool.clone();
        let release = [("policy".into(), policy), ("node_pool".into(), pool.into())].into_iter().collect::<Mapping>();
        facts.repetition.insert("gpu_release".into(), release.into());
        Ok(facts)
    }

    fn teardown(&mut self, run: Run<'_>) -> Result<()> {
        let removed = self.inner.teardown(run);
        if self.terms.policy == GpuRelease::Never {
            return removed;
        }
        let given_back = if run.work.join(FILE).is_file() {
            // Given back after the load; seen once more, since only now nothing wants them any more.
            Gpus::new(&self.site).down(&|_| {}).map(drop)
        } else {
            let mut record = Record::new(self.terms.policy, Told::RunEnd);
            give_back(&self.site, &mut record).and_then(|()| record.write(run.work))
        };
        match (removed, given_back) {
            (removed, Ok(())) => removed,
            (Ok(()), Err(failure)) => Err(failure),
            (Err(removed), Err(held)) => Err(Failure::new(Kind::Cleanup, Both(held, removed.to_string()))),
        }
    }
}

/// Nodes that are still held, and a treatment that is still there.
#[derive(Debug, thiserror::Error)]
#[error("{0}; and {1}")]
struct Both(Failure, String);
