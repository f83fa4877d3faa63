//! Steps of a campaign with the local provider, in one that has finished a repetition already.

use std::path::PathBuf;
use std::sync::OnceLock;

use e2e::faults::{Ends, Fault, Missing, Row, left_running};
use e2e::python::Scripted;
use e2e::{Outcome, STAGES, Script, World, outcome, wait_until};

use crate::table::ROWS;
use crate::{all, copy, digest, interrupt, matrix};

/// A campaign whose first of two treatments is finished.
fn begun() -> PathBuf {
    static BEGUN: OnceLock<World> = OnceLock::new();
    let world = BEGUN.get_or_init(|| {
        let world = World::new(&Script::Measure);
        let mut command = world.command(&["benchmark", "--profile", "smoke", "--campaign", "a", "--set", STAGES]);
        command.args(["--treatment", "service"]);
        world.run(command).expect(0);
        world
    });
    world.of("a", "")
}

/// How large a flood of output is: 2 MB are more than any step may answer, `FAULTS_FLOOD=100` is the long form.
fn megabytes() -> u64 {
    std::env::var("FAULTS_FLOOD").ok().and_then(|it| it.parse().ok()).unwrap_or(2)
}

/// A machine in whose results the campaign is.
pub fn machine(row: &Row) -> Scripted {
    let machine = Scripted::new(row.python);
    copy(&begun(), &machine.results().join("a"));
    machine.flood(megabytes());
    machine
}

fn runs(machine: &Scripted) -> PathBuf {
    machine.results().join("a/runs")
}

/// What must hold whatever happened: teardown once for each standup, finished repetitions untouched, nothing left running.
pub fn in_order(machine: &Scripted, before: &str, done: &Outcome) {
    let told = |words: &str| done.stderr.matches(words).count();
    assert_eq!(told("starting the treatment"), told("removing the treatment"), "teardown: {}", done.stderr);
    assert_eq!(digest(&runs(machine).join("service")), before, "the finished repetition has changed");
    wait_until("everything of ours has ended", || left_running(machine.home()), Vec::is_empty);
    let campaign = reports::campaign::read(&machine.results().join("a")).expect("what is published can be read");
    let whole = if done.code == Some(0) { 2 } else { 1 };
    assert_eq!(campaign.treatments.len(), whole, "{}", done.stderr);
}

/// Plays one cell; false where it cannot be.
fn play(row: &Row, fault: Fault) -> bool {
    let Some(ends) = row.ends(fault) else { return false };
    let machine = machine(row);
    let before = digest(&runs(&machine).join("service"));
    match (fault, row.missing) {
        (Fault::Missing, Missing::Absent(_)) => machine.remove(row.program),
        (Fault::Missing, Missing::After(step, _)) => {
            let (program, step) = step.split_once(' ').expect("a program and its step");
            machine.set(program, step, "unplug");
        }
        _ => machine.set(row.program, row.step, fault.word()),
    }
    let child = machine.benchmark("a", &["--resume"]).spawn().expect("xtask starts");
    let asked = format!("{} {}", row.program, row.step);
    if fault == Fault::Hang {
        wait_until("the step begins", || machine.asked(), |steps| steps.contains(&asked));
        interrupt(&child);
    }
    let done = outcome(child);
    in_order(&machine, &before, &done);
    let ends = if row.code == 0 && matches!(fault, Fault::Exit | Fault::Killed) { Ends::Well } else { ends };
    let seen = format!("code {:?}\n{}", done.code, done.stderr);
    match ends {
        Ends::Well => assert_eq!(done.code, Some(0), "{seen}"),
        Ends::With(code, named) => {
            assert_eq!(done.code, Some(code), "{seen}");
            if fault != Fault::Hang {
                explained(row, fault, named, &done.stderr);
            }
        }
    }
    if fault != Fault::Missing {
        assert!(machine.asked().contains(&asked), "the step was never reached: {:?}", machine.asked());
    }
    if done.code != Some(0) && fault == Fault::Exit {
        machine.mend();
        machine.run(machine.benchmark("a", &["--resume"])).expect(0);
    }
    true
}

/// The message names the step, its command, its log, and what to do.
fn explained(row: &Row, fault: Fault, named: &str, said: &str) {
    let own = format!("{} failed: ", row.step);
    for part in [if named.is_empty() { &own } else { named }, "hint: "] {
        assert!(said.contains(part), "`{part}` is not in {said}");
    }
    if said.contains(&own) && !said.contains("either: ") {
        assert!(said.contains("\n  command: "), "no command in {said}");
    }
    // What did not run has no log.
    if fault != Fault::Missing {
        assert!(
            said.contains("/logs/") || said.contains("logs of the campaign") || named == "stage",
            "no log in {said}"
        );
    }
}

#[test]
fn steps_of_an_environment_and_of_its_harness() {
    matrix("local", &all(&ROWS), |row| format!("{} {}", row.program, row.step), play);
}

#[test]
fn a_harness_that_floods_its_output_does_not_fill_the_evidence() {
    let machine = machine(&ROWS[6]);
    machine.flood(100);
    machine.set("inference-perf", "inference-perf", "huge");
    machine.run(machine.benchmark("a", &["--resume"])).expect(0);
    let log = runs(&machine).join("agentgateway-standalone/repetition-1/stdout.log");
    let bytes = fs_err::metadata(log).expect("its output").len();
    assert!((32 << 20..33 << 20).contains(&bytes), "{bytes} bytes");
}
