//! From a treatment's repetitions to its curve.

use std::collections::BTreeMap;

use super::{Error, Options, Point, Series, SloResult, Totals, Turn};
use crate::campaign::Treatment;
use crate::model::{Failure, Metric, Quantity, Stage, Statistic};

/// TTFT p50 beyond this multiple of its value at the lowest level has left its light-load level.
pub const KNEE_FACTOR: f64 = 2.0;
/// Output token rates within this share of the peak are at saturation.
pub const SATURATION_SHARE: f64 = 0.9;

/// A treatment over its ladder: repetitions side by side, warm-up stages apart.
pub fn series(treatment: &Treatment, options: &Options) -> Result<Series, Error> {
    let (mut points, warm_up) = points(treatment)?;
    points.sort_by(|a, b| a.level.value().total_cmp(&b.level.value()));
    if let Some(pair) = points.windows(2).find(|pair| pair[0].level.axis() != pair[1].level.axis()) {
        let (treatment, stage) = (treatment.name.clone(), pair[1].stage);
        return Err(Error::MixedAxes { treatment, stage });
    }
    let slo = options.slo.as_ref().map(|slo| SloResult::over(slo, &points));
    Ok(Series {
        name: treatment.name.clone(),
        display_name: treatment.display_name.clone(),
        repetitions: treatment.repetitions.iter().map(|repetition| repetition.number).collect(),
        failed: treatment.failed.clone(),
        stack: treatment.stack.clone(),
        peak: peak(&points),
        knee: knee(&points),
        saturation: saturation(&points),
        totals: totals(treatment),
        slo,
        points,
        warm_up,
    })
}

/// Points of the curve, and of the warm-up: a stage that is declared so, or whose level comes again later.
fn points(treatment: &Treatment) -> Result<(Vec<Point>, Vec<Point>), Error> {
    let mut repetitions: Vec<_> = treatment.repetitions.iter().collect();
    repetitions.sort_by_key(|repetition| repetition.number);
    let (mut curve, mut warm_up) = (BTreeMap::new(), BTreeMap::new());
    for repetition in repetitions {
        for (index, stage) in repetition.stages.iter().enumerate() {
            let name = || treatment.name.clone();
            let level = stage.level().ok_or_else(|| Error::NoLevel { treatment: name(), stage: stage.number })?;
            let later = &repetition.stages[index + 1..];
            let again = |later: &Stage| !later.warm_up && later.level().is_some_and(|later| later.same(level));
            let side = if stage.warm_up || later.iter().any(again) { &mut warm_up } else { &mut curve };
            let new = || Point { level, stage: stage.number, repetitions: Vec::new() };
            let point: &mut Point = side.entry(stage.number).or_insert_with(new);
            point.repetitions.push((repetition.number, stage.clone()));
        }
    }
    Ok((curve.into_values().collect(), warm_up.into_values().collect()))
}

fn totals(treatment: &Treatment) -> Totals {
    let stages = || treatment.repetitions.iter().flat_map(|repetition| &repetition.stages);
    let mut labels: BTreeMap<&str, u64> = BTreeMap::new();
    for failure in stages().flat_map(|stage| &stage.requests.failures_by_label) {
        *labels.entry(&failure.label).or_default() += failure.count;
    }
    let mut by_label: Vec<_> =
        labels.into_iter().map(|(label, count)| Failure { label: label.into(), count }).collect();
    by_label.sort_by_key(|failure| std::cmp::Reverse(failure.count));
    Totals {
        requests: stages().map(|stage| stage.requests.total).sum(),
        failures: stages().map(|stage| stage.requests.failures).sum(),
        by_label,
    }
}

fn peak(points: &[Point]) -> Option<Turn> {
    let metric = Metric::OutputTokenRate;
    let rates =
        points.iter().filter_map(|point| Some(Turn { level: point.level, metric, value: point.median(metric)? }));
    // The lowest level among equals: more load brought nothing.
    rates.fold(None, |best: Option<Turn>, turn| match best {
        Some(best) if best.value >= turn.value => Some(best),
        _ => Some(turn),
    })
}

fn knee(points: &[Point]) -> Option<Turn> {
    let metric = Metric::Latency(Quantity::Ttft, Statistic::P50);
    let known: Vec<_> = points
        .iter()
        .filter_map(|point| Some(Turn { level: point.level, metric, value: point.median(metric)? }))
        .collect();
    let light = known.first()?.value;
    // From the top down, as long as every level is above: one high stage below the knee is noise.
    known.into_iter().rev().take_while(|turn| turn.value > KNEE_FACTOR * light).last()
}

fn saturation(points: &[Point]) -> Option<Turn> {
    let metric = Metric::OutputTokenRate;
    let peak = peak(points)?;
    let known =
        points.iter().filter_map(|point| Some(Turn { level: point.level, metric, value: point.median(metric)? }));
    let known: Vec<_> = known.collect();
    let first = known.iter().position(|turn| turn.value >= SATURATION_SHARE * peak.value)?;
    // Without a higher level nobody knows whether more load would have brought more.
    (peak.value > 0.0 && first + 1 < known.len()).then(|| known[first])
}
