//! `comparison.json`: a comparison for programs. The format is documented in `docs/comparison-json.md`; a change that would
//! break its readers raises [`SCHEMA_VERSION`].

use serde::Serialize;

use crate::compare::{
    Attainment, Comparison, Delta, Headline, LevelRow, Point, RunInterval, Series, SloResult, Turn, Verdict,
};
use crate::model::{Better, Failure, Level, Metric, Slo, Stack};
use crate::statistics::Spread;

/// The format's version.
pub const SCHEMA_VERSION: u32 = 2;

/// The comparison as JSON text, ending in a line break.
pub fn comparison(comparison: &Comparison) -> String {
    let document = Document {
        schema: "comparison",
        schema_version: SCHEMA_VERSION,
        campaign_id: &comparison.campaign_id,
        simulated: comparison.simulated,
        axis: comparison.levels.first().map(|row| Axis::of(row.level)),
        baseline: SeriesOut::of(&comparison.baseline),
        candidate: SeriesOut::of(&comparison.candidate),
        headline: comparison.headline.iter().map(HeadlineOut::of).collect(),
        levels: comparison.levels.iter().map(LevelOut::of).collect(),
        notes: &comparison.notes,
    };
    let mut text = serde_json::to_string(&document).expect("numbers, text, lists and mappings by text are JSON");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    schema_version: u32,
    campaign_id: &'a str,
    simulated: bool,
    axis: Option<Axis>,
    baseline: SeriesOut<'a>,
    candidate: SeriesOut<'a>,
    headline: Vec<HeadlineOut<'a>>,
    levels: Vec<LevelOut<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Axis {
    kind: &'static str,
    label: &'static str,
}

impl Axis {
    fn of(level: Level) -> Self {
        let kind = match level {
            Level::Rate(_) => "rate",
            Level::Concurrency(_) => "concurrency",
        };
        Self { kind, label: level.axis() }
    }
}

#[derive(Serialize)]
struct SeriesOut<'a> {
    name: &'a str,
    display_name: &'a str,
    repetitions: &'a [u32],
    failed_repetitions: Vec<FailedOut<'a>>,
    requests: u64,
    failures: Option<u64>,
    failures_by_label: &'a [Failure],
    peak: Option<TurnOut>,
    knee: Option<TurnOut>,
    saturation: Option<TurnOut>,
    slo: Option<SloOut<'a>>,
    stages: Vec<StageOut>,
    warm_up_stages: Vec<StageOut>,
    stack: &'a Stack,
}

#[derive(Serialize)]
struct FailedOut<'a> {
    repetition: u32,
    reason: Option<&'a str>,
}

#[derive(Serialize)]
struct TurnOut {
    level: f64,
    metric: String,
    value: f64,
}

#[derive(Serialize)]
struct StageOut {
    stage: u32,
    level: f64,
    itl_median_is_of_chunks: bool,
}

#[derive(Serialize)]
struct SloOut<'a> {
    objectives: &'a Slo,
    levels: Vec<AttainmentOut<'a>>,
    highest_met: Option<f64>,
}

#[derive(Serialize)]
struct AttainmentOut<'a> {
    level: f64,
    met: bool,
    #[serde(flatten)]
    attainment: &'a Attainment,
}

impl<'a> SeriesOut<'a> {
    fn of(series: &'a Series) -> Self {
        let failed = |failed: &'a crate::campaign::FailedRepetition| FailedOut {
            repetition: failed.number,
            reason: failed.reason.as_deref(),
        };
        let stage = |point: &Point| StageOut {
            stage: point.stage,
            level: point.level.value(),
            itl_median_is_of_chunks: point.itl_is_chunked(),
        };
        Self {
            name: &series.name,
            display_name: &series.display_name,
            repetitions: &series.repetitions,
            failed_repetitions: series.failed.iter().map(failed).collect(),
            requests: series.totals.requests,
            failures: series.totals.failures,
            failures_by_label: &series.totals.by_label,
            peak: series.peak.map(TurnOut::of),
            knee: series.knee.map(TurnOut::of),
            saturation: series.saturation.map(TurnOut::of),
            slo: series.slo.as_ref().map(SloOut::of),
            stages: series.points.iter().map(stage).collect(),
            warm_up_stages: series.warm_up.iter().map(stage).collect(),
            stack: &series.stack,
        }
    }
}

impl TurnOut {
    fn of(turn: Turn) -> Self {
        Self { level: turn.level.value(), metric: turn.metric.key(), value: turn.value }
    }
}

impl<'a> SloOut<'a> {
    fn of(result: &'a SloResult) -> Self {
        let level = |(level, attainment): &'a (Level, Attainment)| AttainmentOut {
            level: level.value(),
            met: attainment.meets(&result.slo),
            attainment,
        };
        Self {
            objectives: &result.slo,
            levels: result.levels.iter().map(level).collect(),
            highest_met: result.highest_met.map(Level::value),
        }
    }
}

#[derive(Serialize)]
struct HeadlineOut<'a> {
    label: &'a str,
    baseline_level: Option<f64>,
    candidate_level: Option<f64>,
    #[serde(flatten)]
    delta: DeltaOut<'a>,
}

impl<'a> HeadlineOut<'a> {
    fn of(headline: &'a Headline) -> Self {
        Self {
            label: &headline.label,
            baseline_level: headline.baseline_level.map(Level::value),
            candidate_level: headline.candidate_level.map(Level::value),
            delta: DeltaOut::of(&headline.delta),
        }
    }
}

#[derive(Serialize)]
struct LevelOut<'a> {
    level: f64,
    deltas: Vec<DeltaOut<'a>>,
}

impl<'a> LevelOut<'a> {
    fn of(row: &'a LevelRow) -> Self {
        Self { level: row.level.value(), deltas: row.deltas.iter().map(DeltaOut::of).collect() }
    }
}

#[derive(Serialize)]
struct DeltaOut<'a> {
    metric: String,
    unit: &'static str,
    better: Better,
    baseline: Option<&'a Spread>,
    candidate: Option<&'a Spread>,
    baseline_intervals: &'a [RunInterval],
    candidate_intervals: &'a [RunInterval],
    absolute: Option<f64>,
    relative: Option<f64>,
    verdict: &'a Verdict,
}

impl<'a> DeltaOut<'a> {
    fn of(delta: &'a Delta) -> Self {
        let metric: Metric = delta.metric;
        Self {
            metric: metric.key(),
            unit: metric.unit(),
            better: metric.better(),
            baseline: delta.baseline.as_ref(),
            candidate: delta.candidate.as_ref(),
            baseline_intervals: &delta.baseline_intervals,
            candidate_intervals: &delta.candidate_intervals,
            absolute: delta.absolute,
            relative: delta.relative,
            verdict: &delta.verdict,
        }
    }
}
