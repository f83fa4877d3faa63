//! Comparisons of a candidate treatment with a baseline treatment over a shared ladder.

mod build;
mod delta;
mod notes;
mod series;
mod slo;
mod verdict;

pub use build::{KNEE_FACTOR, SATURATION_SHARE, series};
pub use delta::{Delta, RunInterval, Verdict, Word};
pub use series::{Point, Series, Totals, Turn, band_of_sorted};
pub use slo::{Attainment, Bounds, SloResult};
pub use verdict::{CONFIDENCE, MIN_REPETITIONS, NOISE_FLOOR, RUN_SPREAD, Side, delta};

use crate::campaign::{Campaign, Disagreement, Treatment, between_ladders, between_stacks, between_workloads};
use crate::model::{Level, Metric, Quantity, Slo, Statistic};

/// Why two treatments cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The campaign has no such treatment.
    #[error("the campaign has no treatment {name:?}; it has {known}")]
    NoTreatment {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A treatment without a complete repetition.
    #[error("treatment {treatment} has no complete repetition")]
    NoRepetition {
        /// The treatment.
        treatment: String,
    },
    /// A treatment compared with itself.
    #[error("treatment {treatment} would be compared with itself")]
    Same {
        /// The treatment.
        treatment: String,
    },
    /// A stage that cannot be placed on an axis.
    #[error("treatment {treatment}: stage {stage} names neither a requested rate nor a concurrency")]
    NoLevel {
        /// The treatment.
        treatment: String,
        /// The stage.
        stage: u32,
    },
    /// A ladder of rates and concurrencies.
    #[error("treatment {treatment}: its ladder mixes requested rates and concurrencies (stage {stage})")]
    MixedAxes {
        /// The treatment.
        treatment: String,
        /// The first stage on the other axis.
        stage: u32,
    },
    /// Two treatments that were not measured alike.
    #[error("{baseline} and {candidate} cannot be compared: {fields}", fields = crate::campaign::list(disagreements))]
    NotComparable {
        /// The baseline.
        baseline: String,
        /// The candidate.
        candidate: String,
        /// The fields that differ.
        disagreements: Vec<Disagreement>,
    },
}

/// What a comparison may be asked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Objectives, for attainment and goodput.
    pub slo: Option<Slo>,
}

/// A candidate treatment against a baseline treatment. Renderers read it; [`crate::render::json`] writes it.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The campaign's name.
    pub campaign_id: String,
    /// The treatment that is compared with.
    pub baseline: Series,
    /// The treatment in question.
    pub candidate: Series,
    /// The summary table's rows.
    pub headline: Vec<Headline>,
    /// One row for each level of the shared ladder, ascending.
    pub levels: Vec<LevelRow>,
    /// Whether either side ran on simulated components.
    pub simulated: bool,
    /// What the comparison can and cannot tell: sentences for its readers.
    pub notes: Vec<String>,
}

/// A row of the summary table.
#[derive(Clone, Debug)]
pub struct Headline {
    /// What the row shows: `Peak output tokens/s`, `TTFT p50 at 60 requests/s`.
    pub label: String,
    /// Where on the ladder each side's number stands; the sides differ only in a peak's row.
    pub baseline_level: Option<Level>,
    /// As `baseline_level`, for the candidate.
    pub candidate_level: Option<Level>,
    /// The numbers.
    pub delta: Delta,
}

/// All deltas at one level of the ladder.
#[derive(Clone, Debug)]
pub struct LevelRow {
    /// The level.
    pub level: Level,
    /// One for each metric that either side has.
    pub deltas: Vec<Delta>,
}

impl LevelRow {
    /// The delta of one metric.
    pub fn delta(&self, metric: Metric) -> Option<&Delta> {
        self.deltas.iter().find(|delta| delta.metric == metric)
    }
}

/// The numbers of the summary table at the top level, after the peak.
const HEADLINE: [Metric; 4] = [
    Metric::RequestRate,
    Metric::Latency(Quantity::Ttft, Statistic::P50),
    Metric::Latency(Quantity::Ttft, Statistic::P90),
    Metric::Latency(Quantity::Itl, Statistic::P50),
];

/// Compares `candidate` with `baseline`, refusing what was not measured alike: other ladders, numbers of repetitions, model
/// servers, workloads or harnesses. Failed repetitions count towards the number and are not averaged in.
pub fn compare(campaign: &Campaign, baseline: &str, candidate: &str, options: &Options) -> Result<Comparison, Error> {
    if baseline == candidate {
        return Err(Error::Same { treatment: baseline.into() });
    }
    let (left, right) = (find(campaign, baseline)?, find(campaign, candidate)?);
    let disagreements = disagreements(left, right);
    if !disagreements.is_empty() {
        return Err(Error::NotComparable { baseline: baseline.into(), candidate: candidate.into(), disagreements });
    }
    let (left, right) = (series(left, options)?, series(right, options)?);
    let levels = left.points.iter().map(|point| level_row(point, right.at(point.level))).collect();
    let mut comparison = Comparison {
        campaign_id: campaign.manifest.campaign_id.clone(),
        headline: headline(&left, &right),
        levels,
        simulated: left.stack.is_simulated() || right.stack.is_simulated(),
        notes: Vec::new(),
        baseline: left,
        candidate: right,
    };
    comparison.notes = notes::of(&comparison);
    Ok(comparison)
}

fn find<'a>(campaign: &'a Campaign, name: &str) -> Result<&'a Treatment, Error> {
    let known = || campaign.treatments.iter().map(|treatment| treatment.name.as_str()).collect::<Vec<_>>().join(", ");
    let treatment = campaign.treatment(name).ok_or_else(|| Error::NoTreatment { name: name.into(), known: known() })?;
    if treatment.repetitions.is_empty() {
        return Err(Error::NoRepetition { treatment: name.into() });
    }
    Ok(treatment)
}

fn disagreements(left: &Treatment, right: &Treatment) -> Vec<Disagreement> {
    let tried = |treatment: &Treatment| treatment.repetitions.len() + treatment.failed.len();
    let mut found = Vec::new();
    if tried(left) != tried(right) {
        let (left, right) = (tried(left).to_string(), tried(right).to_string());
        found.push(Disagreement { field: "repetitions".into(), left, right });
    }
    let (first, second) = (&left.repetitions[0].stages, &right.repetitions[0].stages);
    found.extend(between_ladders(first, second));
    found.extend(between_workloads(first, second));
    found.extend(between_stacks(&left.stack, &right.stack));
    found
}

fn level_row(baseline: &Point, candidate: Option<&Point>) -> LevelRow {
    let deltas = Metric::all().into_iter().filter_map(|metric| {
        let (left, right) = (Side::of(Some(baseline), metric), Side::of(candidate, metric));
        (left.spread.is_some() || right.spread.is_some()).then(|| delta(metric, left, right))
    });
    LevelRow { level: baseline.level, deltas: deltas.collect() }
}

fn headline(baseline: &Series, candidate: &Series) -> Vec<Headline> {
    let (left, right) = (baseline.peak_point(), candidate.peak_point());
    let mut rows = vec![row("Peak output tokens/s".into(), Metric::OutputTokenRate, left, right)];
    let top = baseline.top();
    let other = top.and_then(|point| candidate.at(point.level));
    for metric in HEADLINE {
        let label = match top.map(|point| point.level) {
            Some(level) => format!("{metric} at {level} {}", level.unit()),
            None => metric.to_string(),
        };
        rows.push(row(label, metric, top, other));
    }
    rows
}

fn row(label: String, metric: Metric, baseline: Option<&Point>, candidate: Option<&Point>) -> Headline {
    Headline {
        label,
        baseline_level: baseline.map(|point| point.level),
        candidate_level: candidate.map(|point| point.level),
        delta: delta(metric, Side::of(baseline, metric), Side::of(candidate, metric)),
    }
}
