//! Treatments in a Kubernetes cluster, through llm-d-benchmark: on Kind, an existing context, or GKE.
//!
//! Each cell has a namespace of its own, marked with its campaign. llm-d-benchmark deploys, drives and removes the
//! treatment; everything it claims is looked at in the cluster before it is believed.

mod agentgateway;
mod bench;
mod cell;
mod collector;
mod endpoint;
mod identity;
mod inventory;
pub(crate) mod kind;
mod namespace;
mod preflight;
mod results;
mod stack;
mod teardown;
mod token;
mod traffic;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_yaml::Mapping;

use self::bench::Bench;
use self::cell::Up;
pub use self::identity::identity;
pub use self::preflight::preflight;
pub use self::traffic::{Keep, Release, Told};
use super::{Facts, Provider, Run};
use crate::campaign::{CampaignId, Cell};
use crate::cluster::{Kubeconfig, Kubectl};
use crate::failure::{Failure, Kind, Result};
use crate::gke::{Site, Target};
use crate::lifecycle::{Event, Observer};
use crate::process::Session;
use crate::render;
use crate::settings::{ConfigTree, Place, Resolved, Treatment};

/// What a cluster campaign is made of.
pub struct Campaign<'a> {
    /// The workspace.
    pub root: PathBuf,
    /// The campaign.
    pub id: CampaignId,
    /// Its settings.
    pub resolved: &'a Resolved,
    /// Where its programs are recorded.
    pub session: &'a Session,
    /// A folder for what only this run may see: the kubeconfig.
    pub private: PathBuf,
    /// Its last cell: the one whose deployment `--keep` leaves in place.
    pub last: Option<Cell>,
}

/// Runs treatments in a cluster.
pub struct Cluster<'a> {
    campaign: Campaign<'a>,
    release: Box<dyn Release + 'a>,
    ready: Option<Ready>,
    up: Option<Up<'a>>,
    /// The hash of what must be the same in all treatments, once a treatment was rendered.
    invariant: Option<String>,
}

/// What all cells share.
struct Ready {
    tree: ConfigTree,
    kubectl: Kubectl,
    bench: Bench,
    workload: String,
    /// Images that the Kind cluster has been given.
    loaded: BTreeSet<String>,
}

impl<'a> Cluster<'a> {
    /// A provider for a campaign; `release` is told when the load of a cell has ended.
    pub fn new(campaign: Campaign<'a>, release: Box<dyn Release + 'a>) -> Self {
        Self { campaign, release, ready: None, up: None, invariant: None }
    }

    fn treatment(&self, run: Run<'_>) -> Result<&'a Treatment> {
        let found = self.campaign.resolved.treatments.iter().find(|treatment| treatment.name == run.cell.treatment);
        found.ok_or_else(|| Failure::internal(format!("treatment {} is not planned", run.cell.treatment)))
    }

    /// A cluster that can be asked, made when it is a Kind cluster that is not there.
    fn reach(&self, observer: &dyn Observer) -> Result<Kubectl> {
        let Campaign { resolved, session, private, .. } = &self.campaign;
        let kubeconfig = match resolved.provider.place {
            Place::Kind => kind::ensure(session, &resolved.settings.cluster.name, private, observer)?,
            // Its credentials come from gcloud: the user's kubeconfig need not know the cluster.
            Place::Gke => return Ok(Site::new(session, &Target::new(resolved)?, private).kubectl()?),
            Place::Kube | Place::Local => {
                Kubeconfig::private(session, resolved.settings.cluster.context.as_deref(), private)
                    .map_err(|error| error.failure(Kind::Usage))?
            }
        };
        Ok(Kubectl::new(session, kubeconfig))
    }
}

impl Provider for Cluster<'_> {
    fn name(&self) -> &'static str {
        match self.campaign.resolved.provider.place {
            Place::Gke => "gke",
            Place::Kind => "kind",
            _ => "kube",
        }
    }

    fn prepare(&mut self, observer: &dyn Observer) -> Result<Mapping> {
        let tree = ConfigTree::open(&self.campaign.root);
        let bench = Bench::prepare(&self.campaign, observer)?;
        let workload = render::workload(&tree, self.campaign.resolved)?;
        observer.notify(Event::Preparing { what: "reaching the cluster".to_owned() });
        let kubectl = self.reach(observer)?;
        let mut provenance = bench.provenance()?;
        provenance.insert("cluster".into(), inventory::cluster(&kubectl)?.into());
        self.ready = Some(Ready { tree, kubectl, bench, workload, loaded: BTreeSet::new() });
        Ok(provenance)
    }

    fn standup(&mut self, run: Run<'_>, observer: &dyn Observer) -> Result<()> {
        self.stand_up(run, observer)
    }

    fn smoketest(&mut self, _run: Run<'_>) -> Result<()> {
        let (ready, up) = both(&mut self.ready, &mut self.up)?;
        ready.bench.smoketest(up)
    }

    fn load(&mut self, run: Run<'_>, observer: &dyn Observer) -> Result<()> {
        self.load_up(run, observer)
    }

    fn collect(&mut self, run: Run<'_>) -> Result<Facts> {
        let (_, up) = both(&mut self.ready, &mut self.up)?;
        results::publishable(&self.campaign, up, run)
    }

    fn teardown(&mut self, run: Run<'_>) -> Result<()> {
        let Some(up) = self.up.take().filter(Up::is_ours) else { return Ok(()) };
        let ready = self.ready.as_ref().ok_or_else(|| Failure::internal("nothing was prepared"))?;
        if self.campaign.resolved.settings.keep && self.campaign.last.as_ref() == Some(run.cell) {
            return Ok(());
        }
        teardown::remove(&ready.bench, &up)
    }
}

/// What is prepared and what is up, which the steps after standup need.
fn both<'r, 'a>(ready: &'r mut Option<Ready>, up: &'r mut Option<Up<'a>>) -> Result<(&'r mut Ready, &'r mut Up<'a>)> {
    match (ready.as_mut(), up.as_mut()) {
        (Some(ready), Some(up)) => Ok((ready, up)),
        _ => Err(Failure::internal("no treatment is up")),
    }
}
