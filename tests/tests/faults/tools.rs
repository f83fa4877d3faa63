//! The doctor's questions to the programs of cluster providers: none of them may keep it from telling the rest.

use e2e::faults::{Fault, left_running};
use e2e::python::{Python, Scripted};
use e2e::{outcome, wait_until};

use crate::{all, interrupt, matrix};

/// Programs that must answer, and the provider that needs them.
const TOOLS: [(&str, &str); 8] = [
    ("git", "kind"),
    ("kubectl", "kind"),
    ("helm", "kind"),
    ("helmfile", "kind"),
    ("skopeo", "kind"),
    ("kind", "kind"),
    ("gcloud", "gke"),
    ("gke-gcloud-auth-plugin", "gke"),
];

/// A machine on which all of them answer.
fn machine() -> Scripted {
    let machine = Scripted::new(Python::Pip);
    for (name, _) in TOOLS.iter().chain(&[("docker", ""), ("podman", "")]).filter(|(name, _)| *name != "git") {
        let answer = "case $1 in plugin) printf 'NAME VERSION\\ndiff 3.9.4\\n' ;; *) echo 'v1.2.3' ;; esac | say";
        machine.answering(name, &format!("check {name}"), answer);
    }
    machine
}

fn examine(machine: &Scripted, provider: &str) -> std::process::Command {
    let mut command = machine.command(&["doctor", "--provider", provider, "--set", "routing.policy=default", "--json"]);
    command.env("BENCHMARK_GKE_PROJECT", "bench-project").env("BENCHMARK_KUBE_CONTEXT", "somewhere");
    command
}

/// What was found about a program, and how much else was told.
fn finding(said: &str, check: &str) -> (serde_json::Value, usize) {
    let findings: Vec<serde_json::Value> = serde_json::from_str(said).expect("findings");
    let count = findings.len();
    let found = findings.into_iter().find(|finding| finding["check"] == check).expect("a finding");
    (found, count)
}

fn play((name, provider): &(&str, &str), fault: Fault) -> bool {
    let machine = machine();
    match fault {
        Fault::Missing => machine.remove(name),
        _ => machine.set(name, &format!("check {name}"), fault.word()),
    }
    let already = machine.asked().len();
    let child = examine(&machine, provider).spawn().expect("xtask starts");
    if fault == Fault::Hang {
        let asked = format!("{name} check {name}");
        wait_until("it is asked", || machine.asked().split_off(already), |steps| steps.contains(&asked));
        interrupt(&child);
        outcome(child).expect(130);
    } else {
        let done = outcome(child);
        let (found, count) = finding(&done.stdout, name);
        assert!(count >= 14, "the rest is not told: {}", done.stdout);
        // An answer is only shown: words that nobody expected are no fault of the machine.
        let good = matches!(fault, Fault::Garbage | Fault::NotUtf8);
        if good {
            assert_eq!(found["level"], "good", "{found}");
        } else {
            assert_eq!(done.code, Some(2), "{}", done.stderr);
            assert_eq!(found["level"], "problem", "{found}");
            assert!(found["fixes"][0].as_str().is_some_and(|fix| fix.contains("install")), "{found}");
        }
    }
    wait_until("everything of ours has ended", || left_running(machine.home()), Vec::is_empty);
    true
}

#[test]
fn questions_of_the_doctor() {
    matrix("doctor", &all(&TOOLS), |(name, _)| format!("check {name}"), play);
}
