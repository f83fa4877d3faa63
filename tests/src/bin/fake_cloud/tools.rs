//! The small programs beside kubectl: `kind`, `helm`, `skopeo`.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{Call, Verb};
use crate::kubectl::config;
use crate::kubectl::objects::{key, named, put};
use crate::state::entry;

/// `kind`.
pub const KIND: [Verb; 5] = [
    Verb { words: "version", flags: "", run: |_, _| Answer::text("kind v0.30.0 go1.25.1 linux/amd64") },
    Verb { words: "get clusters", flags: "", run: clusters },
    Verb { words: "get kubeconfig", flags: "name= internal", run: kubeconfig },
    Verb { words: "create cluster", flags: "name= kubeconfig= wait= config= image= retain", run: create },
    Verb { words: "load image-archive", flags: "name= nodes=", run: load },
];

/// `helm`.
pub const HELM: [Verb; 3] = [
    Verb { words: "version", flags: "short template=", run: |_, _| Answer::text("v4.0.1+g12500dd") },
    Verb { words: "plugin list", flags: "", run: |_, _| Answer::text("NAME\tVERSION\tTYPE\ndiff\t3.15.11\tcli/v1") },
    Verb {
        words: "upgrade",
        flags: "install version= n/namespace= kube-context= create-namespace set= wait timeout= f/values=",
        run: upgrade,
    },
];

/// `skopeo`.
pub const SKOPEO: [Verb; 2] = [
    Verb { words: "version", flags: "", run: |_, _| Answer::text("skopeo version 1.20.0") },
    Verb { words: "copy", flags: "override-os= override-arch= override-variant= a/all src-tls-verify=", run: copy },
];

fn names(state: &Value) -> Vec<String> {
    let contexts = state["kubernetes"].as_object();
    contexts.into_iter().flatten().filter_map(|(name, _)| Some(name.strip_prefix("kind-")?.to_owned())).collect()
}

fn clusters(state: &mut Value, _: &Call) -> Answer {
    match names(state).join("\n") {
        none if none.is_empty() => Answer { stderr: "No kind clusters found.\n".into(), ..Answer::done() },
        found => Answer::text(found),
    }
}

fn kubeconfig(state: &mut Value, call: &Call) -> Answer {
    let name = call.flag("name").unwrap_or("kind");
    if !names(state).iter().any(|known| known == name) {
        return Answer::failed(
            1,
            format!("ERROR: could not locate any control plane nodes for cluster named '{name}'"),
        );
    }
    Answer::json(&config::single(&format!("kind-{name}")))
}

fn create(state: &mut Value, call: &Call) -> Answer {
    let name = call.flag("name").unwrap_or("kind");
    if names(state).iter().any(|known| known == name) {
        return Answer::failed(1, format!("ERROR: node(s) already exist for a cluster with the name \"{name}\""));
    }
    let made = e2e::fake::kind(name);
    let context = format!("kind-{name}");
    entry(state, "kubernetes")[&context] = made["kubernetes"][&context].clone();
    if let Some(file) = call.flag("kubeconfig") {
        std::fs::write(file, config::single(&context).to_string()).expect("a kubeconfig");
    }
    Answer::done()
}

fn load(state: &mut Value, call: &Call) -> Answer {
    let archive = call.first().to_owned();
    let Ok(image) = std::fs::read_to_string(&archive) else {
        return Answer::failed(1, format!("ERROR: failed to open {archive}: no such file or directory"));
    };
    let loaded = entry(state, "images");
    if !loaded.is_array() {
        *loaded = json!([]);
    }
    loaded.as_array_mut().expect("a list").push(image.into());
    Answer::done()
}

/// An archive of ours holds the name of its image.
fn copy(_: &mut Value, call: &Call) -> Answer {
    let [from, to] = call.arguments.as_slice() else { return Answer::failed(1, "Exactly two arguments expected") };
    let Some(rest) = to.strip_prefix("docker-archive:") else { return Answer::failed(1, "unknown transport") };
    let (file, image) = rest.split_once(':').unwrap_or((rest, ""));
    if from.strip_prefix("docker://") != Some(image) {
        return Answer::failed(1, "the archive would name another image");
    }
    match std::fs::write(file, image) {
        Ok(()) => Answer::done(),
        Err(error) => Answer::failed(1, error.to_string()),
    }
}

/// agentgateway's charts: its definitions do nothing, its controller is a pod.
fn upgrade(state: &mut Value, call: &Call) -> Answer {
    let context = match call.flag("kube-context") {
        Some(context) => context.to_owned(),
        None => match config::context(call) {
            Ok(context) => context,
            Err(answer) => return answer,
        },
    };
    let namespace = call.flag("namespace").unwrap_or("default").to_owned();
    let version = call.flag("version").unwrap_or("latest").to_owned();
    let home = key(named("namespace").expect("a kind"), "", &namespace);
    if state["kubernetes"][&context]["objects"][&home].is_null() {
        if !call.has("create-namespace") {
            return Answer::failed(1, format!("Error: namespaces \"{namespace}\" not found"));
        }
        put(state, &context, &home, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
    }
    if call.first() == "agentgateway" {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "agentgateway-0", "namespace": namespace, "labels": {"app.kubernetes.io/name": "agentgateway"}},
            "spec": {"containers": [{"name": "controller", "image": format!("cr.agentgateway.dev/controller:{version}")}]},
        });
        put(state, &context, &key(named("pod").expect("a kind"), &namespace, "agentgateway-0"), pod);
    }
    Answer::text(format!("Release \"{}\" has been upgraded. Happy Helming!", call.first()))
}
