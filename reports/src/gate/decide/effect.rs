//! A row's effect and its uncertainty, from the repetitions of both sides.

use super::super::calibration::{Tau, count, measured};
use super::super::metric::{Metric, Statistic};
use super::super::rows::{ErrorParts, Note, Sides};
use super::super::summary::{ErrorSource, StageSummary};

/// One side of a cell: a metric's statistic in a stage, over repetitions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    /// Mean of the logs over repetitions that have the value.
    pub log: f64,
    /// Sampling variance of `log`.
    pub variance: f64,
    /// Repetitions that have the value.
    pub repetitions: u64,
    /// Samples over these repetitions.
    pub samples: u64,
    /// What to know about the errors.
    approximate: bool,
    blocks: bool,
}

impl Side {
    pub(super) fn new(repetitions: &[&StageSummary], metric: Metric, statistic: Statistic) -> Self {
        let mut side = Self::default();
        for stage in repetitions {
            let Some(value) = measured(stage, metric, statistic) else { continue };
            side.log += value.log;
            side.variance += value.se.powi(2);
            side.repetitions += 1;
            side.samples += count(stage, metric);
            if let Some(quantile) = stage.quantile(metric, statistic) {
                side.approximate |= quantile.source == ErrorSource::Percentiles;
                side.blocks |= quantile.source == ErrorSource::Blocks;
            }
        }
        if side.repetitions > 0 {
            side.log /= side.repetitions as f64;
            side.variance /= (side.repetitions * side.repetitions) as f64;
        }
        side
    }
}

/// The change of a cell, or of the mean over cells, on the log scale.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effect {
    pub logs: Sides<f64>,
    pub samples: Sides<u64>,
    pub repetitions: Sides<u64>,
    /// Variance from the samples.
    pub sampling: f64,
    /// `1/R + 1/R_b`: multiplies tau squared.
    pub runs: f64,
    approximate: bool,
    blocks: bool,
}

impl Effect {
    pub(super) fn between(new: Side, baseline: Side) -> Self {
        Self {
            logs: Sides { new: new.log, baseline: baseline.log },
            samples: Sides { new: new.samples, baseline: baseline.samples },
            repetitions: Sides { new: new.repetitions, baseline: baseline.repetitions },
            sampling: new.variance + baseline.variance,
            runs: 1.0 / new.repetitions as f64 + 1.0 / baseline.repetitions as f64,
            approximate: new.approximate || baseline.approximate,
            blocks: new.blocks || baseline.blocks,
        }
    }

    /// The mean over the cells of several stages of the same runs. A run's own deviation does not shrink with the number of
    /// its stages, so `runs` is that of the stage with the fewest repetitions.
    pub(super) fn mean(effects: &[Self]) -> Option<Self> {
        let stages = effects.len() as f64;
        let (first, rest) = effects.split_first()?;
        let mut mean = *first;
        for effect in rest {
            mean.logs.new += effect.logs.new;
            mean.logs.baseline += effect.logs.baseline;
            mean.samples.new += effect.samples.new;
            mean.samples.baseline += effect.samples.baseline;
            mean.repetitions.new = mean.repetitions.new.min(effect.repetitions.new);
            mean.repetitions.baseline = mean.repetitions.baseline.min(effect.repetitions.baseline);
            mean.sampling += effect.sampling;
            mean.runs = mean.runs.max(effect.runs);
            mean.approximate |= effect.approximate;
            mean.blocks |= effect.blocks;
        }
        mean.logs.new /= stages;
        mean.logs.baseline /= stages;
        mean.sampling /= stages * stages;
        Some(mean)
    }

    /// The log change.
    pub(super) fn change(&self) -> f64 {
        self.logs.new - self.logs.baseline
    }

    /// The normaliser's variance: its own samples and its own runs.
    pub(super) fn total_variance(&self, tau: f64) -> f64 {
        self.sampling + tau * tau * self.runs
    }

    pub(super) fn errors(&self, tau: f64, normaliser: f64) -> ErrorParts {
        ErrorParts {
            sampling: self.sampling.sqrt(),
            between_runs: tau * self.runs.sqrt(),
            normaliser: normaliser.sqrt(),
            total: (self.total_variance(tau) + normaliser).sqrt(),
        }
    }

    pub(super) fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.approximate {
            notes.push(Note::Approximate);
        }
        if self.blocks {
            notes.push(Note::Blocks);
        }
        notes
    }
}

/// The change of the treatment that others are normalised by, pooled over its stages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Normaliser {
    /// Its log change.
    pub change: f64,
    /// The variance of that.
    pub variance: f64,
}

impl Normaliser {
    pub(super) fn new(stages: &[Effect], tau: Tau) -> Option<Self> {
        let mean = Effect::mean(stages)?;
        Some(Self { change: mean.change(), variance: mean.total_variance(tau.mean) })
    }
}
