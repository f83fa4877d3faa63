//! The cluster that treatments are to run in: that it is there and is what it claims, its nodes, accelerators, storage.

use serde_json::Value;

use super::{Finding, Subject};
use crate::cluster::{Error, Kubeconfig, Kubectl, Tools, object};
use crate::failure::{Failure, Kind};
use crate::provider::kind;
use crate::settings::{GpuRelease, Place, Settings};

/// Resources by which nodes offer accelerators.
const GPUS: [&str; 2] = ["nvidia.com/gpu", "amd.com/gpu"];

/// Asks the cluster. Without the tools to ask it there is nothing to add to what is said of them.
pub(super) fn cluster(subject: &Subject<'_>) -> Vec<Finding> {
    let tools = Tools { path: subject.path.clone() };
    let scratch = match tempfile::tempdir() {
        Ok(scratch) => scratch,
        Err(error) => return vec![Finding::failed("cluster", &Failure::internal(error))],
    };
    let name = &subject.settings.cluster.name;
    let kubeconfig = match subject.place {
        Place::Kind => match kind::exists(&tools, subject.session, name) {
            Ok(true) => kind::kubeconfig(&tools, subject.session, name, scratch.path()),
            Ok(false) => return vec![Finding::good("cluster", format!("the Kind cluster {name} will be created"))],
            // The finding about kind itself says it.
            Err(_) => return Vec::new(),
        },
        _ => {
            let context = subject.settings.cluster.context.as_deref();
            match Kubeconfig::private_with(&tools, subject.session, context, scratch.path()) {
                Err(Error::Process(error)) if error.is_missing() => return Vec::new(),
                other => other.map_err(|error| error.failure(Kind::Usage)),
            }
        }
    };
    match kubeconfig {
        Ok(kubeconfig) => ask(&Kubectl::new_with(tools, subject.session, kubeconfig), subject),
        Err(failure) => vec![Finding::failed("context", &failure)],
    }
}

fn ask(kubectl: &Kubectl, subject: &Subject<'_>) -> Vec<Finding> {
    let nodes = match kubectl.list("nodes", &[]) {
        Ok(nodes) => nodes,
        Err(error) => {
            let fix = "check that the cluster runs and that your credentials are valid: kubectl get nodes";
            return vec![Finding::problem("cluster", format!("{} does not answer: {error}", kubectl.context()), fix)];
        }
    };
    let mut findings = vec![claim(kubectl.context(), &nodes, subject.place), ready(&nodes)];
    findings.extend(gpus(&nodes, subject.settings));
    match kubectl.list("storageclasses.storage.k8s.io", &[]) {
        Ok(classes) => findings.extend(storage(&classes, subject.settings)),
        Err(error) => findings.push(Finding::failed("storage", &error.failure(Kind::Usage))),
    }
    findings
}

/// A context is only a name; nodes tell where they are.
fn claim(context: &str, nodes: &[Value], place: Place) -> Finding {
    let google = |node: &Value| {
        object::text(node, "/spec/providerID").starts_with("gce://")
            || object::label(node, "cloud.google.com/gke-nodepool").is_some()
    };
    if place == Place::Gke && !nodes.iter().any(google) {
        let fix = "give the context of a GKE cluster, or use --provider kube for another kind of cluster";
        return Finding::problem("context", format!("{context} is no GKE cluster: none of its nodes is Google's"), fix);
    }
    Finding::good("context", context)
}

fn ready(nodes: &[Value]) -> Finding {
    let ready = nodes.iter().filter(|node| object::condition(node, "Ready")).count();
    let detail = format!("{ready} of {} nodes are ready", nodes.len());
    if ready == 0 {
        return Finding::problem("nodes", detail, "wait until nodes are ready, or add some: kubectl get nodes");
    }
    Finding::good("nodes", detail)
}

fn gpus(nodes: &[Value], settings: &Settings) -> Option<Finding> {
    if settings.cluster.accelerator.kind != "gpu" {
        return None;
    }
    let needed = u64::from(settings.cluster.replicas) * u64::from(settings.cluster.tensor_parallelism.max(1));
    let of = |node: &Value| -> u64 {
        let allocatable = node.pointer("/status/allocatable").cloned().unwrap_or_default();
        GPUS.iter().filter_map(|name| allocatable[*name].as_str()?.parse::<u64>().ok()).sum()
    };
    let there: u64 = nodes.iter().filter(|node| object::condition(node, "Ready")).map(of).sum();
    let detail = format!(
        "{needed} GPUs are needed ({} model servers of {}), ready nodes have {there}",
        settings.cluster.replicas,
        settings.cluster.tensor_parallelism.max(1)
    );
    if there >= needed {
        return Some(Finding::good("gpus", detail));
    }
    let fix = "add GPU nodes, or ask for less: --set cluster.replicas=N, --set cluster.tensor_parallelism=N";
    // A campaign that gives nodes back gets them too.
    Some(match settings.cluster.gpu_release {
        GpuRelease::Never => Finding::problem("gpus", detail, fix),
        _ => Finding::warning("gpus", detail, "they are brought up before the first standup"),
    })
}

fn storage(classes: &[Value], settings: &Settings) -> Vec<Finding> {
    let names = object::names(classes);
    let default = "storageclass.kubernetes.io/is-default-class";
    let has_default = classes.iter().any(|class| object::annotation(class, default) == Some("true"));
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let wanted = [
        ("storage.model.class", &settings.storage.model.class),
        ("storage.workload.class", &settings.storage.workload.class),
    ];
    wanted
        .into_iter()
        .map(|(key, class)| match class {
            Some(class) if names.contains(&class.as_str()) => {
                Finding::good("storage", format!("{key} {class} is there"))
            }
            Some(class) => Finding::problem(
                "storage",
                format!("there is no storage class {class} ({key})"),
                format!("choose one that is there (--set {key}=NAME): {known}"),
            ),
            None if has_default => Finding::good("storage", format!("{key}: the cluster's default class")),
            None => Finding::problem(
                "storage",
                format!("{key} is not set and the cluster has no default class"),
                format!("name one (--set {key}=NAME): {known}"),
            ),
        })
        .collect()
}
