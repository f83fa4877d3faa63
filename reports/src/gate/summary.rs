//! What the gate needs to know of a campaign: for each run and stage the quantiles with their errors, and the counts.
//!
//! A baseline stores this, so a verdict needs no raw samples, only what was computed from them once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::metric::{Metric, Statistic};
use crate::statistics::between_runs::Measured;

/// Version of how metrics are defined and quantiles estimated; summaries of different versions are not compared.
pub const METRIC_DEFINITIONS: u32 = 1;

/// Runs of one campaign, or of the member campaigns of a baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// In the order of campaigns, treatments, repetitions.
    pub runs: Vec<Run>,
}

/// One repetition of one treatment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The campaign's name.
    pub campaign: String,
    /// The treatment's name.
    pub treatment: String,
    /// From 1.
    pub repetition: u32,
    /// Without warm-up stages, in the order of execution.
    pub stages: Vec<StageSummary>,
}

/// One stage of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageSummary {
    /// Its place on the ladder: `rate=20` or `concurrency=8`; a repeated level is numbered (`rate=20#2`).
    pub stage: String,
    /// Requests sent.
    pub requests: u64,
    /// Requests that failed, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
    /// Offered requests a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_rate: Option<f64>,
    /// Completed requests a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_rate: Option<f64>,
    /// Mean output tokens of a successful request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<f64>,
    /// 90th percentile of how late requests were sent, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_delay: Option<f64>,
    /// Latencies of the successful requests.
    pub latencies: BTreeMap<Metric, LatencySummary>,
}

/// Quantiles of one latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// How many independent values the quantiles are of.
    pub samples: u64,
    /// One entry a gated quantile that is known.
    pub quantiles: Vec<Quantile>,
}

/// A quantile and its relative standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// Which.
    pub statistic: Statistic,
    /// Its value in seconds.
    pub seconds: f64,
    /// Standard error of its logarithm; `None` where nothing allows one to be computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_error: Option<f64>,
    /// How the error was found.
    pub source: ErrorSource,
}

/// How a quantile's standard error was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorSource {
    /// From the samples (Maritz-Jarrett).
    Samples,
    /// From the samples in blocks, because they depend on their predecessors.
    Blocks,
    /// From summary percentiles: approximate.
    Percentiles,
}

impl Quantile {
    /// The value for tests between runs; `None` for a value that has no logarithm or no error.
    #[must_use]
    pub fn measured(&self) -> Option<Measured> {
        let log = self.seconds.ln();
        log.is_finite().then_some(Measured { log, se: self.log_error? })
    }
}

impl StageSummary {
    /// The quantile of a latency.
    #[must_use]
    pub fn quantile(&self, metric: Metric, statistic: Statistic) -> Option<&Quantile> {
        self.latencies.get(&metric)?.quantiles.iter().find(|quantile| quantile.statistic == statistic)
    }

    /// Completed over offered rate.
    #[must_use]
    pub fn throughput_ratio(&self) -> Option<f64> {
        let offered = self.offered_rate.filter(|&rate| rate > 0.0)?;
        Some(self.completed_rate? / offered)
    }
}

/// The stages of a summary by treatment and stage, each with its repetitions.
#[derive(Debug, Default)]
pub struct Index<'a> {
    treatments: BTreeMap<&'a str, Vec<(&'a str, Vec<&'a StageSummary>)>>,
}

impl<'a> Index<'a> {
    /// Looks a summary through once.
    #[must_use]
    pub fn new(summary: &'a Summary) -> Self {
        let mut index = Self::default();
        for run in &summary.runs {
            let stages = index.treatments.entry(run.treatment.as_str()).or_default();
            for stage in &run.stages {
                match stages.iter_mut().find(|(name, _)| *name == stage.stage) {
                    Some((_, repetitions)) => repetitions.push(stage),
                    None => stages.push((&stage.stage, vec![stage])),
                }
            }
        }
        index
    }

    /// Names of the treatments.
    pub fn treatments(&self) -> impl Iterator<Item = &'a str> {
        self.treatments.keys().copied()
    }

    /// The treatment's stages in the order of execution.
    #[must_use]
    pub fn stages(&self, treatment: &str) -> &[(&'a str, Vec<&'a StageSummary>)] {
        self.treatments.get(treatment).map_or(&[], Vec::as_slice)
    }

    /// The repetitions of a stage; empty when the treatment has no such stage.
    #[must_use]
    pub fn repetitions(&self, treatment: &str, stage: &str) -> &[&'a StageSummary] {
        self.stages(treatment).iter().find(|(name, _)| *name == stage).map_or(&[], |(_, stages)| stages.as_slice())
    }
}
