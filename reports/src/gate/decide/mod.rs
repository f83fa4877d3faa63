//! From two summaries to rows and a verdict.
//!
//! Order: failures first, because latencies of stages whose failure rate moved are void (survivor bias); then an effect
//! and its error for each cell; then the tests, corrected within each tier; then verdicts.

mod effect;
mod failures;
mod latencies;
mod limits;
mod tests_of_tier;
mod waivers;

use jiff::civil::Date;

use super::calibration::{Calibration, Tau};
use super::limits::Limits;
use super::metric::{Metric, Statistic};
use super::outcome::Outcome;
use super::rows::Row;
use super::summary::{Index, Summary};
use super::validity;

/// Tolerances below these are not believed: for the mean over stages, and for single stages.
pub const TOLERANCE_FLOORS: (f64, f64) = (0.03, 0.05);
/// Failure rates may differ by this much, whatever a test says.
pub const FAILURE_FLOOR: f64 = 0.005;
/// An improvement beyond this share is a reason to doubt the measurement.
pub const SUSPECT: f64 = 0.5;
/// Degrees of freedom behind a tau that the limits file names.
const NAMED_TAU_DF: f64 = 20.0;

/// What a decision rests on.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// What is tolerated.
    pub limits: &'a Limits,
    /// The campaign under test.
    pub new: &'a Summary,
    /// The baseline; without one only hard limits are judged.
    pub baseline: Option<&'a Summary>,
    /// How much runs differ by themselves.
    pub calibration: Option<&'a Calibration>,
    /// Today, for waivers.
    pub today: Date,
}

/// Compares and decides. Always the same outcome for the same inputs.
#[must_use]
pub fn decide(inputs: &Inputs<'_>) -> Outcome {
    let new = Index::new(inputs.new);
    let empty = Summary::default();
    let baseline = Index::new(inputs.baseline.unwrap_or(&empty));
    let view = View { inputs, new: &new, baseline: &baseline };
    let mut problems = validity::of_campaign(inputs.new, &inputs.limits.validity);
    let mut rows = Vec::new();
    if inputs.baseline.is_some() {
        problems.extend(validity::against_baseline(&new, &baseline, &inputs.limits.validity));
        let mut tested = failures::candidates(&view);
        let moved = failures::moved(&mut tested, inputs.limits.gate.alpha / 2.0);
        // Failure rates were looked at for the sake of latencies; they are rows only where the limits ask for them.
        tested.retain(|candidate| {
            let row = &candidate.row;
            let (treatment, stage) = (row.treatment.as_str(), row.stage.as_deref());
            inputs.limits.rule(Metric::Failed, Statistic::Rate, treatment, stage, false).is_some()
        });
        tested.extend(latencies::candidates(&view, &moved));
        rows = tests_of_tier::conclude(tested, &inputs.limits.gate);
    }
    rows.extend(limits::rows(&view));
    waivers::apply(&mut rows, &inputs.limits.waivers, inputs.today);
    Outcome::new(rows, problems, inputs.baseline.is_some())
}

/// Both summaries, indexed, with what to judge them by.
pub(super) struct View<'a> {
    pub inputs: &'a Inputs<'a>,
    pub new: &'a Index<'a>,
    pub baseline: &'a Index<'a>,
}

impl<'a> View<'a> {
    /// Treatments to compare: the baseline's first, then those that only the campaign has.
    fn treatments(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.baseline.treatments().collect();
        names.extend(self.new.treatments().filter(|name| self.baseline.stages(name).is_empty()));
        names
    }

    /// A treatment's stages on either side, in the order of execution.
    fn stages(&self, treatment: &str) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.baseline.stages(treatment).iter().map(|(name, _)| *name).collect();
        names.extend(
            self.new
                .stages(treatment)
                .iter()
                .map(|(name, _)| *name)
                .filter(|name| self.baseline.repetitions(treatment, name).is_empty()),
        );
        names
    }

    /// The noise to test a metric's statistic with.
    fn tau(&self, metric: Metric, statistic: Statistic) -> Option<Tau> {
        let noise = &self.inputs.limits.noise;
        match noise.tau {
            Some(tau) => {
                let tau = tau.max(noise.tau_floor);
                Some(Tau { stage: tau, mean: tau, df: NAMED_TAU_DF })
            }
            None => Some(self.inputs.calibration?.noise(metric, statistic)?.tau(noise.tau_floor)),
        }
    }
}

/// A row on its way to a verdict.
#[derive(Debug)]
pub(super) struct Candidate {
    pub row: Row,
    /// What is tested; `None` for rows that are concluded already.
    pub test: Option<Test>,
}

/// What is tested about a row: all on the scale on which worse is larger.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    /// Log change for the worse (failed: difference of rates).
    pub worse: f64,
    /// Standard error; `None` for exact tests and where the noise is unknown.
    pub error: Option<f64>,
    /// Degrees of freedom.
    pub df: f64,
    /// p-values of a change for the worse and for the better; `None` where the noise is unknown.
    pub p: Option<(f64, f64)>,
    /// Tolerated change on the same scale.
    pub tolerance: f64,
    /// Absolute change for the worse, in seconds, and what is tolerated of it.
    pub absolute: Option<(f64, f64)>,
}
