//! Kubeconfig files: which cluster is meant.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;

/// The file in use.
pub fn file(call: &Call) -> PathBuf {
    let named =
        call.flag("kubeconfig").map(PathBuf::from).or_else(|| std::env::var_os("KUBECONFIG").map(PathBuf::from));
    named.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".kube/config"))
}

/// What is in it; an empty one when it does not exist.
pub fn read(call: &Call) -> Value {
    std::fs::read_to_string(file(call))
        .ok()
        .and_then(|text| serde_yaml::from_str(&text).ok())
        .unwrap_or_else(|| json!({"apiVersion": "v1", "kind": "Config", "contexts": [], "clusters": [], "users": []}))
}

/// The context that a call is about.
pub fn context(call: &Call) -> Result<String, Answer> {
    let config = read(call);
    let wanted = call.flag("context").or(config["current-context"].as_str()).unwrap_or_default().to_owned();
    let known = config["contexts"].as_array().into_iter().flatten().any(|context| context["name"] == wanted.as_str());
    match known {
        true => Ok(wanted),
        false if wanted.is_empty() => Err(Answer::failed(
            1,
            "The connection to the server localhost:8080 was refused - did you specify the right host or port?",
        )),
        false => Err(Answer::failed(1, format!("error: context \"{wanted}\" does not exist"))),
    }
}

/// A kubeconfig with one context.
pub fn single(context: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": context, "preferences": {},
        "clusters": [{"name": context, "cluster": {"server": format!("https://{context}.invalid")}}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
        "users": [{"name": context, "user": {}}],
    })
}

pub fn view(_: &mut Value, call: &Call) -> Answer {
    let config = read(call);
    if !call.has("minify") {
        return Answer::json(&config);
    }
    match context(call) {
        Ok(context) => Answer::json(&single(&context)),
        Err(answer) => answer,
    }
}

pub fn get_contexts(_: &mut Value, call: &Call) -> Answer {
    let config = read(call);
    let names = config["contexts"].as_array().into_iter().flatten().filter_map(|context| context["name"].as_str());
    Answer::text(names.collect::<Vec<_>>().join("\n"))
}

pub fn current_context(_: &mut Value, call: &Call) -> Answer {
    match read(call)["current-context"].as_str().filter(|name| !name.is_empty()) {
        Some(name) => Answer::text(name),
        None => Answer::failed(1, "error: current-context is not set"),
    }
}
