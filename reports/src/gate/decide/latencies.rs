//! Latencies and throughput: an effect with its error for each stage and for the mean over stages.

use super::super::limits::Bound;
use super::super::metric::{Metric, Statistic};
use super::super::rows::{Note, Row, Sides, Tier, Verdict};
use super::super::summary::StageSummary;
use super::effect::{Effect, Normaliser, Side};
use super::failures::Moved;
use super::{Candidate, TOLERANCE_FLOORS, Test, View};
use crate::statistics::significance::{critical_value, upper_tail};

/// Below this share of the offered rate a stage is called saturated.
const SATURATED: f64 = 0.9;

pub(super) fn candidates(view: &View<'_>, moved: &Moved) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (metric, statistic) in view.inputs.limits.measured(false) {
        if metric == Metric::Failed {
            continue;
        }
        let cells = Cells { view, moved, metric, statistic };
        let normaliser = cells.normaliser();
        for treatment in view.treatments() {
            cells.treatment(treatment, normaliser, &mut found);
        }
    }
    found
}

/// The cells of one metric's statistic.
struct Cells<'a> {
    view: &'a View<'a>,
    moved: &'a Moved,
    metric: Metric,
    statistic: Statistic,
}

impl Cells<'_> {
    fn normalising_treatment(&self) -> Option<&str> {
        self.view.inputs.limits.noise.normalise_by.as_deref()
    }

    /// The normaliser's change over the stages that are usable on both sides.
    fn normaliser(&self) -> Option<Normaliser> {
        let treatment = self.normalising_treatment()?;
        let tau = self.view.tau(self.metric, self.statistic)?;
        let effects: Vec<Effect> = self
            .view
            .stages(treatment)
            .into_iter()
            // What a saturated plain Service does is its queue, not the cluster.
            .filter(|stage| !self.is_saturated(treatment, stage))
            .filter(|stage| !self.moved.contains(&(treatment.to_owned(), (*stage).to_owned())))
            .filter_map(|stage| self.effect(treatment, stage).ok())
            .collect();
        Normaliser::new(&effects, tau)
    }

    fn treatment(&self, treatment: &str, normaliser: Option<Normaliser>, found: &mut Vec<Candidate>) {
        let mut usable = Vec::new();
        let mut stages = 0;
        for stage in self.view.stages(treatment) {
            if self.rule(treatment, Some(stage)).is_none() {
                continue;
            }
            stages += 1;
            let mut row = self.row(treatment, Some(stage));
            if self.is_saturated(treatment, stage) {
                row.notes.push(Note::Saturated);
            }
            match self.effect(treatment, stage) {
                Err((verdict, reason)) => {
                    self.fill_values(&mut row, stage);
                    row.conclude(verdict, reason);
                    found.push(Candidate { row, test: None });
                }
                Ok(effect) if self.moved.contains(&(treatment.to_owned(), stage.to_owned())) => {
                    self.describe(&mut row, &effect);
                    row.conclude(
                        Verdict::Void,
                        "the failure rate moved: the latencies of the survivors do not compare",
                    );
                    found.push(Candidate { row, test: None });
                }
                Ok(effect) => {
                    found.push(self.candidate(row, &effect, normaliser));
                    usable.push(effect);
                }
            }
        }
        if stages > 1 && self.rule(treatment, None).is_some() {
            let mut row = self.row(treatment, None);
            match Effect::mean(&usable) {
                Some(mean) => found.push(self.candidate(row, &mean, normaliser)),
                None => {
                    row.conclude(Verdict::NotGated, "no stage of it can be gated");
                    found.push(Candidate { row, test: None });
                }
            }
        }
    }

    fn row(&self, treatment: &str, stage: Option<&str>) -> Row {
        let tier = if stage.is_some() { Tier::Stage } else { Tier::Mean };
        Row::new(treatment, self.metric, self.statistic, stage, tier)
    }

    fn rule(&self, treatment: &str, stage: Option<&str>) -> Option<(Option<f64>, Option<f64>)> {
        match self.view.inputs.limits.rule(self.metric, self.statistic, treatment, stage, false)?.bound {
            Bound::Relative { tolerance, floor } => Some((tolerance, floor)),
            Bound::Absolute { .. } => None,
        }
    }

    /// The change of a cell, or why it cannot be gated.
    fn effect(&self, treatment: &str, stage: &str) -> Result<Effect, (Verdict, String)> {
        let new = self.view.new.repetitions(treatment, stage);
        let baseline = self.view.baseline.repetitions(treatment, stage);
        match (new.is_empty(), baseline.is_empty()) {
            (true, _) => {
                return Err((Verdict::Missing, "the campaign has no such stage, which the baseline has".into()));
            }
            (_, true) => return Err((Verdict::NotGated, "not in the baseline".into())),
            _ => {}
        }
        let side = |repetitions: &[&StageSummary]| Side::new(repetitions, self.metric, self.statistic);
        let (new_side, baseline_side) = (side(new), side(baseline));
        match (new_side.repetitions, baseline_side.repetitions) {
            (0, 0) => return Err((Verdict::NotGated, "neither side has a usable value".into())),
            (0, _) => {
                return Err((Verdict::Missing, "the campaign has no usable value, which the baseline has".into()));
            }
            (_, 0) => return Err((Verdict::NotGated, "the baseline has no usable value".into())),
            _ => {}
        }
        let samples = new_side.samples.min(baseline_side.samples);
        if !self.statistic.is_supported_by(samples) {
            return Err((
                Verdict::NotGated,
                format!("{samples} samples are too few for {}: ten must lie beyond it", self.statistic),
            ));
        }
        Ok(Effect::between(new_side, baseline_side))
    }

    fn is_saturated(&self, treatment: &str, stage: &str) -> bool {
        let ratio = |stages: &[&StageSummary]| {
            let ratios: Vec<f64> = stages.iter().filter_map(|stage| stage.throughput_ratio()).collect();
            (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
        };
        let sides = [self.view.new.repetitions(treatment, stage), self.view.baseline.repetitions(treatment, stage)];
        sides.into_iter().filter_map(ratio).any(|ratio| ratio < SATURATED)
    }

    fn fill_values(&self, row: &mut Row, stage: &str) {
        let side = |repetitions: &[&StageSummary]| Side::new(repetitions, self.metric, self.statistic);
        let new = side(self.view.new.repetitions(&row.treatment, stage));
        let baseline = side(self.view.baseline.repetitions(&row.treatment, stage));
        let value = |side: &Side| (side.repetitions > 0).then(|| side.log.exp());
        row.values = Sides { new: value(&new), baseline: value(&baseline) };
        row.samples = Sides { new: new.samples, baseline: baseline.samples };
        row.repetitions = Sides { new: new.repetitions, baseline: baseline.repetitions };
        row.raw_change = row.values.new.zip(row.values.baseline).map(|(new, baseline)| new / baseline - 1.0);
    }

    fn describe(&self, row: &mut Row, effect: &Effect) {
        row.samples = effect.samples;
        row.repetitions = effect.repetitions;
        row.values = Sides { new: Some(effect.logs.new.exp()), baseline: Some(effect.logs.baseline.exp()) };
        row.raw_change = Some(effect.change().exp_m1());
        row.notes.extend(effect.notes());
    }

    fn candidate(&self, mut row: Row, effect: &Effect, normaliser: Option<Normaliser>) -> Candidate {
        self.describe(&mut row, effect);
        let (tolerance, floor) = self.rule(&row.treatment, row.stage.as_deref()).unwrap_or_default();
        let least = if row.tier == Tier::Mean { TOLERANCE_FLOORS.0 } else { TOLERANCE_FLOORS.1 };
        let tolerance = tolerance.unwrap_or(0.0).max(least);
        row.tolerance = Some(tolerance);
        row.floor = floor;
        let normalising = self.normalising_treatment();
        if normalising == Some(row.treatment.as_str()) {
            row.conclude(Verdict::NotGated, "the others are normalised by it");
            return Candidate { row, test: None };
        }
        let mut change = effect.change();
        let mut extra = 0.0;
        if let (Some(_), Some(normaliser)) = (normalising, normaliser) {
            change -= normaliser.change;
            extra = normaliser.variance;
            row.notes.push(Note::Normalised);
        }
        row.change = Some(change.exp_m1());
        let baseline = effect.logs.baseline.exp();
        if floor.is_some_and(|floor| floor > tolerance * baseline) {
            row.notes.push(Note::Blind);
        }
        let tau = self.view.tau(self.metric, self.statistic);
        if normalising.is_some() && normaliser.is_none() && tau.is_some() {
            row.conclude(Verdict::Inconclusive, "the treatment to normalise by has no usable stage");
            return Candidate { row, test: None };
        }
        let sign = if self.metric.higher_is_better() { -1.0 } else { 1.0 };
        let worse = sign * change;
        // Throughput falls by a share: -3% is a log change of ln 0.97.
        let tolerance = if sign < 0.0 { -(-tolerance.min(0.99)).ln_1p() } else { tolerance.ln_1p() };
        let absolute = floor.map(|floor| (sign * baseline * change.exp_m1(), floor));
        let Some(tau) = tau else {
            let test = Test { worse, error: None, df: 0.0, p: None, tolerance, absolute };
            return Candidate { row, test: Some(test) };
        };
        let between = if row.tier == Tier::Mean { tau.mean } else { tau.stage };
        let errors = effect.errors(between, extra);
        let half = critical_value(0.025, tau.df) * errors.total;
        row.interval = Some([(change - half).exp_m1(), (change + half).exp_m1()]);
        row.error = Some(errors);
        row.df = Some(tau.df);
        let t = worse / errors.total;
        let p = Some((upper_tail(t, tau.df), upper_tail(-t, tau.df)));
        let test = Test { worse, error: Some(errors.total), df: tau.df, p, tolerance, absolute };
        Candidate { row, test: Some(test) }
    }
}
