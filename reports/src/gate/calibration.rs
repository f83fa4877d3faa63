//! How much repetitions of the same thing differ: learned from A/A campaigns.
//!
//! Two standard deviations are kept for each metric and statistic, because the tiers need different ones: that of one
//! stage between runs, and that of the mean over a run's stages. Were all of a run's stages to move together, the two would
//! be equal; were they independent, the second would shrink with the number of stages. Neither is assumed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::metric::{Metric, Statistic};
use super::summary::{StageSummary, Summary};
use crate::statistics::between_runs::{BetweenRunsEstimator, Measured};

/// Estimates are taken this much larger, because they are estimates.
pub const WIDENING: f64 = 1.15;

/// Below so many degrees of freedom a calibration is reported as thin; its t values are then wide by themselves.
pub const ENOUGH_DF: u64 = 20;

/// A throughput ratio has no sampling error of its own; runs of a group are weighted alike by this one.
const RATIO_ERROR: f64 = 1e-4;

/// Learned between-run standard deviations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The campaigns it was learned from.
    pub campaigns: Vec<String>,
    /// One entry a metric and statistic that had repetitions.
    pub noise: Vec<Noise>,
}

/// What is known about one metric's statistic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Of which metric.
    pub metric: Metric,
    /// Of which statistic.
    pub statistic: Statistic,
    /// Relative standard deviation of one stage between runs.
    pub stage: f64,
    /// Relative standard deviation of the mean over a run's stages between runs.
    pub mean: f64,
    /// Degrees of freedom of `mean`: repetitions minus campaigns x treatments.
    pub df: u64,
}

/// The between-run noise that a test uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tau {
    /// Of one stage.
    pub stage: f64,
    /// Of the mean over stages.
    pub mean: f64,
    /// Degrees of freedom for t values.
    pub df: f64,
}

impl Calibration {
    /// Learns from campaigns that measured the same thing several times. Groups are formed within a campaign, treatment
    /// and stage, so that what changes from campaign to campaign (cluster drift) is not counted as noise between runs.
    #[must_use]
    pub fn learn(campaigns: &[Summary]) -> Self {
        let mut names = Vec::new();
        let mut groups: BTreeMap<(&str, &str), Vec<&[StageSummary]>> = BTreeMap::new();
        for run in campaigns.iter().flat_map(|summary| &summary.runs) {
            if !names.contains(&run.campaign) {
                names.push(run.campaign.clone());
            }
            groups.entry((&run.campaign, &run.treatment)).or_default().push(&run.stages);
        }
        let noise = Metric::ALL
            .into_iter()
            .flat_map(|metric| Statistic::of(metric).iter().map(move |&statistic| (metric, statistic)))
            .filter_map(|(metric, statistic)| learn_one(groups.values(), metric, statistic))
            .collect();
        Self { campaigns: names, noise }
    }

    /// What was learned about a metric's statistic.
    #[must_use]
    pub fn noise(&self, metric: Metric, statistic: Statistic) -> Option<&Noise> {
        self.noise.iter().find(|noise| noise.metric == metric && noise.statistic == statistic)
    }
}

impl Noise {
    /// The noise to test with: widened, and never below `floor`.
    #[must_use]
    pub fn tau(&self, floor: f64) -> Tau {
        Tau {
            stage: (self.stage * WIDENING).max(floor),
            mean: (self.mean * WIDENING).max(floor),
            df: self.df.clamp(1, 200) as f64,
        }
    }
}

/// A stage's value for tests between runs.
#[must_use]
pub fn measured(stage: &StageSummary, metric: Metric, statistic: Statistic) -> Option<Measured> {
    match metric {
        Metric::Failed => None,
        Metric::Throughput => {
            let log = stage.throughput_ratio()?.ln();
            log.is_finite().then_some(Measured { log, se: RATIO_ERROR })
        }
        _ => stage.quantile(metric, statistic)?.measured(),
    }
}

fn learn_one<'a>(
    groups: impl Iterator<Item = &'a Vec<&'a [StageSummary]>>,
    metric: Metric,
    statistic: Statistic,
) -> Option<Noise> {
    let mut stages = BetweenRunsEstimator::default();
    let mut means = BetweenRunsEstimator::default();
    for runs in groups {
        let Some(first) = runs.first() else { continue };
        let mut totals = vec![Measured { log: 0.0, se: 0.0 }; runs.len()];
        let mut complete = 0.0;
        for stage in *first {
            let samples: u64 = find(runs, &stage.stage).map(|stage| count(stage, metric)).sum();
            let values: Vec<Measured> =
                find(runs, &stage.stage).filter_map(|stage| measured(stage, metric, statistic)).collect();
            if values.len() != runs.len() || !statistic.is_supported_by(samples) {
                continue;
            }
            stages.add(&values);
            complete += 1.0;
            for (total, value) in totals.iter_mut().zip(&values) {
                total.log += value.log;
                total.se += value.se.powi(2);
            }
        }
        if complete > 0.0 {
            let mean = |total: &Measured| Measured { log: total.log / complete, se: total.se.sqrt() / complete };
            means.add(&totals.iter().map(mean).collect::<Vec<_>>());
        }
    }
    let (stage, mean) = (stages.finish()?, means.finish()?);
    Some(Noise { metric, statistic, stage: stage.tau, mean: mean.tau, df: mean.df })
}

fn find<'a>(runs: &'a [&'a [StageSummary]], name: &'a str) -> impl Iterator<Item = &'a StageSummary> {
    runs.iter().filter_map(move |stages| stages.iter().find(|stage| stage.stage == name))
}

/// How many values a stage's statistic rests on.
#[must_use]
pub fn count(stage: &StageSummary, metric: Metric) -> u64 {
    match metric {
        Metric::Throughput | Metric::Failed => stage.requests,
        _ => stage.latencies.get(&metric).map_or(0, |latency| latency.samples),
    }
}
