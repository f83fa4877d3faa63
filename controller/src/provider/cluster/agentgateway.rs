//! agentgateway as a Gateway: its control plane at the pinned version, its data plane with the wanted image. Both are
//! looked at in the cluster; that a chart was installed proves nothing about what runs.

use std::time::Duration;

use serde_json::Value;

use super::cell::Up;
use crate::cluster::{Error, Kubectl, Seen, object};
use crate::failure::{Failure, Result};
use crate::render::names::Image;

/// A chart with its hooks, image pull included.
const HELM: Duration = Duration::from_secs(600);
/// Pods that change their image, pull included.
const PODS: Duration = Duration::from_secs(600);
const REQUEST: Duration = Duration::from_secs(60);
/// The label by which a Gateway's pods are known.
const GATEWAY_LABEL: &str = "gateway.networking.k8s.io/gateway-name";

/// Installs or upgrades the controller and waits until its pods run the expected image.
///
/// # Errors
/// When they do not; the message says what was last seen.
pub(super) fn controller(up: &Up<'_>) -> Result<()> {
    for step in up.steps().controller() {
        up.execute(&step, HELM)?;
    }
    let Some(expected) = up.rendered.images.get("controller").filter(|_| up.steps().subject.is_agentgateway_gateway())
    else {
        return Ok(());
    };
    let namespace = format!("--namespace={}", up.resolved.settings.agentgateway.namespace);
    let words = [namespace.as_str(), "--selector=app.kubernetes.io/name=agentgateway"];
    Ok(up.kubectl.wait("agentgateway's controller", PODS, |kubectl| pods_show(kubectl, &words, expected))?)
}

/// Gives the Gateway its image and waits until each of its pods shows it and is ready.
///
/// # Errors
/// When there is not exactly one Gateway, or its pods do not come up with the image.
pub(super) fn data_plane(up: &Up<'_>) -> Result<()> {
    if !up.steps().subject.is_agentgateway_gateway() {
        return Ok(());
    }
    let namespace = format!("--namespace={}", up.namespace);
    let gateways = up.kubectl.list_if_known("gateways.gateway.networking.k8s.io", &[&namespace])?;
    let [gateway] = gateways.as_slice() else {
        let names = object::names(&gateways).join(", ");
        return Err(Failure::measurement(format!("one Gateway is expected in {}, found: {names}", up.namespace))
            .hint("llm-d-benchmark's standup makes it; read its log"));
    };
    let name = object::name(gateway);
    for step in up.steps().data_plane(name) {
        up.execute(&step, REQUEST)?;
    }
    let selector = format!("--selector={GATEWAY_LABEL}={name}");
    let words = [namespace.as_str(), selector.as_str()];
    let image = &up.resolved.settings.agentgateway.image;
    Ok(up.kubectl.wait("the Gateway's data plane", PODS, |kubectl| pods_show(kubectl, &words, image))?)
}

fn pods_show(kubectl: &Kubectl, words: &[&str], image: &str) -> Result<Seen<()>, Error> {
    let pods = kubectl.list("pods", words)?;
    Ok(match trouble(&pods, image) {
        None => Seen::Done(()),
        Some(trouble) => Seen::NotYet(trouble),
    })
}

/// Why the pods are not all ready with this image.
fn trouble(pods: &[Value], image: &str) -> Option<String> {
    let wanted = Image::of(image);
    let pods: Vec<&Value> = pods.iter().filter(|pod| pod.pointer("/metadata/deletionTimestamp").is_none()).collect();
    if pods.is_empty() {
        return Some("no pod".to_owned());
    }
    pods.iter().find_map(|pod| {
        let name = object::name(pod);
        let images = object::pod_images(pod);
        if !images.iter().any(|(_, image)| Image::of(image).is_same(&wanted)) {
            let shown: Vec<_> = images.iter().map(|(_, image)| *image).collect();
            return Some(format!("{name} has {}, not {image}", shown.join(", ")));
        }
        (!object::pod_ready(pod)).then(|| format!("{name}: {}", object::pod_trouble(pod)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_are_waited_for_until_each_shows_the_image_and_is_ready() {
        let pod = |image: &str, ready: &str| {
            json!({"metadata": {"name": "g-1"}, "spec": {"containers": [{"name": "agentgateway", "image": image}]},
                   "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}})
        };
        let image = "cr.agentgateway.dev/agentgateway:v1.4.1";
        assert_eq!(trouble(&[], image).unwrap(), "no pod");
        assert!(trouble(&[pod("cr.agentgateway.dev/agentgateway:v1.3.0", "True")], image).unwrap().contains("v1.3.0"));
        assert_eq!(trouble(&[pod(image, "False")], image).unwrap(), "g-1: Running");
        assert_eq!(trouble(&[pod(image, "True")], image), None);
        let mut old = pod("other:1", "True");
        old["metadata"]["deletionTimestamp"] = json!("2026-08-17T10:15:00Z");
        assert_eq!(trouble(&[old, pod(image, "True")], image), None, "a pod on its way out does not count");
    }
}
