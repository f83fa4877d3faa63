//! A planned campaign, carried out.

use std::time::Duration;

use jiff::Timestamp;

use super::lock::Holder;
use super::store::{RUNNING, WORK};
use super::{Opening, Plan, Store, provenance};
use crate::failure::{Failure, Kind, Result};
use crate::gke::{AfterLoad, Hold, Site, Target, Terms};
use crate::lifecycle::{self, Event, Observer, Surroundings};
use crate::process::{Interruption, Places, Redactor, Session, orphans};
use crate::provider::{Cluster, ClusterCampaign, Harness, Keep, Local, Provider};
use crate::settings::{GpuRelease, Place};

/// The folder in the work folder for what only this run may see.
const PRIVATE: &str = "private";

/// How long a program that an earlier run left behind may take to end when asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Runs the campaign and returns it, still locked, so that its report can be written.
///
/// # Errors
/// Usage failures before anything is written (see [`Plan::preflight`] for those of the machine); then the first failure of a cell, after its teardown.
pub fn execute(plan: &Plan, harness: Box<dyn Harness + '_>, observer: &dyn Observer, command: &str) -> Result<Store> {
    let interruption = Interruption::install()?;
    let redactor = Redactor::new();
    redactor.add_environment(
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
    );
    if let Some(token) = &plan.resolved.settings.secrets.hf_token {
        redactor.add(token);
    }
    let command = redactor.redact(command);
    let now = Timestamp::now();
    let mut store = Store::open(Opening {
        results: &plan.results,
        id: &plan.id,
        identity: &plan.identity,
        provenance: provenance::collect(&plan.root, &command, &plan.resolved.profile.name, now),
        resume: plan.resolved.settings.resume,
        holder: Holder::this_process(command.clone(), now),
    })?;
    let running = store.folder().join(WORK).join(RUNNING);
    take_over(&store, &running, observer)?;
    let places = Places {
        logs: Some(store.folder().join("logs")),
        journal: Some(store.folder().join("commands.jsonl")),
        running: Some(running),
    };
    let session = Session::new(places, redactor, interruption);
    let mut provider: Box<dyn Provider> = match plan.resolved.provider.place {
        Place::Local => Box::new(Local::new(&plan.root, plan.id.clone(), &plan.resolved, &session, harness)),
        Place::Kind | Place::Kube | Place::Gke => {
            let campaign = ClusterCampaign {
                root: plan.root.clone(),
                id: plan.id.clone(),
                resolved: &plan.resolved,
                session: &session,
                private: store.folder().join(WORK).join(PRIVATE),
                last: plan.cells.last().cloned(),
            };
            cluster(plan, campaign, &session)?
        }
    };
    let surroundings = Surroundings {
        observer,
        interruption: session.interruption(),
        redactor: session.redactor(),
        now: Timestamp::now,
    };
    lifecycle::run(&mut store, &plan.cells, &mut *provider, &surroundings)?;
    store.tidy();
    Ok(store)
}

/// The provider of a cluster campaign; on GKE with its GPU nodes around each run.
fn cluster<'a>(plan: &'a Plan, campaign: ClusterCampaign<'a>, session: &Session) -> Result<Box<dyn Provider + 'a>> {
    let settings = &plan.resolved.settings.cluster;
    let held = plan.take_gpus || settings.gpu_release != GpuRelease::Never;
    if plan.resolved.provider.place != Place::Gke || !held {
        return Ok(Box::new(Cluster::new(campaign, Box::new(Keep))));
    }
    let site = Site::new(session, &Target::new(&plan.resolved)?, &campaign.private.join("gpus"));
    let terms = Terms { policy: settings.gpu_release, take: plan.take_gpus };
    let inside = |release: AfterLoad| -> Box<dyn Provider + 'a> { Box::new(Cluster::new(campaign, Box::new(release))) };
    Ok(Box::new(Hold::new(site, terms, plan.id.as_str(), inside)))
}

/// Ends what a run that died left running.
fn take_over(store: &Store, running: &std::path::Path, observer: &dyn Observer) -> Result<()> {
    if let Some(holder) = store.abandoned_by() {
        observer.notify(Event::Warning {
            text: format!("the run that held this campaign is gone ({holder})"),
            remedy: "its unfinished repetition is set aside and run again".to_owned(),
        });
    }
    let ended = orphans::end_all(running, GRACE).map_err(|error| Failure::new(Kind::Cleanup, error))?;
    for orphan in ended {
        observer.notify(Event::Warning {
            text: format!("an earlier run left {} running", orphan.step),
            remedy: format!("processes {:?} were ended", orphan.pids),
        });
    }
    Ok(())
}
