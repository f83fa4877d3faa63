//! A project's account, services, rights, zones and Filestore instances.

use serde_json::{Value, json};

use super::{list, location, project};
use crate::answer::Answer;
use crate::call::Call;
use crate::state::texts;

/// Runs a look at the project; the account must be allowed to.
fn look(state: &Value, call: &Call, command: &str, answer: impl FnOnce(&Value) -> Answer) -> Answer {
    match project(state, call, command) {
        Ok(name) => answer(&state["gcloud"]["projects"][name]),
        Err(answer) => answer,
    }
}

fn absent(command: &str, what: &str, name: &str) -> Answer {
    Answer::failed(
        1,
        format!("ERROR: ({command}) Could not fetch resource:\n - The resource '{what}/{name}' was not found"),
    )
}

pub fn auth_list(state: &mut Value, _: &Call) -> Answer {
    list(match state["gcloud"]["account"].as_str() {
        Some(account) => vec![json!({"account": account, "status": "ACTIVE"})],
        None => Vec::new(),
    })
}

pub fn version(_: &mut Value, _: &Call) -> Answer {
    Answer::json(&json!({"Google Cloud SDK": "528.0.0"}))
}

pub fn describe(state: &mut Value, call: &Call) -> Answer {
    let name = call.first().to_owned();
    match state["gcloud"]["projects"][&name].is_null() {
        true => Answer::failed(
            1,
            format!(
                "ERROR: (gcloud.projects.describe) [{}] does not have permission to access projects instance [{name}] (or it may not exist)",
                state["gcloud"]["account"].as_str().unwrap_or("nobody")
            ),
        ),
        false => Answer::json(&json!({"projectId": name, "lifecycleState": "ACTIVE", "projectNumber": "123456789012"})),
    }
}

pub fn iam_policy(state: &mut Value, call: &Call) -> Answer {
    let bindings = &state["gcloud"]["projects"][call.first()]["bindings"];
    match bindings.is_null() {
        true => Answer::failed(1, "ERROR: (gcloud.projects.get-iam-policy) PERMISSION_DENIED"),
        false => Answer::json(&json!({"bindings": bindings, "etag": "BwX=", "version": 1})),
    }
}

pub fn services(state: &mut Value, call: &Call) -> Answer {
    look(state, call, "gcloud.services.list", |project| {
        let names = texts(&project["services"]);
        list(names.iter().map(|name| json!({"config": {"name": name}, "state": "ENABLED"})).collect())
    })
}

pub fn service_account(state: &mut Value, call: &Call) -> Answer {
    look(state, call, "gcloud.iam.service-accounts.describe", |project| {
        match texts(&project["service_accounts"]).contains(&call.first()) {
            true => Answer::json(&json!({"email": call.first(), "disabled": false})),
            false => Answer::failed(
                1,
                format!(
                    "ERROR: (gcloud.iam.service-accounts.describe) NOT_FOUND: Unknown service account {}",
                    call.first()
                ),
            ),
        }
    })
}

pub fn zone(state: &mut Value, call: &Call) -> Answer {
    look(state, call, "gcloud.compute.zones.describe", |project| match project["zones"][call.first()].is_null() {
        true => absent("gcloud.compute.zones.describe", "zones", call.first()),
        false => Answer::json(&json!({"name": call.first(), "status": "UP"})),
    })
}

pub fn machine_type(state: &mut Value, call: &Call) -> Answer {
    look(state, call, "gcloud.compute.machine-types.describe", |project| {
        let found = &project["zones"][location(call)]["machine_types"][call.first()];
        match found.is_null() {
            true => absent("gcloud.compute.machine-types.describe", "machineTypes", call.first()),
            false => {
                let mut found = found.clone();
                found["name"] = call.first().into();
                Answer::json(&found)
            }
        }
    })
}

pub fn accelerator_type(state: &mut Value, call: &Call) -> Answer {
    look(state, call, "gcloud.compute.accelerator-types.describe", |project| {
        match texts(&project["zones"][location(call)]["accelerators"]).contains(&call.first()) {
            true => Answer::json(&json!({"name": call.first()})),
            false => absent("gcloud.compute.accelerator-types.describe", "acceleratorTypes", call.first()),
        }
    })
}

pub fn subnetwork(state: &mut Value, call: &Call) -> Answer {
    look(state, call, "gcloud.compute.networks.subnets.describe", |project| {
        match texts(&project["subnetworks"]).contains(&call.first()) {
            true => Answer::json(&json!({
                "name": call.first(),
                "network": "https://www.googleapis.com/compute/v1/projects/p/global/networks/default",
            })),
            false => absent("gcloud.compute.networks.subnets.describe", "subnetworks", call.first()),
        }
    })
}

pub fn forwarding_rules(state: &mut Value, call: &Call) -> Answer {
    look(state, call, "gcloud.compute.forwarding-rules.list", |project| {
        list(project["forwarding_rules"].as_array().cloned().unwrap_or_default())
    })
}

pub fn filestores(state: &mut Value, call: &Call) -> Answer {
    let name = match project(state, call, "gcloud.filestore.instances.list") {
        Ok(name) => name,
        Err(answer) => return answer,
    };
    let start = format!("projects/{name}/locations/{}", location(call));
    let instances = state["gcloud"]["filestore"].as_array().cloned().unwrap_or_default();
    let here =
        instances.into_iter().filter(|instance| instance["name"].as_str().is_some_and(|name| name.starts_with(&start)));
    let answer = list(here.collect());
    // Those that are being deleted come one look closer to their end.
    if let Some(instances) = state["gcloud"]["filestore"].as_array_mut() {
        instances.retain(|instance| instance["x-gone-in"] != 0);
        for instance in instances {
            if let Some(left) = instance["x-gone-in"].as_u64() {
                instance["x-gone-in"] = (left - 1).into();
            }
        }
    }
    answer
}

pub fn delete_filestore(state: &mut Value, call: &Call) -> Answer {
    let name = match project(state, call, "gcloud.filestore.instances.delete") {
        Ok(name) => name,
        Err(answer) => return answer,
    };
    let full = format!("projects/{name}/locations/{}/instances/{}", location(call), call.first());
    let looks = crate::state::lag(state);
    let instances = state["gcloud"]["filestore"].as_array_mut();
    let Some(instance) = instances.into_iter().flatten().find(|instance| instance["name"] == full.as_str()) else {
        return Answer::failed(
            1,
            format!("ERROR: (gcloud.filestore.instances.delete) NOT_FOUND: Resource '{full}' was not found"),
        );
    };
    instance["state"] = "DELETING".into();
    instance["x-gone-in"] = looks.into();
    if looks == 0 {
        state["gcloud"]["filestore"].as_array_mut().into_iter().for_each(|all| all.retain(|it| it["x-gone-in"] != 0));
    }
    Answer::done()
}
