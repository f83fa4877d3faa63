//! Selectors must match: a limit that is about nothing looks like a limit that holds.

use std::collections::BTreeSet;

use super::super::calibration::measured;
use super::super::metric::{Metric, Statistic};
use super::super::summary::{Index, StageSummary};
use super::{Bound, Limits, Problem, Selector};

/// Lines and waivers that match no row of either side, and a normalising treatment that the campaign does not have.
#[must_use]
pub fn unmatched(limits: &Limits, new: &Index<'_>, baseline: &Index<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let sides = [new, baseline];
    for rule in &limits.rules {
        // A hard limit is about the campaign alone.
        let sides = if matches!(rule.bound, Bound::Absolute { .. }) { &sides[..1] } else { &sides[..] };
        if !matches_any(sides, &rule.selector, rule.metric, Some(rule.statistic)) {
            problems.push(Problem {
                line: rule.origin.line,
                column: rule.origin.column,
                message: nothing(sides, &rule.selector, rule.metric, Some(rule.statistic)),
            });
        }
    }
    for waiver in &limits.waivers {
        if !matches_any(&sides, &waiver.selector, waiver.metric, waiver.statistic) {
            problems.push(Problem {
                line: waiver.origin.line,
                column: waiver.origin.column,
                message: nothing(&sides, &waiver.selector, waiver.metric, waiver.statistic),
            });
        }
    }
    let normaliser = limits.noise.normalise_by.as_ref();
    if let Some(treatment) = normaliser.filter(|name| new.stages(name).is_empty()) {
        let message = format!(
            "noise.normalise_by: the campaign has no treatment `{treatment}`; it has {}. Measure it too, or say `none`",
            list(new.treatments())
        );
        problems.push(Problem { line: 0, column: 0, message });
    }
    problems
}

fn matches_any(sides: &[&Index<'_>], selector: &Selector, metric: Metric, statistic: Option<Statistic>) -> bool {
    stages(sides, selector).any(|stage| has(stage, metric, statistic))
}

fn stages<'a>(sides: &'a [&Index<'a>], selector: &'a Selector) -> impl Iterator<Item = &'a StageSummary> {
    sides.iter().flat_map(|side| side.treatments().map(move |treatment| (side, treatment))).flat_map(
        move |(side, treatment)| {
            side.stages(treatment)
                .iter()
                .filter(move |(stage, _)| selector.matches(treatment, Some(stage)))
                .flat_map(|(_, repetitions)| repetitions.iter().copied())
        },
    )
}

fn has(stage: &StageSummary, metric: Metric, statistic: Option<Statistic>) -> bool {
    match metric {
        Metric::Failed => stage.failures.is_some(),
        _ => Statistic::of(metric).iter().filter(|known| statistic.is_none_or(|wanted| wanted == **known)).any(
            |&statistic| stage.quantile(metric, statistic).is_some() || measured(stage, metric, statistic).is_some(),
        ),
    }
}

fn nothing(sides: &[&Index<'_>], selector: &Selector, metric: Metric, statistic: Option<Statistic>) -> String {
    let treatments: BTreeSet<&str> = sides.iter().flat_map(|side| side.treatments()).collect();
    let names: BTreeSet<&str> = sides
        .iter()
        .flat_map(|side| side.treatments().flat_map(|treatment| side.stages(treatment)))
        .map(|(stage, _)| *stage)
        .collect();
    match (&selector.treatment, &selector.stage) {
        (Some(treatment), _) if !treatments.contains(treatment.as_str()) => {
            format!("matches nothing: there is no treatment `{treatment}`; there is {}", list(treatments))
        }
        (_, Some(stage)) if !names.contains(stage.as_str()) => {
            format!("matches nothing: there is no stage `{stage}`; there is {}", list(names))
        }
        _ => {
            let statistic = statistic.map(|statistic| format!(" {statistic}")).unwrap_or_default();
            format!("matches nothing: no stage has {metric}{statistic}")
        }
    }
}

fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
