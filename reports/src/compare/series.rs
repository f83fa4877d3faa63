//! One treatment over its ladder.

use crate::campaign::FailedRepetition;
use crate::model::{Failure, Harness, Level, Metric, Stack, Stage};
use crate::statistics::{Spread, percentile_of_sorted};

use super::{RunInterval, SloResult};

/// One treatment's measurements over its ladder, repetitions side by side.
#[derive(Clone, Debug)]
pub struct Series {
    /// The treatment's name.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// Numbers of the repetitions that count, ascending.
    pub repetitions: Vec<u32>,
    /// Repetitions that failed.
    pub failed: Vec<FailedRepetition>,
    /// What was deployed.
    pub stack: Stack,
    /// The curve: one point a level, ascending, without warm-up stages.
    pub points: Vec<Point>,
    /// Stages left out of the curve: declared warm-up, or a level that is repeated later in the ladder.
    pub warm_up: Vec<Point>,
    /// Requests and failures of all stages, warm-up included.
    pub totals: Totals,
    /// The highest output token rate (median over repetitions).
    pub peak: Option<Turn>,
    /// The lowest level from which TTFT p50 stays above twice its value at the lowest level. `None` when it never does.
    pub knee: Option<Turn>,
    /// The lowest level within 10% of the peak output token rate, when higher levels were tried and brought no more.
    pub saturation: Option<Turn>,
    /// How the treatment meets the limits, when limits were given.
    pub slo: Option<SloResult>,
}

/// One level of a ladder.
#[derive(Clone, Debug)]
pub struct Point {
    /// The level.
    pub level: Level,
    /// The stage's number in the ladder.
    pub stage: u32,
    /// The stage in each repetition, by ascending repetition number.
    pub repetitions: Vec<(u32, Stage)>,
}

/// A level that stands out, and the number that makes it so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// The level.
    pub level: Level,
    /// The metric that decided.
    pub metric: Metric,
    /// Its value there (median over repetitions).
    pub value: f64,
}

/// Requests and failures over all stages and repetitions that count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Requests sent.
    pub requests: u64,
    /// Requests that failed; `None` when a document does not say.
    pub failures: Option<u64>,
    /// Failures by label, most frequent first.
    pub by_label: Vec<Failure>,
}

impl Point {
    /// A metric over the repetitions that have it.
    pub fn spread(&self, metric: Metric) -> Option<Spread> {
        Spread::of(self.repetitions.iter().filter_map(|(_, stage)| metric.of(stage)))
    }

    /// A metric's median over repetitions.
    pub fn median(&self, metric: Metric) -> Option<f64> {
        self.spread(metric).map(|spread| spread.median)
    }

    /// Where each repetition's percentile lies, as far as its own requests tell; empty for other metrics, and for
    /// repetitions without records or with too few requests.
    pub fn intervals(&self, metric: Metric) -> Vec<RunInterval> {
        let Metric::Latency(quantity, statistic) = metric else { return Vec::new() };
        let found = self.repetitions.iter().filter_map(|(repetition, stage)| {
            let sample = stage.sampled.as_ref()?.quantities.get(&quantity)?;
            let interval = *sample.intervals.get(&statistic)?;
            Some(RunInterval { repetition: *repetition, count: sample.count, interval })
        });
        // A percentile that the document says is unknown has no interval either.
        if self.median(metric).is_some() { found.collect() } else { Vec::new() }
    }

    /// Whether every repetition's records were read.
    pub fn is_sampled(&self) -> bool {
        self.repetitions.iter().all(|(_, stage)| stage.sampled.is_some())
    }

    /// Whether nobody measured it: a forecast's repetitions are runs in virtual time.
    pub fn is_forecast(&self) -> bool {
        self.repetitions.iter().any(|(_, stage)| stage.harness.tool == Harness::FORECAST_TOOL)
    }

    /// How far repetitions lie apart, when there are several: lowest and highest; in a forecast the 5th and 95th
    /// percentile, because the extremes of many runs only tell how many there were.
    pub fn band(&self, metric: Metric) -> Option<(f64, f64)> {
        let spread = self.spread(metric).filter(|spread| spread.count() > 1)?;
        let forecast = self.is_forecast();
        Some(if forecast { band_of_sorted(&spread.values)? } else { (spread.min, spread.max) })
    }

    /// Whether the median inter-token latency says nothing in some repetition; see [`Stage::itl_is_chunked`].
    pub fn itl_is_chunked(&self) -> bool {
        self.repetitions.iter().any(|(_, stage)| stage.itl_is_chunked())
    }
}

/// The 5th and 95th percentile of ascending values.
pub fn band_of_sorted(values: &[f64]) -> Option<(f64, f64)> {
    Some((percentile_of_sorted(values, 0.05)?, percentile_of_sorted(values, 0.95)?))
}

impl Series {
    /// Whether nobody measured it.
    pub fn is_forecast(&self) -> bool {
        self.points.iter().chain(&self.warm_up).any(Point::is_forecast)
    }

    /// The point at a level.
    pub fn at(&self, level: Level) -> Option<&Point> {
        self.points.iter().find(|point| point.level.same(level))
    }

    /// The point at which the output token rate peaks.
    pub fn peak_point(&self) -> Option<&Point> {
        self.at(self.peak?.level)
    }

    /// The point at the highest level.
    pub fn top(&self) -> Option<&Point> {
        self.points.last()
    }
}
