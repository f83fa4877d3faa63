//! Failure rates: Fisher's exact test for each stage and over all stages.

use std::collections::BTreeSet;

use super::super::limits::Bound;
use super::super::metric::{Metric, Statistic};
use super::super::rows::{Row, Sides, Tier, Verdict};
use super::super::summary::StageSummary;
use super::{Candidate, FAILURE_FLOOR, Test, View};
use crate::statistics::significance::{Proportion, fisher_exact, holm};

/// Treatments and stages whose failure rate moved.
pub(super) type Moved = BTreeSet<(String, String)>;

pub(super) fn candidates(view: &View<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for treatment in view.treatments() {
        let mut all = Sides { new: Proportion::default(), baseline: Proportion::default() };
        let stages = view.stages(treatment);
        for &stage in &stages {
            let sides = Sides {
                new: proportion(view.new.repetitions(treatment, stage)),
                baseline: proportion(view.baseline.repetitions(treatment, stage)),
            };
            if let (Some(new), Some(baseline)) = (sides.new, sides.baseline) {
                add(&mut all.new, new);
                add(&mut all.baseline, baseline);
            }
            found.extend(candidate(view, treatment, Some(stage), sides));
        }
        let some = |side: Proportion| (side.total > 0).then_some(side);
        if stages.len() > 1 {
            let sides = Sides { new: some(all.new), baseline: some(all.baseline) };
            found.extend(candidate(view, treatment, None, sides));
        }
    }
    found
}

/// Stages whose failure rate moved in either direction, significantly and beyond the floor.
pub(super) fn moved(candidates: &mut [Candidate], alpha: f64) -> Moved {
    let stages: Vec<&Candidate> =
        candidates.iter().filter(|candidate| candidate.row.stage.is_some() && candidate.test.is_some()).collect();
    let either: Vec<f64> = stages
        .iter()
        .map(|candidate| {
            let (worse, better) = candidate.test.and_then(|test| test.p).unwrap_or((1.0, 1.0));
            (2.0 * worse.min(better)).min(1.0)
        })
        .collect();
    stages
        .iter()
        .zip(holm(&either))
        .filter(|(candidate, p)| *p < alpha && candidate.test.is_some_and(|test| test.worse.abs() > FAILURE_FLOOR))
        .filter_map(|(candidate, _)| Some((candidate.row.treatment.clone(), candidate.row.stage.clone()?)))
        .collect()
}

fn candidate(
    view: &View<'_>,
    treatment: &str,
    stage: Option<&str>,
    sides: Sides<Option<Proportion>>,
) -> Option<Candidate> {
    let tier = if stage.is_some() { Tier::Stage } else { Tier::Mean };
    let mut row = Row::new(treatment, Metric::Failed, Statistic::Rate, stage, tier);
    let rule = view.inputs.limits.rule(Metric::Failed, Statistic::Rate, treatment, stage, false);
    row.values =
        Sides { new: sides.new.and_then(Proportion::rate), baseline: sides.baseline.and_then(Proportion::rate) };
    row.samples =
        Sides { new: sides.new.map_or(0, |side| side.total), baseline: sides.baseline.map_or(0, |side| side.total) };
    let count = |index: &super::Index<'_>| match stage {
        Some(stage) => index.repetitions(treatment, stage).len() as u64,
        None => index.stages(treatment).iter().map(|(_, repetitions)| repetitions.len() as u64).min().unwrap_or(0),
    };
    row.repetitions = Sides { new: count(view.new), baseline: count(view.baseline) };
    // Without a rule the row is still needed to find void latencies, but is not shown.
    let tolerance = match rule.map(|rule| rule.bound) {
        Some(Bound::Relative { tolerance, .. }) => tolerance.unwrap_or(0.0).max(FAILURE_FLOOR),
        _ => FAILURE_FLOOR,
    };
    row.tolerance = Some(tolerance);
    let (Some(new), Some(baseline)) = (sides.new, sides.baseline) else {
        rule?;
        let (verdict, reason) = match (sides.new, sides.baseline) {
            (None, Some(_)) => (Verdict::Missing, "the campaign has no failure count that the baseline has"),
            (Some(_), None) => (Verdict::NotGated, "not in the baseline"),
            _ => (Verdict::NotGated, "neither side counts failures"),
        };
        row.conclude(verdict, reason);
        return Some(Candidate { row, test: None });
    };
    let difference = new.rate()? - baseline.rate()?;
    row.raw_change = Some(difference);
    row.change = Some(difference);
    if new.failures + baseline.failures == 0 {
        // Nothing to test, so it takes no share of alpha either.
        row.verdict = Verdict::Pass;
        return Some(Candidate { row, test: None });
    }
    let p = (fisher_exact(new, baseline), fisher_exact(baseline, new));
    let test = Test { worse: difference, error: None, df: 0.0, p: Some(p), tolerance, absolute: None };
    Some(Candidate { row, test: Some(test) })
}

fn proportion(repetitions: &[&StageSummary]) -> Option<Proportion> {
    let mut sum = Proportion::default();
    for stage in repetitions {
        add(&mut sum, Proportion { failures: stage.failures?.min(stage.requests), total: stage.requests });
    }
    (sum.total > 0).then_some(sum)
}

fn add(sum: &mut Proportion, other: Proportion) {
    sum.failures += other.failures;
    sum.total += other.total;
}
