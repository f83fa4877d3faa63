//! Follows inference-perf's output: which stage runs, how many of its requests have ended.
//!
//! Its log says when a stage starts and ends; in between only its progress bar moves, once a second. It is drawn for a
//! terminal, so the run asks for that and reads the numbers out of it.

use std::sync::LazyLock;
use std::time::Instant;

use regex_lite::Regex;

use super::workload::PlannedStage;
use crate::process::{Observer, Stream};

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The stage that runs, from 0; `None` before the first and after the last.
    pub stage: Option<usize>,
    /// Stages in all.
    pub stages: usize,
    /// Requests of this stage that have ended.
    pub done: u64,
    /// Requests of this stage.
    pub planned: u64,
    /// Requests of the whole run that have ended.
    pub total_done: u64,
    /// Requests of the whole run.
    pub total_planned: u64,
    /// Seconds that the rest takes at least, by the plan: load and pauses that are still to come.
    pub seconds_left: f64,
}

/// Watches a run.
pub trait Watcher {
    /// Takes each step of progress.
    fn progress(&mut self, progress: Progress);

    /// Another counter that moves while the run is alive, such as a server's; asked once a second.
    fn counter(&mut self) -> Option<u64> {
        None
    }
}

impl<F: FnMut(Progress)> Watcher for F {
    fn progress(&mut self, progress: Progress) {
        self(progress);
    }
}

struct Patterns {
    event: Regex,
    bar: Regex,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let regex = |pattern| Regex::new(pattern).expect("a constant pattern, compiled by every test");
    Patterns {
        event: regex(r"Stage (\d+) - run (started|completed|failed)"),
        bar: regex(r"Stage (\d+) Requests\D.*?(\d+)/(\d+)"),
    }
});

/// Whether a line is nothing but a redrawn progress bar.
pub(super) fn is_bar(line: &str) -> bool {
    let bar = line.contains('━') && (line.contains("Overall Progress") || line.contains(" Requests "));
    bar && ![" - INFO - ", " - WARNING - ", " - ERROR - "].iter().any(|level| line.contains(level))
}

/// An observer that turns lines into [`Progress`].
pub(super) struct Follower<'a> {
    plan: &'a [PlannedStage],
    interval: f64,
    stage: Option<usize>,
    stage_started: Instant,
    done: u64,
    finished: Vec<bool>,
    failed: Vec<usize>,
    /// Counts everything that is a sign of life; the watchdog compares it.
    signs: u64,
    counted: Option<u64>,
    last_poll: Instant,
    last_told: Option<Progress>,
    watcher: &'a mut dyn Watcher,
    keep: &'a mut dyn FnMut(Stream, &str),
}

/// How often the caller's counter is asked.
const POLL: std::time::Duration = std::time::Duration::from_secs(1);

impl<'a> Follower<'a> {
    pub(super) fn new(
        plan: &'a [PlannedStage],
        interval: f64,
        watcher: &'a mut dyn Watcher,
        keep: &'a mut dyn FnMut(Stream, &str),
    ) -> Self {
        let now = Instant::now();
        Self {
            plan,
            interval,
            stage: None,
            stage_started: now,
            done: 0,
            finished: vec![false; plan.len()],
            failed: Vec::new(),
            signs: 0,
            counted: None,
            last_poll: now,
            last_told: None,
            watcher,
            keep,
        }
    }

    /// Stages that the harness itself reported as failed.
    pub(super) fn failed(&self) -> &[usize] {
        &self.failed
    }

    fn progress(&self) -> Progress {
        let planned = self.stage.and_then(|stage| self.plan.get(stage)).map_or(0, |stage| stage.requests);
        let finished: u64 =
            self.plan.iter().zip(&self.finished).filter(|(_, done)| **done).map(|(stage, _)| stage.requests).sum();
        let done = if self.stage.is_some() { self.done.min(planned) } else { 0 };
        Progress {
            stage: self.stage,
            stages: self.plan.len(),
            done,
            planned,
            total_done: finished + done,
            total_planned: self.plan.iter().map(|stage| stage.requests).sum(),
            seconds_left: self.seconds_left(),
        }
    }

    fn seconds_left(&self) -> f64 {
        let mut left = 0.0;
        for (index, stage) in self.plan.iter().enumerate().filter(|(index, _)| !self.finished[*index]) {
            let seconds = stage.seconds.unwrap_or(0.0);
            left += if self.stage == Some(index) {
                (seconds - self.stage_started.elapsed().as_secs_f64()).max(0.0)
            } else {
                seconds + self.interval
            };
        }
        left
    }

    fn tell(&mut self) {
        let progress = self.progress();
        let changed = self.last_told.is_none_or(|last| {
            (last.stage, last.done, last.total_done) != (progress.stage, progress.done, progress.total_done)
        });
        if changed {
            self.last_told = Some(progress);
            self.watcher.progress(progress);
        }
    }

    fn event(&mut self, stage: usize, what: &str) {
        self.signs += 1;
        if stage >= self.plan.len() {
            return;
        }
        if what == "started" {
            self.stage = Some(stage);
            self.stage_started = Instant::now();
            self.done = 0;
        } else {
            self.finished[stage] = true;
            self.stage = None;
            if what == "failed" {
                self.failed.push(stage);
            }
        }
        self.tell();
    }
}

impl Observer for Follower<'_> {
    fn line(&mut self, stream: Stream, text: &str) {
        if let Some(found) = PATTERNS.bar.captures(text) {
            let number = |group| found.get(group).and_then(|it| it.as_str().parse::<u64>().ok());
            if let (Some(stage), Some(done)) = (number(1), number(2))
                && self.stage.is_some_and(|current| current as u64 == stage)
                && done > self.done
            {
                self.done = done;
                self.signs += 1;
                self.tell();
            }
        }
        if is_bar(text) {
            return;
        }
        self.signs += 1;
        if let Some(found) = PATTERNS.event.captures(text)
            && let Ok(stage) = found[1].parse()
        {
            self.event(stage, &found[2]);
        }
        (self.keep)(stream, text);
    }

    fn tick(&mut self) -> Option<u64> {
        if self.last_poll.elapsed() >= POLL {
            self.last_poll = Instant::now();
            let counted = self.watcher.counter();
            if counted.is_some() && counted != self.counted {
                self.counted = counted;
                self.signs += 1;
            }
        }
        Some(self.signs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAR: &str = "Stage 1 Requests ━━━━━━━━━╺━━━━━━━━━━━━━━━━━━━━━━━━  25%  3/12 0:00:09 0:00:02";

    fn plan() -> Vec<PlannedStage> {
        vec![
            PlannedStage { rate: Some(10.0), seconds: Some(2.0), requests: 20 },
            PlannedStage { rate: Some(4.0), seconds: Some(3.0), requests: 12 },
        ]
    }

    fn follow(lines: &[&str]) -> (Vec<Progress>, Vec<usize>, Vec<String>) {
        let (plan, mut told, mut kept) = (plan(), Vec::new(), Vec::new());
        let mut tell = |progress| told.push(progress);
        let mut keep = |_: Stream, text: &str| kept.push(text.to_owned());
        let mut follower = Follower::new(&plan, 1.0, &mut tell, &mut keep);
        for line in lines {
            follower.line(Stream::Stdout, line);
        }
        let failed = follower.failed().to_vec();
        (told, failed, kept)
    }

    #[test]
    fn stages_and_requests_are_read_from_log_and_bar() {
        let (told, failed, kept) = follow(&[
            "2026-01-01 00:00:00,000 - loadgen - INFO - Stage 0 - run started",
            "Stage 0 Requests ━━━  50%  10/20 0:00:01 0:00:01",
            "Stage 0 Requests ━━━  50%  10/20 0:00:01 0:00:02",
            "2026-01-01 00:00:03,000 - loadgen - INFO - Stage 0 - run completed",
            "Overall Progress ━━━  50% 1/2 0:00:09 0:00:032026-01-01 00:00:04 - loadgen - INFO - Stage 1 - run started",
            BAR,
        ]);
        let steps: Vec<_> = told.iter().map(|it| (it.stage, it.done, it.planned, it.total_done)).collect();
        assert_eq!(
            steps,
            [(Some(0), 0, 20, 0), (Some(0), 10, 20, 10), (None, 0, 0, 20), (Some(1), 0, 12, 20), (Some(1), 3, 12, 23)]
        );
        assert_eq!((told[4].total_planned, failed.len(), kept.len()), (32, 0, 3));
    }

    #[test]
    fn a_redrawn_bar_is_transient_but_a_log_line_behind_one_is_not() {
        assert!(is_bar(BAR) && is_bar("Overall Progress ━━━━   0% 0/2 -:--:-- 0:00:00"));
        assert!(!is_bar("Overall Progress ━━━ 0% 0/2 0:00:002026-01-01 - loadgen - ERROR - boom"));
        assert!(!is_bar("┏━━━━ Summary ━━━━┓"));
    }

    #[test]
    fn stages_that_the_harness_gave_up_are_remembered() {
        let (_, failed, _) =
            follow(&["INFO - Stage 1 - run started", "INFO - Stage 1 - run failed", "Stage 9 - run failed"]);
        assert_eq!(failed, [1]);
    }

    #[test]
    fn only_news_is_progress_to_the_watchdog() {
        let plan = plan();
        let (mut tell, mut keep) = (|_: Progress| {}, |_: Stream, _: &str| {});
        let mut follower = Follower::new(&plan, 1.0, &mut tell, &mut keep);
        follower.line(Stream::Stdout, "INFO - Stage 1 - run started");
        follower.line(Stream::Stdout, BAR);
        let before = follower.tick();
        follower.line(Stream::Stdout, BAR);
        follower.line(Stream::Stdout, "Overall Progress ━━━━   0% 0/2 -:--:-- 0:00:07");
        assert_eq!(follower.tick(), before);
        follower.line(Stream::Stdout, &BAR.replace("3/12", "4/12"));
        assert_ne!(follower.tick(), before);
    }
}
