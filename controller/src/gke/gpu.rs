//! GPU nodes: taken, given back, and seen to be gone.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use super::gcloud::PACE;
use super::leftover::Leftovers;
use super::site::Site;
use super::{state, words};
use crate::cluster::object::{condition, items, name, text};
use crate::cluster::{Error, Seen, until};
use crate::failure::{Failure, Kind, Result};
use crate::lifecycle::guard;

/// Label that names a node's pool.
const POOL_LABEL: &str = "cloud.google.com/gke-nodepool";
/// Where a node says how many GPUs it has for pods: `nvidia.com/gpu`, as a JSON pointer.
const GPUS: &str = "/status/allocatable/nvidia.com~1gpu";

/// What was seen of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pool {
    /// Nodes the cluster knows.
    pub nodes: usize,
    /// Those that are ready.
    pub ready: usize,
    /// Allocatable GPUs of ready nodes.
    pub gpus: u64,
}

/// The GPU pool of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Gpus<'a> {
    site: &'a Site,
}

impl<'a> Gpus<'a> {
    /// The pool that the target of the site names.
    pub fn new(site: &'a Site) -> Self {
        Self { site }
    }

    /// Takes the nodes and waits until all their GPUs are allocatable; gives everything back when that does not come
    /// about by the deadline.
    ///
    /// # Errors
    /// When they do not become ready; a cleanup failure when they could not be given back either.
    pub fn up(&self, tell: &dyn Fn(&str)) -> Result<Duration> {
        let began = Instant::now();
        let mut held = false;
        guard::guarded(
            &mut held,
            |held| {
                self.take(began, tell)?;
                *held = true;
                Ok(began.elapsed())
            },
            |held| if *held { Ok(()) } else { self.down(tell).map(drop) },
        )
    }

    fn take(&self, began: Instant, tell: &dyn Fn(&str)) -> Result<()> {
        let target = self.site.target();
        let limit = target.deadlines.ready;
        let failed = |error: Error| {
            error.failure(Kind::Measurement).hint(format!(
                "{} may not be to be had in {} now: try later, another zone, or --set gke.gpu.spot=false",
                target.gpu_nodes(),
                target.zone
            ))
        };
        tell(&format!("taking {}", target.gpu_nodes()));
        self.site.gcloud().change(&words::resize_gpus(target, target.gpu.target_nodes), limit).map_err(failed)?;
        let left = limit.saturating_sub(began.elapsed());
        let what = format!("{} with {} GPUs", target.gpu_nodes(), target.gpus());
        until(self.site.session(), &what, left, PACE, || {
            let seen = self.look()?;
            Ok(match seen.ready >= target.gpu.target_nodes as usize && seen.gpus >= target.gpus() {
                true => Seen::Done(()),
                false => Seen::NotYet(format!("{} nodes, {} ready, {} GPUs", seen.nodes, seen.ready, seen.gpus)),
            })
        })
        .map_err(failed)
    }

    /// Looks at the pool's nodes.
    ///
    /// # Errors
    /// When the cluster does not answer.
    pub fn look(&self) -> Result<Pool, Error> {
        let selector = format!("--selector={POOL_LABEL}={}", self.site.target().gpu.nodepool);
        let nodes = self.site.kubectl()?.list("nodes", &[&selector])?;
        let ready: Vec<&Value> = nodes.iter().filter(|node| is_usable(node)).collect();
        let gpus = ready.iter().map(|node| text(node, GPUS));
        Ok(Pool {
            nodes: nodes.len(),
            ready: ready.len(),
            gpus: gpus.filter_map(|count| count.parse::<u64>().ok()).sum(),
        })
    }

    /// Gives the nodes back and sees that none is left: no node in the cluster, no instance in the groups behind the
    /// pool, none wanted. Goes on through two interruptions. Returns whether there was anything to give back.
    ///
    /// # Errors
    /// A cleanup failure that names the nodes.
    pub fn down(&self, tell: &dyn Fn(&str)) -> Result<bool> {
        let site = self.site.for_cleanup();
        let target = self.site.target();
        Gpus::new(&site).give_back(tell).map_err(|error| {
            let mut left = Leftovers::default();
            left.add(format!("GPU nodes of pool {} ({})", target.gpu.nodepool, target.gpu_nodes()), &error);
            let command = format!(
                "gcloud container clusters resize {} --node-pool={} --num-nodes=0 --location={} --project={}",
                target.cluster, target.gpu.nodepool, target.zone, target.project
            );
            Failure::new(Kind::Cleanup, Held { left, error }).hint("try again: cargo xtask gke gpu-down").hint(command)
        })
    }

    fn give_back(&self, tell: &dyn Fn(&str)) -> Result<bool, Error> {
        let target = self.site.target();
        let limit = target.deadlines.cleanup;
        let Some(cluster) = self.site.gcloud().cluster()? else { return Ok(false) };
        let Some(pool) = state::pool(&cluster, &target.gpu.nodepool) else { return Ok(false) };
        let groups = state::groups(pool);
        tell(&format!("giving back {}", target.gpu_nodes()));
        // Asked for in any case: a group may still be growing although no node is to be seen yet.
        let asked = self.site.gcloud().change(&words::resize_gpus(target, 0), limit);
        let seen = until(self.site.session(), "no GPU nodes", limit, PACE, || self.zero(&groups));
        // What counts is what is seen: a resize that was killed may have worked, one that succeeded may not have.
        match (seen, asked) {
            (Ok(()), _) => Ok(true),
            (Err(_), Err(asked)) => Err(asked),
            (Err(seen), Ok(())) => Err(seen),
        }
    }

    fn zero(&self, groups: &[String]) -> Result<Seen<()>, Error> {
        let target = self.site.target();
        for group in groups {
            let size = self.site.gcloud().object(&words::group(target, group))?;
            let wanted = size["targetSize"].as_u64();
            if wanted != Some(0) {
                return Ok(Seen::NotYet(format!("group {group} wants {} instances", size["targetSize"])));
            }
            let instances = self.site.gcloud().list(&words::instances(target, group))?;
            if !instances.is_empty() {
                let first = text(&instances[0], "/name");
                return Ok(Seen::NotYet(format!("group {group} has {} instances, {first} first", instances.len())));
            }
        }
        let selector = format!("--selector={POOL_LABEL}={}", target.gpu.nodepool);
        let nodes = self.site.kubectl()?.list("nodes", &[&selector])?;
        Ok(match nodes.first() {
            None => Seen::Done(()),
            Some(first) => Seen::NotYet(format!("{} nodes, {} first", nodes.len(), name(first))),
        })
    }
}

fn is_usable(node: &Value) -> bool {
    let blocked =
        items(node, "/spec/taints").iter().any(|taint| text(taint, "/key") == "node.kubernetes.io/unschedulable");
    condition(node, "Ready") && !blocked && node.pointer("/metadata/deletionTimestamp").is_none()
}

/// Nodes that may still be held, and why.
#[derive(Debug, thiserror::Error)]
#[error("{left}")]
struct Held {
    left: Leftovers,
    #[source]
    error: Error,
}
