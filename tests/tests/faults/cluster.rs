//! The programs of a campaign in a cluster. As for GKE, the steps are those that an undisturbed campaign takes.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use e2e::faults::{Fault, left_running};
use e2e::{Lab, Outcome, TOKEN, outcome, wait_until};
use serde_json::{Value, json};

use crate::{interrupt, matrix, short_form};

/// The treatment with the most steps.
const TREATMENT: &str = "agentgateway-gateway";
const CONTEXT: &str = "kind-agentgateway-benchmark";

fn lab() -> Lab {
    Lab::new(env!("CARGO_BIN_EXE_fake_cloud").as_ref(), &json!({"lag": 0, "kubernetes": {}}))
}

fn spawn(lab: &Lab) -> std::process::Child {
    lab.benchmark(&["--campaign", "c", "--treatment", TREATMENT]).spawn().expect("xtask starts")
}

/// What an undisturbed campaign calls, each as the words that name it, and the steps that its journal names.
pub struct Undisturbed {
    calls: Vec<Vec<String>>,
    /// The names of the steps.
    pub steps: BTreeSet<String>,
}

/// Runs it once.
pub fn undisturbed() -> &'static Undisturbed {
    static SEEN: OnceLock<Undisturbed> = OnceLock::new();
    SEEN.get_or_init(|| {
        let lab = lab();
        outcome(spawn(&lab)).expect(0);
        let calls: BTreeSet<Vec<String>> = lab.cloud.journal().iter().map(words).collect();
        let journal = fs_err::read_to_string(lab.of("c", "commands.jsonl")).expect("a journal");
        let step = |line: &str| serde_json::from_str::<Value>(line).ok()?["step"].as_str().map(str::to_owned);
        Undisturbed { calls: calls.into_iter().collect(), steps: journal.lines().filter_map(step).collect() }
    })
}

/// The program and the first two words that are neither flags nor places.
fn words(call: &Value) -> Vec<String> {
    let words = call["argv"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let named = words.filter(|word| !word.starts_with('-') && !word.contains(['/', '=', ':', '{', '.']));
    named.take(3).map(str::to_owned).collect()
}

/// Namespaces of campaigns that are left.
fn left(lab: &Lab) -> Vec<String> {
    lab.cloud.objects(CONTEXT, "namespaces/").into_iter().filter(|key| key.contains("bench-")).collect()
}

/// Presses Ctrl-C until it ends: cleaning up goes on through the first two.
fn stop(child: std::process::Child) -> Outcome {
    let (mut child, began) = (child, Instant::now());
    while child.try_wait().expect("a child can be asked").is_none() {
        assert!(began.elapsed() < Duration::from_secs(120), "it does not end");
        interrupt(&child);
        std::thread::sleep(Duration::from_secs(2));
    }
    outcome(child)
}

fn play(call: &Vec<String>, fault: Fault) -> bool {
    let lab = lab();
    let action = match fault {
        Fault::Exit => json!({"exit": 7, "stderr": "planted complaint\n"}),
        Fault::Nothing => json!({"exit": 0}),
        other => json!({"kind": other.word()}),
    };
    if fault == Fault::Missing {
        fs_err::remove_file(lab.cloud.path().join(&call[0])).expect("a link");
    } else {
        lab.cloud.break_down(&json!([{"match": call, "do": action}]));
    }
    let child = spawn(&lab);
    let done = if fault == Fault::Hang {
        let reached = || lab.cloud.journal().iter().any(|one| words(one) == *call);
        wait_until("the step begins", reached, |there| *there);
        stop(child)
    } else {
        outcome(child)
    };
    let seen = format!("{call:?} × {fault:?}, code {:?}: {}\n{}", done.code, done.stdout, done.stderr);
    wait_until("everything of ours has ended", || left_running(&lab.path("")), Vec::is_empty);
    let teardowns = lab.changes().iter().filter(|line| line.contains(" teardown ")).count();
    assert!(teardowns <= 1, "{teardowns} teardowns: {seen}");
    assert!(!done.stderr.contains(TOKEN) && lab.mentions(TOKEN).is_empty(), "the token is told: {seen}");
    match done.code {
        Some(0) => {
            assert!(lab.of("c", "runs").join(TREATMENT).is_dir(), "nothing was measured: {seen}");
            assert_eq!(left(&lab), Vec::<String>::new(), "{seen}");
        }
        Some(code @ (1..=4 | 130)) => {
            assert!(code == 130 || done.stderr.contains("hint: "), "no next action: {seen}");
            if fault == Fault::Exit {
                assert!(done.stderr.contains("planted complaint"), "the cause is not told: {seen}");
            }
            // What is left has an exit code of its own.
            assert!(code == 4 || left(&lab).is_empty(), "{:?} is left: {seen}", left(&lab));
            assert!(code == 4 || !lab.of("c", "runs").join(TREATMENT).exists(), "a failure was published: {seen}");
        }
        _ => panic!("{seen}"),
    }
    true
}

#[test]
fn steps_of_a_campaign_in_a_cluster() {
    let calls = &undisturbed().calls;
    assert!(calls.len() >= 30, "{calls:#?}");
    matrix("cluster", &short_form(calls), |call| call.join(" "), play);
}
