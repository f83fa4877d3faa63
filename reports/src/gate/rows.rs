//! The gate's rows: what was compared, with what result.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::metric::{Metric, Statistic};

/// One comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Of which treatment.
    pub treatment: String,
    /// Of which metric.
    pub metric: Metric,
    /// Of which statistic.
    pub statistic: Statistic,
    /// The stage; `None` for the mean over stages.
    pub stage: Option<String>,
    /// Which family of tests it belongs to.
    pub tier: Tier,
    /// Samples over all repetitions.
    pub samples: Sides<u64>,
    /// Repetitions.
    pub repetitions: Sides<u64>,
    /// Raw values, geometric means over repetitions (and stages): seconds or shares.
    pub values: Sides<Option<f64>>,
    /// The raw relative change (failed: difference), before normalisation.
    pub raw_change: Option<f64>,
    /// What was tested: as `raw_change`, with the normaliser's change taken out where the limits ask for it.
    pub change: Option<f64>,
    /// 95% confidence interval of `change`.
    pub interval: Option<[f64; 2]>,
    /// Standard error of the log change, by origin.
    pub error: Option<ErrorParts>,
    /// Degrees of freedom of the t value.
    pub df: Option<f64>,
    /// One-sided p-value of a change for the worse.
    pub p: Option<f64>,
    /// The same after Holm's correction within the tier.
    pub p_adjusted: Option<f64>,
    /// The smallest true change that 95 of 100 campaigns would find.
    pub mde95: Option<f64>,
    /// Tolerated change: a share, or a difference for `failed`.
    pub tolerance: Option<f64>,
    /// Tolerated absolute change in seconds.
    pub floor: Option<f64>,
    /// A hard limit, in seconds or as a share.
    pub limit: Option<f64>,
    /// The decision.
    pub verdict: Verdict,
    /// Why, where the verdict alone does not say it.
    pub reason: Option<String>,
    /// What to know about the numbers.
    pub notes: Vec<Note>,
    /// Why its regression is accepted for now.
    pub waived: Option<String>,
}

/// A family of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Means over the stages of a treatment.
    Mean,
    /// Single stages.
    Stage,
    /// Hard limits: no test.
    Limit,
}

/// The new campaign's number and the baseline's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sides<T> {
    /// Of the campaign under test.
    pub new: T,
    /// Of the baseline.
    pub baseline: T,
}

/// Where a row's uncertainty comes from: standard errors of the log change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorParts {
    /// From the number of requests.
    pub sampling: f64,
    /// From the number of repetitions.
    pub between_runs: f64,
    /// From the treatment that the row is normalised by.
    pub normaliser: f64,
    /// Together.
    pub total: f64,
}

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Significantly worse, beyond tolerance and floor; or beyond a hard limit.
    Regression,
    /// Better by more than half: more likely a broken measurement.
    Suspect,
    /// In the baseline and not in the campaign.
    Missing,
    /// Nothing can be said: too much noise, or none known.
    Inconclusive,
    /// Latencies of stages whose failure rate moved.
    Void,
    /// Reported, not gated.
    NotGated,
    /// Significantly better.
    Improvement,
    /// No change beyond what is tolerated.
    Pass,
}

/// What to know about a row's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The error is from summary percentiles.
    Approximate,
    /// The error allows for requests that depend on one another.
    Blocks,
    /// The absolute floor is larger than the tolerance: changes between the two pass.
    Blind,
    /// The stage was saturated: completed rate well below the offered.
    Saturated,
    /// Changes of the normalising treatment are taken out.
    Normalised,
}

impl Verdict {
    /// Whether the row was really compared.
    #[must_use]
    pub fn is_compared(self) -> bool {
        matches!(self, Self::Regression | Self::Suspect | Self::Inconclusive | Self::Improvement | Self::Pass)
    }

    /// The word in documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Suspect => "suspect",
            Self::Missing => "missing",
            Self::Inconclusive => "inconclusive",
            Self::Void => "void",
            Self::NotGated => "not gated",
            Self::Improvement => "improvement",
            Self::Pass => "pass",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl Row {
    /// An empty row, to be filled by what decides on it.
    #[must_use]
    pub fn new(treatment: &str, metric: Metric, statistic: Statistic, stage: Option<&str>, tier: Tier) -> Self {
        Self {
            treatment: treatment.into(),
            metric,
            statistic,
            stage: stage.map(Into::into),
            tier,
            samples: Sides::default(),
            repetitions: Sides::default(),
            values: Sides::default(),
            raw_change: None,
            change: None,
            interval: None,
            error: None,
            df: None,
            p: None,
            p_adjusted: None,
            mde95: None,
            tolerance: None,
            floor: None,
            limit: None,
            verdict: Verdict::NotGated,
            reason: None,
            notes: Vec::new(),
            waived: None,
        }
    }

    /// The row's name: `ttft p90, rate=20, agentgateway-standalone`.
    #[must_use]
    pub fn name(&self) -> String {
        let stage = self.stage.as_deref().unwrap_or("all stages");
        let limit = if self.tier == Tier::Limit { ", hard limit" } else { "" };
        format!("{} {}, {stage}, {}{limit}", self.metric, self.statistic, self.treatment)
    }

    /// Sets verdict and reason.
    pub fn conclude(&mut self, verdict: Verdict, reason: impl Into<String>) {
        self.verdict = verdict;
        self.reason = Some(reason.into());
    }
}
