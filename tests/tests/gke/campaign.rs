//! Whole campaigns: from nothing to a report and back to nothing, whatever happens on the way.

use std::process::{Command, Stdio};

use e2e::fake::{CLUSTER, CONTEXT, PROJECT, ZONE, gke};
use e2e::{Lab, Outcome, TOKEN};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

fn lab() -> Lab {
    Lab::new(env!("CARGO_BIN_EXE_fake_cloud").as_ref(), &gke())
}

/// `gke campaign` with GPU servers, two short stages and these arguments.
fn command(lab: &Lab, more: &[&str]) -> Command {
    // The machine of cluster campaigns, with another verb.
    let like = lab.benchmark(&[]);
    let mut command = Command::new(like.get_program());
    command.args(["gke", "campaign", "--profile", "gke-sim", "--campaign", "c"]);
    for set in [
        "workload.stages=4x1,4x2",
        "cluster.accelerator.type=gpu",
        "cluster.replicas=2",
        "cluster.gpu_release=after-load",
        "storage.model.profile=shared",
    ] {
        command.args(["--set", set]);
    }
    command.args(more).env_clear();
    for (name, value) in like.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        command.env(name, value);
    }
    if let Some(folder) = like.get_current_dir() {
        command.current_dir(folder);
    }
    command.env("BENCHMARK_GKE_PROJECT", PROJECT).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(lab: &Lab, more: &[&str]) -> Outcome {
    lab.run(command(lab, more))
}

/// What can still be billed, and the lock.
fn left(lab: &Lab) -> Vec<String> {
    let mut left: Vec<String> =
        lab.cloud.objects(CONTEXT, "nodes//").into_iter().filter(|node| node.contains("gpu-h100")).collect();
    left.extend(lab.cloud.objects(CONTEXT, "persistentvolumes/"));
    left.extend(lab.cloud.objects(CONTEXT, "namespaces//bench-"));
    left.extend(lab.cloud.objects(CONTEXT, "configmaps/agentgateway-benchmark-lock/"));
    for instance in lab.cloud.state()["gcloud"]["filestore"].as_array().into_iter().flatten() {
        left.push(instance["name"].to_string());
    }
    left
}

#[test]
fn a_campaign_takes_nodes_for_each_run_and_gives_them_back_after_its_load() {
    let lab = lab();
    let done = run(&lab, &["--treatment", "service", "--treatment", "agentgateway-standalone"]).expect(0);
    assert_eq!(left(&lab), Vec::<String>::new());
    let resizes: Vec<String> = lab.cloud.calls().into_iter().filter(|call| call.contains("clusters resize")).collect();
    assert!(resizes.iter().filter(|call| call.contains("--num-nodes=8")).count() == 2, "{resizes:#?}");
    assert!(resizes.last().unwrap().contains("--num-nodes=0"), "{resizes:#?}");
    for treatment in ["service", "agentgateway-standalone"] {
        let record = lab.of("c", &format!("runs/{treatment}/repetition-1/gpu-release.yaml"));
        let record: Value = serde_yaml::from_str(&fs_err::read_to_string(record).unwrap()).unwrap();
        assert_eq!(record["policy"], "after-load");
        assert!(record["released"].is_string() && record["source"].is_string(), "{record}");
    }
    assert!(lab.of("c", "report/README.md").is_file(), "{}", done.stderr);
    assert_eq!(lab.mentions(TOKEN), Vec::<std::path::PathBuf>::new());
    assert!(!done.stderr.contains(TOKEN) && !done.stdout.contains(TOKEN));
    assert!(lab.cloud.calls().iter().all(|call| !call.contains(TOKEN)));
    assert_eq!(lab.cloud.not_understood(), Vec::<Value>::new());
    assert!(!lab.cloud.state()["gcloud"]["clusters"].as_object().unwrap().is_empty(), "the cluster is retained");
}

#[test]
fn each_step_that_fails_leaves_nothing_that_is_billed_and_its_own_exit_code() {
    for (step, code) in [
        (json!(["gcloud", "services", "list"]), 2),
        (json!(["gcloud", "node-pools", "create", "gpu-h100"]), 4),
        (json!(["kubectl", "create"]), 3),
        (json!(["gcloud", "clusters", "resize", "--num-nodes=8"]), 3),
        (json!(["llmdbenchmark", "standup"]), 3),
        (json!(["llmdbenchmark", "smoketest"]), 3),
        (json!(["llmdbenchmark", "run"]), 3),
    ] {
        let lab = lab();
        lab.cloud.break_down(&json!([{"match": step, "do": {"exit": 7, "stderr": "planted complaint"}}]));
        let failed = run(&lab, &["--treatment", "service"]).expect(code);
        assert!(failed.stderr.contains("planted complaint"), "{step}: {}", failed.stderr);
        assert_eq!(left(&lab), Vec::<String>::new(), "{step}");
    }
}

#[test]
fn an_interrupted_campaign_gives_everything_back() {
    for (hang, signal, code) in [
        (json!(["llmdbenchmark", "run"]), Signal::SIGINT, 130),
        (json!(["gcloud", "clusters", "resize", "--num-nodes=8"]), Signal::SIGTERM, 143),
    ] {
        let lab = lab();
        lab.cloud.break_down(&json!([{"match": hang, "after": true, "do": {"kind": "hang"}}]));
        let child = command(&lab, &["--treatment", "service"]).spawn().unwrap();
        let met = |lab: &Lab| lab.cloud.journal().iter().filter(|call| call["fault"].is_string()).count();
        e2e::wait_until("the step hangs", || met(&lab), |met| *met > 0);
        std::thread::sleep(std::time::Duration::from_millis(500));
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        let ended = e2e::outcome(child).expect(code);
        assert_eq!(left(&lab), Vec::<String>::new(), "{}", ended.stderr);
    }
}

#[test]
fn what_may_still_be_billed_keeps_the_lock_and_exits_with_4() {
    let lab = lab();
    lab.cloud.break_down(&json!([{"match": ["resize", "--num-nodes=0"], "do": {"exit": 1, "stderr": "busy\n"}}]));
    let failed = run(&lab, &["--treatment", "service", "--set", "gke.cleanup_timeout=1"]).expect(4);
    assert!(failed.stderr.contains("GPU nodes of pool gpu-h100"), "{}", failed.stderr);
    assert!(left(&lab).iter().any(|it| it.contains("agentgateway-benchmark-lock")), "{:?}", left(&lab));
    let other = command(&lab, &["--treatment", "service", "--campaign", "d"]);
    let refused = lab.run(other);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    lab.cloud.mend();
}

#[test]
fn a_cluster_that_is_held_by_another_campaign_is_left_alone() {
    let lab = lab();
    run(&lab, &["--treatment", "service"]).expect(0);
    lab.cloud.change(|state| {
        state["kubernetes"][CONTEXT]["objects"]["configmaps/agentgateway-benchmark-lock/campaign"] = json!({
            "kind": "ConfigMap", "metadata": {"name": "campaign", "namespace": "agentgateway-benchmark-lock",
                "resourceVersion": "7"},
            "data": {"campaign": "other", "by": "elsewhere, process 7", "since": "2026-08-17T10:15:00Z"}});
    });
    let before = lab.cloud.calls().len();
    let mut other = command(
        &lab,
        &["--treatment", "service", "--set", "gke.cluster_lifecycle=destroy", "--set", "gke.allow_destroy=true"],
    );
    other.env("BENCHMARK_RESULTS_DIR", lab.path("elsewhere"));
    let refused = lab.run(other).expect(2);
    assert!(refused.stderr.contains("campaign other holds the cluster since 2026-08-17"), "{}", refused.stderr);
    let changed: Vec<String> = lab
        .cloud
        .calls()
        .split_off(before)
        .into_iter()
        .filter(|call| call.contains("resize") || call.contains("clusters delete"))
        .collect();
    assert_eq!(changed, Vec::<String>::new());
}

#[test]
fn a_cluster_that_is_to_be_destroyed_is_gone_after_success_and_after_failure() {
    let destroy =
        ["--treatment", "service", "--set", "gke.cluster_lifecycle=destroy", "--set", "gke.allow_destroy=true"];
    let unsure = lab();
    run(&unsure, &destroy[..4]).expect(2);
    assert_eq!(unsure.cloud.calls(), Vec::<String>::new());
    for fault in [json!([]), json!([{"match": ["llmdbenchmark", "run"], "do": {"exit": 1}}])] {
        let lab = lab();
        lab.cloud.break_down(&fault);
        run(&lab, &destroy).expect(if fault == json!([]) { 0 } else { 3 });
        assert!(lab.cloud.state()["gcloud"]["clusters"][format!("{PROJECT}/{ZONE}/{CLUSTER}")].is_null());
    }
}

#[test]
fn a_campaign_without_a_profile_is_refused_because_gpus_cost_money() {
    let lab = lab();
    let like = command(&lab, &[]);
    let mut bare = Command::new(like.get_program());
    bare.args(["gke", "campaign"]).env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let refused = lab.run({
        bare.stdout(Stdio::piped()).stderr(Stdio::piped());
        bare
    });
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--profile"), "{}", refused.stderr);
}
