//! What must hold before a latency means anything.

use serde::{Deserialize, Serialize};

use super::limits::Validity;
use super::summary::{Index, StageSummary, Summary};

/// Why a campaign cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Which check it failed.
    pub check: Check,
    /// Where, and what was seen.
    pub what: String,
}

/// A validity check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A number is NaN, infinite or negative.
    NotANumber,
    /// Requests had other outputs than the baseline's.
    OutputTokens,
    /// The harness sent its requests late.
    ScheduleDelay,
    /// A treatment of the baseline is not in the campaign.
    MissingTreatment,
    /// The campaign has no stage at all.
    Empty,
}

/// Checks of the campaign alone.
#[must_use]
pub fn of_campaign(summary: &Summary, limits: &Validity) -> Vec<Problem> {
    let mut problems = Vec::new();
    if summary.runs.iter().all(|run| run.stages.is_empty()) {
        problems.push(Problem { check: Check::Empty, what: "the campaign has no complete stage".into() });
    }
    for run in &summary.runs {
        for stage in &run.stages {
            let place = || format!("{} repetition {}, {}", run.treatment, run.repetition, stage.stage);
            for (name, value) in numbers(stage) {
                if !value.is_finite() || value < 0.0 {
                    let what = format!("{}: {name} is {value}", place());
                    problems.push(Problem { check: Check::NotANumber, what });
                }
            }
            if let Some(delay) = stage.schedule_delay.filter(|delay| *delay > limits.schedule_delay) {
                let what = format!(
                    "{}: a tenth of the requests was sent more than {:.0} ms late (limit {:.0} ms), so the offered load was \
                     not the requested one",
                    place(),
                    1e3 * delay,
                    1e3 * limits.schedule_delay
                );
                problems.push(Problem { check: Check::ScheduleDelay, what });
            }
        }
    }
    problems
}

/// Checks of the campaign against the baseline.
#[must_use]
pub fn against_baseline(new: &Index<'_>, baseline: &Index<'_>, limits: &Validity) -> Vec<Problem> {
    let mut problems = Vec::new();
    for treatment in baseline.treatments() {
        if new.stages(treatment).is_empty() {
            let what = format!("the baseline has treatment {treatment}, the campaign does not");
            problems.push(Problem { check: Check::MissingTreatment, what });
        }
        for (stage, repetitions) in baseline.stages(treatment) {
            let (Some(then), Some(now)) =
                (output_tokens(repetitions), output_tokens(new.repetitions(treatment, stage)))
            else {
                continue;
            };
            let ratio = now / then;
            if (ratio - 1.0).abs() > limits.output_tokens {
                let what = format!(
                    "{treatment}, {stage}: {now:.1} output tokens a request, the baseline has {then:.1}: {:.0}% of it, \
                     where 100 ± {:.0}% is comparable",
                    100.0 * ratio,
                    100.0 * limits.output_tokens
                );
                problems.push(Problem { check: Check::OutputTokens, what });
            }
        }
    }
    problems
}

fn output_tokens(repetitions: &[&StageSummary]) -> Option<f64> {
    let (mut tokens, mut requests) = (0.0, 0.0);
    for stage in repetitions {
        let successes = stage.requests.saturating_sub(stage.failures.unwrap_or(0)) as f64;
        tokens += stage.output_tokens? * successes;
        requests += successes;
    }
    (requests > 0.0 && tokens > 0.0).then(|| tokens / requests)
}

fn numbers(stage: &StageSummary) -> impl Iterator<Item = (String, f64)> {
    let scalars = [
        ("offered rate", stage.offered_rate),
        ("completed rate", stage.completed_rate),
        ("output tokens", stage.output_tokens),
    ];
    let quantiles = stage.latencies.iter().flat_map(|(metric, latency)| {
        latency.quantiles.iter().flat_map(move |quantile| {
            let name = format!("{metric} {}", quantile.statistic);
            let error = quantile.log_error.map(|error| (format!("{name} error"), error));
            [(name, quantile.seconds)].into_iter().chain(error)
        })
    });
    scalars.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).chain(quantiles)
}
