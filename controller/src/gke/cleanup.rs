//! Removes what a campaign left, by ownership only, and sees that it is gone.
//!
//! The order is that of dependence: GPU nodes first, because they cost most; then pods, which hold claims; claims, which
//! hold volumes; volumes, which hold Filestore instances; namespaces at last. A step that fails never keeps a later one from being
//! tried, and everything that was not seen to be gone is named at the end.

use std::collections::BTreeSet;

use serde_json::Value;

use super::gcloud::PACE;
use super::gpu::Gpus;
use super::leftover::Leftovers;
use super::site::Site;
use super::{lock, words};
use crate::campaign::CampaignId;
use crate::cluster::object::{annotation, items, name, names, text};
use crate::cluster::{Error, Kubectl, Seen, until};
use crate::failure::{Failure, Kind, Result};
use crate::render::{CAMPAIGN_ANNOTATION, MANAGED_BY};

/// The drivers whose volumes are billed by Google.
const DRIVERS: [&str; 2] = ["filestore.csi.storage.gke.io", "pd.csi.storage.gke.io"];
/// The label by which a Filestore instance names the namespace of its claim, written by the driver.
const FILESTORE_NAMESPACE: &str = "kubernetes_io_created-for_pvc_namespace";
/// The label by which it names the driver.
const FILESTORE_DRIVER: (&str, &str) = ("storage_gke_io_created-by", "filestore_csi_storage_gke_io");

/// Whose things are removed.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The campaign.
    pub campaign: CampaignId,
    /// Namespaces that it would have, whether or not the cluster still knows them.
    pub namespaces: BTreeSet<String>,
}

/// Removes everything of a campaign and gives back the GPU nodes; then, and only when all is verified, the lock.
/// Goes on through two interruptions.
///
/// # Errors
/// A cleanup failure that names everything that may be left.
pub fn cleanup(site: &Site, scope: &Scope, tell: &dyn Fn(&str)) -> Result<()> {
    let site = site.for_cleanup();
    let mut left = Leftovers::default();
    let mut gpus = Gpus::new(&site).down(tell).err();
    let cluster = site.gcloud().cluster();
    let mut there = BTreeSet::new();
    match &cluster {
        Ok(None) => tell("there is no such cluster"),
        Ok(Some(_)) => there = contents(&site, scope, &mut left, tell),
        Err(error) => left.add(format!("cluster {}", site.target().cluster), error),
    }
    let owned = scope.namespaces.union(&there).cloned().collect();
    filestores(&site, &owned, &mut left, tell);
    if left.is_empty() {
        namespaces(&site, &there, &mut left);
    }
    if gpus.is_some() {
        // What kept them may have been what has been removed meanwhile, or may have passed.
        gpus = Gpus::new(&site).down(tell).err();
    }
    if let Some(failure) = gpus {
        let target = site.target();
        left.add(format!("GPU nodes of pool {} ({})", target.gpu.nodepool, target.gpu_nodes()), why(&failure));
    }
    let again = format!("try again: cargo xtask gke cleanup --campaign {}", scope.campaign);
    left.accept(&again)?;
    match cluster {
        Ok(Some(_)) => lock::release(&site, scope.campaign.as_str()).map_err(|failure| failure.hint(again)),
        _ => Ok(()),
    }
}

/// The reason behind a failure that names leftovers itself.
fn why(failure: &Failure) -> String {
    std::error::Error::source(failure).map_or_else(|| failure.to_string(), ToString::to_string)
}

/// A cluster's part: pods, claims, volumes. Returns the namespaces that they were in.
fn contents(site: &Site, scope: &Scope, left: &mut Leftovers, tell: &dyn Fn(&str)) -> BTreeSet<String> {
    let cluster = format!("contents of cluster {}", site.target().cluster);
    let found = site.kubectl().and_then(|kubectl| {
        let namespaces = owned_namespaces(&kubectl, scope)?;
        Ok((kubectl, namespaces))
    });
    let (kubectl, namespaces) = match found {
        Ok(found) => found,
        Err(error) => {
            left.add(cluster, error);
            return BTreeSet::new();
        }
    };
    tell(&format!("removing the contents of {} namespaces", namespaces.len()));
    let work = Contents { kubectl: &kubectl, site, namespaces: &namespaces };
    let volumes = match work.volumes() {
        Ok(volumes) => volumes,
        Err(error) => {
            left.add("persistent volumes", error);
            Vec::new()
        }
    };
    for namespace in &namespaces {
        work.pods(namespace).unwrap_or_else(|error| left.add(format!("pods of namespace {namespace}"), error));
    }
    for volume in &volumes {
        work.reclaim(volume).unwrap_or_else(|error| left.add(format!("volume {}", name(volume)), error));
    }
    for namespace in &namespaces {
        work.claims(namespace).unwrap_or_else(|error| left.add(format!("claims of namespace {namespace}"), error));
    }
    work.volumes_gone(&volumes).unwrap_or_else(|error| left.add("persistent volumes", error));
    namespaces
}

/// Namespaces go last: they are the proof of who owns what was in them, and cost nothing.
fn namespaces(site: &Site, owned: &BTreeSet<String>, left: &mut Leftovers) {
    for namespace in owned {
        let removed = site.kubectl().and_then(|kubectl| {
            kubectl.delete("delete namespace", &["namespace", namespace])?;
            let what = format!("namespace {namespace}");
            kubectl.wait_gone(&what, site.target().deadlines.cleanup, &["namespace", namespace])
        });
        removed.unwrap_or_else(|error| left.add(format!("namespace {namespace}"), error));
    }
}

/// Namespaces that bear both our label and the campaign's annotation; a name alone is no proof.
fn owned_namespaces(kubectl: &Kubectl, scope: &Scope) -> Result<BTreeSet<String>, Error> {
    let selector = format!("--selector=app.kubernetes.io/managed-by={MANAGED_BY}");
    let all = kubectl.list("namespaces", &[&selector])?;
    let of = |it: &&Value| annotation(it, CAMPAIGN_ANNOTATION) == Some(scope.campaign.as_str());
    Ok(all.iter().filter(of).map(|it| name(it).to_owned()).collect())
}

struct Contents<'a> {
    kubectl: &'a Kubectl,
    site: &'a Site,
    namespaces: &'a BTreeSet<String>,
}

impl Contents<'_> {
    fn gone(&self, what: &str, words: &[&str]) -> Result<(), Error> {
        self.kubectl.wait_gone(what, self.site.target().deadlines.cleanup, words)
    }

    /// Pods that hold claims.
    fn pods(&self, namespace: &str) -> Result<(), Error> {
        let here = format!("--namespace={namespace}");
        let pods = self.kubectl.list("pods", &[&here])?;
        let holding: Vec<&str> = pods
            .iter()
            .filter(|pod| items(pod, "/spec/volumes").iter().any(|it| it.get("persistentVolumeClaim").is_some()))
            .map(name)
            .collect();
        if holding.is_empty() {
            return Ok(());
        }
        let mut delete = vec!["pods"];
        delete.extend(&holding);
        delete.extend([here.as_str(), "--grace-period=30"]);
        self.kubectl.delete("delete pods", &delete)?;
        // One that a controller makes anew has another name and is deleted with the namespace.
        for pod in holding {
            self.gone(&format!("pod {pod}"), &["pod", pod, &here])?;
        }
        Ok(())
    }

    fn claims(&self, namespace: &str) -> Result<(), Error> {
        let here = format!("--namespace={namespace}");
        if self.kubectl.list("persistentvolumeclaims", &[&here])?.is_empty() {
            return Ok(());
        }
        self.kubectl.delete("delete claims", &["persistentvolumeclaims", "--all", &here])?;
        self.gone(&format!("claims of namespace {namespace}"), &["persistentvolumeclaims", &here])
    }

    /// Volumes whose claim is ours and whose driver is Google's.
    fn volumes(&self) -> Result<Vec<Value>, Error> {
        let all = self.kubectl.list("persistentvolumes", &[])?;
        let ours = |it: &Value| {
            self.namespaces.contains(text(it, "/spec/claimRef/namespace"))
                && DRIVERS.contains(&text(it, "/spec/csi/driver"))
        };
        Ok(all.into_iter().filter(ours).collect())
    }

    /// A volume that is to be retained would outlive its claim, disk and all.
    fn reclaim(&self, volume: &Value) -> Result<(), Error> {
        if text(volume, "/spec/persistentVolumeReclaimPolicy") == "Delete" {
            return Ok(());
        }
        let patch = r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#;
        let words = ["patch", "persistentvolume", name(volume), "--type=merge", "--patch", patch];
        self.kubectl.command("reclaim volume", &words).run(self.kubectl.session())?;
        Ok(())
    }

    /// The claims are gone: their volumes go by themselves, the last of them when asked to.
    fn volumes_gone(&self, volumes: &[Value]) -> Result<(), Error> {
        if volumes.is_empty() {
            return Ok(());
        }
        let mut delete = vec!["persistentvolumes"];
        delete.extend(names(volumes));
        self.kubectl.delete("delete volumes", &delete)?;
        self.kubectl.wait("volumes to go", self.site.target().deadlines.cleanup, |_| {
            let left = self.volumes()?;
            Ok(match left.is_empty() {
                true => Seen::Done(()),
                false => Seen::NotYet(format!("still there: {}", names(&left).join(", "))),
            })
        })
    }
}

/// A Filestore instance that a claim of ours made.
pub fn is_filestore_of(instance: &Value, namespaces: &BTreeSet<String>) -> bool {
    let value = |key: &str| instance["labels"][key].as_str();
    value(FILESTORE_DRIVER.0) == Some(FILESTORE_DRIVER.1)
        && value(FILESTORE_NAMESPACE).is_some_and(|namespace| namespaces.contains(namespace))
}

/// Instances that outlived their volumes, known by the labels that the driver gave them.
fn filestores(site: &Site, owned: &BTreeSet<String>, left: &mut Leftovers, tell: &dyn Fn(&str)) {
    let target = site.target();
    let ours = || -> Result<Vec<String>, Error> {
        let all = site.gcloud().list(&words::filestores(target))?;
        let short = |it: &Value| text(it, "/name").rsplit('/').next().unwrap_or_default().to_owned();
        Ok(all.iter().filter(|it| is_filestore_of(it, owned)).map(short).collect())
    };
    let found = match ours() {
        Ok(found) => found,
        Err(error) => return left.add(format!("Filestore instances in {}", target.zone), error),
    };
    for instance in &found {
        tell(&format!("deleting Filestore instance {instance}"));
        let deleted = site.gcloud().change(&words::delete_filestore(target, instance), target.deadlines.cleanup);
        let gone = until(site.session(), "Filestore", target.deadlines.cleanup, PACE, || {
            Ok(match ours()?.contains(instance) {
                true => Seen::NotYet("still listed".to_owned()),
                false => Seen::Done(()),
            })
        });
        if let Err(seen) = gone {
            let error = deleted.err().unwrap_or(seen);
            left.add(format!("Filestore instance {instance} in {}", target.zone), error);
        }
    }
}

/// What of anybody's campaigns is in the cluster, for [`super::destroy()`]: it names what would be lost or go on billing.
///
/// # Errors
/// When the cluster or gcloud does not answer.
pub fn inhabitants(site: &Site) -> Result<Vec<String>> {
    let failed = |error: Error| error.failure(Kind::Cleanup);
    let kubectl = site.kubectl().map_err(failed)?;
    let selector = format!("--selector=app.kubernetes.io/managed-by={MANAGED_BY}");
    let mut found = Vec::new();
    for namespace in kubectl.list("namespaces", &[&selector]).map_err(failed)? {
        if let Some(campaign) = annotation(&namespace, CAMPAIGN_ANNOTATION) {
            found.push(format!("namespace {} of campaign {campaign}", name(&namespace)));
        }
    }
    for volume in kubectl.list("persistentvolumes", &[]).map_err(failed)? {
        found.push(format!("volume {} of {}", name(&volume), text(&volume, "/spec/claimRef/namespace")));
    }
    for service in kubectl.list("services", &["--all-namespaces"]).map_err(failed)? {
        if text(&service, "/spec/type") == "LoadBalancer" {
            found.push(format!(
                "load balancer {} in namespace {}",
                name(&service),
                text(&service, "/metadata/namespace")
            ));
        }
    }
    if let Some(owner) = lock::owner(site).map_err(failed)? {
        found.push(format!("the lock of campaign {} ({})", owner.campaign, owner.by));
    }
    Ok(found)
}

/// Filestore instances that claims of some cluster made, in the zone.
///
/// # Errors
/// When gcloud does not answer.
pub fn claimed_filestores(site: &Site) -> Result<Vec<String>, Error> {
    let all = site.gcloud().list(&words::filestores(site.target()))?;
    let made = |it: &&Value| it["labels"][FILESTORE_DRIVER.0] == FILESTORE_DRIVER.1;
    let show = |it: &Value| {
        let short = text(it, "/name").rsplit('/').next().unwrap_or_default();
        let namespace = it["labels"][FILESTORE_NAMESPACE].as_str().unwrap_or("?");
        format!("Filestore instance {short} of namespace {namespace}")
    };
    Ok(all.iter().filter(made).map(show).collect())
}
