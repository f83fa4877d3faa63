//! One campaign at a time: a ConfigMap in a namespace of its own, changed only by compare-and-swap.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::site::Site;
use crate::campaign::CampaignId;
use crate::cluster::Error;
use crate::cluster::object::text;
use crate::failure::{Failure, Kind, Result};
use crate::render::MANAGED_BY;

/// The namespace of the lock.
pub const NAMESPACE: &str = "agentgateway-benchmark-lock";
/// Its name.
pub const NAME: &str = "campaign";
/// How long somebody else's change between our look and ours may make us look again.
const TRIES: u32 = 3;
/// The pause before that.
const PAUSE: Duration = Duration::from_millis(200);

/// Who holds a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The campaign.
    pub campaign: String,
    /// Who: `user@host, process 12`.
    pub by: String,
    /// Since when.
    pub since: String,
    version: String,
}

impl Owner {
    fn of(lock: &Value) -> Self {
        let data = |name: &str| text(lock, &format!("/data/{name}")).to_owned();
        Self {
            campaign: data("campaign"),
            by: data("by"),
            since: data("since"),
            version: text(lock, "/metadata/resourceVersion").to_owned(),
        }
    }
}

/// Whether a lock of the same campaign, left by another process, is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// Never: it may be running elsewhere.
    Refused,
    /// Yes: the campaign is continued or cleaned up on purpose.
    TakenOver,
}

/// Who holds the cluster now; `None` when nobody does.
///
/// # Errors
/// When the cluster does not answer.
pub fn owner(site: &Site) -> Result<Option<Owner>, Error> {
    let namespace = format!("--namespace={NAMESPACE}");
    Ok(site.kubectl()?.find(&["configmap", NAME, &namespace])?.as_ref().map(Owner::of))
}

/// Takes the cluster for a campaign.
///
/// # Errors
/// A usage failure when another campaign holds it.
pub fn take(site: &Site, campaign: &CampaignId, earlier: Earlier) -> Result<()> {
    let kubectl = site.kubectl()?;
    let labels = json!({"app.kubernetes.io/managed-by": MANAGED_BY});
    let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}});
    kubectl.apply("lock namespace", &home)?;
    let mut lock = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
        "data": {"campaign": campaign.as_str(), "by": us(), "since": Timestamp::now().strftime("%FT%TZ").to_string()},
    });
    for _ in 0..TRIES {
        let created = kubectl.create("lock", &lock);
        let Err(error) = created else { return Ok(()) };
        if !error.complaint().contains("AlreadyExists") {
            return Err(error.into());
        }
        let Some(owner) = owner(site)? else { continue };
        if owner.by == us() && owner.campaign == campaign.as_str() {
            return Ok(());
        }
        if owner.campaign != campaign.as_str() || earlier == Earlier::Refused {
            return Err(refused(&owner, campaign));
        }
        lock["metadata"]["resourceVersion"] = owner.version.into();
        match kubectl.replace("lock", &lock) {
            Ok(()) => return Ok(()),
            Err(error) if error.complaint().contains("Conflict") || error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(metadata) = lock["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        site.session().sleep(PAUSE)?;
    }
    Err(Failure::measurement("the campaign lock changes hands faster than it can be taken").hint("try again"))
}

/// Whether this very process holds the cluster for a campaign.
///
/// # Errors
/// A cleanup failure when that cannot be seen.
pub fn is_ours(site: &Site, campaign: &CampaignId) -> Result<bool> {
    let owner = owner(site).map_err(|error| {
        let hint = format!("it is given back by: cargo xtask gke cleanup --campaign {campaign}");
        let what = format!("the campaign lock may be held by {campaign}: {error}");
        Failure::new(Kind::Cleanup, what).hint(hint)
    })?;
    Ok(owner.is_some_and(|owner| owner.campaign == campaign.as_str() && owner.by == us()))
}

/// Gives the cluster back, if this campaign still holds it. Only for after a verified cleanup.
///
/// # Errors
/// A cleanup failure when the lock may still be there.
pub fn release(site: &Site, campaign: &str) -> Result<()> {
    let failed = |error: Error| error.failure(Kind::Cleanup);
    let Some(owner) = owner(site).map_err(failed)? else { return Ok(()) };
    if owner.campaign != campaign {
        return Ok(());
    }
    let options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"resourceVersion": owner.version},
    });
    let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}");
    let kubectl = site.kubectl().map_err(failed)?;
    let command = kubectl.command("unlock", &["delete", "--raw", &path, "--filename=-"]).stdin(options.to_string());
    match command.run(kubectl.session()).map_err(Error::from) {
        Err(error) if !error.is_not_found() => return Err(failed(error)),
        _ => {}
    }
    match self::owner(site).map_err(failed)? {
        Some(left) if left.campaign == campaign => {
            let still = format!("the lock of campaign {campaign} in namespace {NAMESPACE} is still there");
            Err(Failure::new(Kind::Cleanup, still).hint(format!("cargo xtask gke cleanup --campaign {campaign}")))
        }
        _ => Ok(()),
    }
}

fn us() -> String {
    let host = nix::unistd::gethostname().map_or_else(|_| "?".to_owned(), |name| name.to_string_lossy().into_owned());
    format!("{host}, process {}", std::process::id())
}

fn refused(owner: &Owner, campaign: &CampaignId) -> Failure {
    let Owner { campaign: other, by, since, .. } = owner;
    let failure = Failure::usage(format!("campaign {other} holds the cluster since {since} ({by})"));
    match other == campaign.as_str() {
        true => failure.hint("if that run is gone, continue it with --resume"),
        false => failure.hint(format!("wait for it; if it is gone: cargo xtask gke cleanup --campaign {other}")),
    }
}
