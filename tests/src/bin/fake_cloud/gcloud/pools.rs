//! Node pools and the instance groups behind them.

use serde_json::{Value, json};

use super::{cluster_key, context, list as listed, location, pairs, project};
use crate::answer::Answer;
use crate::call::Call;
use crate::kubectl::{life, objects};
use crate::state::{entry, lag};

/// The instance group of a pool.
pub fn group_name(key: &str, pool: &str) -> String {
    format!("gke-{}-{pool}-1a2b3c4d-grp", key.rsplit('/').next().unwrap_or_default())
}

/// Adds a pool to a cluster, as the flags of a call describe it, with its group and nodes.
pub fn add(state: &mut Value, key: &str, name: &str, call: &Call) {
    let [project, zone, _] = key.splitn(3, '/').collect::<Vec<_>>()[..] else { return };
    let machine = call.flag("machine-type").unwrap_or("e2-medium");
    let mut config = json!({
        "machineType": machine,
        "serviceAccount": call.flag("service-account").unwrap_or("default"),
        "labels": pairs(call.flag("node-labels").unwrap_or_default()),
        "resourceLabels": pairs(call.flag("labels").unwrap_or_default()),
        "workloadMetadataConfig": {"mode": call.flag("workload-metadata").unwrap_or("GKE_METADATA")},
    });
    if call.has("spot") {
        config["spot"] = true.into();
    }
    if let Some(accelerator) = call.flag("accelerator").map(pairs) {
        config["accelerators"] = json!([{
            "acceleratorType": accelerator["type"], "acceleratorCount": accelerator["count"],
            "gpuDriverInstallationConfig": {
                "gpuDriverVersion": accelerator["gpu-driver-version"].as_str().unwrap_or("default").to_uppercase(),
            },
        }]);
    }
    let nodes: u64 = call.flag("num-nodes").and_then(|text| text.parse().ok()).unwrap_or(3);
    let group = group_name(key, name);
    let pool = json!({
        "name": name, "status": "RUNNING", "initialNodeCount": nodes, "config": config,
        "instanceGroupUrls": [format!("https://www.googleapis.com/compute/v1/projects/{project}/zones/{zone}/instanceGroupManagers/{group}")],
        "autoscaling": {},
    });
    let pools = state["gcloud"]["clusters"][key]["nodePools"].as_array_mut().expect("pools");
    pools.push(pool);
    let groups = entry(entry(state, "gcloud"), "groups");
    groups[&group] =
        json!({"name": group, "targetSize": 0, "zone": zone, "x-key": key, "x-pool": name, "x-creating": 0});
    size(state, key, name, nodes);
}

/// Brings a pool to a number of nodes; no more of them come than there is `capacity` for.
fn size(state: &mut Value, key: &str, pool: &str, wanted: u64) {
    let looks = lag(state);
    let capacity = state["gcloud"]["capacity"].as_u64().unwrap_or(u64::MAX);
    let config = state["gcloud"]["clusters"][key]["nodePools"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|it| it["name"] == pool)
        .map(|it| it["config"].clone())
        .unwrap_or_default();
    let accelerator = config["accelerators"][0].clone();
    let gpus = accelerator["acceleratorCount"].as_str().unwrap_or("0").to_owned();
    let present = nodes(state, key, pool);
    let context = context(key);
    let objects = &mut state["kubernetes"][&context]["objects"];
    if wanted < present.len() as u64 {
        for node in &present[usize::try_from(wanted).expect("a small number")..] {
            life::mark(&mut objects[node], looks);
        }
    }
    let come = if accelerator.is_null() { wanted } else { wanted.min(capacity) };
    for number in present.len() as u64..come {
        let name = format!("gke-{}-{pool}-1a2b3c4d-{number:04}", key.rsplit('/').next().unwrap_or_default());
        let mut node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {
                "cloud.google.com/gke-nodepool": pool, "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": config["machineType"],
            }},
            "status": {"conditions": [{"type": "Ready", "status": "True"}],
                "allocatable": {"cpu": "3920m", "memory": "12Gi", "pods": "110"}},
            "x-ready-in": looks,
        });
        if !accelerator.is_null() {
            node["metadata"]["labels"]["cloud.google.com/gke-accelerator"] = accelerator["acceleratorType"].clone();
            node["status"]["allocatable"]["nvidia.com/gpu"] = gpus.as_str().into();
        }
        objects::put(state, &context, &format!("nodes//{name}"), node);
    }
    let group = &mut state["gcloud"]["groups"][group_name(key, pool)];
    group["targetSize"] = wanted.into();
    group["x-creating"] = wanted.saturating_sub(come.max(present.len() as u64)).into();
}

/// The keys of the pool's nodes that are not about to go.
fn nodes(state: &Value, key: &str, pool: &str) -> Vec<String> {
    let selector = format!("cloud.google.com/gke-nodepool={pool}");
    let kind = objects::named("nodes").expect("a kind");
    let all = &state["kubernetes"][context(key)]["objects"];
    let selection = objects::Selection { kind, namespace: None, labels: &selector, fields: "" };
    let keys = selection.keys(all);
    keys.into_iter().filter(|key| all[key]["metadata"]["deletionTimestamp"].is_null()).collect()
}

pub fn create(state: &mut Value, call: &Call) -> Answer {
    if let Err(answer) = project(state, call, "gcloud.container.node-pools.create") {
        return answer;
    }
    let key = cluster_key(call, call.flag("cluster").unwrap_or_default());
    let pools = state["gcloud"]["clusters"][&key]["nodePools"].as_array().cloned();
    let Some(pools) = pools else {
        return Answer::failed(
            1,
            "ERROR: (gcloud.container.node-pools.create) ResponseError: code=404, message=Not found",
        );
    };
    if pools.iter().any(|pool| pool["name"] == call.first()) {
        return Answer::failed(
            1,
            "ERROR: (gcloud.container.node-pools.create) ResponseError: code=409, message=Already exists",
        );
    }
    add(state, &key, call.first(), call);
    Answer::done()
}

pub fn list(state: &mut Value, call: &Call) -> Answer {
    let key = cluster_key(call, call.flag("cluster").unwrap_or_default());
    listed(state["gcloud"]["clusters"][key]["nodePools"].as_array().cloned().unwrap_or_default())
}

pub fn resize(state: &mut Value, call: &Call) -> Answer {
    let key = cluster_key(call, call.first());
    let pool = call.flag("node-pool").unwrap_or_default();
    if state["gcloud"]["groups"][group_name(&key, pool)].is_null() {
        return Answer::failed(
            1,
            format!("ERROR: (gcloud.container.clusters.resize) No node pool named '{pool}' in {key}."),
        );
    }
    let wanted = call.flag("num-nodes").or(call.flag("size")).and_then(|text| text.parse().ok()).unwrap_or(0);
    size(state, &key, pool, wanted);
    Answer::done()
}

pub fn group(state: &mut Value, call: &Call) -> Answer {
    let group = &state["gcloud"]["groups"][call.first()];
    match group.is_null() || group["zone"] != location(call) {
        true => Answer::failed(
            1,
            "ERROR: (gcloud.compute.instance-groups.managed.describe) Could not fetch resource: not found",
        ),
        false => Answer::json(group),
    }
}

pub fn instances(state: &mut Value, call: &Call) -> Answer {
    let group = state["gcloud"]["groups"][call.first()].clone();
    let (Some(key), Some(pool)) = (group["x-key"].as_str(), group["x-pool"].as_str()) else {
        return Answer::failed(1, "ERROR: (gcloud.compute.instance-groups.managed.list-instances) not found");
    };
    let context = context(key);
    life::tick(state, &context);
    let selector = format!("cloud.google.com/gke-nodepool={pool}");
    let kind = objects::named("nodes").expect("a kind");
    let all = &state["kubernetes"][&context]["objects"];
    let selection = objects::Selection { kind, namespace: None, labels: &selector, fields: "" };
    let mut found: Vec<Value> = selection
        .keys(all)
        .iter()
        .map(|key| {
            let going = all[key]["metadata"]["deletionTimestamp"].is_string();
            json!({
                "name": objects::meta(&all[key], "name"),
                "instanceStatus": if going { "STOPPING" } else { "RUNNING" },
                "currentAction": if going { "DELETING" } else { "NONE" },
            })
        })
        .collect();
    found.extend(
        (0..group["x-creating"].as_u64().unwrap_or(0))
            .map(|number| json!({"name": format!("{}-pending-{number}", call.first()), "currentAction": "CREATING"})),
    );
    listed(found)
}
