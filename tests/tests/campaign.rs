//! Whole campaigns with the real testbed and a scripted harness: results, failures, interruption, resumption.

use e2e::{Script, World, outcome, running, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn pid(child: &std::process::Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a process id"))
}

/// Starts a campaign whose harness hangs, and waits until its load runs.
fn hanging(world: &World, id: &str) -> std::process::Child {
    let child = world.benchmark(id, &[]).spawn().expect("xtask starts");
    let log = world.of(id, "work/service/repetition-1/stdout.log");
    wait_until("the load starts", || log.is_file() && !running(&world.of(id, "")).is_empty(), |there| *there);
    std::thread::sleep(std::time::Duration::from_millis(300));
    child
}

/// Nothing that mentions the test's own folder runs any more.
fn nothing_runs(world: &World) {
    wait_until("everything of ours has ended", || running(&world.results()), Vec::is_empty);
}

#[test]
fn a_campaign_ends_with_a_report_a_table_and_the_command_that_repeats_it() {
    let world = World::new(&Script::Measure);
    let done = world.run(world.benchmark("a", &[])).expect(0);
    for part in ["service", "agentgateway-standalone", "0 of 16", "report/README.md", "repeat    cargo xtask benchmark"]
    {
        assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
    }
    assert!(done.stderr.contains("service repetition 1 (1 of 2)"), "{}", done.stderr);
    let campaign = reports::campaign::read(&world.of("a", "")).unwrap();
    assert_eq!(campaign.treatments.len(), 2);
    assert!(campaign.is_simulated());
    for file in ["config.yaml", "workload.yaml", "testbed.yaml", "stdout.log", "per_request_lifecycle_metrics.json.gz"]
    {
        assert!(world.of("a", &format!("runs/service/repetition-1/{file}")).is_file(), "{file}");
    }
    for gone in ["work", "campaign.lock"] {
        assert!(!world.of("a", gone).exists(), "{gone} is left");
    }
    nothing_runs(&world);
}

#[test]
fn the_result_can_be_read_by_other_programs() {
    let world = World::new(&Script::Measure);
    let done = world.run(world.benchmark("a", &["--json"])).expect(0);
    let result: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(result["simulated"], true);
    assert_eq!(result["treatments"][0]["treatment"], "service");
    assert_eq!(result["treatments"][0]["failures"], 0);
    assert_eq!(result["treatments"][1]["top"]["requested_qps"], 4.0);
}

#[test]
fn measurements_that_are_not_valid_end_the_campaign_and_are_not_published() {
    for (script, reason) in [(Script::AllFailed, "failed"), (Script::Crash, "exit code 7"), (Script::Nothing, "stage")]
    {
        let world = World::new(&script);
        let done = world.run(world.benchmark("a", &[])).expect(3);
        assert!(done.stderr.contains(reason), "{script:?}: {}", done.stderr);
        assert!(done.stderr.contains("--resume"), "{script:?}: {}", done.stderr);
        assert!(!world.of("a", "runs").exists(), "{script:?}");
        assert!(world.of("a", "work/service/repetition-1/workload.yaml").is_file(), "kept for diagnosis");
        nothing_runs(&world);
    }
}

#[test]
fn a_hung_harness_is_ended_by_its_watchdog() {
    let world = World::new(&Script::Hang);
    let done = world.run(world.benchmark("a", &["--set", "harness.no_progress_timeout=1"])).expect(3);
    assert!(done.stderr.contains("no progress"), "{}", done.stderr);
    nothing_runs(&world);
}

#[test]
fn signals_end_the_campaign_with_their_code_and_leave_nothing_running() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let world = World::new(&Script::Hang);
        let child = hanging(&world, "a");
        kill(pid(&child), signal).unwrap();
        let done = outcome(child).expect(code);
        assert!(done.stderr.contains("--resume"), "{}", done.stderr);
        assert!(world.of("a", "work/service/repetition-1").is_dir(), "kept for diagnosis");
        nothing_runs(&world);
    }
}

#[test]
fn a_failed_campaign_is_continued_at_its_first_unfinished_repetition() {
    let world = World::new(&Script::Measure);
    world.run(world.benchmark("a", &["--set", "treatments=service"])).expect(0);
    let first = std::fs::metadata(world.of("a", "runs/service/repetition-1/testbed.yaml")).unwrap().modified().unwrap();
    let refused = world.run(world.benchmark("a", &[])).expect(2);
    assert!(refused.stderr.contains("exists") && refused.stderr.contains("--resume"), "{}", refused.stderr);
    let done = world.run(world.benchmark("a", &["--resume"])).expect(0);
    assert!(done.stderr.contains("finished by an earlier run"), "{}", done.stderr);
    let again = std::fs::metadata(world.of("a", "runs/service/repetition-1/testbed.yaml")).unwrap().modified().unwrap();
    assert_eq!(first, again);
    assert!(world.of("a", "runs/agentgateway-standalone/repetition-1").is_dir());
}

#[test]
fn a_campaign_is_not_continued_with_another_workload() {
    let world = World::new(&Script::Measure);
    world.run(world.benchmark("a", &[])).expect(0);
    let refused = world.run(world.benchmark("a", &["--resume", "--set", "workload.data.output_tokens=61"])).expect(2);
    assert!(refused.stderr.contains("workload_sha256: recorded"), "{}", refused.stderr);
}

#[test]
fn a_killed_campaign_is_taken_over_and_completed() {
    let world = World::new(&Script::Hang);
    let child = hanging(&world, "a");
    kill(pid(&child), Signal::SIGKILL).unwrap();
    assert_eq!(outcome(child).code, None);
    world.play(&Script::Measure);
    let done = world.run(world.benchmark("a", &["--resume"])).expect(0);
    assert!(done.stderr.contains("the run that held this campaign is gone"), "{}", done.stderr);
    assert_eq!(reports::campaign::read(&world.of("a", "")).unwrap().treatments.len(), 2);
    nothing_runs(&world);
}

#[test]
fn clean_removes_what_a_killed_campaign_left_and_nothing_else() {
    let world = World::new(&Script::Hang);
    let child = hanging(&world, "a");
    let busy = world.run(world.command(&["clean"])).expect(0);
    assert!(busy.stdout.contains("a: in use, left alone"), "{}", busy.stdout);
    kill(pid(&child), Signal::SIGKILL).unwrap();
    outcome(child);
    let would = world.run(world.command(&["clean", "--dry-run"])).expect(0);
    assert!(would.stdout.contains("would remove a/work"), "{}", would.stdout);
    assert!(world.of("a", "work").exists());
    world.run(world.command(&["clean"])).expect(0);
    assert!(!world.of("a", "work").exists() && world.of("a", "campaign-manifest.yaml").is_file());
    nothing_runs(&world);
}

#[test]
fn clean_removes_cached_environments_only_when_asked_to() {
    let world = World::new(&Script::Measure);
    world.run(world.benchmark("a", &[])).expect(0);
    let clean = |more: &[&str]| world.run(world.command(&[&["clean"], more].concat())).expect(0).stdout;
    let about = "(inference-perf 0.7.0, Python 3.12.0,";
    assert!(!clean(&[]).contains(about));
    assert!(clean(&["--environments", "--dry-run"]).contains(&format!("scripted: would be removed {about}")));
    assert!(clean(&["--environments"]).contains(&format!("scripted: removed {about}")));
    assert!(clean(&["--environments"]).contains("no environment in "));
}

#[test]
fn one_campaign_runs_once_and_two_run_side_by_side() {
    let world = World::new(&Script::Hang);
    let child = hanging(&world, "a");
    let refused = world.run(world.benchmark("a", &["--resume"])).expect(2);
    assert!(refused.stderr.contains(&format!("in use by process {}", child.id())), "{}", refused.stderr);
    world.play(&Script::Measure);
    world.run(world.benchmark("b", &[])).expect(0);
    kill(pid(&child), Signal::SIGTERM).unwrap();
    outcome(child).expect(143);
    nothing_runs(&world);
}

#[test]
fn what_is_published_can_be_reported_on_while_the_campaign_runs() {
    let world = World::new(&Script::Measure);
    world.run(world.benchmark("a", &[])).expect(0);
    world.play(&Script::Hang);
    let more = ["--treatment", "envoy-standalone", "--resume"];
    let child = world.benchmark("a", &more).spawn().expect("xtask starts");
    let log = world.of("a", "work/envoy-standalone/repetition-1/stdout.log");
    wait_until("the third treatment runs", || log.is_file(), |there| *there);
    let output = world.of("a", "now").display().to_string();
    let campaign = world.of("a", "").display().to_string();
    world.run(world.command(&["report", &campaign, "--output", &output])).expect(0);
    let page = fs_err::read_to_string(world.of("a", "now/README.md")).unwrap();
    assert!(page.contains("agentgateway-standalone") && !page.contains("Envoy standalone"), "{page}");
    kill(pid(&child), Signal::SIGTERM).unwrap();
    outcome(child).expect(143);
    nothing_runs(&world);
}
