use std::cell::RefCell;
use std::sync::Mutex;

use super::*;
use crate::campaign::{Holder, Identity, Opening};
use crate::failure::{Failure, Kind};
use crate::provider::Facts;

/// A provider that writes down what it is asked, and fails, panics or is interrupted where told.
struct Scripted<'a> {
    asked: &'a RefCell<Vec<String>>,
    interruption: &'a Interruption,
    script: fn(&str) -> Script,
}

enum Script {
    Succeed,
    Fail,
    Panic,
    Interrupt,
}

impl Scripted<'_> {
    fn act(&self, action: &str, run: Option<Run<'_>>) -> Result<()> {
        let action =
            run.map_or(action.to_owned(), |run| format!("{action} {}{}", run.cell.treatment, run.cell.repetition));
        self.asked.borrow_mut().push(action.clone());
        match (self.script)(&action) {
            Script::Succeed => Ok(()),
            Script::Fail => Err(Failure::measurement(format!("{action} failed"))),
            Script::Panic => panic!("{action} panicked"),
            Script::Interrupt => {
                self.interruption.deliver(15);
                Ok(())
            }
        }
    }
}

impl Provider for Scripted<'_> {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn prepare(&mut self, _: &dyn Observer) -> Result<Mapping> {
        self.act("prepare", None).map(|()| Mapping::from_iter([("harness".into(), "inference-perf 0.7.0".into())]))
    }

    fn standup(&mut self, run: Run<'_>, _: &dyn Observer) -> Result<()> {
        self.act("standup", Some(run))
    }

    fn smoketest(&mut self, run: Run<'_>) -> Result<()> {
        self.act("smoketest", Some(run))
    }

    fn load(&mut self, run: Run<'_>, _: &dyn Observer) -> Result<()> {
        fs_err::write(run.work.join("summary.json"), "{}")?;
        self.act("load", Some(run))
    }

    fn collect(&mut self, run: Run<'_>) -> Result<Facts> {
        let repetition = Mapping::from_iter([("config_sha256".into(), "abc".into())]);
        let treatment = Mapping::from_iter([("display_name".into(), "A".into())]);
        self.act("collect", Some(run)).map(|()| Facts { treatment, repetition })
    }

    fn teardown(&mut self, run: Run<'_>) -> Result<()> {
        self.act("teardown", Some(run))
    }
}

/// What a run of treatments a and b left behind.
struct Ran {
    outcome: Result<()>,
    asked: Vec<String>,
    events: Vec<Event>,
}

fn run_in(results: &std::path::Path, resume: bool, script: fn(&str) -> Script) -> Ran {
    run_with(results, resume, script, now)
}

fn run_with(results: &std::path::Path, resume: bool, script: fn(&str) -> Script, now: fn() -> Timestamp) -> Ran {
    let holder = Holder::this_process("test", self::now());
    let identity = Identity::new();
    let id = "c".parse().unwrap();
    let opening = Opening { results, id: &id, identity: &identity, provenance: Mapping::new(), resume, holder };
    let mut store = Store::open(opening).unwrap();
    let cells = ["a", "b"].map(|treatment| Cell { treatment: treatment.into(), repetition: 1 });
    let (asked, interruption) = (RefCell::default(), Interruption::default());
    let events = Mutex::new(Vec::new());
    let observer = |event: Event| events.lock().unwrap().push(event);
    let mut provider = Scripted { asked: &asked, interruption: &interruption, script };
    let redactor = Redactor::new();
    let surroundings = Surroundings { observer: &observer, interruption: &interruption, redactor: &redactor, now };
    let outcome = run(&mut store, &cells, &mut provider, &surroundings);
    Ran { outcome, asked: asked.into_inner(), events: events.into_inner().unwrap() }
}

fn now() -> Timestamp {
    "2026-08-17T10:15:00Z".parse().unwrap()
}

/// A time of day that is an hour earlier each time it is asked for.
fn set_back() -> Timestamp {
    static ASKED: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);
    let hours = ASKED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    now() - jiff::SignedDuration::from_hours(hours)
}

fn results() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn each_cell_goes_through_all_steps_in_order_and_is_published_after_its_teardown() {
    let results = results();
    let ran = run_in(results.path(), false, |_| Script::Succeed);
    ran.outcome.unwrap();
    assert_eq!(
        ran.asked.join(", "),
        "prepare, standup a1, smoketest a1, load a1, collect a1, teardown a1, \
         standup b1, smoketest b1, load b1, collect b1, teardown b1"
    );
    let published = ran.events.iter().filter(|event| matches!(event, Event::Published { .. })).count();
    assert_eq!(published, 2);
    let manifest = reports::manifest::Manifest::read(&results.path().join("c/campaign-manifest.yaml")).unwrap();
    let entry = manifest.repetition("a", 1).unwrap();
    assert_eq!(entry.config_sha256(), Some("abc"));
    assert_eq!(manifest.treatments["a"].display_name(), Some("A"));
    assert_eq!(entry.text(&["started"]).as_deref(), Some("2026-08-17T10:15:00Z"));
    assert!(entry.get(&["step_seconds", "teardown"]).is_some());
    assert_eq!(manifest.provenance.unwrap()["harness"], Value::from("inference-perf 0.7.0"));
}

#[test]
fn a_clock_that_is_set_back_during_a_run_does_not_end_it_before_it_started() {
    let results = results();
    run_with(results.path(), false, |_| Script::Succeed, set_back).outcome.unwrap();
    let manifest = reports::manifest::Manifest::read(&results.path().join("c/campaign-manifest.yaml")).unwrap();
    for treatment in ["a", "b"] {
        let entry = manifest.repetition(treatment, 1).unwrap();
        let time = |name| entry.text(&[name]).unwrap().parse::<Timestamp>().unwrap();
        assert!(time("ended") >= time("started"), "{treatment}");
    }
}

#[test]
fn a_step_that_fails_ends_the_campaign_after_one_teardown_and_keeps_what_is_finished() {
    let results = results();
    let ran = run_in(results.path(), false, |action| if action == "load b1" { Script::Fail } else { Script::Succeed });
    assert_eq!(ran.outcome.unwrap_err().kind, Kind::Measurement);
    assert_eq!(ran.asked[6..].join(", "), "standup b1, smoketest b1, load b1, teardown b1");
    assert!(results.path().join("c/runs/a/repetition-1/summary.json").is_file());
    assert!(!results.path().join("c/runs/b").exists());
    assert!(results.path().join("c/work/b/repetition-1/summary.json").is_file(), "kept for diagnosis");
}

#[test]
fn a_standup_that_fails_is_torn_down_too() {
    let ran =
        run_in(results().path(), false, |action| if action == "standup a1" { Script::Fail } else { Script::Succeed });
    assert_eq!(ran.asked.join(", "), "prepare, standup a1, teardown a1");
}

#[test]
fn a_preparation_that_fails_has_nothing_to_tear_down() {
    let ran =
        run_in(results().path(), false, |action| if action == "prepare" { Script::Fail } else { Script::Succeed });
    assert!(ran.outcome.is_err());
    assert_eq!(ran.asked, ["prepare"]);
}

#[test]
fn a_panic_is_torn_down_once_and_reported_as_internal() {
    let ran =
        run_in(results().path(), false, |action| if action == "load a1" { Script::Panic } else { Script::Succeed });
    assert_eq!(ran.outcome.unwrap_err().kind, Kind::Internal);
    assert_eq!(ran.asked.join(", "), "prepare, standup a1, smoketest a1, load a1, teardown a1");
}

#[test]
fn a_signal_ends_the_campaign_before_the_next_step_after_teardown() {
    let results = results();
    let ran = run_in(results.path(), false, |a| if a == "smoketest a1" { Script::Interrupt } else { Script::Succeed });
    assert_eq!(ran.outcome.unwrap_err().kind, Kind::Interrupted(15));
    assert_eq!(ran.asked.join(", "), "prepare, standup a1, smoketest a1, teardown a1");
    assert!(!results.path().join("c/runs").exists());
}

#[test]
fn evidence_that_is_complete_when_the_first_signal_arrives_is_still_published() {
    let results = results();
    let ran = run_in(results.path(), false, |a| if a == "teardown a1" { Script::Interrupt } else { Script::Succeed });
    assert_eq!(ran.outcome.unwrap_err().kind, Kind::Interrupted(15));
    assert!(results.path().join("c/runs/a/repetition-1/summary.json").is_file());
    assert!(!ran.asked.iter().any(|action| action.ends_with("b1")));
}

#[test]
fn a_second_signal_leaves_complete_evidence_in_the_work_folder() {
    let results = results();
    let ran = run_in(results.path(), false, |a| match a {
        "collect a1" | "teardown a1" => Script::Interrupt,
        _ => Script::Succeed,
    });
    assert_eq!(ran.outcome.unwrap_err().kind, Kind::Interrupted(15));
    assert!(!results.path().join("c/runs").exists());
    assert!(results.path().join("c/work/a/repetition-1/summary.json").is_file());
}

#[test]
fn a_teardown_that_fails_has_its_own_kind_and_publishes_nothing() {
    let results = results();
    let ran =
        run_in(results.path(), false, |action| if action == "teardown a1" { Script::Fail } else { Script::Succeed });
    assert_eq!(ran.outcome.unwrap_err().kind, Kind::Cleanup);
    assert_eq!(ran.asked.iter().filter(|action| action.starts_with("teardown")).count(), 1);
    assert!(!results.path().join("c/runs").exists());
}

#[test]
fn a_resumed_campaign_continues_at_its_first_unfinished_cell() {
    let results = results();
    run_in(results.path(), false, |action| if action == "load b1" { Script::Fail } else { Script::Succeed });
    let ran = run_in(results.path(), true, |_| Script::Succeed);
    ran.outcome.unwrap();
    assert_eq!(ran.asked.join(", "), "prepare, standup b1, smoketest b1, load b1, collect b1, teardown b1");
    assert!(matches!(&ran.events[0], Event::AlreadyDone { cell } if cell.treatment == "a"));
}

#[test]
fn a_campaign_that_is_finished_prepares_and_runs_nothing() {
    let results = results();
    run_in(results.path(), false, |_| Script::Succeed).outcome.unwrap();
    let ran = run_in(results.path(), true, |_| Script::Succeed);
    ran.outcome.unwrap();
    assert_eq!(ran.asked, Vec::<String>::new());
}
