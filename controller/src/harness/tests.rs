//! Runs of a scripted harness: what is followed, what is kept and what is believed.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::failure::{Failure, Kind};
use crate::process::{Interruption, Places, Redactor, Session};

/// A fake `inference-perf` and the folder of one run.
struct Fake {
    folder: tempfile::TempDir,
    session: Session,
}

impl Fake {
    /// A harness that runs this shell script in the run's folder.
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("environment/venv/bin");
        fs_err::create_dir_all(&bin).unwrap();
        fs_err::create_dir_all(folder.path().join("run")).unwrap();
        let program = bin.join("inference-perf");
        fs_err::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let places = Places { logs: Some(folder.path().join("logs")), ..Places::default() };
        let session = Session::new(places, Redactor::new(), Interruption::default());
        Self { folder, session }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// Puts a stage's results where the script would.
    fn stage(&self, number: usize, rate: f64, count: u64, failed: u64) -> &Self {
        self.write(number, &stage(rate, count, failed, 0.001, 0.1).to_string())
    }

    fn write(&self, number: usize, text: &str) -> &Self {
        fs_err::write(self.out().join(format!("stage_{number}_lifecycle_metrics.json")), text).unwrap();
        self
    }

    fn run(&self) -> Result<Outcome, Failure> {
        self.run_with(Duration::from_secs(20), &mut |_: Progress| {})
    }

    fn run_with(&self, no_progress: Duration, watcher: &mut dyn Watcher) -> Result<Outcome, Failure> {
        let environment = Environment::assumed(&self.folder.path().join("environment"), "0.7.0");
        let options =
            Options { no_progress, limits: Limits { failure_rate: 0.01, schedule_delay: 0.5 }, hf_token: None };
        run(&self.session, &environment, &workload(self.folder.path()), &self.out(), &options, watcher)
    }
}

/// Two stages: 20 and 12 requests.
fn workload(folder: &Path) -> Workload {
    let path = folder.join("load.yaml");
    let text = "{api: {streaming: true}, data: {type: random}, load: {stages: [{rate: 10, duration: 2}, {rate: 4, duration: 3}]}}";
    fs_err::write(&path, text).unwrap();
    let settings = serde_json::from_value(json!({
        "template": "none", "file": path, "variant": "upstream", "load": "poisson", "interval": 1, "rate_scale": "1",
        "request_timeout": 120, "data": {"seed": 42},
    }));
    let harness = serde_json::from_value(json!({
        "name": "inference-perf", "python": null, "workers": 2, "worker_max_concurrency": 1000, "no_progress_timeout": 120,
    }));
    let target = Target { base_url: "http://127.0.0.1:1".into(), model: "m".into(), tokenizer: "/tokenizer".into() };
    Workload::new(folder, &settings.unwrap(), &harness.unwrap(), &target).unwrap()
}

/// A stage's file as inference-perf 0.7.0 writes it, as far as it matters here.
fn stage(rate: f64, count: u64, failed: u64, median_delay: f64, max_delay: f64) -> serde_json::Value {
    let spread =
        |value: f64| json!({"mean": value, "min": value, "max": value, "median": value, "p90": value, "p99": value});
    let latency = if failed < count { spread(0.5) } else { serde_json::Value::Null };
    json!({
        "benchmark_time_seconds": 3.0,
        "load_summary": {
            "count": count,
            "schedule_delay": {"mean": median_delay, "min": -0.001, "max": max_delay, "median": median_delay, "p90": max_delay, "p99": max_delay},
            "send_duration": 2.0, "requested_rate": rate, "achieved_rate": rate,
        },
        "successes": {
            "count": count - failed,
            "latency": {
                "request_latency": latency, "normalized_time_per_output_token": latency,
                "time_per_output_token": latency, "time_to_first_token": latency, "inter_token_latency": latency,
            },
            "throughput": {"input_tokens_per_sec": 1.0, "output_tokens_per_sec": 1.0, "total_tokens_per_sec": 2.0, "requests_per_sec": 1.0},
            "prompt_tokens": spread(10.0), "output_len": spread(10.0),
        },
        "failures": {
            "count": failed, "request_latency": null,
            "by_label": if failed > 0 { json!({"503 - Service Unavailable": {"count": failed}}) } else { json!({}) },
        },
    })
}

const TALK: &str = "echo 'x - INFO - Stage 0 - run started'; echo 'Stage 0 Requests ━━ 50%  10/20 0:00:01'
    echo 'x - INFO - Stage 0 - run completed'; echo 'x - INFO - Stage 1 - run started'
    echo 'x - INFO - Stage 1 - run completed'; echo 'a warning' >&2";

fn problems(outcome: &Outcome) -> Vec<String> {
    outcome.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_complete_ladder_without_failures_is_valid_and_leaves_its_evidence() {
    let fake = Fake::new(&format!("{TALK}; env > environment.txt"));
    fake.stage(0, 10.0, 20, 0).stage(1, 4.0, 12, 0);
    let mut told = Vec::new();
    let outcome = fake.run_with(Duration::from_secs(20), &mut |progress| told.push(progress)).unwrap();
    outcome.require_valid().unwrap();
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    assert_eq!((outcome.stages[0].planned, outcome.stages[0].recorded), (20, Some(20)));
    assert_eq!(told.iter().map(|it: &Progress| it.total_done).collect::<Vec<_>>(), [0, 10, 20, 20, 32]);
    let read = |name: &str| fs_err::read_to_string(fake.out().join(name)).unwrap();
    assert!(read("stdout.log").contains("Stage 1 - run completed") && !read("stdout.log").contains('━'));
    assert_eq!(read("stderr.log"), "a warning\n");
    assert!(read("workload.yaml").contains("rate: 10"));
    assert!(read("environment.txt").contains("PYTHONUNBUFFERED=1"));
}

#[test]
fn exit_code_0_with_every_request_failed_is_not_a_measurement() {
    let fake = Fake::new("exit 0");
    fake.stage(0, 10.0, 20, 20).stage(1, 4.0, 12, 0);
    let outcome = fake.run().unwrap();
    assert_eq!(outcome.failed(), 20);
    assert!(
        problems(&outcome)[0].starts_with("stage 0: 20 of 20 requests failed: 20 x 503"),
        "{:?}",
        problems(&outcome)
    );
    let failure = outcome.require_valid().unwrap_err();
    assert_eq!(failure.kind, Kind::Measurement);
    assert!(failure.hints[0].contains("limits.failure_rate"), "{:?}", failure.hints);
}

#[test]
fn failures_within_the_limit_are_a_warning() {
    let fake = Fake::new("exit 0");
    fake.stage(0, 10.0, 20, 0).write(1, &stage(4.0, 12, 0, 0.001, 2.5).to_string());
    let outcome = fake.run().unwrap();
    assert!(outcome.is_valid());
    assert_eq!(outcome.warnings[0].what, "a request was sent 2.5 s late");
}

#[test]
fn a_ladder_with_a_missing_a_truncated_or_a_surplus_stage_is_refused() {
    let fake = Fake::new("exit 0");
    fake.stage(0, 10.0, 20, 0);
    assert!(problems(&fake.run().unwrap())[0].starts_with("stage 1: it has no results"));
    let whole = stage(4.0, 12, 0, 0.001, 0.1).to_string();
    fake.write(1, &whole[..whole.len() / 2]);
    assert!(problems(&fake.run().unwrap())[0].starts_with("stage 1: its results cannot be read"));
    fake.stage(1, 4.0, 12, 0).stage(2, 4.0, 12, 0);
    assert!(problems(&fake.run().unwrap())[0].starts_with("there are results of stages that were not planned: 2"));
}

#[test]
fn fewer_requests_than_planned_or_another_rate_is_another_load() {
    let fake = Fake::new("exit 0");
    fake.stage(0, 10.0, 19, 0).stage(1, 8.0, 12, 0);
    let problems = problems(&fake.run().unwrap());
    assert!(problems[0].starts_with("stage 0: 19 of 20 planned requests"), "{problems:?}");
    assert!(problems[1].starts_with("stage 1: the results are for 8 requests a second, not for 4"), "{problems:?}");
}

#[test]
fn load_that_was_sent_late_measures_the_client() {
    let fake = Fake::new("exit 0");
    fake.stage(0, 10.0, 20, 0).write(1, &stage(4.0, 12, 0, 0.9, 3.0).to_string());
    let problems = problems(&fake.run().unwrap());
    assert!(problems[0].contains("0.900 s late") && problems[0].contains("worker_max_concurrency"), "{problems:?}");
}

#[test]
fn a_stage_that_the_harness_gave_up_is_not_complete() {
    let fake = Fake::new("echo 'INFO - Stage 1 - run started'; echo 'INFO - Stage 1 - run failed'");
    fake.stage(0, 10.0, 20, 0).stage(1, 4.0, 12, 0);
    assert!(problems(&fake.run().unwrap())[0].starts_with("stage 1: the harness gave the stage up"));
}

#[test]
fn a_crash_is_a_measurement_failure_with_the_end_of_its_output() {
    let failure = Fake::new("echo 'Traceback: no such model' >&2; exit 1").run().unwrap_err();
    assert_eq!(failure.kind, Kind::Measurement);
    assert!(failure.to_string().contains("no such model"), "{failure}");
}

#[test]
fn a_harness_that_only_redraws_its_clock_is_ended_by_the_watchdog() {
    let fake = Fake::new(
        "echo 'INFO - Stage 0 - run started'
         while :; do echo 'Stage 0 Requests ━━ 50%  10/20 0:00:01'; sleep 0.05; done",
    );
    let failure = fake.run_with(Duration::from_millis(600), &mut |_: Progress| {}).unwrap_err();
    assert!(failure.to_string().contains("no progress for 0.6 s"), "{failure}");
    assert_eq!(failure.kind, Kind::Measurement);
}

#[test]
fn a_server_whose_counter_moves_keeps_a_silent_harness_alive() {
    struct Server(u64);
    impl Watcher for Server {
        fn progress(&mut self, _: Progress) {}
        fn counter(&mut self) -> Option<u64> {
            self.0 += 1;
            Some(self.0)
        }
    }
    let fake = Fake::new("sleep 2.5");
    fake.stage(0, 10.0, 20, 0).stage(1, 4.0, 12, 0);
    assert!(fake.run_with(Duration::from_millis(1600), &mut Server(0)).unwrap().is_valid());
}

#[test]
fn an_interruption_ends_the_run_with_its_own_kind() {
    let fake = Fake::new("echo 'INFO - Stage 0 - run started'; sleep 60");
    let interruption = fake.session.interruption().clone();
    let failure = fake.run_with(Duration::from_secs(20), &mut |_: Progress| interruption.deliver(15)).unwrap_err();
    assert_eq!(failure.kind, Kind::Interrupted(15));
    assert!(fake.out().join("stdout.log").exists());
}

#[test]
fn a_token_reaches_the_harness_and_no_file() {
    let fake = Fake::new("echo \"token is $HF_TOKEN\"; test -n \"$HF_TOKEN\"");
    fake.stage(0, 10.0, 20, 0).stage(1, 4.0, 12, 0);
    let environment = Environment::assumed(&fake.folder.path().join("environment"), "0.7.0");
    let options = Options {
        no_progress: Duration::from_secs(20),
        limits: Limits { failure_rate: 0.0, schedule_delay: 0.5 },
        hf_token: Some("secret-of-mine".into()),
    };
    let workload = workload(fake.folder.path());
    run(&fake.session, &environment, &workload, &fake.out(), &options, &mut |_: Progress| {}).unwrap();
    for entry in fs_err::read_dir(fake.out()).unwrap().chain(fs_err::read_dir(fake.folder.path().join("logs")).unwrap())
    {
        let text = fs_err::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("secret-of-mine"), "{text}");
    }
}
