//! Whose a namespace is: made by us for one campaign, or not touched.

use std::time::Duration;

use serde_json::Value;

use super::cell::Up;
use super::teardown;
use crate::cluster::{Kubectl, object};
use crate::failure::{Failure, Result};
use crate::render::{CAMPAIGN_ANNOTATION, CONFIGURATION_ANNOTATION, MANAGED_BY, READY_ANNOTATION};

const REQUEST: Duration = Duration::from_secs(60);

/// How a namespace came to be ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Made now, empty.
    Made,
    /// Left by an earlier run of this campaign, with a ready deployment of the same configuration in it.
    Matching,
}

/// What is known of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// It does not exist.
    Nobody,
    /// This campaign's.
    Us {
        /// Of what its deployment was made.
        configuration: Option<String>,
        /// Whether the deployment became ready.
        ready: bool,
    },
    /// Another campaign's, or nobody's we know; in words.
    Other(String),
}

/// Whose the namespace is.
///
/// # Errors
/// When the cluster cannot be asked.
pub(super) fn owner(kubectl: &Kubectl, namespace: &str, campaign: &str) -> Result<Owner> {
    Ok(kubectl.find(&["namespace", namespace])?.map_or(Owner::Nobody, |found| owner_of(&found, campaign)))
}

fn owner_of(namespace: &Value, campaign: &str) -> Owner {
    if object::label(namespace, "app.kubernetes.io/managed-by") != Some(MANAGED_BY) {
        return Owner::Other("it was not made by a benchmark".to_owned());
    }
    match object::annotation(namespace, CAMPAIGN_ANNOTATION) {
        Some(owner) if owner == campaign => Owner::Us {
            configuration: object::annotation(namespace, CONFIGURATION_ANNOTATION).map(str::to_owned),
            ready: object::annotation(namespace, READY_ANNOTATION).is_some(),
        },
        Some(other) => Owner::Other(format!("it belongs to the campaign {other}")),
        None => Owner::Other("it names no campaign".to_owned()),
    }
}

/// The failure that a foreign namespace is.
pub(super) fn foreign(namespace: &str, why: &str) -> Failure {
    Failure::usage(format!("namespace {namespace} is not ours: {why}"))
        .hint("choose another --campaign; or, when nobody needs it any more, remove the namespace with kubectl")
}

/// Makes the namespace ours: makes it, or takes over what an interrupted run of this campaign left.
///
/// # Errors
/// A usage failure when it is somebody else's, or a new campaign finds one of its own name.
pub(super) fn claim(up: &Up<'_>, resume: bool) -> Result<Claim> {
    let (kubectl, namespace) = (&up.kubectl, up.namespace.as_str());
    match owner(kubectl, namespace, &up.campaign)? {
        Owner::Nobody => {}
        Owner::Other(why) => return Err(foreign(namespace, &why)),
        Owner::Us { .. } if !resume => {
            return Err(foreign(namespace, "an earlier campaign of the same name left it")
                .hint("continue that one with --resume, which takes the namespace over"));
        }
        Owner::Us { configuration, ready } => {
            if ready && configuration.as_deref() == Some(up.rendered.configuration_sha256.as_str()) {
                return Ok(Claim::Matching);
            }
            // Half deployed, or deployed from something else: it cannot be measured, but it is ours to remove.
            teardown::remove_namespace(kubectl, up)?;
        }
    }
    up.execute(&up.steps().namespace(), REQUEST)?;
    Ok(Claim::Made)
}

/// Notes that the deployment is ready, so that a resumed run may use it.
///
/// # Errors
/// When the cluster refuses.
pub(super) fn mark_ready(up: &Up<'_>) -> Result<()> {
    up.execute(&up.steps().mark_ready(), REQUEST).map(drop)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_this_campaign_marked_is_its_own() {
        let namespace =
            |labels: Value, annotations: Value| json!({"metadata": {"labels": labels, "annotations": annotations}});
        let managed = json!({"app.kubernetes.io/managed-by": MANAGED_BY});
        let ours = json!({CAMPAIGN_ANNOTATION: "nightly", CONFIGURATION_ANNOTATION: "abc", READY_ANNOTATION: "true"});
        let us = Owner::Us { configuration: Some("abc".to_owned()), ready: true };
        assert_eq!(owner_of(&namespace(managed.clone(), ours.clone()), "nightly"), us);
        assert_eq!(
            owner_of(&namespace(managed.clone(), ours.clone()), "other"),
            Owner::Other("it belongs to the campaign nightly".to_owned())
        );
        assert!(matches!(owner_of(&namespace(json!({}), ours), "nightly"), Owner::Other(_)));
        assert!(matches!(owner_of(&namespace(managed, json!({})), "nightly"), Owner::Other(_)));
    }
}
