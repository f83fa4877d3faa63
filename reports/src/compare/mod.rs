//! Comparisons of a candidate treatment with a baseline treatment over a shared ladder.

mod delta;
mod series;
mod slo;

pub use delta::{Delta, Verdict, Word};
pub use series::{Point, Series, Totals, Turn};
pub use slo::{Attainment, Limit, Slo, SloResult};

use crate::model::Level;

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
    pub fn delta(&self, metric: crate::model::Metric) -> Option<&Delta> {
        self.deltas.iter().find(|delta| delta.metric == metric)
    }
}
