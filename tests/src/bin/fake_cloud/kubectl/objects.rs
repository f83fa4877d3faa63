//! The objects of a cluster: kinds, keys, selection, and what an API server does on creation.

use serde_json::{Value, json};

use super::storage;
use crate::state::entry;

/// A kind of object.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// As in `kind:`.
    pub kind: &'static str,
    /// Other names it is asked for by; the first is the plural, which keys begin with.
    names: &'static [&'static str],
    /// Whether it lives in a namespace.
    pub namespaced: bool,
}

impl Kind {
    /// The plural.
    pub fn plural(&self) -> &'static str {
        self.names[0]
    }
}

const fn kind(kind: &'static str, names: &'static [&'static str], namespaced: bool) -> Kind {
    Kind { kind, names, namespaced }
}

/// The kinds that clusters know.
const KINDS: [Kind; 27] = [
    kind("Namespace", &["namespaces", "namespace", "ns"], false),
    kind("Node", &["nodes", "node", "no"], false),
    kind("PersistentVolume", &["persistentvolumes", "persistentvolume", "pv"], false),
    kind("StorageClass", &["storageclasses", "storageclass", "sc", "storageclasses.storage.k8s.io"], false),
    kind("CustomResourceDefinition", &["customresourcedefinitions", "customresourcedefinition", "crd", "crds"], false),
    kind("Pod", &["pods", "pod", "po"], true),
    kind("PersistentVolumeClaim", &["persistentvolumeclaims", "persistentvolumeclaim", "pvc"], true),
    kind("ConfigMap", &["configmaps", "configmap", "cm"], true),
    kind("Secret", &["secrets", "secret"], true),
    kind("Service", &["services", "service", "svc"], true),
    kind("ServiceAccount", &["serviceaccounts", "serviceaccount", "sa"], true),
    kind("Role", &["roles", "role", "roles.rbac.authorization.k8s.io"], true),
    kind("RoleBinding", &["rolebindings", "rolebinding", "rolebindings.rbac.authorization.k8s.io"], true),
    kind("ClusterRole", &["clusterroles", "clusterrole"], false),
    kind("ClusterRoleBinding", &["clusterrolebindings", "clusterrolebinding"], false),
    kind("Event", &["events", "event", "ev"], true),
    kind("Deployment", &["deployments", "deployment", "deploy", "deployments.apps"], true),
    kind("StatefulSet", &["statefulsets", "statefulset", "sts"], true),
    kind("DaemonSet", &["daemonsets", "daemonset", "ds"], true),
    kind("ReplicaSet", &["replicasets", "replicaset", "rs"], true),
    kind("Job", &["jobs", "job"], true),
    kind("Gateway", &["gateways", "gateway", "gtw", "gateways.gateway.networking.k8s.io"], true),
    kind("HTTPRoute", &["httproutes", "httproute", "httproutes.gateway.networking.k8s.io"], true),
    kind("InferencePool", &["inferencepools", "inferencepool", "inferencepools.inference.networking.k8s.io"], true),
    kind(
        "AgentgatewayParameters",
        &["agentgatewayparameters", "agentgatewayparameters.agentgateway.dev", "agentgatewayparameter"],
        true,
    ),
    kind("PodMonitoring", &["podmonitorings", "podmonitoring", "podmonitorings.monitoring.googleapis.com"], true),
    kind("PodMonitor", &["podmonitors", "podmonitor", "podmonitors.monitoring.coreos.com"], true),
];

/// The kind that this word names.
pub fn named(word: &str) -> Option<Kind> {
    let word = word.to_ascii_lowercase();
    KINDS.iter().copied().find(|kind| kind.names.contains(&word.as_str()) || kind.kind.eq_ignore_ascii_case(&word))
}

/// Where an object is kept.
pub fn key(kind: Kind, namespace: &str, name: &str) -> String {
    let namespace = if kind.namespaced { namespace } else { "" };
    format!("{}/{namespace}/{name}", kind.plural())
}

/// A text of the object's metadata.
pub fn meta<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"][name].as_str().unwrap_or_default()
}

/// Which objects are meant.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// Kind.
    pub kind: Kind,
    /// Namespace; `None` for all of them.
    pub namespace: Option<&'a str>,
    /// Label selector.
    pub labels: &'a str,
    /// Field selector.
    pub fields: &'a str,
}

impl Selection<'_> {
    /// The keys of the objects, in order of their names.
    pub fn keys(&self, objects: &Value) -> Vec<String> {
        let start = format!("{}/", self.kind.plural());
        let all = objects.as_object().into_iter().flatten();
        let mut keys: Vec<String> = all
            .filter(|(key, object)| {
                key.starts_with(&start)
                    && self.namespace.is_none_or(|it| !self.kind.namespaced || meta(object, "namespace") == it)
                    && fits(self.labels, |name| object["metadata"]["labels"][name].as_str())
                    && fits(self.fields, |path| object.pointer(&format!("/{}", path.replace('.', "/")))?.as_str())
            })
            .map(|(key, _)| key.clone())
            .collect();
        keys.sort();
        keys
    }
}

/// Whether a selector of `a=b`, `a!=b`, `a` and `!a` holds.
fn fits<'a>(selector: &str, value: impl Fn(&str) -> Option<&'a str>) -> bool {
    selector.split(',').filter(|part| !part.is_empty()).all(|part| {
        if let Some((name, unwanted)) = part.split_once("!=") {
            value(name) != Some(unwanted)
        } else if let Some((name, wanted)) = part.split_once('=') {
            value(name) == Some(wanted.trim_start_matches('='))
        } else if let Some(name) = part.strip_prefix('!') {
            value(name).is_none()
        } else {
            value(part).is_some()
        }
    })
}

/// Why an object cannot be put there.
pub fn refused(objects: &Value, kind: Kind, namespace: &str) -> Option<String> {
    if !kind.namespaced {
        return None;
    }
    let home = &objects[&format!("namespaces//{namespace}")];
    if home.is_null() {
        return Some(format!("Error from server (NotFound): namespaces \"{namespace}\" not found"));
    }
    home["metadata"]["deletionTimestamp"].is_string().then(|| {
        format!("Error from server (Forbidden): unable to create new content in namespace {namespace} because it is being terminated")
    })
}

/// Puts an object there, with what an API server and its controllers add to it.
pub fn put(state: &mut Value, context: &str, key: &str, mut object: Value) {
    let cluster = entry(entry(state, "kubernetes"), context);
    let version = cluster["version"].as_u64().unwrap_or(0) + 1;
    cluster["version"] = version.into();
    let before = cluster["objects"][key].take();
    let uid = match before["metadata"]["uid"].as_str() {
        Some(uid) => uid.to_owned(),
        None => format!("00000000-0000-4000-8000-{version:012}"),
    };
    let metadata = entry(&mut object, "metadata");
    metadata["uid"] = uid.into();
    metadata["resourceVersion"] = version.to_string().into();
    metadata["creationTimestamp"] = "2026-08-17T10:15:00Z".into();
    match key.split('/').next() {
        // Whoever looks for a secret in our files must not find it here.
        Some("secrets") => {
            if let Some(fields) = object.as_object_mut() {
                fields.retain(|name, _| name != "stringData" && name != "data");
            }
        }
        Some("namespaces") => object["status"] = json!({"phase": "Active"}),
        Some("pods") if object["status"].is_null() => {
            object["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        }
        _ => {}
    }
    entry(cluster, "objects")[key] = object;
    if key.starts_with("persistentvolumeclaims/") && before.is_null() {
        storage::bind(state, context, key);
    }
}

/// An object as the API server shows it: without our own notes, and not ready before its time.
pub fn shown(object: &Value) -> Value {
    let mut object = object.clone();
    let waiting = object["x-ready-in"].as_u64().unwrap_or(0) > 0;
    if let Some(map) = object.as_object_mut() {
        map.retain(|name, _| !name.starts_with("x-"));
    }
    if waiting {
        match object["kind"].as_str() {
            Some("Node") => {
                object["status"] = json!({"conditions": [{"type": "Ready", "status": "False"}], "allocatable": {}});
            }
            _ => object["status"] = json!({"phase": "Pending", "conditions": []}),
        }
    }
    object
}
