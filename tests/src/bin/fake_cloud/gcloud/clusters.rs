//! Clusters: created, changed, listed, deleted, connected to.

use serde_json::{Value, json};

use super::{cluster_key, context, filtered, list as listed, location, pairs, pools, project};
use crate::answer::Answer;
use crate::call::Call;
use crate::kubectl::config;
use crate::state::{entry, lag};

/// What `--addons` and `--update-addons` call the parts of `addonsConfig`.
const ADDONS: [(&str, &str); 5] = [
    ("GcePersistentDiskCsiDriver", "gcePersistentDiskCsiDriverConfig"),
    ("GcpFilestoreCsiDriver", "gcpFilestoreCsiDriverConfig"),
    ("NodeLocalDNS", "dnsCacheConfig"),
    ("HttpLoadBalancing", "httpLoadBalancing"),
    ("HorizontalPodAutoscaling", "horizontalPodAutoscaling"),
];

pub fn list(state: &mut Value, call: &Call) -> Answer {
    let name = match project(state, call, "gcloud.container.clusters.list") {
        Ok(name) => name.to_owned(),
        Err(answer) => return answer,
    };
    let clusters = entry(entry(state, "gcloud"), "clusters");
    let start = format!("{name}/{}", location(call));
    let mut found = Vec::new();
    let mut gone = Vec::new();
    for (key, cluster) in clusters.as_object_mut().into_iter().flatten().filter(|(key, _)| key.starts_with(&start)) {
        if let Some(left) = cluster["x-gone-in"].as_u64() {
            if left == 0 {
                gone.push(key.clone());
                continue;
            }
            cluster["x-gone-in"] = (left - 1).into();
        }
        if filtered(call, cluster["name"].as_str().unwrap_or_default()) {
            found.push(cluster.clone());
        }
    }
    for key in gone {
        remove(state, &key);
    }
    listed(found)
}

pub fn describe(state: &mut Value, call: &Call) -> Answer {
    let cluster = &state["gcloud"]["clusters"][cluster_key(call, call.first())];
    match cluster.is_null() {
        true => Answer::failed(
            1,
            format!(
                "ERROR: (gcloud.container.clusters.describe) ResponseError: code=404, message=Not found: {}.",
                call.first()
            ),
        ),
        false => Answer::json(cluster),
    }
}

pub fn create(state: &mut Value, call: &Call) -> Answer {
    let project = match project(state, call, "gcloud.container.clusters.create") {
        Ok(name) => name.to_owned(),
        Err(answer) => return answer,
    };
    let key = cluster_key(call, call.first());
    if !state["gcloud"]["clusters"][&key].is_null() {
        return Answer::failed(
            1,
            format!(
                "ERROR: (gcloud.container.clusters.create) ResponseError: code=409, message=Already exists: {}.",
                call.first()
            ),
        );
    }
    let mut addons = json!({});
    for (name, config) in ADDONS {
        let on = call.flag("addons").is_some_and(|addons| addons.split(',').any(|addon| addon == name));
        if on {
            addons[config] = json!({"enabled": true});
        }
    }
    let text = |name: &str| call.flag(name).map_or(Value::Null, Value::from);
    let cluster = json!({
        "name": call.first(), "location": location(call), "status": "RUNNING",
        "currentMasterVersion": "1.32.4-gke.1415000",
        "resourceLabels": pairs(call.flag("labels").unwrap_or_default()),
        "releaseChannel": {"channel": call.flag("release-channel").unwrap_or("regular").to_uppercase()},
        "workloadIdentityConfig": {"workloadPool": text("workload-pool")},
        "network": text("network"), "subnetwork": text("subnetwork"),
        "addonsConfig": addons,
        "monitoringConfig": {
            "componentConfig": {"enableComponents": components(call.flag("monitoring").unwrap_or("SYSTEM"))},
            "managedPrometheusConfig": {"enabled": call.has("enable-managed-prometheus")},
        },
        "nodePools": [],
        "x-project": project,
    });
    entry(entry(state, "gcloud"), "clusters")[&key] = cluster;
    entry(entry(entry(state, "kubernetes"), &context(&key)), "objects");
    pools::add(state, &key, "default-pool", call);
    Answer::json(&listing(state, &key))
}

/// Real answers hold no notes of ours.
fn listing(state: &Value, key: &str) -> Value {
    json!([state["gcloud"]["clusters"][key]])
}

fn components(flag: &str) -> Value {
    flag.split(',').map(|name| if name == "SYSTEM" { "SYSTEM_COMPONENTS" } else { name }).collect::<Vec<_>>().into()
}

pub fn update(state: &mut Value, call: &Call) -> Answer {
    let key = cluster_key(call, call.first());
    let cluster = &mut state["gcloud"]["clusters"][&key];
    if cluster.is_null() {
        return Answer::failed(
            1,
            "ERROR: (gcloud.container.clusters.update) ResponseError: code=404, message=Not found",
        );
    }
    let families = ["update-addons", "enable-managed-prometheus", "monitoring", "workload-pool", "release-channel"];
    if families.iter().filter(|flag| call.flag(flag).is_some()).count() != 1 {
        return Answer::failed(2, "ERROR: (gcloud.container.clusters.update) Exactly one of these must be specified");
    }
    for (name, value) in
        call.flag("update-addons").unwrap_or_default().split(',').filter_map(|pair| pair.split_once('='))
    {
        match ADDONS.iter().find(|(addon, _)| *addon == name) {
            Some((_, config)) => cluster["addonsConfig"][*config] = json!({"enabled": value == "ENABLED"}),
            None => {
                return Answer::failed(2, format!("ERROR: (gcloud.container.clusters.update) unknown addon {name}"));
            }
        }
    }
    if call.has("enable-managed-prometheus") {
        cluster["monitoringConfig"]["managedPrometheusConfig"] = json!({"enabled": true});
    }
    if let Some(monitoring) = call.flag("monitoring") {
        cluster["monitoringConfig"]["componentConfig"] = json!({"enableComponents": components(monitoring)});
    }
    if let Some(pool) = call.flag("workload-pool") {
        cluster["workloadIdentityConfig"] = json!({"workloadPool": pool});
    }
    Answer::done()
}

pub fn delete(state: &mut Value, call: &Call) -> Answer {
    let key = cluster_key(call, call.first());
    let looks = lag(state);
    let cluster = &mut state["gcloud"]["clusters"][&key];
    if cluster.is_null() {
        return Answer::failed(1, "ERROR: (gcloud.container.clusters.delete) Some requests did not succeed: Not found");
    }
    cluster["status"] = "STOPPING".into();
    cluster["x-gone-in"] = looks.into();
    if looks == 0 {
        remove(state, &key);
    }
    Answer::done()
}

fn remove(state: &mut Value, key: &str) {
    let pools = state["gcloud"]["clusters"][key]["nodePools"].clone();
    for pool in pools.as_array().into_iter().flatten() {
        let group = pools::group_name(key, pool["name"].as_str().unwrap_or_default());
        entry(entry(state, "gcloud"), "groups").as_object_mut().map(|groups| groups.remove(&group));
    }
    state["gcloud"]["clusters"].as_object_mut().map(|clusters| clusters.remove(key));
    state["kubernetes"].as_object_mut().map(|all| all.remove(&context(key)));
}

/// Writes a kubeconfig with the cluster's context to where the environment says.
pub fn credentials(state: &mut Value, call: &Call) -> Answer {
    let key = cluster_key(call, call.first());
    if state["gcloud"]["clusters"][&key].is_null() {
        return Answer::failed(
            1,
            "ERROR: (gcloud.container.clusters.get-credentials) ResponseError: code=404, message=Not found",
        );
    }
    let file = config::file(call);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(file, serde_json::to_vec(&config::single(&context(&key))).expect("JSON")).expect("a kubeconfig");
    Answer { stderr: "Fetching cluster endpoint and auth data.\n".into(), ..Answer::done() }
}
