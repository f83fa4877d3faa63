//! A machine whose cloud may hold a cluster and a campaign; `xtask gke` on it.

use std::sync::OnceLock;

use e2e::Outcome;
use e2e::fake::{CONTEXT, Machine, PROJECT, ZONE, gke};
use serde_json::{Value, json};

pub fn machine() -> Machine {
    Machine::new(env!("CARGO_BIN_EXE_fake_cloud").as_ref(), &["kubectl", "gcloud"], &gke())
}

/// The namespace of campaign `c`'s first cell.
pub const NAMESPACE: &str = "bench-c-service-1";

/// Deadlines so small that what does not come about is given up soon.
pub const SOON: [&str; 6] =
    ["--set", "gke.provision_timeout=1", "--set", "gke.cleanup_timeout=1", "--set", "gke.gpu.ready_timeout=1"];

pub fn command(machine: &Machine, verb: &str, more: &[&str]) -> std::process::Command {
    let mut command = machine.command(&["gke", verb]);
    command.args(more).env("BENCHMARK_GKE_PROJECT", PROJECT);
    command
}

pub fn run(machine: &Machine, verb: &str, more: &[&str]) -> Outcome {
    e2e::outcome(command(machine, verb, more).spawn().expect("xtask starts"))
}

/// As [`run`], with small deadlines.
pub fn soon(machine: &Machine, verb: &str, more: &[&str]) -> Outcome {
    let mut command = command(machine, verb, more);
    e2e::outcome(command.args(SOON).spawn().expect("xtask starts"))
}

/// A machine whose cluster is complete, with or without GPU nodes; made once and copied from then on.
pub fn provisioned(gpus: bool) -> Machine {
    static MADE: OnceLock<(Value, Value)> = OnceLock::new();
    let (without, with) = MADE.get_or_init(|| {
        let machine = machine();
        run(&machine, "provision", &[]).expect(0);
        let without = machine.cloud.state();
        run(&machine, "gpu-up", &[]).expect(0);
        (without, machine.cloud.state())
    });
    Machine::new(env!("CARGO_BIN_EXE_fake_cloud").as_ref(), &["kubectl", "gcloud"], if gpus { with } else { without })
}

/// A cluster with its pools, and what a campaign `c` has left in it: a namespace with a pod, a claim, a volume, Filestore.
pub fn with_campaign() -> Machine {
    let machine = provisioned(true);
    machine.cloud.change(|state| {
        let objects = &mut state["kubernetes"][CONTEXT]["objects"];
        let mut put = |key: &str, mut object: Value| {
            object["metadata"]["resourceVersion"] = "1".into();
            objects[key] = object;
        };
        let mark = json!({"app.kubernetes.io/managed-by": "agentgateway-benchmark"});
        put(
            "namespaces//bench-c-service-1",
            json!({"kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": mark,
            "annotations": {"benchmark.agentgateway.dev/campaign": "c"}}}),
        );
        put(
            "namespaces//bench-other",
            json!({"kind": "Namespace", "metadata": {"name": "bench-other", "labels": mark,
            "annotations": {"benchmark.agentgateway.dev/campaign": "other"}}}),
        );
        put(
            "pods/bench-c-service-1/p",
            json!({"kind": "Pod", "metadata": {"name": "p", "namespace": NAMESPACE},
            "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "model"}}]}}),
        );
        for (namespace, number, policy) in
            [(NAMESPACE, 1, "Delete"), (NAMESPACE, 2, "Retain"), ("bench-other", 3, "Delete")]
        {
            let (claim, volume) = (
                format!("model{}", if number == 1 { String::new() } else { number.to_string() }),
                format!("pvc-{number}"),
            );
            put(
                &format!("persistentvolumeclaims/{namespace}/{claim}"),
                json!({"kind": "PersistentVolumeClaim",
                "metadata": {"name": claim, "namespace": namespace}, "spec": {"volumeName": volume}}),
            );
            put(
                &format!("persistentvolumes//{volume}"),
                json!({"kind": "PersistentVolume", "metadata": {"name": volume},
                "spec": {"persistentVolumeReclaimPolicy": policy, "csi": {"driver": "filestore.csi.storage.gke.io"},
                    "claimRef": {"namespace": namespace, "name": claim}}}),
            );
        }
        put(
            "configmaps/agentgateway-benchmark-lock/campaign",
            json!({"kind": "ConfigMap",
            "metadata": {"name": "campaign", "namespace": "agentgateway-benchmark-lock"},
            "data": {"campaign": "c", "by": "elsewhere, process 7", "since": "2026-08-17T10:15:00Z"}}),
        );
        let filestore = |number: u32, namespace: &str| {
            json!({
                "name": format!("projects/{PROJECT}/locations/{ZONE}/instances/pvc-{number}"),
                "labels": {"storage_gke_io_created-by": "filestore_csi_storage_gke_io",
                    "kubernetes_io_created-for_pvc_namespace": namespace},
            })
        };
        // The last one of ours is an orphan: its volume is gone already.
        state["gcloud"]["filestore"] = json!([
            filestore(1, NAMESPACE),
            filestore(2, NAMESPACE),
            filestore(3, "bench-other"),
            filestore(9, NAMESPACE)
        ]);
    });
    machine
}

/// What can still be billed: nodes of the GPU pool, and storage of campaign `c`.
pub fn billed(machine: &Machine) -> Vec<String> {
    let state = machine.cloud.state();
    let mut found: Vec<String> =
        machine.cloud.objects(CONTEXT, "nodes//").into_iter().filter(|key| key.contains("gpu-h100")).collect();
    for instance in state["gcloud"]["filestore"].as_array().into_iter().flatten() {
        if instance["labels"]["kubernetes_io_created-for_pvc_namespace"] == NAMESPACE {
            found.push(instance["name"].as_str().unwrap_or_default().to_owned());
        }
    }
    found
}

pub fn locked(machine: &Machine) -> bool {
    !machine.cloud.objects(CONTEXT, "configmaps/agentgateway-benchmark-lock/").is_empty()
}

/// A line without what differs from run to run.
pub fn lines(machine: &Machine) -> String {
    machine.cloud.calls().join("\n").replace(machine.home().to_str().expect("UTF-8"), "HOME")
}

/// The calls that change something.
pub fn changes(machine: &Machine) -> String {
    let verbs = ["resize", "create", "delete", "apply", "replace", "patch", "update"];
    let words = |call: &&String| call.split(' ').take(5).any(|word| verbs.contains(&word));
    machine.cloud.calls().iter().filter(words).cloned().collect::<Vec<_>>().join("\n")
}
