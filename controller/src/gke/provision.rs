//! The cluster and its pools, made where they are missing, and the record of what there is.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::examine::{Action, Examined, examine};
use super::gcloud::{Gcloud, PACE};
use super::leftover::Leftovers;
use super::open::FOLDER;
use super::state;
use super::target::Target;
use crate::cluster::object::{items, text};
use crate::cluster::{Seen, until};
use crate::failure::{Failure, Kind, Result};

/// What was seen of the infrastructure, written beside the results and read by people and CI.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// When it was seen, UTC.
    pub observed: Timestamp,
    /// Project.
    pub project: String,
    /// Zone.
    pub zone: String,
    /// Cluster.
    pub cluster: String,
    /// Context.
    pub context: String,
    /// Version of the control plane.
    pub version: String,
    /// Labels.
    pub labels: Value,
    /// The pools.
    pub pools: Vec<PoolRecord>,
}

/// A pool as it was seen.
#[derive(Clone, Debug, Serialize)]
pub struct PoolRecord {
    /// Name.
    pub name: String,
    /// Machine type.
    pub machine_type: String,
    /// Accelerators of a node: `2 x nvidia-h100-80gb`; none for plain nodes.
    pub accelerators: Option<String>,
    /// Spot nodes.
    pub spot: bool,
    /// Service account.
    pub service_account: String,
    /// Instance groups.
    pub groups: Vec<String>,
}

impl Record {
    /// What this description of a cluster says.
    pub fn of(target: &Target, cluster: &Value, observed: Timestamp) -> Self {
        Self {
            observed,
            project: target.project.clone(),
            zone: target.zone.clone(),
            cluster: target.cluster.clone(),
            context: target.context(),
            version: text(cluster, "/currentMasterVersion").to_owned(),
            labels: cluster["resourceLabels"].clone(),
            pools: items(cluster, "/nodePools").iter().map(PoolRecord::of).collect(),
        }
    }

    /// Writes it to `<results>/_gke/<context>.yaml`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, results: &Path) -> Result<PathBuf> {
        let path = results.join(FOLDER).join(format!("{}.yaml", self.context));
        let text = serde_saphyr::to_string(self).map_err(Failure::internal)?;
        fs_err::create_dir_all(results.join(FOLDER))?;
        let beside = path.with_extension("yaml.new");
        fs_err::write(&beside, text)?;
        fs_err::rename(&beside, &path)?;
        Ok(path)
    }

    /// The variables with which `benchmark` finds this cluster.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("BENCHMARK_CLUSTER_PROVIDER", "gke".to_owned()),
            ("BENCHMARK_GKE_PROJECT", self.project.clone()),
            ("BENCHMARK_GKE_LOCATION", self.zone.clone()),
            ("BENCHMARK_GKE_CLUSTER", self.cluster.clone()),
            ("BENCHMARK_KUBE_CONTEXT", self.context.clone()),
        ]
    }
}

impl PoolRecord {
    fn of(pool: &Value) -> Self {
        let accelerator = text(pool, "/config/accelerators/0/acceleratorType");
        let count = text(pool, "/config/accelerators/0/acceleratorCount");
        Self {
            name: text(pool, "/name").to_owned(),
            machine_type: text(pool, "/config/machineType").to_owned(),
            accelerators: (!accelerator.is_empty()).then(|| format!("{count} x {accelerator}")),
            spot: pool.pointer("/config/spot").and_then(Value::as_bool).unwrap_or(false),
            service_account: text(pool, "/config/serviceAccount").to_owned(),
            groups: state::groups(pool),
        }
    }
}

/// Makes what is missing and verifies what is there. Nothing happens to a cluster that is as it should be.
///
/// # Errors
/// Usage failures before anything is changed; afterwards a cleanup failure that names what bills from then on, because a
/// cluster that was begun may be there.
pub fn provision(gcloud: &Gcloud, tell: &dyn Fn(&str)) -> Result<Record> {
    let examined = examine(gcloud)?;
    examined.accept()?;
    if let Err(failure) = make(gcloud, &examined, tell) {
        return Err(unfinished(gcloud.target(), &examined, failure));
    }
    verify(gcloud).map_err(|failure| match examined.actions.is_empty() {
        true => failure,
        false => unfinished(gcloud.target(), &examined, failure),
    })
}

fn make(gcloud: &Gcloud, examined: &Examined, tell: &dyn Fn(&str)) -> Result<()> {
    let limit = gcloud.target().deadlines.provision;
    for action in &examined.actions {
        gcloud.session().check()?;
        tell(&action.to_string());
        gcloud.change(&action.words(gcloud), limit).map_err(|error| error.failure(Kind::Internal))?;
        if *action == Action::CreateCluster {
            until(gcloud.session(), "the cluster", limit, PACE, || {
                Ok(match gcloud.cluster()?.map(|cluster| text(&cluster, "/status").to_owned()).as_deref() {
                    Some("RUNNING" | "RECONCILING") => Seen::Done(()),
                    Some(status) => Seen::NotYet(format!("it is {status}")),
                    None => Seen::NotYet("it is not there".to_owned()),
                })
            })
            .map_err(|error| error.failure(Kind::Internal))?;
        }
    }
    Ok(())
}

/// Verifies that everything is as wanted, without changing anything.
///
/// # Errors
/// A usage failure that names what is missing or different.
pub fn verify(gcloud: &Gcloud) -> Result<Record> {
    let examined = examine(gcloud)?;
    examined.accept()?;
    match (&examined.cluster, examined.actions.is_empty()) {
        (Some(cluster), true) => Ok(Record::of(gcloud.target(), cluster, Timestamp::now())),
        _ => {
            let open: Vec<String> = examined.actions.iter().map(ToString::to_string).collect();
            Err(Failure::usage(format!("the cluster {} is not complete: {}", gcloud.target().cluster, open.join(", ")))
                .hint("make it so: cargo xtask gke provision"))
        }
    }
}

/// A provisioning that did not come to its end: what was begun may be there.
fn unfinished(target: &Target, examined: &Examined, failure: Failure) -> Failure {
    let mut left = Leftovers::default();
    let new = examined.cluster.is_none();
    let what = if new { "made only in part" } else { "there, with changes half made" };
    left.add(format!("cluster {} in {} of project {}", target.cluster, target.zone, target.project), what);
    let hints = failure.hints.clone();
    let mut all = Failure::new(Kind::Cleanup, Unfinished { left, failure })
        .hint("go on: cargo xtask gke provision; it finishes what was begun");
    if new {
        all = all.hint("or give it up: cargo xtask gke destroy --set gke.allow_destroy=true");
    }
    all.hints.extend(hints);
    all
}

/// What may be there, and why it came so.
#[derive(Debug, thiserror::Error)]
#[error("provisioning did not come to its end; {left}")]
struct Unfinished {
    left: Leftovers,
    #[source]
    failure: Failure,
}
