//! Waiting, the private kubeconfig and reading objects; `kubectl` itself is covered by the end-to-end tests.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::json;

use super::{Error, Kubeconfig, Pace, Seen, object, until};
use crate::failure::{Failure, Kind};
use crate::process::{Command, Interruption, Places, Redactor, Session};

const FAST: Pace = Pace { first: Duration::from_millis(1), longest: Duration::from_millis(1) };
const LONG: Duration = Duration::from_secs(3600);
const TEXT: &str = "apiVersion: v1\ncurrent-context: kind-a\nusers: []\n";

fn failing() -> Error {
    Command::new("look", "sh").args(["-c", "echo refused >&2; exit 1"]).run(&Session::unrecorded()).unwrap_err().into()
}

#[test]
fn a_wait_ends_with_what_it_waited_for_and_survives_looks_that_fail() {
    let mut looks = 0;
    let found = until(&Session::unrecorded(), "pods", LONG, FAST, || {
        looks += 1;
        match looks {
            1 => Err(failing()),
            2 => Ok(Seen::NotYet("none".to_owned())),
            _ => Ok(Seen::Done(looks)),
        }
    });
    assert_eq!(found.unwrap(), 3);
}

#[test]
fn a_wait_that_takes_too_long_says_what_it_last_saw() {
    let error =
        until(&Session::unrecorded(), "8 pods", Duration::ZERO, FAST, || Ok(Seen::<()>::NotYet("3 ready".to_owned())));
    assert_eq!(error.unwrap_err().to_string(), "8 pods: not ready within 0 s; last seen: 3 ready");
    let error = until(&Session::unrecorded(), "8 pods", Duration::ZERO, FAST, || Err::<Seen<()>, _>(failing()));
    assert!(error.unwrap_err().to_string().contains("refused"));
}

#[test]
fn a_wait_does_not_go_on_where_looking_again_cannot_help() {
    let interruption = Interruption::default();
    let session = Session::new(Places::default(), Redactor::new(), interruption.clone());
    let error = until(&session, "pods", LONG, FAST, || {
        interruption.deliver(15);
        Ok(Seen::<()>::NotYet("none".to_owned()))
    });
    assert_eq!(Failure::from(error.unwrap_err()).kind, Kind::Interrupted(15));
    let missing = until(&Session::unrecorded(), "pods", LONG, FAST, || {
        let missing = Command::new("look", "no-such-program-anywhere").run(&Session::unrecorded());
        missing.map(|_| Seen::Done(())).map_err(Error::from)
    });
    assert_eq!(Failure::from(missing.unwrap_err()).kind, Kind::Usage);
}

#[test]
fn the_private_kubeconfig_is_ours_alone_and_goes_with_its_user() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("private");
    let kubeconfig = Kubeconfig::write(TEXT, &folder).unwrap();
    assert_eq!(kubeconfig.context(), "kind-a");
    let mode = |path: &std::path::Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(kubeconfig.path()), mode(&folder)), (0o600, 0o700));
    let path = kubeconfig.path().to_owned();
    drop(kubeconfig);
    assert!(!path.exists() && !folder.exists());
}

#[test]
fn a_link_in_the_place_of_the_private_kubeconfig_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("precious");
    fs_err::write(&target, "kept").unwrap();
    std::os::unix::fs::symlink(&target, home.path().join("kubeconfig")).unwrap();
    let kubeconfig = Kubeconfig::write(TEXT, home.path()).unwrap();
    assert_eq!(fs_err::read_to_string(&target).unwrap(), "kept");
    assert_eq!(fs_err::read_to_string(kubeconfig.path()).unwrap(), TEXT);
}

#[test]
fn what_is_no_kubeconfig_is_refused_without_showing_it() {
    let home = tempfile::tempdir().unwrap();
    for text in ["client-key-data: [secret", "{}", "current-context: ''", ""] {
        let error = Kubeconfig::write(text, home.path()).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert_eq!(fs_err::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_missing_context_is_a_usage_error_that_names_the_others() {
    let error = Error::NoContext { wanted: Some("prod".to_owned()), known: vec!["kind-a".to_owned(), "b".to_owned()] };
    let failure = Failure::from(error);
    assert_eq!((failure.kind, failure.to_string().as_str()), (Kind::Usage, "there is no context prod"));
    assert!(failure.hints[0].contains("kind-a, b"), "{:?}", failure.hints);
}

#[test]
fn a_pod_in_trouble_says_why_and_one_being_deleted_is_not_ready() {
    let pulling = json!({"status": {"phase": "Pending", "containerStatuses": [
        {"name": "vllm", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}});
    assert_eq!(object::pod_trouble(&pulling), "vllm ImagePullBackOff");
    let unscheduled = json!({"status": {"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "message": "0/3 nodes: Insufficient nvidia.com/gpu"}]}});
    assert_eq!(object::pod_trouble(&unscheduled), "not scheduled: 0/3 nodes: Insufficient nvidia.com/gpu");
    let ready = json!({"metadata": {"name": "a"}, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    assert!(object::pod_ready(&ready));
    let mut going = ready;
    going["metadata"]["deletionTimestamp"] = json!("2026-08-17T10:15:00Z");
    assert!(!object::pod_ready(&going));
    assert_eq!(object::pod_trouble(&going), "being deleted");
}
