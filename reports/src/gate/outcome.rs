//! The gate's verdict on a campaign.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::metric::Statistic;
use super::rows::{Row, Tier, Verdict};
use super::validity::Problem;

/// Rows, problems and the verdict that follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The verdict.
    pub verdict: GateVerdict,
    /// How many rows were compared.
    pub compared: usize,
    /// How many rows the limits ask for.
    pub total: usize,
    /// Why the campaign is not valid.
    pub problems: Vec<Problem>,
    /// Worst first.
    pub rows: Vec<Row>,
}

/// What the gate says of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// Nothing beyond what is tolerated, and it would have been seen.
    Pass,
    /// Nothing can be said.
    Inconclusive,
    /// Something became worse.
    Regression,
    /// The campaign is not a measurement of what the baseline measured.
    Invalid,
    /// There is no baseline to compare with.
    NoBaseline,
    /// The baselines that there are measured something else.
    OtherIdentity,
}

impl GateVerdict {
    /// The word in documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Regression => "regression",
            Self::Invalid => "invalid campaign",
            Self::NoBaseline => "no baseline",
            Self::OtherIdentity => "baseline of another identity",
        }
    }
}

impl fmt::Display for GateVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl Outcome {
    /// Concludes from rows and problems.
    #[must_use]
    pub fn new(mut rows: Vec<Row>, problems: Vec<Problem>, has_baseline: bool) -> Self {
        rows.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
        let compared = rows.iter().filter(|row| row.verdict.is_compared()).count();
        let any = |wanted: Verdict| rows.iter().any(|row| row.verdict == wanted && row.waived.is_none());
        // A single stage rarely has requests enough for small changes; the means over stages carry the promise.
        let undecided = rows.iter().any(|row| row.verdict == Verdict::Inconclusive && decides(row, &rows));
        let verdict = if !problems.is_empty() || any(Verdict::Suspect) || any(Verdict::Missing) {
            GateVerdict::Invalid
        } else if any(Verdict::Regression) {
            GateVerdict::Regression
        } else if !has_baseline {
            GateVerdict::NoBaseline
        } else if undecided || compared == 0 {
            GateVerdict::Inconclusive
        } else {
            GateVerdict::Pass
        };
        Self { verdict, compared, total: rows.len(), problems, rows }
    }

    /// The first line of every document: `compared 96 of 120 rows: pass`.
    #[must_use]
    pub fn headline(&self) -> String {
        format!("compared {} of {} rows: {}", self.compared, self.total, self.verdict)
    }

    /// How many rows have a verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }
}

/// Whether an inconclusive row leaves the gate undecided: not where a coarser one of the same latency decides. A single
/// stage yields to the mean over stages, and p99, which few campaigns have requests enough for, to the means of p50 and p90:
/// both are listed, and neither makes a gate that can see every change of the others say nothing.
fn decides(row: &Row, rows: &[Row]) -> bool {
    let coarser = |other: &Row| {
        let same = other.treatment == row.treatment && other.metric == row.metric;
        let stage = row.tier != Tier::Mean && other.statistic == row.statistic;
        let tail = row.statistic == Statistic::P99 && other.statistic != Statistic::P99;
        // A mean of which no stage can be gated decides nothing.
        other.tier == Tier::Mean && other.verdict.is_compared() && same && (stage || tail)
    };
    !rows.iter().any(coarser)
}

/// Worst first: by verdict, then by p-value, then the rows over all stages, then by how far the change goes.
fn rank(row: &Row) -> (Verdict, bool, f64, Tier, f64) {
    (row.verdict, row.waived.is_some(), row.p.unwrap_or(1.0), row.tier, -row.change.unwrap_or(0.0).abs())
}
