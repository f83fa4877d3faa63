//! From a campaign's evidence to the summary that is gated and stored.

use std::collections::BTreeMap;

use super::metric::{Metric, Statistic};
use super::samples::{self, StageSamples};
use super::summary::{ErrorSource, LatencySummary, Quantile, Run, StageSummary, Summary};
use crate::campaign::{Campaign, Repetition};
use crate::model::{Distribution, Level, Stage};
use crate::statistics::quantile_error::{QuantileEstimator, SummaryPercentiles, summary_standard_error};

/// A campaign as the gate sees it.
#[derive(Debug, Default)]
pub struct Observation {
    /// Quantiles, errors and counts.
    pub summary: Summary,
    /// The samples behind them, where the campaign has them: of each run, stage by stage.
    pub samples: Vec<RunSamples>,
    /// What makes the numbers less than they could be.
    pub warnings: Vec<String>,
}

/// The samples of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSamples {
    /// The treatment.
    pub treatment: String,
    /// From 1.
    pub repetition: u32,
    /// By stage name.
    pub stages: BTreeMap<String, StageSamples>,
}

/// Summarises a campaign: treatments side by side, since decompressing their records takes the time.
#[must_use]
pub fn observe(campaign: &Campaign) -> Observation {
    let runs: Vec<(&str, &Repetition)> = campaign
        .treatments
        .iter()
        .flat_map(|treatment| treatment.repetitions.iter().map(|repetition| (treatment.name.as_str(), repetition)))
        .collect();
    let id = campaign.manifest.campaign_id.as_str();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(runs.len().max(1));
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut found: Vec<(usize, One)> = std::thread::scope(|scope| {
        let work = || {
            let mut estimator = QuantileEstimator::new();
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some((treatment, repetition)) = runs.get(index) else { return done };
                done.push((index, one(id, treatment, repetition, &mut estimator)));
            }
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .flat_map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    // Threads finish in any order; documents must not.
    found.sort_by_key(|(index, _)| *index);
    let mut observation = Observation::default();
    for (_, one) in found {
        observation.summary.runs.push(one.run);
        observation.samples.extend(one.samples);
        observation.warnings.extend(one.warning);
    }
    observation
}

struct One {
    run: Run,
    samples: Option<RunSamples>,
    warning: Option<String>,
}

fn one(campaign: &str, treatment: &str, repetition: &Repetition, estimator: &mut QuantileEstimator) -> One {
    let counts: Vec<u64> = repetition.stages.iter().map(|stage| stage.requests.total).collect();
    let place = format!("{treatment} repetition {}", repetition.number);
    let (mut samples, warning) = match samples::read(&repetition.dir, &counts) {
        Ok(Some(samples)) => (Some(samples), None),
        Ok(None) => (None, Some(format!("{place} has no per-request records: errors are approximate"))),
        Err(error) => (None, Some(format!("{place}: {error}: errors are approximate"))),
    };
    let names = names(&repetition.stages);
    let mut stages = Vec::new();
    let mut kept = BTreeMap::new();
    for (index, (stage, name)) in repetition.stages.iter().zip(names).enumerate() {
        if stage.warm_up {
            continue;
        }
        let stage_samples = samples.as_mut().map(|samples| std::mem::take(&mut samples[index]));
        stages.push(stage_summary(name.clone(), stage, stage_samples.as_ref(), estimator));
        if let Some(samples) = stage_samples {
            kept.insert(name, samples);
        }
    }
    let number = repetition.number;
    One {
        run: Run { campaign: campaign.into(), treatment: treatment.into(), repetition: number, stages },
        samples: samples.is_some().then(|| RunSamples {
            treatment: treatment.into(),
            repetition: number,
            stages: kept,
        }),
        warning,
    }
}

/// Names of stages: their level, numbered where one comes again.
fn names(stages: &[Stage]) -> Vec<String> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    stages
        .iter()
        .map(|stage| {
            let level = match stage.level() {
                Some(level @ Level::Rate(_)) => format!("rate={level}"),
                Some(level @ Level::Concurrency(_)) => format!("concurrency={level}"),
                None => format!("stage={}", stage.number),
            };
            if stage.warm_up {
                return level;
            }
            let count = seen.entry(level.clone()).or_insert(0);
            *count += 1;
            if *count == 1 { level } else { format!("{level}#{count}") }
        })
        .collect()
}

fn stage_summary(
    name: String,
    stage: &Stage,
    samples: Option<&StageSamples>,
    estimator: &mut QuantileEstimator,
) -> StageSummary {
    let successes = stage.requests.successes().unwrap_or(stage.requests.total);
    let mut latencies = BTreeMap::new();
    for metric in Metric::ALL {
        let Some(quantity) = metric.quantity() else { continue };
        let logs = samples.and_then(|samples| samples.logs.iter().find(|(of, _)| *of == metric));
        let exact = logs.map(|(_, logs)| of_samples(logs, estimator)).filter(|latency| !latency.quantiles.is_empty());
        let summary = exact.or_else(|| of_distribution(&quantity.of(stage)?, successes));
        if let Some(summary) = summary {
            latencies.insert(metric, summary);
        }
    }
    StageSummary {
        stage: name,
        requests: stage.requests.total,
        failures: stage.requests.failures,
        offered_rate: stage.load.requested_rate,
        completed_rate: stage.throughput.requests,
        output_tokens: stage.requests.output_length.and_then(|length| length.mean),
        schedule_delay: stage.load.schedule_delay.and_then(|delay| delay.p90).map(|delay| delay.max(0.0)),
        latencies,
    }
}

fn of_samples(logs: &[f64], estimator: &mut QuantileEstimator) -> LatencySummary {
    let probabilities = Statistic::QUANTILES.map(|statistic| statistic.probability().unwrap_or_default());
    let quantiles = Statistic::QUANTILES
        .into_iter()
        .zip(estimator.estimate(logs, &probabilities))
        .map(|(statistic, quantile)| Quantile {
            statistic,
            seconds: quantile.log.exp(),
            log_error: Some(quantile.se),
            source: if quantile.blocked { ErrorSource::Blocks } else { ErrorSource::Samples },
        })
        .collect();
    LatencySummary { samples: logs.len() as u64, quantiles }
}

/// Quantiles of which only the values are known. Their number of samples is that of the successful requests, for gaps
/// between tokens too: those of one request depend on one another.
fn of_distribution(distribution: &Distribution, successes: u64) -> Option<LatencySummary> {
    let Distribution { p50, p90, p95, p99, .. } = *distribution;
    let percentiles = SummaryPercentiles { p50, p90, p95, p99 };
    let quantiles: Vec<Quantile> = Statistic::QUANTILES
        .into_iter()
        .zip([p50, p90, p99])
        .filter_map(|(statistic, value)| {
            let log_error = summary_standard_error(&percentiles, statistic.probability()?, successes);
            Some(Quantile { statistic, seconds: value?, log_error, source: ErrorSource::Percentiles })
        })
        .collect();
    (!quantiles.is_empty()).then_some(LatencySummary { samples: successes, quantiles })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Latency, Load, Requests};

    fn stage(number: u32, rate: f64, warm_up: bool) -> Stage {
        Stage {
            number,
            warm_up,
            load: Load { requested_rate: Some(rate), ..Load::default() },
            requests: Requests { total: 100, failures: Some(4), ..Requests::default() },
            latency: Latency {
                ttft: Some(Distribution { p50: Some(0.1), p90: Some(0.2), ..Distribution::default() }),
                ..Latency::default()
            },
            ..Stage::default()
        }
    }

    #[test]
    fn a_repeated_level_is_numbered_and_a_warm_up_stage_does_not_count() {
        let stages = [stage(0, 15.0, true), stage(1, 3.0, false), stage(2, 15.0, false), stage(3, 3.0, false)];
        assert_eq!(names(&stages), ["rate=15", "rate=3", "rate=15", "rate=3#2"]);
    }

    #[test]
    fn without_samples_errors_come_from_percentiles_and_are_marked() {
        let dir = tempfile::tempdir().unwrap();
        let repetition =
            Repetition { number: 1, dir: dir.path().into(), stages: vec![stage(0, 15.0, true), stage(1, 3.0, false)] };
        let one = one("c", "service", &repetition, &mut QuantileEstimator::new());
        assert!(one.warning.unwrap().contains("no per-request records"));
        assert_eq!(one.run.stages.len(), 1);
        let latency = &one.run.stages[0].latencies[&Metric::Ttft];
        assert_eq!(latency.samples, 96, "failed requests have no latency");
        assert_eq!(latency.quantiles.len(), 2);
        assert!(latency.quantiles.iter().all(|quantile| quantile.source == ErrorSource::Percentiles));
        assert!(latency.quantiles[0].log_error.is_some_and(|error| error > 0.0));
    }
}
