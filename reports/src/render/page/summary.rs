//! The table at the top of a page, and the failures.

use serde::Serialize;

use crate::compare::{Comparison, Series, Word};
use crate::model::{Metric, Quantity, Statistic};
use crate::render::charts::unit;
use crate::render::text::plain;
use crate::render::values::{Detail, change, percent, value};

/// A summary table: one baseline and everything compared with it, or treatments without a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The columns after the metric's name, baseline first.
    pub columns: Vec<String>,
    /// Whether the first column is a baseline.
    pub compared: bool,
    /// One row a metric.
    pub rows: Vec<SummaryRow>,
    /// Why the verdicts are what they are, one sentence for each distinct reason.
    pub reasons: Vec<String>,
}

/// One metric.
#[derive(Clone, Debug, Serialize)]
pub struct SummaryRow {
    /// The metric and where on the ladder.
    pub label: String,
    /// One cell a column.
    pub cells: Vec<Cell>,
}

/// One treatment's number.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cell {
    /// The value with its unit, or n/a.
    pub value: String,
    /// The change against the baseline, when there is one.
    pub change: Option<String>,
    /// Lowest and highest repetition, when there are several.
    pub spread: Option<String>,
    /// The verdict's words.
    pub verdict: Option<String>,
    /// `better`, `worse` or nothing, for the eye; the words say it too.
    pub tone: &'static str,
}

/// Failures of one treatment.
#[derive(Clone, Debug, Serialize)]
pub struct FailureRow {
    /// The treatment.
    pub treatment: String,
    /// Requests sent in all stages, warm-up included.
    pub requests: String,
    /// How many failed.
    pub failures: String,
    /// The same as a share.
    pub share: String,
    /// Label and count.
    pub labels: Vec<(String, String)>,
}

/// One table for each baseline; one without changes when nothing is compared.
pub(super) fn summaries(treatments: &[&Series], comparisons: &[&Comparison]) -> Vec<Summary> {
    let mut baselines: Vec<&str> = Vec::new();
    for comparison in comparisons {
        if !baselines.contains(&comparison.baseline.name.as_str()) {
            baselines.push(&comparison.baseline.name);
        }
    }
    if baselines.is_empty() {
        return vec![alone(treatments)];
    }
    let of = |baseline: &&str| {
        comparisons.iter().copied().filter(|comparison| comparison.baseline.name == **baseline).collect()
    };
    baselines.iter().map(|baseline| compared(&of(baseline))).collect()
}

fn compared(comparisons: &Vec<&Comparison>) -> Summary {
    let first = comparisons[0];
    let mut columns = vec![first.baseline.display_name.clone()];
    columns.extend(comparisons.iter().map(|comparison| comparison.candidate.display_name.clone()));
    let mut reasons: Vec<String> = Vec::new();
    let rows = first.headline.iter().map(|headline| {
        let metric = headline.delta.metric;
        let mut cells = vec![spread_cell(metric, headline.delta.baseline.as_ref())];
        for comparison in comparisons {
            // Same baseline, same ladder: the rows are the same, and looked up by label in case one side lacks a metric.
            let found = comparison.headline.iter().find(|other| other.label == headline.label);
            let Some(delta) = found.map(|headline| &headline.delta) else {
                cells.push(spread_cell(metric, None));
                continue;
            };
            let verdict = &delta.verdict;
            let reason = format!("{}: {}", verdict.word, verdict.reason);
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
            cells.push(Cell {
                change: change(delta.relative),
                verdict: Some(verdict.word.to_string()),
                tone: match verdict.word {
                    Word::Better => "better",
                    Word::Worse => "worse",
                    Word::WithinNoise | Word::NotEnoughData => "",
                },
                ..spread_cell(metric, delta.candidate.as_ref())
            });
        }
        SummaryRow { label: headline.label.clone(), cells }
    });
    let rows = rows.collect();
    Summary { columns, compared: true, rows, reasons }
}

/// The same metrics for treatments that are not compared, each at its own highest level.
fn alone(treatments: &[&Series]) -> Summary {
    let at_top = [
        Metric::RequestRate,
        Metric::Latency(Quantity::Ttft, Statistic::P50),
        Metric::Latency(Quantity::Ttft, Statistic::P90),
        Metric::Latency(Quantity::Itl, Statistic::P50),
    ];
    let peak = treatments.iter().map(|treatment| {
        let point = treatment.peak.and_then(|peak| treatment.at(peak.level));
        spread_cell(Metric::OutputTokenRate, point.and_then(|point| point.spread(Metric::OutputTokenRate)).as_ref())
    });
    let mut rows = vec![SummaryRow { label: "Peak output tokens/s".to_owned(), cells: peak.collect() }];
    let mut tops: Vec<String> = treatments
        .iter()
        .filter_map(|treatment| treatment.top())
        .map(|point| format!("{} {}", plain(point.level.value()), unit(point.level)))
        .collect();
    tops.dedup();
    let place = if let [top] = tops.as_slice() { format!(" at {top}") } else { " at the highest level".to_owned() };
    for metric in at_top {
        let cells = treatments
            .iter()
            .map(|treatment| spread_cell(metric, treatment.top().and_then(|point| point.spread(metric)).as_ref()));
        rows.push(SummaryRow { label: format!("{metric}{place}"), cells: cells.collect() });
    }
    Summary {
        columns: treatments.iter().map(|treatment| treatment.display_name.clone()).collect(),
        compared: false,
        rows,
        reasons: Vec::new(),
    }
}

fn spread_cell(metric: Metric, spread: Option<&crate::statistics::Spread>) -> Cell {
    let show = |number: f64| value(metric, Some(number), Detail::Summary);
    Cell {
        value: value(metric, spread.map(|spread| spread.median), Detail::Summary),
        spread: spread
            .filter(|spread| spread.count() > 1)
            .map(|spread| format!("{} to {}", show(spread.min), show(spread.max))),
        ..Cell::default()
    }
}

/// Failures of every treatment, over all its stages.
pub(super) fn failures(treatments: &[&Series]) -> Vec<FailureRow> {
    let row = |treatment: &&Series| {
        let totals = &treatment.totals;
        let requests = totals.requests as f64;
        let failures = totals.failures.map(|failures| failures as f64);
        FailureRow {
            treatment: treatment.display_name.clone(),
            requests: value(Metric::Requests, Some(requests), Detail::Table),
            failures: value(Metric::Failures, failures, Detail::Table),
            share: failures
                .filter(|_| requests > 0.0)
                .map_or_else(|| crate::render::text::ABSENT.to_owned(), |failures| percent(failures / requests)),
            labels: totals
                .by_label
                .iter()
                .map(|failure| {
                    (failure.label.clone(), value(Metric::Failures, Some(failure.count as f64), Detail::Table))
                })
                .collect(),
        }
    };
    treatments.iter().map(row).collect()
}
