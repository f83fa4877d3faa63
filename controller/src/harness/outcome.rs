//! What a run proved, decided from its files: the whole ladder, every planned request, few failures, load sent on time.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use reports::model::Stage;
use reports::native::{StageFile, Validation, stage_file_name, stage_files};
use serde::Serialize;

use super::workload::{PlannedStage, Workload};
use crate::failure::{Failure, Result};

/// What makes a measurement invalid.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Highest share of failed requests in a stage, 0 to 1.
    pub failure_rate: f64,
    /// Highest median schedule delay of a stage, seconds: beyond it the client, not the server, was measured.
    pub schedule_delay: f64,
}

/// A single late request is told beyond this many seconds; the median decides.
const LATE: f64 = 1.0;

/// Something about a measurement, with what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remark {
    /// The stage, from 0; `None` for the whole run.
    pub stage: Option<usize>,
    /// What was seen.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(stage) = self.stage {
            write!(f, "stage {stage}: ")?;
        }
        write!(f, "{} ({})", self.what, self.remedy)
    }
}

/// One stage: what was planned and what is recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageOutcome {
    /// Requested requests a second; `None` for a stage of constant concurrency.
    pub rate: Option<f64>,
    /// Requests planned.
    pub planned: u64,
    /// Requests recorded; `None` when the stage has no readable file.
    pub recorded: Option<u64>,
    /// Failed ones among them.
    pub failed: Option<u64>,
    /// Median schedule delay, seconds.
    pub schedule_delay_median: Option<f64>,
}

/// What a run proved.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Stage by stage.
    pub stages: Vec<StageOutcome>,
    /// Why the measurement is not valid; empty when it is.
    pub problems: Vec<Remark>,
    /// What is worth knowing although it is valid.
    pub warnings: Vec<Remark>,
    /// How long the harness ran.
    #[serde(skip)]
    pub elapsed: Duration,
}

/// The measurement cannot be used; all reasons at once.
#[derive(Debug, thiserror::Error)]
#[error("the measurement is not valid:{}", .0.iter().map(|it| format!("\n  {it}")).collect::<String>())]
pub struct Invalid(Vec<Remark>);

impl Outcome {
    /// Whether the measurement can be used.
    pub fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    /// # Errors
    /// With every reason and its remedy when the measurement is not valid.
    pub fn require_valid(&self) -> Result<()> {
        if self.is_valid() {
            return Ok(());
        }
        let mut remedies: Vec<&String> = self.problems.iter().map(|problem| &problem.remedy).collect();
        remedies.dedup();
        let failure = Failure::measurement(Invalid(self.problems.clone()));
        Err(remedies.into_iter().fold(failure, |failure, remedy| failure.hint(remedy.clone())))
    }

    /// Failed requests of all stages, as far as they are recorded.
    pub fn failed(&self) -> u64 {
        self.stages.iter().filter_map(|stage| stage.failed).sum()
    }
}

/// Judges the files that a run left in `folder`; `given_up` are the stages that the harness itself said it gave up, from 0.
pub fn judge(folder: &Path, workload: &Workload, limits: &Limits, given_up: &[usize], elapsed: Duration) -> Outcome {
    let mut judge = Judge { problems: Vec::new(), warnings: Vec::new() };
    let stages = workload.plan().iter().enumerate().map(|(number, planned)| {
        let stage = judge.read(folder, number);
        if let Some(stage) = &stage {
            judge.stage(number, planned, stage, limits, workload.streams());
        }
        if given_up.contains(&number) {
            judge.problem(
                Some(number),
                "the harness gave the stage up before all its requests had ended",
                "see stdout.log; a longer workload.request_timeout lets slow requests finish",
            );
        }
        let median = stage.as_ref().and_then(|it| it.load.schedule_delay.as_ref()).and_then(|it| it.p50);
        StageOutcome {
            rate: planned.rate,
            planned: planned.requests,
            recorded: stage.as_ref().map(|stage| stage.requests.total),
            failed: stage.as_ref().and_then(|stage| stage.requests.failures),
            schedule_delay_median: median,
        }
    });
    let stages = stages.collect();
    judge.surplus(folder, workload.plan().len());
    judge.validation(folder);
    Outcome { stages, problems: judge.problems, warnings: judge.warnings, elapsed }
}

struct Judge {
    problems: Vec<Remark>,
    warnings: Vec<Remark>,
}

impl Judge {
    fn problem(&mut self, stage: Option<usize>, what: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Remark { stage, what: what.into(), remedy: remedy.into() });
    }

    fn warning(&mut self, stage: Option<usize>, what: impl Into<String>, remedy: impl Into<String>) {
        self.warnings.push(Remark { stage, what: what.into(), remedy: remedy.into() });
    }

    fn read(&mut self, folder: &Path, number: usize) -> Option<Stage> {
        let index = u32::try_from(number).ok()?;
        let path = folder.join(stage_file_name(index));
        if !path.is_file() {
            self.problem(Some(number), "it has no results", "the run ended early: see stdout.log and stderr.log");
            return None;
        }
        match StageFile::read(&path, index) {
            Ok(file) => Some(file.stage),
            Err(error) => {
                let what = format!("its results cannot be read: {error}");
                self.problem(Some(number), what, "the file is damaged or cut off: run the repetition again");
                None
            }
        }
    }

    fn stage(&mut self, number: usize, planned: &PlannedStage, stage: &Stage, limits: &Limits, streams: bool) {
        let at = Some(number);
        let (total, expected) = (stage.requests.total, planned.requests);
        if total != expected {
            let what = format!("{total} of {expected} planned requests are recorded");
            self.problem(at, what, "the load was not what was asked for: see stdout.log for workers that died");
        }
        if let (Some(asked), Some(sent)) = (planned.rate, stage.load.requested_rate)
            && (asked - sent).abs() > 1e-6 * asked.max(1.0)
        {
            let what = format!("the results are for {sent} requests a second, not for {asked}");
            self.problem(at, what, "the folder holds another run's files: start with an empty one");
        }
        self.failures(at, stage, limits);
        self.delay(at, stage, limits);
        if streams && stage.requests.failures.is_some_and(|failed| failed < total) && stage.latency.ttft.is_none() {
            let what = "responses were streamed but no time to first token is recorded";
            self.warning(at, what, "the endpoint may not stream, or gives empty answers");
        }
    }

    fn failures(&mut self, at: Option<usize>, stage: &Stage, limits: &Limits) {
        let total = stage.requests.total;
        let Some(failed) = stage.requests.failures.filter(|failed| *failed > 0) else { return };
        let labels: Vec<String> =
            stage.requests.failures_by_label.iter().take(3).map(|it| format!("{} x {}", it.count, it.label)).collect();
        let labels = if labels.is_empty() { String::new() } else { format!(": {}", labels.join(", ")) };
        let what = format!("{failed} of {total} requests failed{labels}");
        if failed as f64 > limits.failure_rate * total as f64 {
            let remedy = format!(
                "at most {} % may fail (limits.failure_rate); see the endpoint's log",
                limits.failure_rate * 100.0
            );
            self.problem(at, what, remedy);
        } else {
            self.warning(at, what, "within limits.failure_rate; latencies are those of the others");
        }
    }

    fn delay(&mut self, at: Option<usize>, stage: &Stage, limits: &Limits) {
        let Some(delay) = &stage.load.schedule_delay else { return };
        let remedy =
            "the client was too slow: raise harness.worker_max_concurrency or harness.workers, or quieten the machine";
        if let Some(median) = delay.p50.filter(|median| *median > limits.schedule_delay) {
            let what = format!("half of the requests were sent more than {median:.3} s late");
            self.problem(at, what, remedy);
        } else if let Some(latest) = delay.max.filter(|latest| *latest > LATE) {
            self.warning(at, format!("a request was sent {latest:.1} s late"), remedy);
        }
    }

    /// Results of stages that were not planned: another run's.
    fn surplus(&mut self, folder: &Path, planned: usize) {
        let Ok(files) = stage_files(folder) else { return };
        let surplus: Vec<String> = files
            .iter()
            .filter(|(number, _)| *number as usize >= planned)
            .map(|(number, _)| number.to_string())
            .collect();
        if !surplus.is_empty() {
            let what = format!("there are results of stages that were not planned: {}", surplus.join(", "));
            self.problem(None, what, "the folder holds another run's files: start with an empty one");
        }
    }

    fn validation(&mut self, folder: &Path) {
        match Validation::read(folder) {
            Ok(Some(validation)) => {
                for error in validation.errors {
                    let what = format!("the harness's own numbers do not agree: {}", error.message);
                    self.warning(
                        None,
                        what,
                        "see validation.json, and compare with per-request records (`cargo xtask audit`)",
                    );
                }
            }
            Ok(None) => {}
            Err(error) => {
                self.warning(None, format!("validation.json cannot be read: {error}"), "run the repetition again")
            }
        }
    }
}
