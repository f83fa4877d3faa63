//! Objectives: which rates meet them, and how many requests a second are good.

use serde::Serialize;

use crate::compare::{Attainment, Bounds, Series};
use crate::model::{Level, Objective};
use crate::render::text::{ABSENT, fixed, plain};

/// How treatments meet the objectives.
#[derive(Clone, Debug, Serialize)]
pub struct Objectives {
    /// The objectives in words.
    pub objectives: Vec<String>,
    /// What places a stage on the ladder.
    pub axis: String,
    /// One row a treatment.
    pub highest: Vec<Highest>,
    /// One row a level and treatment.
    pub rows: Vec<Row>,
}

/// How far up a treatment meets them.
#[derive(Clone, Debug, Serialize)]
pub struct Highest {
    /// The treatment.
    pub treatment: String,
    /// The highest level up to which all levels certainly meet every objective.
    pub level: String,
    /// Good requests a second there.
    pub goodput: String,
}

/// One level of a treatment.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The level.
    pub level: String,
    /// The treatment.
    pub treatment: String,
    /// The share within each limit.
    pub each: Vec<String>,
    /// The share within all limits.
    pub all: String,
    /// Good requests a second.
    pub goodput: String,
    /// Whether every objective is met.
    pub met: &'static str,
}

/// The section; `None` without objectives.
pub(super) fn objectives(treatments: &[&Series]) -> Option<Objectives> {
    let results: Vec<_> =
        treatments.iter().filter_map(|series| Some((series.display_name.clone(), series.slo.as_ref()?))).collect();
    let slo = &results.first()?.1.slo;
    let mut rows: Vec<(Level, Row)> = Vec::new();
    let mut highest = Vec::new();
    for (treatment, result) in &results {
        let at = |level: Level| result.levels.iter().find(|(other, _)| other.same(level)).map(|(_, found)| found);
        highest.push(Highest {
            treatment: treatment.clone(),
            level: result.highest_met.map_or_else(|| "none".to_owned(), |level| plain(level.value())),
            goodput: rate(result.highest_met.and_then(at).and_then(|found| found.goodput)),
        });
        rows.extend(result.levels.iter().map(|(level, found)| {
            let met = if found.meets(slo) { "yes" } else { "no" };
            (*level, row(*level, treatment, found, met))
        }));
    }
    // Stable, so that treatments keep their order within a level.
    rows.sort_by(|(a, _), (b, _)| a.value().total_cmp(&b.value()));
    Some(Objectives {
        objectives: slo.objectives.iter().map(words).collect(),
        axis: rows.first().map_or("", |(level, _)| level.axis()).to_owned(),
        highest,
        rows: rows.into_iter().map(|(_, row)| row).collect(),
    })
}

fn row(level: Level, treatment: &str, found: &Attainment, met: &'static str) -> Row {
    Row {
        level: plain(level.value()),
        treatment: treatment.to_owned(),
        each: found.each.iter().map(|bounds| share(*bounds)).collect(),
        all: share(found.all),
        goodput: rate(found.goodput),
        met,
    }
}

/// `TTFT p90 within 2 s`.
fn words(objective: &Objective) -> String {
    let limit = if objective.seconds < 1.0 {
        format!("{} ms", plain(objective.seconds * 1000.0))
    } else {
        format!("{} s", plain(objective.seconds))
    };
    format!("{} {} within {limit}", objective.quantity, objective.statistic.label())
}

fn share(bounds: Option<Bounds>) -> String {
    between(bounds, |share| format!("{}%", fixed(share * 100.0, 1)))
}

fn rate(bounds: Option<Bounds>) -> String {
    between(bounds, |rate| fixed(rate, 2))
}

/// One number where both ends read the same.
fn between(bounds: Option<Bounds>, show: impl Fn(f64) -> String) -> String {
    let Some(Bounds { low, high }) = bounds else { return ABSENT.to_owned() };
    let (low, high) = (show(low), show(high));
    if low == high { low } else { format!("{low} to {high}") }
}
