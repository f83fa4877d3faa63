//! Charts of what a gateway costs.

use super::build::{Measure, Overhead, TreatmentCost};
use crate::render::chart::{Axis, Chart, Point, Scale, Series};

/// One chart a measure: added median over the offered rate, with its interval.
pub fn charts(overhead: &Overhead) -> Vec<Chart> {
    let wanted = [
        (Measure::Ttft, "p50", "added-ttft", "Added time to first token (p50)"),
        (Measure::Request, "p99", "added-request-p99", "Added request latency (p99)"),
        (Measure::Chunk, "mean", "added-chunk", "Added time a streamed chunk"),
    ];
    let chart = |(measure, statistic, id, title): (Measure, &str, &str, &str)| Chart {
        id: format!("overhead-{id}"),
        title: title.to_owned(),
        subtitle: format!(
            "Above {}, mean of {} interleaved rounds; bars are 95% confidence.",
            overhead.baseline, overhead.rounds
        ),
        x: Axis { label: "offered rate (requests/s)".into(), scale: Scale::Log },
        y: Axis { label: "added time (ms)".into(), scale: Scale::Linear },
        series: overhead
            .treatments
            .iter()
            .enumerate()
            .skip(1)
            .map(|(slot, treatment)| series(slot, treatment, measure, statistic))
            .collect(),
        identity: None,
        footer: vec![format!("measured by {}; campaign {}", overhead.client, overhead.campaign_id)],
        stamp: overhead.simulated.then_some("SIMULATED"),
    };
    wanted.into_iter().map(chart).filter(Chart::has_data).collect()
}

fn series(slot: usize, treatment: &TreatmentCost, measure: Measure, statistic: &str) -> Series {
    // Rates that were not reached show a queue, not a cost.
    let reached = treatment.stages.iter().filter(|stage| stage.target_met > 0);
    let points = reached.map(|stage| {
        let cost = stage.costs.iter().find(|cost| cost.measure == measure && cost.statistic == statistic);
        let added = cost.and_then(|cost| cost.added);
        Point {
            x: Some(stage.offered_rate),
            y: added.map(|added| added.mean_ms),
            spread: added.and_then(|added| added.interval_ms),
        }
    });
    Series { name: treatment.display_name.clone(), slot, points: points.collect(), dense: false }
}
