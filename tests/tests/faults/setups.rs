//! Several set-ups of the same environment at once.

use e2e::faults::left_running;
use e2e::python::{Python, Scripted};
use e2e::{outcome, wait_until};

use crate::interrupt;

const INSTALL: &str = "install inference-perf";

fn installs(machine: &Scripted) -> usize {
    machine.asked().iter().filter(|step| step.ends_with(INSTALL)).count()
}

/// A machine on which one campaign is installing.
fn installing() -> (Scripted, std::process::Child) {
    let machine = Scripted::new(Python::Pip);
    machine.set("python3", INSTALL, "wait");
    let first = machine.benchmark("first", &[]).spawn().expect("xtask starts");
    wait_until("the first one installs", || installs(&machine), |count| *count == 1);
    (machine, first)
}

/// Starts another campaign and waits until it says that it waits for the first one.
fn waiting(machine: &Scripted) -> std::process::Child {
    let said = machine.home().join("second.log");
    let mut command = machine.benchmark("second", &[]);
    command.stderr(fs_err::File::create(&said).expect("a file").into_parts().0);
    let child = command.spawn().expect("xtask starts");
    let words = "waiting: another run is installing the same environment";
    wait_until("it waits", || fs_err::read_to_string(&said).unwrap_or_default(), |said| said.contains(words));
    child
}

#[test]
fn two_at_once_install_once_and_both_succeed() {
    let (machine, first) = installing();
    let second = waiting(&machine);
    machine.go();
    outcome(first).expect(0);
    outcome(second).expect(0);
    assert_eq!(installs(&machine), 1);
}

#[test]
fn one_that_waits_can_be_stopped() {
    let (machine, first) = installing();
    let second = waiting(&machine);
    interrupt(&second);
    outcome(second).expect(130);
    machine.go();
    outcome(first).expect(0);
}

#[test]
fn one_that_is_killed_hands_over_to_the_one_that_waits() {
    let (machine, mut first) = installing();
    let second = waiting(&machine);
    first.kill().expect("a kill");
    outcome(first);
    machine.go();
    outcome(second).expect(0);
    assert_eq!(installs(&machine), 2);
    machine.run(machine.command(&["clean"])).expect(0);
    wait_until("everything of ours has ended", || left_running(machine.home()), Vec::is_empty);
}

#[test]
fn an_environment_that_cannot_answer_because_of_ctrl_c_is_not_replaced() {
    let machine = Scripted::new(Python::Pip);
    machine.run(machine.benchmark("a", &[])).expect(0);
    let python = machine.home().join("bin/python3").display().to_string();
    machine.set("python3", "check environment", "hang");
    let before = machine.asked().len();
    let child = machine.benchmark("b", &["--python", &python]).spawn().expect("xtask starts");
    wait_until(
        "it is asked",
        || machine.asked().split_off(before),
        |steps| steps.contains(&"python3 check environment".to_owned()),
    );
    interrupt(&child);
    outcome(child).expect(130);
    machine.mend();
    machine.run(machine.benchmark("b", &["--resume", "--python", &python])).expect(0);
    assert_eq!(installs(&machine), 1);
}

#[test]
fn ctrl_c_while_the_python_that_was_asked_for_hangs_is_no_verdict_on_it() {
    let machine = Scripted::new(Python::Pip);
    let python = machine.home().join("bin/python3").display().to_string();
    machine.set("python3", "ask python", "hang");
    let child = machine.benchmark("a", &["--python", &python]).spawn().expect("xtask starts");
    wait_until("it is asked", || machine.asked().len(), |count| *count > 0);
    interrupt(&child);
    outcome(child).expect(130);
}
