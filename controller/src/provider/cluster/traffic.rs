//! Follows a load from outside: how far it has come, and when its last request has ended.
//!
//! The harness writes reports for minutes after the last request. Whoever pays for accelerators may give them back in that
//! time, so the end of traffic is an event of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_yaml::Value;

use super::cell::Up;
use crate::cluster::{Kubectl, object};
use crate::failure::Result;
use crate::lifecycle::{Event, Observer};

/// The label of the harness's pods.
const HARNESS: &str = "--selector=app=llmdbench-harness-launcher";
/// The line that says that traffic has ended.
const COMPLETE: &str = "LLMDBENCH_EVENT_V1 traffic_complete";
/// Prints the marker of each experiment of which traffic has ended.
const MARKER: &str = "cat /requests/*/traffic_complete.yaml 2>/dev/null || true";
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(5);
/// How often the end of the run is looked for in between.
const TICK: Duration = Duration::from_millis(100);

/// What told that traffic has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// The harness's marker file.
    Marker,
    /// Its event line.
    Event,
    /// The last stage's line in its log.
    FinalStage,
    /// The end of the run: nothing had told before.
    RunEnd,
}

/// Who gives accelerators back before a run has ended.
pub trait Release: Sync {
    /// The cell's last request has ended; reports are still being written and collected. Called at most once a cell; it
    /// may take its time.
    ///
    /// # Errors
    /// When what should be given back is still held: the cell then fails after its evidence is collected.
    fn load_ended(&self, _cluster: &Kubectl, _told: Told) -> Result<()> {
        Ok(())
    }
}

/// Keeps everything.
#[derive(Clone, Copy, Debug)]
pub struct Keep;

impl Release for Keep {}

/// Watches one load.
pub(super) struct Watch<'a> {
    kubectl: Kubectl,
    namespace: String,
    stages: usize,
    release: &'a dyn Release,
    observer: &'a dyn Observer,
}

/// What a look at the harness's log tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// The stage that was begun last, from 0.
    pub(super) stage: Option<usize>,
    /// What told that the last request has ended, if anything did.
    pub(super) complete: Option<Told>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(up: &Up<'_>, workload: &str, release: &'a dyn Release, observer: &'a dyn Observer) -> Self {
        let stages = serde_yaml::from_str::<Value>(workload)
            .ok()
            .and_then(|workload| Some(workload.get("load")?.get("stages")?.as_sequence()?.len()))
            .unwrap_or_default();
        Self { kubectl: up.kubectl.clone(), namespace: up.namespace.clone(), stages, release, observer }
    }

    /// Looks until traffic or the run has ended, and tells both observer and release.
    ///
    /// # Errors
    /// What the release failed with.
    pub(super) fn follow(&self, finished: &AtomicBool) -> Result<()> {
        let mut told = None;
        while !finished.load(Ordering::Relaxed) && !self.kubectl.session().interruption().urgent() {
            // A look that fails is no news: the run itself says when something is wrong.
            let seen = self.look().unwrap_or_default();
            if let Some(stage) = seen.stage.filter(|stage| Some(*stage) != told) {
                told = Some(stage);
                self.observer.notify(Event::Preparing { what: format!("stage {} of {} runs", stage + 1, self.stages) });
            }
            if let Some(told) = seen.complete {
                self.observer.notify(Event::Preparing { what: "traffic has ended; collecting its reports".to_owned() });
                return self.release.load_ended(&self.kubectl, told);
            }
            let next = Instant::now() + PAUSE;
            while Instant::now() < next && !finished.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
            }
        }
        Ok(())
    }

    fn look(&self) -> Result<Position> {
        let namespace = format!("--namespace={}", self.namespace);
        let pods = self.kubectl.list("pods", &[&namespace, HARNESS])?;
        let Some(pod) = pods.iter().find(|pod| object::phase(pod) == "Running") else { return Ok(Position::default()) };
        let name = object::name(pod);
        let log = self.kubectl.ask(&["logs", name, &namespace, "--tail=400"])?;
        let mut position = position(&log, self.stages);
        if position.complete.is_none() {
            let marker = self.kubectl.ask(&["exec", name, &namespace, "--", "sh", "-c", MARKER])?;
            position.complete = marker.contains("traffic_complete").then_some(Told::Marker);
        }
        Ok(position)
    }
}

/// Reads the end of a harness's log.
pub(super) fn position(log: &str, stages: usize) -> Position {
    let mut position = Position::default();
    for line in log.lines() {
        if line.contains(COMPLETE) {
            position.complete = Some(Told::Event);
        }
        let Some((stage, what)) = stage_of(line) else { continue };
        match what {
            "run started" => position.stage = Some(stage),
            "run completed" if stages > 0 && stage + 1 == stages => {
                position.complete.get_or_insert(Told::FinalStage);
            }
            _ => {}
        }
    }
    position
}

/// `… Stage 3 - run started` as `(3, "run started")`.
fn stage_of(line: &str) -> Option<(usize, &str)> {
    let (_, rest) = line.rsplit_once("Stage ")?;
    let (number, what) = rest.split_once(" - ")?;
    Some((number.parse().ok()?, what.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sign_of_the_end_of_traffic_is_understood_and_only_those_of_the_last_stage() {
        let log = "2026-08-17 10:15:00,1 - x - INFO - Stage 0 - run started\nINFO - Stage 0 - run completed\n";
        assert_eq!(position(log, 2), Position { stage: Some(0), complete: None });
        let log = format!("{log}INFO - Stage 1 - run started\n");
        assert_eq!(position(&log, 2), Position { stage: Some(1), complete: None });
        assert!(position(&format!("{log}INFO - Stage 1 - run completed\r\n"), 2).complete == Some(Told::FinalStage));
        assert!(
            position(&format!("{log}LLMDBENCH_EVENT_V1 traffic_complete experiment_id=a final_stage_id=1"), 2).complete
                == Some(Told::Event)
        );
        assert!(
            position("INFO - Stage 1 - run completed", 0).complete.is_none(),
            "without a ladder no stage is the last one"
        );
    }
}
