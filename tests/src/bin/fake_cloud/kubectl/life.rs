//! What happens between two looks: things become ready, things go.

use serde_json::Value;

use super::objects::meta;
use super::storage;

/// Marks an object as to be deleted, gone after so many looks once nothing holds it.
pub fn mark(object: &mut Value, looks: u64) {
    if object["metadata"]["deletionTimestamp"].is_null() {
        object["metadata"]["deletionTimestamp"] = "2026-08-17T12:00:00Z".into();
        object["x-gone-in"] = looks.into();
    }
}

/// One look: every countdown of the cluster goes on.
pub fn tick(state: &mut Value, context: &str) {
    let objects = &mut state["kubernetes"][context]["objects"];
    let Some(map) = objects.as_object_mut() else { return };
    for object in map.values_mut() {
        if let Some(left) = object["x-ready-in"].as_u64().filter(|left| *left > 0) {
            object["x-ready-in"] = (left - 1).into();
        }
    }
    let dying: Vec<String> = map
        .iter()
        .filter(|(_, object)| object["metadata"]["deletionTimestamp"].is_string())
        .map(|(key, _)| key.clone())
        .collect();
    for key in dying {
        let objects = &mut state["kubernetes"][context]["objects"];
        if held(objects, &key) {
            continue;
        }
        let left = objects[&key]["x-gone-in"].as_u64().unwrap_or(0);
        if left > 0 {
            objects[&key]["x-gone-in"] = (left - 1).into();
            continue;
        }
        let looks = objects[&key]["x-looks"].as_u64().unwrap_or(0);
        let gone = objects.as_object_mut().and_then(|map| map.remove(&key)).unwrap_or_default();
        if key.starts_with("persistentvolumeclaims/") {
            storage::released(state, context, gone["spec"]["volumeName"].as_str().unwrap_or_default(), looks);
        } else if key.starts_with("persistentvolumes/") {
            storage::removed(state, &gone);
        }
    }
}

/// Whether something keeps an object that is to be deleted: pods their claims, claims their volumes, contents a namespace.
fn held(objects: &mut Value, key: &str) -> bool {
    let object = objects[key].clone();
    let (namespace, name) = (meta(&object, "namespace").to_owned(), meta(&object, "name").to_owned());
    let map = objects.as_object_mut().expect("objects");
    match key.split('/').next() {
        Some("persistentvolumeclaims") => map.iter().any(|(key, pod)| {
            key.starts_with("pods/")
                && meta(pod, "namespace") == namespace
                && pod["spec"]["volumes"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|volume| volume["persistentVolumeClaim"]["claimName"] == name.as_str())
        }),
        Some("persistentvolumes") => {
            let claim = &object["spec"]["claimRef"];
            let key = format!(
                "persistentvolumeclaims/{}/{}",
                claim["namespace"].as_str().unwrap_or_default(),
                claim["name"].as_str().unwrap_or_default()
            );
            map.contains_key(&key)
        }
        Some("namespaces") => {
            let looks = object["x-looks"].as_u64().unwrap_or(0);
            let mut inside = false;
            for (_, object) in map.iter_mut().filter(|(_, object)| meta(object, "namespace") == name) {
                inside = true;
                mark(object, looks);
            }
            inside
        }
        _ => false,
    }
}
