//! The table at the top of a page, and the failures.

use serde::Serialize;

use crate::compare::{Comparison, Point, RunInterval, Series, Word, band_of_sorted};
use crate::model::{Metric, Quantity, Statistic};
use crate::render::text::plain;
use crate::render::values::{Detail, change, percent, value};
use crate::statistics::Spread;

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
    /// Lowest and highest repetition, when there are several (the band's ends in a forecast); otherwise the confidence
    /// interval from its requests.
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
        let deltas = comparisons.iter().flat_map(|comparison| &comparison.headline);
        let deltas = deltas.filter(|other| other.label == headline.label).map(|headline| &headline.delta);
        let sides = deltas.flat_map(|delta| [&delta.baseline, &delta.candidate]).flatten();
        let show =
            Shown { metric: headline.delta.metric, detail: detail(sides), forecast: first.baseline.is_forecast() };
        let mut cells = vec![show.cell(headline.delta.baseline.as_ref(), &headline.delta.baseline_intervals)];
        for comparison in comparisons {
            // Same baseline, same ladder: the rows are the same, and looked up by label in case one side lacks a metric.
            let found = comparison.headline.iter().find(|other| other.label == headline.label);
            let Some(delta) = found.map(|headline| &headline.delta) else {
                cells.push(show.cell(None, &[]));
                continue;
            };
            let verdict = &delta.verdict;
            // An interval belongs to its row; what is not known is often not known for the same reason everywhere.
            let reason = match verdict.interval {
                Some(_) => format!(
                    "{}, {}: {}, {}",
                    headline.label, comparison.candidate.display_name, verdict.word, verdict.reason
                ),
                None => format!("{}: {}", verdict.word, verdict.reason),
            };
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
                ..show.cell(delta.candidate.as_ref(), &delta.candidate_intervals)
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
    let row = |label: String, metric: Metric, points: Vec<Option<&Point>>| {
        let spreads: Vec<Option<Spread>> =
            points.iter().map(|point| point.and_then(|point| point.spread(metric))).collect();
        let forecast = treatments.iter().any(|treatment| treatment.is_forecast());
        let show = Shown { metric, detail: detail(spreads.iter().flatten()), forecast };
        let cells = spreads.iter().zip(points).map(|(spread, point)| {
            show.cell(spread.as_ref(), &point.map_or_else(Vec::new, |point| point.intervals(metric)))
        });
        SummaryRow { label, cells: cells.collect() }
    };
    let peaks = treatments.iter().map(|treatment| treatment.peak_point()).collect();
    let mut rows = vec![row("Peak output tokens/s".to_owned(), Metric::OutputTokenRate, peaks)];
    let mut tops: Vec<String> = treatments
        .iter()
        .filter_map(|treatment| treatment.top())
        .map(|point| format!("{} {}", plain(point.level.value()), point.level.unit()))
        .collect();
    tops.dedup();
    let place = if let [top] = tops.as_slice() { format!(" at {top}") } else { " at the highest level".to_owned() };
    for metric in at_top {
        rows.push(row(
            format!("{metric}{place}"),
            metric,
            treatments.iter().map(|treatment| treatment.top()).collect(),
        ));
    }
    Summary {
        columns: treatments.iter().map(|treatment| treatment.display_name.clone()).collect(),
        compared: false,
        rows,
        reasons: Vec::new(),
    }
}

/// Waits of this many seconds make tenths of a second enough for the whole row.
const LONG: f64 = 10.0;

/// How exactly a row is shown, by its largest value.
fn detail<'a>(spreads: impl Iterator<Item = &'a Spread>) -> Detail {
    let largest = spreads.map(|spread| spread.median).fold(0.0, f64::max);
    if largest >= LONG { Detail::Summary } else { Detail::Close }
}

/// How a row's numbers are shown.
struct Shown {
    metric: Metric,
    detail: Detail,
    /// Whether a range is the band over computed runs.
    forecast: bool,
}

impl Shown {
    /// A number with the range of its repetitions, or of one repetition with what its requests say.
    fn cell(&self, spread: Option<&Spread>, intervals: &[RunInterval]) -> Cell {
        let show = |number: f64| value(self.metric, Some(number), self.detail);
        let several = spread.filter(|spread| spread.count() > 1);
        let ends = |spread: &Spread| {
            if self.forecast { band_of_sorted(&spread.values) } else { Some((spread.min, spread.max)) }
        };
        let range = several.and_then(ends).map(|(low, high)| format!("{} to {}", show(low), show(high)));
        let alone = intervals.first().filter(|_| spread.is_some_and(|spread| spread.count() == 1));
        let within = alone.map(|run| format!("99%: {} to {}", show(run.interval.low), show(run.interval.high)));
        Cell {
            value: value(self.metric, spread.map(|spread| spread.median), self.detail),
            spread: range.or(within),
            ..Cell::default()
        }
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
