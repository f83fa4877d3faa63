//! A whole campaign: the cluster made, locked, used, cleaned, and kept or destroyed, whatever happens in between.

use super::cleanup::{Scope, cleanup};
use super::destroy::destroy;
use super::lock::{self, Earlier};
use super::provision::provision;
use super::secret;
use super::site::Site;
use crate::campaign::Plan;
use crate::failure::{Failure, Result};
use crate::lifecycle::{Event, Observer, guard};
use crate::settings::Lifecycle;

/// How far a campaign has come with the cluster, and so what must be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was begun.
    Nothing,
    /// The cluster may have been begun.
    Provisioning,
    /// Another campaign holds it: nothing in it is ours.
    Refused,
    /// It is ours alone.
    Locked,
}

/// Provisions, locks, runs `work`, and cleans up after success, failure, panic and interruption.
///
/// # Errors
/// The first failure; a cleanup failure when something may still be billed.
pub fn campaign<T>(site: &Site, plan: &Plan, observer: &dyn Observer, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let target = site.target();
    if target.lifecycle == Lifecycle::Destroy && !target.allow_destroy {
        return Err(Failure::usage("gke.cluster_lifecycle is destroy, but the cluster may not be destroyed").hint(
            "confirm it with --set gke.allow_destroy=true, or keep the cluster with gke.cluster_lifecycle=retain",
        ));
    }
    let tell = |what: &str| observer.notify(Event::Preparing { what: what.to_owned() });
    let settings = &plan.resolved.settings;
    let scope = Scope::planned(settings, plan.id.clone());
    let mut stage = Stage::Nothing;
    guard::guarded(
        &mut stage,
        |stage| {
            // Armed before the first change: what is begun from here on is given back.
            *stage = Stage::Provisioning;
            provision(site.gcloud(), &tell)?;
            *stage = Stage::Refused;
            let earlier = if settings.resume { Earlier::TakenOver } else { Earlier::Refused };
            lock::take(site, &plan.id, earlier)?;
            *stage = Stage::Locked;
            secret::ensure(site, settings)?;
            work()
        },
        |stage| end(site, &scope, *stage, &tell),
    )
}

fn end(site: &Site, scope: &Scope, stage: Stage, tell: &dyn Fn(&str)) -> Result<()> {
    let ours = match stage {
        Stage::Locked => true,
        // The request for the lock may have been carried out although its answer was lost.
        Stage::Refused => lock::is_ours(&site.for_cleanup(), &scope.campaign)?,
        Stage::Nothing | Stage::Provisioning => false,
    };
    if ours {
        cleanup(site, scope, tell)?;
    }
    if site.target().lifecycle == Lifecycle::Destroy && (ours || stage == Stage::Provisioning) {
        destroy(site, tell)?;
    }
    Ok(())
}
