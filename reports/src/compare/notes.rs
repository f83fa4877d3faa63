//! What a comparison can and cannot tell, in sentences.

use super::{Comparison, MIN_REPETITIONS, Point, RUN_SPREAD, Series};
use crate::model::Metric;

pub(super) fn of(comparison: &Comparison) -> Vec<String> {
    let sides = [&comparison.baseline, &comparison.candidate];
    let mut notes = vec![repetitions(&sides)];
    notes.extend(intervals(&sides));
    for side in sides {
        notes.extend(failed_repetitions(side));
        notes.extend(failures(side));
        notes.extend(warm_up(side));
    }
    notes.extend(chunked(&sides));
    notes.extend(derived(&sides));
    notes.extend(small(&sides));
    notes
}

fn repetitions(sides: &[&Series; 2]) -> String {
    let fewest = sides.iter().map(|side| side.repetitions.len()).min().unwrap_or_default();
    match fewest {
        1 => format!(
            "One repetition shows what happened once. Where prefix groups land differs from run to run and moves request \
             rates by 10% and more, so differences of that size between two treatments cannot be told from chance; run at \
             least {MIN_REPETITIONS} repetitions to tell."
        ),
        fewest if fewest < MIN_REPETITIONS => format!(
            "{fewest} repetitions show a spread but cannot tell a difference from chance; run at least {MIN_REPETITIONS}."
        ),
        fewest => format!(
            "Numbers are medians of {fewest} repetitions; a difference counts only where it exceeds what runs differ by \
             among themselves."
        ),
    }
}

/// What intervals rest on, or why there are none.
fn intervals(sides: &[&Series; 2]) -> Vec<String> {
    let missing = |side: &&&Series| !side.points.iter().all(Point::is_sampled);
    let mut notes: Vec<String> = sides
        .iter()
        .filter(missing)
        .map(|side| format!("{}: no per-request records, so no confidence intervals (n/a).", side.name))
        .collect();
    let fewest = sides.iter().map(|side| side.repetitions.len()).min().unwrap_or_default();
    if notes.is_empty() && fewest < MIN_REPETITIONS {
        notes.push(format!(
            "Intervals of percentiles come from the requests of each run, taken as independent, and say nothing about how \
             runs differ. Verdicts therefore take runs to differ by {:.0}% (standard deviation) on top, which is an \
             assumption; repetitions would measure it.",
            RUN_SPREAD * 100.0
        ));
    }
    notes
}

fn failed_repetitions(side: &Series) -> Option<String> {
    let numbers: Vec<_> = side.failed.iter().map(|failed| failed.number.to_string()).collect();
    let (noun, verb) = if numbers.len() == 1 { ("repetition", "is") } else { ("repetitions", "are") };
    (!numbers.is_empty())
        .then(|| format!("{}: {noun} {} failed and {verb} in no number here.", side.name, numbers.join(", ")))
}

fn failures(side: &Series) -> Option<String> {
    let failures = side.totals.failures?;
    (failures > 0).then(|| {
        format!(
            "{}: {failures} of {} requests failed (warm-up included). Latencies are of the requests that succeeded, which \
             look faster the more of the slow ones fail.",
            side.name, side.totals.requests
        )
    })
}

fn warm_up(side: &Series) -> Option<String> {
    let stages: Vec<_> = side.warm_up.iter().map(|point| format!("{} (level {})", point.stage, point.level)).collect();
    (!stages.is_empty()).then(|| {
        format!("{}: warm-up left out of curves and counted in failures: stage {}.", side.name, stages.join(", "))
    })
}

fn chunked(sides: &[&Series; 2]) -> Option<String> {
    let chunked = |side: &&&Series| side.points.iter().any(Point::itl_is_chunked);
    let names: Vec<_> = sides.iter().filter(chunked).map(|side| side.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: several tokens arrive in one chunk, so the median inter-token latency is near 0 and says nothing; read TPOT \
             instead.",
            names.join(", ")
        )
    })
}

fn derived(sides: &[&Series; 2]) -> Option<String> {
    let derived = |side: &&&Series| {
        let mut stages = side.points.iter().flat_map(|point| &point.repetitions);
        stages.any(|(_, stage)| stage.throughput.input_tokens_derived)
    };
    sides.iter().any(|side| derived(&side)).then(|| "Input token rates are total minus output.".into())
}

/// Stages so small that their tails are single requests.
fn small(sides: &[&Series; 2]) -> Option<String> {
    const FEW: f64 = 100.0;
    let few = |point: &&Point| point.median(Metric::Requests).is_some_and(|requests| requests < FEW);
    let levels: Vec<_> = sides[0].points.iter().filter(few).map(|point| point.level.to_string()).collect();
    (!levels.is_empty()).then(|| {
        format!(
            "Stages of fewer than {FEW} requests (level {}) show a tendency; their p90 and above rest on a few requests.",
            levels.join(", ")
        )
    })
}
