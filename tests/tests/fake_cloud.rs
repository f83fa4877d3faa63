//! The fakes themselves: what they remember, what they refuse, how they fail.

use std::process::{Command, Output};

use e2e::fake::{CLUSTER, CONTEXT, Cloud, PROJECT, ZONE, gke, kind};
use serde_json::{Value, json};

struct Desk {
    home: tempfile::TempDir,
    cloud: Cloud,
}

fn desk(state: &Value) -> Desk {
    let home = tempfile::tempdir().expect("it works");
    let cloud = Cloud::new(home.path(), env!("CARGO_BIN_EXE_fake_cloud").as_ref(), &["kubectl", "gcloud"], state);
    Desk { home, cloud }
}

impl Desk {
    fn run(&self, line: &str) -> Output {
        self.run_with(&line.split(' ').collect::<Vec<_>>(), "")
    }

    fn run_with(&self, words: &[&str], stdin: &str) -> Output {
        let file = self.home.path().join("stdin");
        std::fs::write(&file, stdin).expect("it works");
        Command::new(self.cloud.path().join(words[0]))
            .args(&words[1..])
            .env_clear()
            .env("PATH", self.cloud.path())
            .env("KUBECONFIG", self.home.path().join("kubeconfig"))
            .stdin(std::fs::File::open(file).expect("it works"))
            .output()
            .expect("it works")
    }

    fn json(&self, line: &str) -> Value {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("it works")
    }

    fn create(&self, object: &Value) {
        let output = self.run_with(&["kubectl", "create", "--filename=-"], &object.to_string());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A cluster with a GPU pool of no nodes, and its kubeconfig.
    fn with_cluster() -> Self {
        let desk = desk(&gke());
        let at = format!("--project={PROJECT} --location={ZONE}");
        for line in [
            format!("gcloud container clusters create {CLUSTER} {at} --num-nodes=1 --machine-type=e2-standard-4"),
            format!(
                "gcloud container node-pools create gpu --cluster={CLUSTER} {at} --num-nodes=0 \
                 --accelerator=type=nvidia-h100-80gb,count=2 --spot"
            ),
            format!("gcloud container clusters get-credentials {CLUSTER} {at}"),
        ] {
            assert!(desk.run(&line).status.success(), "{line}");
        }
        desk
    }
}

#[test]
fn what_the_real_programs_do_not_know_is_refused_and_noted() {
    let desk = desk(&kind("a"));
    for line in ["kubectl gte pods", "kubectl get pods --slector=a", "gcloud container clusters obliterate x"] {
        assert_eq!(desk.run(line).status.code(), Some(64), "{line}");
    }
    assert_eq!(desk.cloud.not_understood().len(), 3);
}

#[test]
fn a_pool_has_nodes_with_gpus_once_they_are_ready_and_no_more_than_there_is_capacity_for() {
    let desk = Desk::with_cluster();
    desk.cloud.change(|state| {
        state["lag"] = 2.into();
        state["gcloud"]["capacity"] = 3.into();
    });
    let at = format!("--project={PROJECT} --location={ZONE}");
    desk.run(&format!("gcloud container clusters resize {CLUSTER} {at} --node-pool=gpu --num-nodes=4"));
    let nodes = "kubectl get nodes --selector=cloud.google.com/gke-nodepool=gpu --output=json";
    let gpus = |nodes: &Value| nodes["items"][0]["status"]["allocatable"]["nvidia.com/gpu"].clone();
    assert_eq!(gpus(&desk.json(nodes)), Value::Null);
    let ready = desk.json(nodes);
    assert_eq!((ready["items"].as_array().unwrap().len(), gpus(&ready)), (3, "2".into()));
    let group = format!("gke-{CLUSTER}-gpu-1a2b3c4d-grp");
    let group = desk
        .json(&format!("gcloud compute instance-groups managed describe {group} --project={PROJECT} --zone={ZONE}"));
    assert_eq!(group["targetSize"], 4);
}

#[test]
fn a_claim_is_held_by_its_pod_and_holds_its_volume_and_filestore() {
    let desk = Desk::with_cluster();
    for object in [
        json!({"kind": "Namespace", "metadata": {"name": "a"}}),
        json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "model", "namespace": "a"},
            "spec": {"storageClassName": "premium-rwx"}}),
        json!({"kind": "Pod", "metadata": {"name": "p", "namespace": "a"},
            "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "model"}}]}}),
    ] {
        desk.create(&object);
    }
    let filestore = format!("gcloud filestore instances list --project={PROJECT} --location={ZONE} --format=json");
    let count = |line: &str| desk.json(line).as_array().unwrap().len();
    assert_eq!(count(&filestore), 1);
    desk.run("kubectl delete pvc model --namespace=a --wait=false");
    desk.json("kubectl get pods --namespace=a --output=json");
    assert_eq!(desk.cloud.objects(CONTEXT, "persistentvolumeclaims/").len(), 1, "the pod holds it");
    desk.run("kubectl delete pod p --namespace=a");
    for _ in 0..3 {
        desk.json("kubectl get pv --output=json");
    }
    assert_eq!(desk.cloud.objects(CONTEXT, "persistentvolume"), Vec::<String>::new());
    assert_eq!(count(&filestore), 0);
}

#[test]
fn locks_can_be_compared_and_swapped() {
    let desk = Desk::with_cluster();
    desk.create(&json!({"kind": "Namespace", "metadata": {"name": "l"}}));
    let lock = json!({"kind": "ConfigMap", "metadata": {"name": "lock", "namespace": "l"}, "data": {"by": "a"}});
    desk.create(&lock);
    let again = desk.run_with(&["kubectl", "create", "--filename=-"], &lock.to_string());
    assert!(String::from_utf8_lossy(&again.stderr).contains("(AlreadyExists)"));
    let mut seen = desk.json("kubectl get configmap lock --namespace=l --output=json");
    let version = seen["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    assert!(desk.run_with(&["kubectl", "replace", "--filename=-"], &seen.to_string()).status.success());
    seen["data"]["by"] = "b".into();
    let late = desk.run_with(&["kubectl", "replace", "--filename=-"], &seen.to_string());
    assert!(String::from_utf8_lossy(&late.stderr).contains("(Conflict)"));
    let options = json!({"kind": "DeleteOptions", "preconditions": {"resourceVersion": version}});
    let raw = "/api/v1/namespaces/l/configmaps/lock";
    let late = desk.run_with(&["kubectl", "delete", "--raw", raw, "--filename=-"], &options.to_string());
    assert!(String::from_utf8_lossy(&late.stderr).contains("(Conflict)"));
}

#[test]
fn faults_are_met_as_often_as_they_say_and_every_call_is_in_the_journal() {
    let desk = desk(&gke());
    desk.cloud.break_down(&json!([
        {"match": ["gcloud", "services", "list"], "skip": 1, "times": 1, "do": {"exit": 3, "stderr": "quota exceeded\n"}},
        {"match": ["gcloud", "auth", "list"], "do": {"kind": "not-utf8"}},
        {"match": ["gcloud", "projects*"], "do": {"exit": 0}},
    ]));
    let line = format!("gcloud services list --enabled --project={PROJECT}");
    let codes: Vec<_> = (0..3).map(|_| desk.run(&line).status.code()).collect();
    assert_eq!(codes, [Some(0), Some(3), Some(0)]);
    assert!(String::from_utf8(desk.run("gcloud auth list").stdout).is_err());
    assert!(desk.run(&format!("gcloud projects describe {PROJECT}")).stdout.is_empty());
    desk.cloud.mend();
    assert!(!desk.run("gcloud auth list").stdout.is_empty());
    assert_eq!(desk.cloud.calls().len(), 6);
    assert_eq!(desk.cloud.journal()[1]["fault"], "gcloud services list");
}

#[test]
fn a_secret_given_on_standard_input_is_known_by_its_digest_only() {
    let desk = Desk::with_cluster();
    desk.create(&json!({"kind": "Namespace", "metadata": {"name": "s"}}));
    let words = ["kubectl", "create", "secret", "generic", "hf", "--namespace=s", "--from-file=token=/dev/stdin"];
    assert!(desk.run_with(&words, "hf_planted").status.success());
    let last = desk.cloud.journal().pop().unwrap();
    assert!(last["stdin_sha256"].is_string() && !last.to_string().contains("hf_planted"));
}
