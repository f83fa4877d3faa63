//! The limits file: what the gate tolerates (`config/regression.yaml`).

mod check;
mod grammar;
mod parse;
mod problem;
#[cfg(test)]
mod tests;

use jiff::civil::Date;

use super::metric::{Metric, Statistic};

pub use check::unmatched;
pub use parse::{parse, read};
pub use problem::{Error, Problem};

/// The newest limits file version that is understood.
pub const VERSION: u32 = 1;

/// A limits file, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// How much runs differ by themselves.
    pub noise: Noise,
    /// When the gate decides.
    pub gate: Gate,
    /// What a campaign must satisfy before its latencies mean anything.
    pub validity: Validity,
    /// What is tolerated, in the file's order.
    pub rules: Vec<Rule>,
    /// What is accepted for now.
    pub waivers: Vec<Waiver>,
}

/// How much runs differ by themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// A named between-run standard deviation (a share); `None` takes the baseline's calibration.
    pub tau: Option<f64>,
    /// The smallest that is believed (a share).
    pub tau_floor: f64,
    /// The treatment whose change is taken out of the others'.
    pub normalise_by: Option<String>,
}

/// When the gate decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Chance of a false alarm of the whole gate; half of it for each tier.
    pub alpha: f64,
    /// Above this minimum detectable effect the mean over stages says nothing.
    pub max_mde: f64,
    /// The same for a single stage.
    pub max_stage_mde: f64,
    /// What an inconclusive gate means.
    pub on_inconclusive: OnInconclusive,
}

/// What an inconclusive gate means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnInconclusive {
    /// It is reported and passes.
    Warn,
    /// It fails with its own exit code.
    Fail,
}

/// What a campaign must satisfy before its latencies mean anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Validity {
    /// How far the mean output tokens may be from the baseline's (a share).
    pub output_tokens: f64,
    /// How late the 90th percentile of requests may be sent, in seconds.
    pub schedule_delay: f64,
}

impl Default for Noise {
    fn default() -> Self {
        Self { tau: None, tau_floor: 0.02, normalise_by: None }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self { alpha: 0.01, max_mde: 0.15, max_stage_mde: 0.5, on_inconclusive: OnInconclusive::Warn }
    }
}

impl Default for Validity {
    fn default() -> Self {
        Self { output_tokens: 0.1, schedule_delay: 0.25 }
    }
}

/// One line of `thresholds`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Of which metric.
    pub metric: Metric,
    /// Of which statistic.
    pub statistic: Statistic,
    /// For which rows.
    pub selector: Selector,
    /// What is tolerated.
    pub bound: Bound,
    /// Where the line is and what it says.
    pub origin: Origin,
}

/// Which rows a rule is for; `None` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The stage (`rate=20`).
    pub stage: Option<String>,
    /// The treatment.
    pub treatment: Option<String>,
}

/// What a rule tolerates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Against the baseline: allowed while either is not exceeded.
    Relative {
        /// Tolerated relative change for the worse (failed: difference of the rates); `None` tolerates none by itself.
        tolerance: Option<f64>,
        /// Tolerated absolute change for the worse, in seconds.
        floor: Option<f64>,
    },
    /// A hard limit that needs no baseline: the largest value (throughput: the smallest).
    Absolute {
        /// Seconds, or a share.
        limit: f64,
        /// Whether the limit itself is allowed.
        inclusive: bool,
    },
}

/// Where a line of the file is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// From 1; 0 when the rule is from no file.
    pub line: u64,
    /// From 1.
    pub column: u64,
    /// The line as written.
    pub text: String,
}

/// Accepts a row's regression until a day.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiver {
    /// Metric, statistic and optional selector.
    pub metric: Metric,
    /// `None` accepts all statistics of the metric.
    pub statistic: Option<Statistic>,
    /// For which rows.
    pub selector: Selector,
    /// The last day on which it holds.
    pub until: Date,
    /// Why.
    pub reason: String,
    /// The issue that tracks it.
    pub issue: Option<u64>,
    /// Where it is.
    pub origin: Origin,
}

impl Selector {
    /// Whether the selector takes a row of this treatment and stage; the row over all stages is `None`.
    #[must_use]
    pub fn matches(&self, treatment: &str, stage: Option<&str>) -> bool {
        self.treatment.as_deref().is_none_or(|wanted| wanted == treatment)
            && self.stage.as_deref().is_none_or(|wanted| Some(wanted) == stage)
    }

    fn specificity(&self) -> usize {
        usize::from(self.treatment.is_some()) + usize::from(self.stage.is_some())
    }
}

impl Limits {
    /// The most specific rule of a kind for a row: the last of those that name most.
    #[must_use]
    pub fn rule(
        &self,
        metric: Metric,
        statistic: Statistic,
        treatment: &str,
        stage: Option<&str>,
        absolute: bool,
    ) -> Option<&Rule> {
        self.rules
            .iter()
            .filter(|rule| rule.metric == metric && rule.statistic == statistic)
            .filter(|rule| matches!(rule.bound, Bound::Absolute { .. }) == absolute)
            .filter(|rule| rule.selector.matches(treatment, stage))
            .max_by_key(|rule| rule.selector.specificity())
    }

    /// The metrics and statistics that any rule of a kind is about, in the order of the file.
    #[must_use]
    pub fn measured(&self, absolute: bool) -> Vec<(Metric, Statistic)> {
        let mut found = Vec::new();
        for rule in self.rules.iter().filter(|rule| matches!(rule.bound, Bound::Absolute { .. }) == absolute) {
            if !found.contains(&(rule.metric, rule.statistic)) {
                found.push((rule.metric, rule.statistic));
            }
        }
        found
    }
}
