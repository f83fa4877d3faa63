//! gcloud and kubectl under the verbs of GKE. The steps are those that an undisturbed run takes, so a new one has its row
//! without being named here.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use e2e::fake::{CONTEXT, Machine, PROJECT, gke};
use e2e::faults::{Fault, left_running};
use e2e::{Outcome, outcome, wait_until};
use serde_json::{Value, json};

use crate::{matrix, short_form};

/// The verbs in the order in which a cluster goes through them.
const VERBS: [&str; 5] = ["provision", "verify", "gpu-up", "gpu-down", "destroy"];

/// Deadlines so small that what hangs is given up soon.
const SOON: [&str; 9] = [
    "--set",
    "gke.look_timeout=3",
    "--set",
    "gke.provision_timeout=2",
    "--set",
    "gke.cleanup_timeout=2",
    "--set",
    "gke.gpu.ready_timeout=2",
    "--set=gke.allow_destroy=true",
];

/// A step of a verb: the words of a call up to its first flag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    verb: usize,
    words: Vec<String>,
}

fn machine(state: &Value) -> Machine {
    Machine::new(env!("CARGO_BIN_EXE_fake_cloud").as_ref(), &["kubectl", "gcloud"], state)
}

fn run(machine: &Machine, verb: usize) -> Outcome {
    let mut command = machine.command(&["gke", VERBS[verb]]);
    command.args(SOON).env("BENCHMARK_GKE_PROJECT", PROJECT);
    outcome(command.spawn().expect("xtask starts"))
}

/// The state before each verb and after the last, and the steps that each takes.
fn undisturbed() -> &'static (Vec<Value>, Vec<Step>) {
    static SEEN: OnceLock<(Vec<Value>, Vec<Step>)> = OnceLock::new();
    SEEN.get_or_init(|| {
        let (mut states, mut steps) = (vec![gke()], BTreeSet::new());
        for verb in 0..VERBS.len() {
            let machine = machine(&states[verb]);
            run(&machine, verb).expect(0);
            for call in machine.cloud.journal() {
                let words = call["argv"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let words = words.take_while(|word| !word.starts_with('-')).map(str::to_owned).collect();
                steps.insert(Step { verb, words });
            }
            states.push(machine.cloud.state());
        }
        (states, steps.into_iter().collect())
    })
}

/// GPU nodes that are there, and billed.
fn nodes(machine: &Machine) -> usize {
    machine.cloud.objects(CONTEXT, "nodes//").iter().filter(|key| key.contains("gpu-h100")).count()
}

fn play(step: &Step, fault: Fault) -> bool {
    let states = &undisturbed().0;
    let machine = machine(&states[step.verb]);
    let action = match fault {
        Fault::Exit => json!({"exit": 1, "stderr": "planted complaint\n"}),
        Fault::Nothing => json!({"exit": 0}),
        other => json!({"kind": other.word()}),
    };
    if fault == Fault::Missing {
        fs_err::remove_file(machine.home().join("bin").join(&step.words[0])).expect("a link");
    } else {
        machine.cloud.break_down(&json!([{"match": step.words, "do": action}]));
    }
    let done = run(&machine, step.verb);
    let seen = format!("{} × {fault:?}, code {:?}: {}\n{}", VERBS[step.verb], done.code, done.stdout, done.stderr);
    wait_until("everything of ours has ended", || left_running(machine.home()), Vec::is_empty);
    match done.code {
        // Then the effect is there, whatever the program said.
        Some(0) => assert_eq!(nodes(&machine), if VERBS[step.verb] == "gpu-up" { 8 } else { 0 }, "{seen}"),
        Some(code @ 1..=4) => {
            assert!(done.stderr.contains("hint: "), "no next action: {seen}");
            if fault == Fault::Exit {
                assert!(done.stderr.contains("planted complaint"), "the cause is not told: {seen}");
            }
            // What may be billed has an exit code of its own.
            assert!(code == 4 || nodes(&machine) == 0, "GPU nodes are left: {seen}");
        }
        _ => panic!("{seen}"),
    }
    true
}

#[test]
fn steps_of_a_cluster_and_its_gpu_nodes() {
    let steps = &undisturbed().1;
    assert!(steps.len() >= 30, "{steps:#?}");
    matrix("gke", &short_form(steps), |step| format!("{} {}", VERBS[step.verb], step.words.join(" ")), play);
}
