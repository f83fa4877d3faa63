//! The programs of a campaign in a cluster. As for GKE, the steps are those that an undisturbed campaign takes.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use e2e::faults::{Fault, left_running};
use e2e::{Lab, Outcome, TOKEN, outcome, wait_until};
use serde_json::{Value, json};

use crate::{all, interrupt, matrix, short_form};

/// The treatment with the most steps.
const TREATMENT: &str = "agentgateway-gateway";
const CONTEXT: &str = "kind-agentgateway-benchmark";

/// The programs that can be told to misbehave.
const PLAYED: [&str; 5] = ["kubectl", "kind", "helm", "skopeo", "llmdbenchmark"];

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
        // Only those whose program is one that a cell can break.
        let step = |line: &str| {
            let entry: Value = serde_json::from_str(line).ok()?;
            let program = std::path::Path::new(entry["argv"][0].as_str()?).file_name()?.to_str()?.to_owned();
            PLAYED.contains(&program.as_str()).then(|| entry["step"].as_str().map(str::to_owned)).flatten()
        };
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

/// Waits for the end, but not for what a real cluster may take minutes for: then Ctrl-C is pressed until it ends, since
/// cleaning up goes on through the first two.
fn ended(mut child: std::process::Child, patience: Duration) -> Outcome {
    let began = Instant::now();
    while child.try_wait().expect("a child can be asked").is_none() {
        let waited = began.elapsed();
        assert!(waited < patience + Duration::from_secs(60), "it does not end");
        if waited > patience {
            interrupt(&child);
            std::thread::sleep(Duration::from_secs(1));
        }
        std::thread::sleep(Duration::from_millis(20));
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
        // A look that fails now and then is repeated; one that never succeeds is waited for as long as it may take.
        let times = if call[1..].first().is_some_and(|word| word == "get") { 2 } else { 1000 };
        lab.cloud.break_down(&json!([{"match": call, "times": times, "do": action}]));
    }
    let child = spawn(&lab);
    let done = if fault == Fault::Hang {
        let reached = || lab.cloud.journal().iter().any(|one| words(one) == *call);
        wait_until("the step begins", reached, |there| *there);
        ended(child, Duration::ZERO)
    } else {
        ended(child, Duration::from_secs(30))
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

/// Steps of llm-d-benchmark's environment, by what is found in the command line.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("install llm-d-benchmark", "--editable"),
    ("install planner", "planner.invalid"),
    ("verify llm-d-benchmark", "import llmdbenchmark"),
];

/// Whether the environment's step of this name is played.
pub fn has_environment_step(name: &str) -> bool {
    ENVIRONMENT.iter().any(|(step, _)| *step == name)
}

fn play_environment((step, sign): &(&str, &str), fault: Fault) -> bool {
    let action = match fault {
        Fault::Exit => "echo planted complaint >&2; exit 7",
        Fault::Hang => "sleep 600 & wait",
        Fault::Killed => "kill -9 $$",
        Fault::Garbage => "echo '%PDF {'; exit 0",
        Fault::NotUtf8 => "printf '\\377{\\200\\n'; exit 0",
        Fault::Nothing => "exit 0",
        // As for any Python: see the table of the local provider.
        Fault::Huge | Fault::Missing => return false,
    };
    let lab = lab();
    let python = lab.cloud.path().join("python3.12");
    let script = fs_err::read_to_string(&python).expect("a script");
    let broken = format!("#!/bin/sh\ncase \"$*\" in *'{sign}'*) : > \"$HOME/asked\"; {action} ;; esac\n{script}");
    fs_err::write(&python, broken).expect("a script");
    let child = spawn(&lab);
    let done = if fault == Fault::Hang {
        wait_until("the step begins", || lab.path("asked").exists(), |there| *there);
        ended(child, Duration::ZERO)
    } else {
        ended(child, Duration::from_secs(60))
    };
    let seen = format!("{step} × {fault:?}, code {:?}: {}", done.code, done.stderr);
    wait_until("everything of ours has ended", || left_running(&lab.path("")), Vec::is_empty);
    assert!(lab.path("asked").exists(), "the step was never reached: {seen}");
    assert_eq!(left(&lab), Vec::<String>::new(), "{seen}");
    match (fault, done.code) {
        (Fault::Hang, code) => assert_eq!(code, Some(130), "{seen}"),
        // What it says does not matter where its effect is proven afterwards.
        (Fault::Garbage | Fault::NotUtf8 | Fault::Nothing, Some(0)) if *step != "verify llm-d-benchmark" => {}
        (_, Some(1..=3)) => {
            assert!(done.stderr.contains(step) && done.stderr.contains("hint: "), "{seen}");
        }
        _ => panic!("{seen}"),
    }
    true
}

#[test]
fn steps_of_the_environment_of_llm_d_benchmark() {
    matrix("llm-d-benchmark", &all(&ENVIRONMENT), |(step, _)| (*step).to_owned(), play_environment);
}
