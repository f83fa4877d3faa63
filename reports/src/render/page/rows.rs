//! The table of every rate and treatment.

use serde::Serialize;

use crate::compare::{Comparison, Point, Series};
use crate::model::{Metric, Quantity, Statistic};
use crate::render::text::plain;
use crate::render::values::{Detail, change, value};

/// A table with one row for each level and treatment.
#[derive(Clone, Debug, Serialize)]
pub struct LevelRows {
    /// What places a stage on the ladder: the first column's head.
    pub axis: String,
    /// Heads of the columns of numbers.
    pub columns: Vec<String>,
    /// The rows: by level, baseline first.
    pub rows: Vec<Row>,
    /// Rows of stages that are left out of curves.
    pub warm_up: Vec<Row>,
}

/// One stage of one treatment.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The level.
    pub level: String,
    /// Whether the level differs from the row above.
    pub first: bool,
    /// The treatment.
    pub treatment: String,
    /// One for each column.
    pub cells: Vec<RowCell>,
}

/// A number and its change.
#[derive(Clone, Debug, Serialize)]
pub struct RowCell {
    /// The value, or n/a.
    pub value: String,
    /// The change against the baseline at this level.
    pub change: Option<String>,
}

const COLUMNS: [(Metric, &str); 10] = [
    (Metric::AchievedRate, "Sent req/s"),
    (Metric::RequestRate, "Completed req/s"),
    (Metric::OutputTokenRate, "Output tokens/s"),
    (Metric::Latency(Quantity::Ttft, Statistic::P50), "TTFT p50"),
    (Metric::Latency(Quantity::Ttft, Statistic::P90), "TTFT p90"),
    (Metric::Latency(Quantity::Ttft, Statistic::P99), "TTFT p99"),
    (Metric::Latency(Quantity::Itl, Statistic::P50), "ITL p50"),
    (Metric::Latency(Quantity::Ntpot, Statistic::P50), "NTPOT p50"),
    (Metric::Requests, "Requests"),
    (Metric::Failures, "Failures"),
];

/// The rows of all treatments; columns that no treatment has a number for are left out.
pub(super) fn rows(treatments: &[&Series], comparisons: &[&Comparison]) -> LevelRows {
    let points = || treatments.iter().flat_map(|treatment| &treatment.points);
    let used: Vec<(Metric, &str)> =
        COLUMNS.into_iter().filter(|(metric, _)| points().any(|point| point.median(*metric).is_some())).collect();
    let mut levels: Vec<_> = points().map(|point| point.level).collect();
    levels.sort_by(|a, b| a.value().total_cmp(&b.value()));
    levels.dedup_by(|a, b| a.same(*b));
    let mut rows = Vec::new();
    for level in &levels {
        let mut first = true;
        for treatment in treatments {
            let Some(point) = treatment.at(*level) else { continue };
            let changes = |metric| {
                let comparison = comparisons.iter().find(|comparison| comparison.candidate.name == treatment.name)?;
                let row = comparison.levels.iter().find(|row| row.level.same(*level))?;
                change(row.delta(metric)?.relative)
            };
            rows.push(row(treatment, point, first, &used, changes));
            first = false;
        }
    }
    let warm_up = treatments
        .iter()
        .flat_map(|treatment| treatment.warm_up.iter().map(|point| row(treatment, point, true, &used, |_| None)));
    LevelRows {
        axis: levels.first().map_or("", |level| level.axis()).to_owned(),
        columns: used.iter().map(|(_, head)| (*head).to_owned()).collect(),
        warm_up: warm_up.collect(),
        rows,
    }
}

fn row(
    treatment: &Series,
    point: &Point,
    first: bool,
    columns: &[(Metric, &str)],
    changes: impl Fn(Metric) -> Option<String>,
) -> Row {
    let described = |metric| matches!(metric, Metric::AchievedRate | Metric::Requests | Metric::Failures);
    let cells = columns.iter().map(|(metric, _)| RowCell {
        value: value(*metric, point.median(*metric), Detail::Table),
        change: if described(*metric) { None } else { changes(*metric) },
    });
    Row { level: plain(point.level.value()), first, treatment: treatment.display_name.clone(), cells: cells.collect() }
}
