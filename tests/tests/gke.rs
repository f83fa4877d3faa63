//! GKE from nothing and back: what is asked, in which order, what is refused, what is left when something fails.

use std::sync::OnceLock;

use e2e::Outcome;
use e2e::fake::{CLUSTER, CONTEXT, Machine, PROJECT, ZONE, gke};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

fn machine() -> Machine {
    Machine::new(env!("CARGO_BIN_EXE_fake_cloud").as_ref(), &["kubectl", "gcloud"], &gke())
}

/// The namespace of campaign `c`'s first cell.
const NAMESPACE: &str = "bench-c-service-1";

/// Deadlines so small that what does not come about is given up soon.
const SOON: [&str; 6] =
    ["--set", "gke.provision_timeout=1", "--set", "gke.cleanup_timeout=1", "--set", "gke.gpu.ready_timeout=1"];

fn command(machine: &Machine, verb: &str, more: &[&str]) -> std::process::Command {
    let mut command = machine.command(&["gke", verb]);
    command.args(more).env("BENCHMARK_GKE_PROJECT", PROJECT);
    command
}

fn run(machine: &Machine, verb: &str, more: &[&str]) -> Outcome {
    e2e::outcome(command(machine, verb, more).spawn().expect("xtask starts"))
}

/// As [`run`], with small deadlines.
fn soon(machine: &Machine, verb: &str, more: &[&str]) -> Outcome {
    let mut command = command(machine, verb, more);
    e2e::outcome(command.args(SOON).spawn().expect("xtask starts"))
}

/// A machine whose cluster is complete, with or without GPU nodes; made once and copied from then on.
fn provisioned(gpus: bool) -> Machine {
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
fn with_campaign() -> Machine {
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
fn billed(machine: &Machine) -> Vec<String> {
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

fn locked(machine: &Machine) -> bool {
    !machine.cloud.objects(CONTEXT, "configmaps/agentgateway-benchmark-lock/").is_empty()
}

/// A line without what differs from run to run.
fn lines(machine: &Machine) -> String {
    machine.cloud.calls().join("\n").replace(machine.home().to_str().expect("UTF-8"), "HOME")
}

#[test]
fn a_cluster_is_made_once_and_found_complete_afterwards() {
    let machine = machine();
    let made = run(&machine, "provision", &[]).expect(0);
    assert!(made.stdout.contains(&format!("export BENCHMARK_KUBE_CONTEXT={CONTEXT}")), "{}", made.stdout);
    insta::assert_snapshot!("provision", lines(&machine));
    let state = machine.cloud.state();
    let record = machine.results().join(format!("_gke/{CONTEXT}.yaml"));
    assert!(fs_err::read_to_string(record).unwrap().contains("accelerators: 2 x nvidia-h100-80gb"));
    for verb in ["provision", "verify"] {
        run(&machine, verb, &[]).expect(0);
        assert_eq!(machine.cloud.state(), state, "{verb} changed something");
    }
    assert_eq!(machine.cloud.not_understood(), Vec::<Value>::new());
}

#[test]
fn missing_parts_of_our_own_cluster_are_switched_on_one_family_a_call() {
    let machine = provisioned(false);
    machine.cloud.change(|state| {
        let cluster = &mut state["gcloud"]["clusters"][format!("{PROJECT}/{ZONE}/{CLUSTER}")];
        cluster["addonsConfig"] = json!({});
        cluster["monitoringConfig"] = json!({});
        cluster["workloadIdentityConfig"] = json!({});
    });
    run(&machine, "verify", &[]).expect(2);
    run(&machine, "provision", &[]).expect(0);
    run(&machine, "verify", &[]).expect(0);
    let updates = machine.cloud.calls().iter().filter(|call| call.contains("clusters update")).count();
    assert_eq!(updates, 6);
}

#[test]
fn what_cannot_be_is_refused_with_everything_that_is_wrong_and_nothing_changed() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 6] = [
        (|state| state["gcloud"]["account"] = Value::Null, "no active account"),
        (
            |state| state["gcloud"]["projects"][PROJECT]["services"] = json!(["iam.googleapis.com"]),
            "gcloud services enable",
        ),
        (|state| state["gcloud"]["projects"][PROJECT]["bindings"] = json!([]), "add-iam-policy-binding"),
        (|state| state["gcloud"]["projects"][PROJECT]["service_accounts"] = json!([]), "service-accounts create"),
        (|state| state["gcloud"]["projects"][PROJECT]["zones"][ZONE]["accelerators"] = json!([]), "nvidia-h100-80gb"),
        (|state| state["gcloud"]["projects"] = json!({}), "BENCHMARK_GKE_PROJECT"),
    ];
    for (change, reason) in cases {
        let machine = machine();
        machine.cloud.change(change);
        let before = machine.cloud.state();
        let refused = run(&machine, "provision", &[]).expect(2);
        assert!(refused.stderr.contains(reason), "{reason}: {}", refused.stderr);
        assert_eq!(machine.cloud.state(), before, "{reason}");
    }
}

#[test]
fn a_foreign_cluster_is_never_adopted_and_a_different_pool_never_replaced() {
    let machine = provisioned(false);
    let refused = run(&machine, "provision", &["--set", "gke.gpu.spot=false"]).expect(2);
    assert!(refused.stderr.contains("Spot on instead of off"), "{}", refused.stderr);
    machine.cloud.change(|state| {
        state["gcloud"]["clusters"][format!("{PROJECT}/{ZONE}/{CLUSTER}")]["resourceLabels"] =
            json!({"purpose": "inference-benchmark"});
    });
    let before = machine.cloud.state();
    for (verb, more) in [("provision", ""), ("verify", ""), ("destroy", "gke.allow_destroy=true")] {
        let more: Vec<&str> = if more.is_empty() { vec![] } else { vec!["--set", more] };
        let refused = run(&machine, verb, &more).expect(2);
        assert!(refused.stderr.contains("was not made by this program"), "{}", refused.stderr);
    }
    assert_eq!(machine.cloud.state(), before);
}

#[test]
fn settings_that_cannot_be_meant_are_refused_before_anything_is_asked() {
    for (sets, reason) in [
        (vec!["gke.location=us-central1"], "a region, not a zone"),
        (vec!["gke.harness.nodepool=gpu-h100"], "both the pool gpu-h100"),
        (vec!["gke.gpu.ready_timeout=0"], "number above 0"),
        (vec!["gke.cleanup_timeout=0"], "number above 0"),
        (
            vec!["cluster.context=gke_other_us-central1-a_agentgateway-benchmark", "gke.project=bench-project"],
            "is not the cluster",
        ),
        (vec!["provider=local"], "is not GKE"),
    ] {
        let machine = machine();
        let mut command = machine.command(&["gke", "provision"]);
        for set in &sets {
            command.args(["--set", set]);
        }
        command.env("BENCHMARK_GKE_PROJECT", PROJECT);
        let refused = e2e::outcome(command.spawn().unwrap()).expect(2);
        assert!(refused.stderr.contains(reason), "{reason}: {}", refused.stderr);
        assert_eq!(machine.cloud.calls(), Vec::<String>::new());
    }
    let machine = machine();
    let refused = machine.run(&["gke", "plan"]).expect(2);
    assert!(refused.stderr.contains("BENCHMARK_GKE_PROJECT"), "{}", refused.stderr);
    let refused = run(&machine, "cleanup", &[]).expect(2);
    assert!(refused.stderr.contains("--campaign"), "{}", refused.stderr);
    assert_eq!(machine.cloud.calls(), Vec::<String>::new());
}

#[test]
fn a_dry_run_asks_nothing_and_prints_what_can_be_pasted() {
    let machine = machine();
    let mut all = String::new();
    for verb in ["plan", "provision", "verify", "gpu-up", "gpu-down", "cleanup", "destroy"] {
        let done = run(&machine, verb, &["--campaign", "c", "--dry-run"]).expect(0);
        all.push_str(&format!("### {verb}\n{}", done.stdout));
    }
    insta::assert_snapshot!("dry_runs", all);
    assert_eq!(machine.cloud.calls(), Vec::<String>::new());
    assert!(!machine.results().exists());
}

#[test]
fn what_provision_does_from_nothing_is_what_its_dry_run_prints() {
    let machine = machine();
    let printed = run(&machine, "provision", &["--dry-run"]).expect(0).stdout;
    run(&machine, "provision", &[]).expect(0);
    let printed: Vec<String> = printed
        .lines()
        .filter(|line| line.starts_with("gcloud") && !line.contains("clusters update"))
        .map(|line| line.replace('\'', ""))
        .collect();
    // After the cluster's creation its state is looked at once more than a page shows.
    let look = "clusters list";
    let done: Vec<String> = machine
        .cloud
        .calls()
        .into_iter()
        .scan(false, |made, call| {
            let skip = *made && call.contains(look);
            *made |= call.contains("clusters create");
            Some((skip, call))
        })
        .filter_map(|(skip, call)| (!skip).then_some(call))
        .take(printed.len())
        .collect();
    assert_eq!(done, printed);
}

#[test]
fn gpu_nodes_are_taken_waited_for_and_given_back() {
    let machine = provisioned(false);
    machine.cloud.change(|state| state["lag"] = 2.into());
    let took = run(&machine, "gpu-up", &[]).expect(0);
    assert!(took.stdout.contains("8 x a3-highgpu-2g (Spot) ready"), "{}", took.stdout);
    assert_eq!(billed(&machine).len(), 8);
    run(&machine, "gpu-down", &[]).expect(0);
    assert_eq!(billed(&machine), Vec::<String>::new());
    run(&machine, "gpu-down", &[]).expect(0);
    insta::assert_snapshot!(
        "gpus",
        lines(&machine).split_once("clusters resize").map(|(_, rest)| rest.to_owned()).unwrap()
    );
}

#[test]
fn gpu_nodes_that_do_not_all_come_are_given_back() {
    for fault in [
        json!([]),
        json!([{"match": ["gcloud", "resize", "--num-nodes=8"], "do": {"exit": 1, "stderr": "ZONE_RESOURCE_POOL_EXHAUSTED\n"}}]),
        json!([{"match": ["gcloud", "resize", "--num-nodes=8"], "after": true, "do": {"kind": "hang"}}]),
        json!([{"match": ["gcloud", "resize", "--num-nodes=8"], "after": true, "do": {"kind": "killed"}}]),
        json!([{"match": ["gcloud", "resize", "--num-nodes=8"], "do": {"exit": 0}}]),
        json!([{"match": ["kubectl", "get", "nodes"], "times": 1, "do": {"kind": "garbage"}}]),
    ] {
        let machine = provisioned(false);
        machine.cloud.change(|state| state["gcloud"]["capacity"] = 5.into());
        machine.cloud.break_down(&fault);
        soon(&machine, "gpu-up", &[]).expect(3);
        assert_eq!(billed(&machine), Vec::<String>::new(), "{fault}");
        assert_eq!(
            machine.cloud.state()["gcloud"]["groups"][format!("gke-{CLUSTER}-gpu-h100-1a2b3c4d-grp")]["targetSize"],
            0
        );
    }
}

#[test]
fn gpu_nodes_that_cannot_be_given_back_are_named_and_exit_with_4() {
    for fault in [
        json!([{"match": ["gcloud", "resize", "--num-nodes=0"], "do": {"exit": 1, "stderr": "an operation is running\n"}}]),
        json!([{"match": ["gcloud", "resize", "--num-nodes=0"], "do": {"exit": 0}}]),
        json!([{"match": ["gcloud", "resize", "--num-nodes=0"], "do": {"kind": "hang"}}]),
        json!([{"match": ["gcloud", "resize", "--num-nodes=0"], "do": {"kind": "lag", "lag": 1_000_000}}]),
        json!([{"match": ["gcloud", "list-instances"], "do": {"kind": "not-utf8"}}]),
        json!([{"match": ["kubectl", "get", "nodes"], "do": {"exit": 1, "stderr": "Unable to connect to the server\n"}}]),
    ] {
        let machine = provisioned(true);
        machine.cloud.break_down(&fault);
        let failed = soon(&machine, "gpu-down", &[]).expect(4);
        assert!(
            failed.stderr.contains("GPU nodes of pool gpu-h100 (8 x a3-highgpu-2g (Spot))"),
            "{fault}: {}",
            failed.stderr
        );
        assert!(failed.stderr.contains("gcloud container clusters resize"), "{}", failed.stderr);
    }
}

#[test]
fn cleanup_removes_what_is_owned_by_the_campaign_and_nothing_else() {
    let machine = with_campaign();
    machine.cloud.change(|state| state["lag"] = 1.into());
    let done = run(&machine, "cleanup", &["--campaign", "c"]).expect(0);
    assert!(done.stdout.contains("campaign c left nothing behind"), "{}", done.stdout);
    assert_eq!(billed(&machine), Vec::<String>::new());
    assert!(!locked(&machine));
    assert_eq!(
        machine.cloud.objects(CONTEXT, "persistentvolume"),
        ["persistentvolumeclaims/bench-other/model3", "persistentvolumes//pvc-3"]
    );
    assert_eq!(machine.cloud.state()["gcloud"]["filestore"].as_array().unwrap().len(), 1);
    assert_eq!(machine.cloud.not_understood(), Vec::<Value>::new());
    insta::assert_snapshot!("cleanup", changes(&machine));
    run(&machine, "cleanup", &["--campaign", "c"]).expect(0);
}

/// The calls that change something.
fn changes(machine: &Machine) -> String {
    let verbs = ["resize", "create", "delete", "apply", "replace", "patch", "update"];
    let words = |call: &&String| call.split(' ').take(5).any(|word| verbs.contains(&word));
    machine.cloud.calls().iter().filter(words).cloned().collect::<Vec<_>>().join("\n")
}

/// Every step of a cleanup, with what must be named when it does not work.
const STEPS: [(&[&str], &str); 14] = [
    (&["gcloud", "clusters", "resize"], "GPU nodes of pool gpu-h100"),
    (&["gcloud", "instance-groups", "describe"], "GPU nodes of pool gpu-h100"),
    (&["gcloud", "list-instances"], "GPU nodes of pool gpu-h100"),
    (&["kubectl", "get", "nodes"], "GPU nodes of pool gpu-h100"),
    (&["gcloud", "clusters", "list"], "GPU nodes of pool gpu-h100"),
    (&["gcloud", "get-credentials"], "contents of cluster"),
    (&["kubectl", "get", "namespaces"], "contents of cluster"),
    (&["kubectl", "get", "persistentvolumes"], "persistent volumes"),
    (&["kubectl", "get", "pods"], "pods of namespace bench-c-service-1"),
    (&["kubectl", "delete", "pods"], "bench-c-service-1"),
    (&["kubectl", "patch", "persistentvolume"], "volume pvc-2"),
    (&["kubectl", "delete", "persistentvolumeclaims"], "claims of namespace bench-c-service-1"),
    (&["gcloud", "filestore", "instances", "list"], "Filestore instances in us-central1-a"),
    (&["gcloud", "filestore", "instances", "delete"], "Filestore instance pvc-"),
];

#[test]
fn a_cleanup_step_that_fails_keeps_the_lock_names_what_is_left_and_does_not_stop_the_others() {
    let refused = json!({"exit": 1, "stderr": "backend error\n"});
    let garbage = json!({"kind": "garbage"});
    let cases = STEPS.iter().map(|case| (case, &refused)).chain([4, 8, 12].map(|step| (&STEPS[step], &garbage)));
    for (&(step, named), action) in cases {
        let machine = with_campaign();
        machine.cloud.break_down(&json!([{"match": step, "do": action}]));
        let failed = soon(&machine, "cleanup", &["--campaign", "c"]).expect(4);
        assert!(failed.stderr.contains(named), "{step:?}: {}", failed.stderr);
        assert!(locked(&machine), "{step:?}: the lock is gone");
        let left = billed(&machine);
        if !named.starts_with("GPU") && !step.contains(&"get-credentials") {
            assert!(left.iter().all(|it| !it.contains("gpu-h100")), "{step:?}: {left:?}");
        }
        if named.starts_with("GPU") && !step.contains(&"clusters") {
            assert!(left.iter().all(|it| !it.contains("/instances/")), "{step:?}: {left:?}");
        }
    }
}

#[test]
fn a_cleanup_that_failed_is_taken_up_again_where_it_was() {
    let machine = with_campaign();
    machine.cloud.break_down(&json!([{"match": STEPS[12].0, "do": {"exit": 1, "stderr": "backend error\n"}}]));
    soon(&machine, "cleanup", &["--campaign", "c"]).expect(4);
    assert!(!billed(&machine).is_empty() && locked(&machine));
    machine.cloud.mend();
    run(&machine, "cleanup", &["--campaign", "c"]).expect(0);
    assert!(billed(&machine).is_empty() && !locked(&machine));
}

#[test]
fn a_cleanup_step_that_hangs_is_given_up_at_its_deadline() {
    for (step, named) in
        [STEPS[0], STEPS[9], STEPS[13], (&["kubectl", "delete", "namespace"], "namespace bench-c-service-1")]
    {
        let machine = with_campaign();
        machine.cloud.break_down(&json!([{"match": step, "do": {"kind": "hang"}}]));
        let small = ["--campaign", "c", "--set", "gke.look_timeout=3"];
        let failed = soon(&machine, "cleanup", &small).expect(4);
        assert!(failed.stderr.contains(named), "{step:?}: {}", failed.stderr);
        assert!(locked(&machine));
    }
}

#[test]
fn a_deletion_that_was_killed_but_worked_is_a_success() {
    let machine = with_campaign();
    machine.cloud.break_down(&json!([
        {"match": ["gcloud", "clusters", "resize"], "after": true, "do": {"kind": "killed"}},
        {"match": ["gcloud", "filestore", "instances", "delete"], "after": true, "do": {"exit": 1, "stderr": "timed out\n"}},
    ]));
    run(&machine, "cleanup", &["--campaign", "c"]).expect(0);
    assert!(billed(&machine).is_empty() && !locked(&machine));
}

#[test]
fn cleanup_goes_on_through_an_interruption() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let machine = with_campaign();
        machine.cloud.change(|state| state["lag"] = 3.into());
        let child = command(&machine, "cleanup", &["--campaign", "c"]).spawn().unwrap();
        e2e::wait_until("the cleanup begins", || changes(&machine).contains("delete pods"), |begun| *begun);
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        e2e::outcome(child).expect(0);
        assert!(billed(&machine).is_empty() && !locked(&machine));
    }
}

#[test]
fn an_interrupted_gpu_up_gives_everything_back() {
    let machine = provisioned(false);
    machine.cloud.break_down(&json!([{"match": ["resize", "--num-nodes=8"], "after": true, "do": {"kind": "hang"}}]));
    let mut command = command(&machine, "gpu-up", &["--set", "gke.gpu.ready_timeout=600"]);
    let child = command.spawn().unwrap();
    e2e::wait_until("the nodes are there", || billed(&machine).len(), |nodes| *nodes == 8);
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    e2e::outcome(child).expect(143);
    assert_eq!(billed(&machine), Vec::<String>::new());
}

#[test]
fn a_provisioning_that_fails_on_its_way_names_the_cluster_and_can_be_continued() {
    for fault in [
        json!({"match": ["clusters", "create"], "after": true, "do": {"kind": "hang"}}),
        json!({"match": ["clusters", "create"], "do": {"exit": 1, "stderr": "quota\n"}}),
        json!({"match": ["node-pools", "create", "bench-cpu"], "do": {"exit": 1, "stderr": "quota\n"}}),
        json!({"match": ["node-pools", "create", "gpu-h100"], "do": {"exit": 0}}),
    ] {
        let machine = machine();
        machine.cloud.break_down(&json!([fault]));
        let failed = soon(&machine, "provision", &[]).expect(4);
        assert!(
            failed.stderr.contains(&format!("cluster {CLUSTER} in {ZONE} of project {PROJECT}")),
            "{}",
            failed.stderr
        );
        machine.cloud.mend();
        run(&machine, "provision", &[]).expect(0);
    }
}

#[test]
fn a_cluster_is_destroyed_once_it_is_empty_and_its_absence_is_as_good() {
    let machine = with_campaign();
    let kept = run(&machine, "destroy", &["--set", "gke.allow_destroy=true"]).expect(4);
    for part in [
        "namespace bench-c-service-1 of campaign c",
        "volume pvc-3 of bench-other",
        "Filestore instance pvc-9",
        "lock of campaign c",
    ] {
        assert!(kept.stderr.contains(part), "{part}: {}", kept.stderr);
    }
    run(&machine, "cleanup", &["--campaign", "c"]).expect(0);
    run(&machine, "cleanup", &["--campaign", "other"]).expect(0);
    let unasked = run(&machine, "destroy", &[]).expect(2);
    assert!(unasked.stderr.contains("gke.allow_destroy=true"), "{}", unasked.stderr);
    machine.cloud.change(|state| state["lag"] = 2.into());
    for said in ["the cluster is gone", "there is no such cluster"] {
        let done = run(&machine, "destroy", &["--set", "gke.allow_destroy=true"]).expect(0);
        assert!(done.stdout.contains(said), "{}", done.stdout);
    }
    assert_eq!(machine.cloud.state()["gcloud"]["clusters"], json!({}));
}
