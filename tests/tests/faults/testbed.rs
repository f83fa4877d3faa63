//! The testbed, which is this very program: it cannot be missing or say something else, but it can be killed and stopped.

use e2e::faults::left_running;
use e2e::python::Python;
use e2e::{outcome, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::campaign::{in_order, machine};
use crate::table::ROWS;
use crate::{digest, interrupt};

/// The process that serves, as soon as there is one.
fn serving(home: &std::path::Path) -> Option<Pid> {
    let home = home.to_string_lossy();
    fs_err::read_dir("/proc").ok()?.find_map(|entry| {
        let folder = entry.ok()?.path();
        let line = String::from_utf8_lossy(&std::fs::read(folder.join("cmdline")).ok()?).replace('\0', " ");
        let pid = folder.file_name()?.to_string_lossy().parse().ok()?;
        (line.contains("testbed serve") && line.contains(&*home)).then(|| Pid::from_raw(pid))
    })
}

/// When the testbed is disturbed, and what happens then.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// As soon as there is one; the load goes on.
    AtOnce,
    /// Once the load runs; the load goes on.
    UnderLoad,
    /// Once the load runs; then the user asks to stop.
    BeforeAnInterruption,
}

/// Sends the signal to the testbed.
fn disturb(signal: Signal, when: When) -> e2e::Outcome {
    let machine = machine(&ROWS[6]);
    let before = digest(&machine.results().join("a/runs/service"));
    machine.set("inference-perf", "inference-perf", "wait");
    let child = machine.benchmark("a", &["--resume"]).spawn().expect("xtask starts");
    if when != When::AtOnce {
        let load = "inference-perf inference-perf".to_owned();
        wait_until("the load begins", || machine.asked(), |steps| steps.contains(&load));
    }
    wait_until("the testbed runs", || serving(machine.home()), Option::is_some);
    kill(serving(machine.home()).expect("the testbed"), signal).expect("a signal");
    if when == When::BeforeAnInterruption {
        interrupt(&child);
    } else {
        machine.go();
    }
    let done = outcome(child);
    in_order(&machine, &before, &done);
    assert_eq!(done.stderr.matches("removing the treatment").count(), 1, "{}", done.stderr);
    machine.mend();
    machine.run(machine.benchmark("a", &["--resume"])).expect(0);
    assert_eq!(left_running(machine.home()), Vec::<String>::new());
    done
}

#[test]
fn a_testbed_that_is_killed_during_the_load_fails_its_treatment() {
    assert_eq!(ROWS[6].python, Python::Pip);
    let done = disturb(Signal::SIGKILL, When::UnderLoad).expect(3);
    for part in ["testbed serve failed: it ended too early", "SIGKILL", "command: ", "log: ", "hint: "] {
        assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
    }
}

#[test]
fn a_testbed_that_is_killed_before_it_answers_fails_its_treatment() {
    let done = disturb(Signal::SIGKILL, When::AtOnce).expect(3);
    assert!(done.stderr.contains("hint: "), "{}", done.stderr);
}

#[test]
fn a_testbed_that_hangs_does_not_keep_a_campaign_from_being_stopped() {
    disturb(Signal::SIGSTOP, When::BeforeAnInterruption).expect(130);
}

#[test]
fn a_testbed_that_ends_by_itself_is_not_a_measurement() {
    let done = disturb(Signal::SIGTERM, When::UnderLoad).expect(3);
    assert!(done.stderr.contains("testbed serve failed: it ended too early"), "{}", done.stderr);
}
