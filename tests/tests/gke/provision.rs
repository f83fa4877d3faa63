//! The cluster and its pools: made, verified, refused, destroyed.

use e2e::fake::{CLUSTER, CONTEXT, PROJECT, ZONE};
use serde_json::{Value, json};

use crate::desk::{lines, machine, provisioned, run, soon, with_campaign};

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
