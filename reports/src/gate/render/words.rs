//! Numbers of a row as text. Absent reads n/a.

use super::super::metric::Metric;
use super::super::rows::{Note, Row, Tier};

/// A row's table cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// The verdict, with a waiver named.
    pub verdict: String,
    /// Metric and statistic.
    pub metric: String,
    /// Stage, or all stages.
    pub stage: String,
    /// Treatment.
    pub treatment: String,
    /// The baseline's value.
    pub baseline: String,
    /// The campaign's value.
    pub new: String,
    /// The tested change with its confidence interval.
    pub change: String,
    /// p-value after correction.
    pub p: String,
    /// Minimum detectable effect.
    pub mde: String,
    /// Reason and notes.
    pub remarks: String,
}

/// The heads of [`Cells`], in order.
impl Cells {
    /// Column heads.
    pub const HEADS: [&'static str; 10] =
        ["verdict", "metric", "stage", "treatment", "baseline", "new", "change [95% CI]", "p", "detectable", "remarks"];

    /// The cells in the order of [`Cells::HEADS`].
    #[must_use]
    pub fn into_array(self) -> [String; 10] {
        let Self { verdict, metric, stage, treatment, baseline, new, change, p, mde, remarks } = self;
        [verdict, metric, stage, treatment, baseline, new, change, p, mde, remarks]
    }
}

const ABSENT: &str = "n/a";

/// A row's table cells.
#[must_use]
pub fn cells(row: &Row) -> Cells {
    let value = |value: Option<f64>| value.map_or_else(|| ABSENT.into(), |value| value_text(row.metric, value));
    let change = match (row.change, row.interval) {
        (None, _) => ABSENT.into(),
        (Some(change), None) => change_text(row.metric, change),
        (Some(change), Some([low, high])) => {
            let bounds = (change_text(row.metric, low), change_text(row.metric, high));
            format!("{} [{}, {}]", change_text(row.metric, change), bounds.0, bounds.1)
        }
    };
    let baseline = match row.limit {
        Some(limit) => format!("limit {}", value_text(row.metric, limit)),
        None => value(row.values.baseline),
    };
    Cells {
        verdict: if row.waived.is_some() { format!("{} (waived)", row.verdict) } else { row.verdict.to_string() },
        metric: format!("{} {}", row.metric, row.statistic),
        stage: row.stage.clone().unwrap_or_else(|| "all stages".into()),
        treatment: row.treatment.clone(),
        baseline,
        new: value(row.values.new),
        change,
        p: row.p_adjusted.map_or_else(|| ABSENT.into(), p_text),
        mde: row.mde95.map_or_else(|| ABSENT.into(), |mde| format!("{:.1}%", 100.0 * mde)),
        remarks: remarks(row),
    }
}

/// One sentence about a row, for annotations and test messages.
#[must_use]
pub fn describe(row: &Row) -> String {
    let cells = cells(row);
    let mut text = format!("{}: {}", row.name(), cells.verdict);
    if row.tier == Tier::Limit {
        text += &format!(": {} against a {}", cells.new, cells.baseline);
    } else if row.values.new.is_some() || row.values.baseline.is_some() {
        text += &format!(": {} -> {}, {}", cells.baseline, cells.new, cells.change);
    }
    if let Some(tolerance) = row.tolerance {
        text += &format!(", tolerated {}", change_text(row.metric, tolerance).trim_start_matches('+'));
    }
    if !cells.remarks.is_empty() {
        text += &format!(" ({})", cells.remarks);
    }
    text
}

fn remarks(row: &Row) -> String {
    let mut remarks: Vec<String> = row.reason.iter().chain(&row.waived).cloned().collect();
    remarks.extend(row.notes.iter().map(|note| {
        match note {
            Note::Approximate => "approximate error",
            Note::Blocks => "dependent requests",
            Note::Blind => "blind: the floor exceeds the tolerance",
            Note::Saturated => "saturated",
            Note::Normalised => "normalised",
        }
        .to_owned()
    }));
    remarks.join("; ")
}

fn value_text(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Throughput | Metric::Failed => format!("{:.2}%", 100.0 * value),
        _ if value.abs() < 1.0 => format!("{:.2} ms", 1e3 * value),
        _ => format!("{value:.3} s"),
    }
}

fn change_text(metric: Metric, change: f64) -> String {
    let unit = if metric == Metric::Failed { " pp" } else { "%" };
    format!("{:+.1}{unit}", 100.0 * change)
}

fn p_text(p: f64) -> String {
    if p < 1e-4 { "<0.0001".into() } else { format!("{p:.4}") }
}
