//! Cluster campaigns from settings to report, on a desk-sized cloud.

use std::process::Command;

use e2e::fake::{Cloud, kind};
use e2e::{Lab, TOKEN};
use serde_json::{Value, json};

const NAME: &str = "agentgateway-benchmark";
const CONTEXT: &str = "kind-agentgateway-benchmark";

fn lab(state: &Value) -> Lab {
    Lab::new(env!("CARGO_BIN_EXE_fake_cloud").as_ref(), state)
}

fn one(lab: &Lab, treatment: &str) -> Command {
    lab.benchmark(&["--campaign", "c", "--treatment", treatment])
}

/// The clusters' objects that are left of campaigns.
fn left(cloud: &Cloud) -> Vec<String> {
    cloud.objects(CONTEXT, "namespaces/").into_iter().filter(|key| key.contains("bench-")).collect()
}

fn snapshot(name: &str, lab: &Lab) {
    insta::with_settings!({filters => vec![
        (r"/tmp/\.tmp\w+", "SCRATCH"),
        (r"image-\w+/", "image-N/"),
        (r"--override-arch \w+", "--override-arch ARCH"),
    ]}, {
        insta::assert_snapshot!(name, lab.changes().join("\n"));
    });
    assert_eq!(lab.cloud.not_understood(), Vec::<Value>::new());
}

#[test]
fn three_treatments_on_a_new_kind_cluster_end_in_a_report_and_leave_nothing() {
    let lab = lab(&json!({"lag": 0, "kubernetes": {}}));
    let done = lab.run(lab.benchmark(&["--campaign", "c"])).expect(0);
    snapshot("three_treatments_on_kind", &lab);
    assert_eq!(left(&lab.cloud), Vec::<String>::new());
    for treatment in ["service", "agentgateway-standalone", "agentgateway-gateway"] {
        let folder = lab.of("c", &format!("runs/{treatment}/repetition-1"));
        for file in [
            format!("benchmark_report_v0.2,_{treatment}_stage_0_lifecycle_metrics.json.yaml"),
            format!("benchmark_report_v0.2,_{treatment}_stage_1_lifecycle_metrics.json.yaml"),
            "scenario.yaml".to_owned(),
            "inventory.yaml".to_owned(),
            "runtime-metrics/summary.json".to_owned(),
            "per_request_lifecycle_metrics.json.gz".to_owned(),
        ] {
            assert!(folder.join(&file).is_file(), "{treatment}: {file}");
        }
    }
    assert!(lab.of("c", "report/README.md").is_file(), "{}", done.stderr);
    assert!(!lab.of("c", "work/private").exists(), "the private kubeconfig is gone");
    assert!(!lab.path(".kube").exists(), "the user's kubeconfig was not made");
    assert_eq!(lab.mentions(TOKEN), Vec::<std::path::PathBuf>::new());
    assert!(!done.stderr.contains(TOKEN) && !done.stdout.contains(TOKEN));
}

#[test]
fn each_step_that_fails_ends_in_its_exit_code_after_one_teardown_and_keeps_its_evidence() {
    for (step, treatment, code) in [
        (json!(["llmdbenchmark", "plan"]), "service", 3),
        (json!(["llmdbenchmark", "standup"]), "service", 3),
        (json!(["llmdbenchmark", "smoketest"]), "service", 3),
        (json!(["llmdbenchmark", "run"]), "service", 3),
        (json!(["skopeo", "copy"]), "service", 3),
        (json!(["kind", "load"]), "service", 3),
        (json!(["helm", "upgrade"]), "agentgateway-gateway", 3),
        (json!(["kubectl", "patch"]), "agentgateway-gateway", 3),
        (json!(["kubectl", "delete", "namespace"]), "service", 4),
    ] {
        let lab = lab(&kind(NAME));
        lab.cloud.break_down(&json!([{"match": step, "do": {"exit": 7, "stderr": "planted complaint"}}]));
        let failed = lab.run(one(&lab, treatment)).expect(code);
        assert!(failed.stderr.contains("planted complaint"), "{step}: {}", failed.stderr);
        let teardowns = lab.changes().iter().filter(|line| line.contains(" teardown ")).count();
        assert_eq!(teardowns, 1, "{step}: {:#?}", lab.changes());
        assert_eq!(left(&lab.cloud).is_empty(), code != 4, "{step}");
        assert!(lab.of("c", &format!("work/{treatment}/repetition-1/scenario.yaml")).is_file(), "{step}");
        assert!(!lab.of("c", "runs").join(treatment).exists(), "{step}");
        assert_eq!(lab.mentions(TOKEN), Vec::<std::path::PathBuf>::new(), "{step}");
    }
}

#[test]
fn a_load_that_ends_well_without_a_report_is_no_measurement() {
    let lab = lab(&kind(NAME));
    lab.cloud.break_down(&json!([{"match": ["llmdbenchmark", "run"], "do": {"exit": 0, "stdout": "done"}}]));
    let failed = lab.run(one(&lab, "service")).expect(3);
    assert!(failed.stderr.contains("left no report"), "{}", failed.stderr);
    assert_eq!(left(&lab.cloud), Vec::<String>::new());
}

#[test]
fn a_teardown_that_fails_is_forgiven_when_nothing_is_left() {
    let lab = lab(&kind(NAME));
    lab.cloud.break_down(&json!([{"match": ["llmdbenchmark", "teardown"], "do": {"exit": 1}}]));
    lab.run(one(&lab, "service")).expect(0);
    assert_eq!(left(&lab.cloud), Vec::<String>::new());
}

#[test]
fn garbage_from_the_cluster_is_told_as_such() {
    let lab = lab(&kind(NAME));
    let fault = json!([{"match": ["kubectl", "get", "services"], "do": {"kind": "garbage"}}]);
    lab.cloud.break_down(&fault);
    let failed = lab.run(one(&lab, "service")).expect(3);
    assert!(failed.stderr.contains("is no JSON document"), "{}", failed.stderr);
    assert_eq!(left(&lab.cloud), Vec::<String>::new());
}

#[test]
fn a_signal_during_the_load_tears_down_and_says_how_to_go_on() {
    let lab = lab(&kind(NAME));
    lab.cloud.break_down(&json!([{"match": ["llmdbenchmark", "run"], "do": {"kind": "hang"}}]));
    let child = one(&lab, "service").spawn().expect("xtask starts");
    e2e::wait_until("the load runs", || lab.changes(), |calls| calls.iter().any(|call| call.contains(" run -p ")));
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("a signal");
    let ended = e2e::outcome(child).expect(143);
    assert!(ended.stderr.contains("--resume"), "{}", ended.stderr);
    assert_eq!(left(&lab.cloud), Vec::<String>::new());
    lab.cloud.mend();
    lab.run(lab.benchmark(&["--campaign", "c", "--treatment", "service", "--resume"])).expect(0);
    assert!(lab.of("c", "runs/service/repetition-1").is_dir());
}

#[test]
fn a_kept_deployment_is_used_again_by_a_resumed_campaign_when_it_is_the_same() {
    let lab = lab(&kind(NAME));
    lab.cloud.break_down(&json!([{"match": ["llmdbenchmark", "run"], "do": {"exit": 1}}]));
    lab.run(lab.benchmark(&["--campaign", "c", "--treatment", "service", "--keep"])).expect(3);
    assert_eq!(left(&lab.cloud).len(), 1, "kept");
    lab.cloud.mend();
    let resumed = lab.run(lab.benchmark(&["--campaign", "c", "--treatment", "service", "--resume"])).expect(0);
    assert!(resumed.stderr.contains("is used again"), "{}", resumed.stderr);
    let standups = lab.changes().iter().filter(|line| line.contains(" standup ")).count();
    assert_eq!(standups, 1);
    assert_eq!(left(&lab.cloud), Vec::<String>::new());
}

#[test]
fn a_namespace_of_another_campaign_is_refused_before_anything_is_made() {
    let lab = lab(&kind(NAME));
    lab.cloud.change(|state| {
        state["kubernetes"][CONTEXT]["objects"]["namespaces//bench-c-service-1"] = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bench-c-service-1",
                "labels": {"app.kubernetes.io/managed-by": "agentgateway-benchmark"},
                "annotations": {"benchmark.agentgateway.dev/campaign": "other"}}});
    });
    let refused = lab.run(one(&lab, "service")).expect(2);
    assert!(refused.stderr.contains("belongs to the campaign other"), "{}", refused.stderr);
    assert_eq!(lab.changes(), Vec::<String>::new());
    assert!(!lab.of("c", "").exists());
}

#[test]
fn what_a_cluster_lacks_is_told_at_once_before_anything_is_made() {
    let lab = lab(&kind(NAME));
    lab.cloud.change(|state| {
        let objects = &mut state["kubernetes"][CONTEXT]["objects"];
        objects.as_object_mut().expect("objects").remove("storageclasses//standard");
    });
    fs_err::write(
        lab.path("kubeconfig"),
        json!({"contexts": [{"name": CONTEXT}], "current-context": CONTEXT}).to_string(),
    )
    .expect("a file");
    let gpu = [
        "provider=kube",
        "cluster.context=kind-agentgateway-benchmark",
        "cluster.accelerator.type=gpu",
        "storage.model.class=fast",
    ];
    let mut arguments = vec!["--campaign", "c", "--treatment", "service"];
    for set in gpu {
        arguments.extend(["--set", set]);
    }
    let mut command = lab.benchmark(&arguments);
    command.env("KUBECONFIG", lab.path("kubeconfig"));
    let refused = lab.run(command).expect(2);
    for problem in ["storage class fast", "6 GPUs are needed"] {
        assert!(refused.stderr.contains(problem), "{problem}: {}", refused.stderr);
    }
    assert_eq!(lab.changes(), Vec::<String>::new());
}

#[test]
fn a_context_that_is_not_there_or_is_no_gke_is_refused() {
    let lab = lab(&kind(NAME));
    fs_err::write(
        lab.path("kubeconfig"),
        json!({"contexts": [{"name": CONTEXT}], "current-context": CONTEXT}).to_string(),
    )
    .expect("a file");
    for (provider, context, reason) in
        [("kube", "prod", "there is no context prod"), ("gke", CONTEXT, "is no GKE cluster")]
    {
        let (provider, set) = (format!("provider={provider}"), format!("cluster.context={context}"));
        let mut command =
            lab.benchmark(&["--campaign", "c", "--treatment", "service", "--set", &provider, "--set", &set]);
        command.env("KUBECONFIG", lab.path("kubeconfig")).env("BENCHMARK_GKE_PROJECT", "p");
        let refused = lab.run(command).expect(2);
        assert!(refused.stderr.contains(reason), "{provider}: {}", refused.stderr);
        assert_eq!(lab.changes(), Vec::<String>::new());
    }
}
