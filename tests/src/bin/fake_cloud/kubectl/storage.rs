//! Claims get a volume at once, and a Filestore instance where their class is of that kind.

use serde_json::{Value, json};

use super::objects::{meta, put};
use crate::state::entry;

/// The label by which Filestore instances name the namespace of their claim.
pub const NAMESPACE_LABEL: &str = "kubernetes_io_created-for_pvc_namespace";

/// Gives a new claim its volume.
pub fn bind(state: &mut Value, context: &str, key: &str) {
    let claim = state["kubernetes"][context]["objects"][key].clone();
    let (namespace, name) = (meta(&claim, "namespace"), meta(&claim, "name"));
    let class = claim["spec"]["storageClassName"].as_str().unwrap_or("standard-rwo");
    let volume = format!("pvc-{}", meta(&claim, "uid"));
    let filestore = class.ends_with("rwx");
    let policy = if class.contains("retain") { "Retain" } else { "Delete" };
    let driver = match filestore {
        true => "filestore.csi.storage.gke.io",
        false => "pd.csi.storage.gke.io",
    };
    if filestore {
        let (project, zone) = match context.splitn(4, '_').collect::<Vec<_>>()[..] {
            ["gke", project, zone, _] => (project.to_owned(), zone.to_owned()),
            _ => ("none".to_owned(), "none".to_owned()),
        };
        let instances = entry(entry(state, "gcloud"), "filestore");
        if !instances.is_array() {
            *instances = json!([]);
        }
        let instance = json!({
            "name": format!("projects/{project}/locations/{zone}/instances/{volume}"),
            "tier": if class.starts_with("premium") { "BASIC_SSD" } else { "BASIC_HDD" },
            "state": "READY",
            "labels": {
                NAMESPACE_LABEL: namespace,
                "kubernetes_io_created-for_pvc_name": name,
                "kubernetes_io_created-for_pv_name": volume,
                "storage_gke_io_created-by": "filestore_csi_storage_gke_io",
            },
        });
        instances.as_array_mut().expect("a list").push(instance);
    }
    let object = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": volume},
        "spec": {
            "persistentVolumeReclaimPolicy": policy, "storageClassName": class,
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name, "uid": meta(&claim, "uid")},
            "csi": {"driver": driver, "volumeHandle": format!("modeInstance/{volume}/vol1")},
        },
        "status": {"phase": "Bound"},
    });
    put(state, context, &format!("persistentvolumes//{volume}"), object);
    let claim = &mut state["kubernetes"][context]["objects"][key];
    claim["spec"]["volumeName"] = volume.into();
    claim["status"] = json!({"phase": "Bound"});
}

/// What follows when a claim is gone: its volume goes too, or stays behind when it is to be retained.
pub fn released(state: &mut Value, context: &str, volume: &str, looks: u64) {
    let volume = &mut state["kubernetes"][context]["objects"][&format!("persistentvolumes//{volume}")];
    if volume.is_null() {
        return;
    }
    volume["status"]["phase"] = "Released".into();
    if volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete" {
        super::life::mark(volume, looks);
    }
}

/// What follows when a volume is gone: so is its instance, unless it was to be retained.
pub fn removed(state: &mut Value, volume: &Value) {
    if volume["spec"]["persistentVolumeReclaimPolicy"] != "Delete" {
        return;
    }
    if let Some(instances) = state["gcloud"]["filestore"].as_array_mut() {
        let suffix = format!("/{}", meta(volume, "name"));
        instances.retain(|instance| !instance["name"].as_str().is_some_and(|name| name.ends_with(&suffix)));
    }
}
