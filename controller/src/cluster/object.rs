//! Reading objects of the Kubernetes API: what every object has, and what the kinds have that this program looks at.

use serde_json::Value;

/// The text at a JSON pointer; empty when there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a JSON pointer; empty when there is none.
pub fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// `metadata.name`.
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// The names of several.
pub fn names(objects: &[Value]) -> Vec<&str> {
    objects.iter().map(name).collect()
}

/// A label.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// An annotation.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// `status.phase`, or `being deleted`, or `present` for a kind without phases.
pub fn phase(object: &Value) -> &str {
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return "being deleted";
    }
    match text(object, "/status/phase") {
        "" => "present",
        phase => phase,
    }
}

/// Whether a condition of the status is `True`.
pub fn condition(object: &Value, kind: &str) -> bool {
    items(object, "/status/conditions")
        .iter()
        .any(|condition| text(condition, "/type") == kind && text(condition, "/status") == "True")
}

/// Whether a pod runs with all its containers ready and is not about to go.
pub fn pod_ready(pod: &Value) -> bool {
    pod.pointer("/metadata/deletionTimestamp").is_none()
        && text(pod, "/status/phase") == "Running"
        && condition(pod, "Ready")
}

/// The images that a pod's containers are to run, by container name, init containers included (sidecars are such).
pub fn pod_images(pod: &Value) -> Vec<(&str, &str)> {
    ["/spec/initContainers", "/spec/containers"]
        .into_iter()
        .flat_map(|pointer| items(pod, pointer))
        .map(|container| (text(container, "/name"), text(container, "/image")))
        .collect()
}

/// Why a pod is not ready, in a few words: its first waiting or failed container, or its phase.
pub fn pod_trouble(pod: &Value) -> String {
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let waiting = statuses.into_iter().flat_map(|pointer| items(pod, pointer)).find_map(|status| {
        let reason = ["/state/waiting/reason", "/state/terminated/reason"]
            .into_iter()
            .map(|pointer| text(status, pointer))
            .find(|reason| !reason.is_empty() && *reason != "Completed")?;
        Some(format!("{} {reason}", text(status, "/name")))
    });
    let unscheduled = items(pod, "/status/conditions").iter().find_map(|condition| {
        (text(condition, "/type") == "PodScheduled" && text(condition, "/status") == "False")
            .then(|| format!("not scheduled: {}", text(condition, "/message")))
    });
    waiting.or(unscheduled).unwrap_or_else(|| phase(pod).to_owned())
}
