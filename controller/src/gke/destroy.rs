//! Removes the cluster, once nothing of value is left in it. Shared things of the project stay.

use super::gcloud::PACE;
use super::leftover::Leftovers;
use super::site::Site;
use super::{cleanup, state, words};
use crate::cluster::object::text;
use crate::cluster::{Error, Seen, until};
use crate::failure::{Failure, Kind, Result};

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destroyed {
    /// It was there and is gone.
    Now,
    /// It was not there.
    Before,
}

/// Destroys the cluster and sees that it is gone.
///
/// # Errors
/// A usage failure when it may not be destroyed or is not ours; a cleanup failure when it still holds namespaces, volumes,
/// Filestore instances or load balancers, each named, or when it may still be there.
pub fn destroy(site: &Site, tell: &dyn Fn(&str)) -> Result<Destroyed> {
    let site = site.for_cleanup();
    let target = site.target();
    let named = format!("cluster {} in {} of project {}", target.cluster, target.zone, target.project);
    let may_be_left = |error: Error| {
        let mut left = Leftovers::default();
        left.add(named.clone(), &error);
        Failure::new(Kind::Cleanup, left).hint("try again: cargo xtask gke destroy --set gke.allow_destroy=true")
    };
    let Some(cluster) = site.gcloud().cluster().map_err(&may_be_left)? else { return Ok(Destroyed::Before) };
    if !state::is_ours(target, &cluster) {
        return Err(Failure::usage(format!("{named} was not made by this program and is left alone"))
            .hint("delete it with gcloud if you mean to"));
    }
    if !target.allow_destroy {
        return Err(Failure::usage(format!("{named} may not be destroyed without a word"))
            .hint("confirm it: --set gke.allow_destroy=true, or BENCHMARK_GKE_ALLOW_DESTROY=true"));
    }
    // One that is going already needs no question.
    if text(&cluster, "/status") != "STOPPING" {
        let mut inhabitants = cleanup::inhabitants(&site)?;
        inhabitants.extend(cleanup::claimed_filestores(&site).map_err(&may_be_left)?);
        if !inhabitants.is_empty() {
            let holds = format!("{named} is kept: it still holds\n  {}", inhabitants.join("\n  "));
            return Err(Failure::new(Kind::Cleanup, holds)
                .hint("remove what campaigns left: cargo xtask gke cleanup --campaign ID"));
        }
        tell(&format!("destroying {named}"));
    }
    let asked = match text(&cluster, "/status") {
        "STOPPING" => Ok(()),
        _ => site.gcloud().change(&words::delete_cluster(target), target.deadlines.cleanup),
    };
    let seen = until(site.session(), "the cluster to go", target.deadlines.cleanup, PACE, || {
        Ok(match site.gcloud().cluster()? {
            None => Seen::Done(()),
            Some(cluster) => Seen::NotYet(format!("it is {}", text(&cluster, "/status"))),
        })
    });
    match (seen, asked) {
        (Ok(()), _) => Ok(Destroyed::Now),
        (Err(_), Err(asked)) => Err(may_be_left(asked)),
        (Err(seen), Ok(())) => Err(may_be_left(seen)),
    }
}
