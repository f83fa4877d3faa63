//! What a campaign left: removed by ownership, verified, and named where it is not gone.

use e2e::fake::CONTEXT;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::desk::{billed, changes, command, locked, run, soon, with_campaign};

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
