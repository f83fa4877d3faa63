//! Removing a treatment, and looking that it is gone.

use std::time::Duration;

use serde_json::Value;

use super::bench::Bench;
use super::cell::Up;
use crate::cluster::{Kubectl, object};
use crate::failure::{Failure, Kind, Result};

/// Volumes and load balancers go with the namespace, and take their time.
const NAMESPACE_GONE: Duration = Duration::from_secs(900);
const REQUEST: Duration = Duration::from_secs(60);

/// Removes everything of the cell. What is looked at afterwards decides, not what the programs said.
///
/// # Errors
/// A cleanup failure that names what is left.
pub(super) fn remove(bench: &Bench, up: &Up<'_>) -> Result<()> {
    let kubectl = up.kubectl.within(&up.kubectl.session().for_cleanup());
    let said = bench.teardown(up, &kubectl);
    remove_namespace(&kubectl, up).map_err(|failure| cleanup(failure, up))?;
    let left = cluster_wide(&kubectl, &up.namespace).map_err(|failure| cleanup(failure, up))?;
    if left.is_empty() {
        return Ok(());
    }
    let mut failure = Failure::new(Kind::Cleanup, format!("outside the namespace, {} is left", left.join(", ")))
        .hint(format!("kubectl delete {}", left.join(" ")));
    if let Err(error) = said {
        failure = failure.hint(format!("llm-d-benchmark's teardown said: {error}"));
    }
    Err(failure)
}

/// Removes the namespace with all that is in it, and waits until it is gone.
///
/// # Errors
/// When it is not.
pub(super) fn remove_namespace(kubectl: &Kubectl, up: &Up<'_>) -> Result<()> {
    let step = up.steps().delete_namespace();
    kubectl
        .program(step.name, &step.argv[0])
        .args(&step.argv[1..])
        .timeout(REQUEST)
        .run(kubectl.session())
        .map_err(|error| error.failure(Kind::Cleanup))?;
    let what = format!("removal of namespace {}", up.namespace);
    kubectl
        .wait_gone(&what, NAMESPACE_GONE, &["namespace", &up.namespace])
        .map_err(|error| error.failure(Kind::Cleanup))
}

/// Roles of the whole cluster that were made for this namespace: they are not in it and do not go with it.
fn cluster_wide(kubectl: &Kubectl, namespace: &str) -> Result<Vec<String>> {
    let mut left = Vec::new();
    for kind in ["clusterrole", "clusterrolebinding"] {
        let objects = kubectl.list(kind, &[]).map_err(|error| error.failure(Kind::Cleanup))?;
        left.extend(
            objects.iter().filter(|it| belongs_to(it, namespace)).map(|it| format!("{kind}/{}", object::name(it))),
        );
    }
    Ok(left)
}

fn belongs_to(object: &Value, namespace: &str) -> bool {
    object::annotation(object, "meta.helm.sh/release-namespace") == Some(namespace)
        || object::name(object).split(['.', ':']).any(|part| part == namespace)
        || object::name(object).ends_with(&format!("-{namespace}"))
}

fn cleanup(failure: Failure, up: &Up<'_>) -> Failure {
    Failure { kind: Kind::Cleanup, ..failure }.hint(format!(
        "remove what is left: kubectl --context={} delete namespace {}",
        up.kubectl.context(),
        up.namespace
    ))
}
