//! GPU nodes: taken, waited for, given back, and named when they are not.

use e2e::fake::CLUSTER;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::desk::{billed, command, lines, provisioned, run, soon};

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
