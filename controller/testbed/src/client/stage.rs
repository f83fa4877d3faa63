//! One stage: a thread that dispatches on time, and tasks that wait for answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use super::exchange::{Failed, Target, Timing};
use super::plan::{Plan, StagePlan};
use super::processes::{Reading, Usage};
use super::recording::{Percentiles, Recording};
use super::schedule;

/// From the decision to begin until the first request can be due.
const LEAD: Duration = Duration::from_millis(50);

/// Share of the offered rate that must be achieved for the target to be met.
const TARGET: f64 = 0.98;

/// What a stage came to. Times are in microseconds and count from when a request was meant to be sent.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct StageResult {
    /// Requests a second that were asked for.
    pub offered_rate: f64,
    /// Requests a second that were sent.
    pub achieved_rate: f64,
    /// Requests a second that were answered, over the whole stage until the last answer.
    pub completed_rate: f64,
    /// Whether the offered rate was sent and answered at, and nothing failed.
    pub target_met: bool,
    /// When the first request was due, UTC, seconds since 1970.
    pub started: f64,
    /// Seconds from the first request to the last answer.
    pub seconds: f64,
    /// Requests planned.
    pub planned: u64,
    /// Requests that were not sent, because too many were under way.
    pub unsent: u64,
    /// Requests answered completely.
    pub succeeded: u64,
    /// Requests that failed, by reason.
    pub failed: BTreeMap<String, u64>,
    /// From the intended time to the first chunk.
    pub ttft: Percentiles,
    /// From the intended time to the end of the answer.
    pub latency: Percentiles,
    /// Mean time between the chunks of an answer, a value a request.
    pub chunk_interval: Percentiles,
    /// Between chunks, a value a chunk.
    pub chunk_gap: Percentiles,
    /// From the intended time to the sending.
    pub lateness: Percentiles,
    /// What each component used.
    pub usage: Vec<Usage>,
}

#[derive(Default)]
struct Tally {
    succeeded: u64,
    failed: BTreeMap<String, u64>,
    ttft: Recording,
    latency: Recording,
    chunk_interval: Recording,
    chunk_gap: Recording,
    last: Option<Instant>,
}

impl Tally {
    fn add(&mut self, due: Instant, outcome: Result<Timing, Failed>) {
        let now = Instant::now();
        self.last = Some(self.last.map_or(now, |last| last.max(now)));
        let timing = match outcome {
            Ok(timing) => timing,
            Err(failed) => {
                *self.failed.entry(failed.label()).or_default() += 1;
                return;
            }
        };
        self.succeeded += 1;
        let (Some(&first), Some(&last)) = (timing.chunks.first(), timing.chunks.last()) else { return };
        self.ttft.add(first.saturating_duration_since(due));
        self.latency.add(timing.ended.unwrap_or(now).saturating_duration_since(due));
        for pair in timing.chunks.windows(2) {
            self.chunk_gap.add(pair[1] - pair[0]);
        }
        if let Some(gaps) = u32::try_from(timing.chunks.len() - 1).ok().filter(|&gaps| gaps > 0) {
            self.chunk_interval.add((last - first) / gaps);
        }
    }
}

/// Sends a stage and waits for all its answers.
///
/// # Errors
/// When the dispatching thread cannot be started.
pub(super) fn run(
    runtime: &Runtime,
    target: &Arc<Target>,
    plan: &Plan,
    number: usize,
    stage: &StagePlan,
    told: impl Fn(u64) + Send + Sync + 'static,
) -> std::io::Result<StageResult> {
    let seed = plan.seed.wrapping_mul(1_000_003).wrapping_add(number as u64);
    let times = schedule::times(stage, plan.arrivals, seed);
    let bodies: Vec<_> = (0..times.len() as u64).map(|request| target.body(seed.wrapping_add(request), true)).collect();
    let tally = Arc::new(Mutex::new(Tally::default()));
    let places = Arc::new(Semaphore::new(plan.most_in_flight));
    let done = Arc::new(AtomicU64::new(0));
    let told = Arc::new(told);
    let reading = Reading::now(&plan.components);
    let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default() + LEAD;
    let epoch = Instant::now() + LEAD;
    let (mut lateness, mut unsent, mut last_sent) = (Recording::default(), 0, None);
    for (time, body) in times.iter().zip(bodies) {
        let due = epoch + *time;
        schedule::sleep_until(due);
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            unsent += 1;
            continue;
        };
        lateness.add(due.elapsed());
        last_sent = Some(Instant::now());
        let (target, tally, done, told) =
            (Arc::clone(target), Arc::clone(&tally), Arc::clone(&done), Arc::clone(&told));
        let timeout = plan.timeout();
        runtime.spawn(async move {
            let outcome = tokio::time::timeout(timeout, target.stream(body)).await.unwrap_or(Err(Failed::Timeout));
            tally.lock().unwrap_or_else(PoisonError::into_inner).add(due, outcome);
            told(done.fetch_add(1, Ordering::Relaxed) + 1);
            drop(place);
        });
    }
    // All places are free again when the last answer has come; each has a time limit of its own.
    let all = u32::try_from(plan.most_in_flight).unwrap_or(u32::MAX);
    drop(runtime.block_on(places.acquire_many(all)));
    let usage = reading.since();
    let tally = std::mem::take(&mut *tally.lock().unwrap_or_else(PoisonError::into_inner));
    let planned = times.len() as u64;
    let sent = planned - unsent;
    let sending = last_sent.map_or(0.0, |last| last.saturating_duration_since(epoch).as_secs_f64());
    let seconds = tally.last.map_or(0.0, |last| last.saturating_duration_since(epoch).as_secs_f64());
    let rate = |count: u64, seconds: f64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    // A stage offers its requests over its duration; one that was sent faster than that is not faster than offered.
    let achieved_rate = rate(sent, sending.max(stage.duration));
    let completed_rate = rate(tally.succeeded, seconds.max(stage.duration));
    Ok(StageResult {
        offered_rate: stage.rate,
        achieved_rate,
        completed_rate,
        target_met: unsent == 0
            && tally.failed.is_empty()
            && achieved_rate >= TARGET * stage.rate.min(planned as f64 / stage.duration)
            && completed_rate >= (TARGET - tail(&tally, stage)) * stage.rate,
        started: started.as_secs_f64(),
        seconds,
        planned,
        unsent,
        succeeded: tally.succeeded,
        failed: tally.failed,
        ttft: tally.ttft.percentiles(),
        latency: tally.latency.percentiles(),
        chunk_interval: tally.chunk_interval.percentiles(),
        chunk_gap: tally.chunk_gap.percentiles(),
        lateness: lateness.percentiles(),
        usage,
    })
}

/// The share of a stage's time that its last answer may take beyond it: an answer's own time is no lack of throughput.
fn tail(tally: &Tally, stage: &StagePlan) -> f64 {
    let fastest = tally.latency.quantile(0.0).unwrap_or(0.0) / 1e6;
    // Twice the fastest answer: time for the last one, with some noise.
    (2.0 * fastest / stage.duration).min(0.5)
}
