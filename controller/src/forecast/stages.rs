//! From what was computed to the model's stages.

use reports::model::{Distribution, Harness, Latency, Load, Requests, Stage, Throughput, Workload};
use reports::statistics::percentile_of_sorted;
use testbed::forecast::{Gaps, StageLoad, StageOutcome};

/// The shares of the model's percentiles from the smallest to the largest value.
const SHARES: [f64; 13] = [0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0];

pub(super) fn stage(
    number: u32,
    load: &StageLoad,
    outcome: &StageOutcome,
    warm_up: bool,
    workload: &Workload,
) -> Stage {
    let requests = outcome.requests as f64;
    let rate = |count: f64| (outcome.seconds > 0.0).then(|| count / outcome.seconds);
    let tokens = |count: u64| (outcome.requests > 0).then(|| Distribution::of_mean(count as f64 / requests));
    Stage {
        number,
        warm_up,
        load: Load {
            requested_rate: Some(load.rate),
            achieved_rate: (outcome.send_seconds > 0.0).then(|| requests / outcome.send_seconds),
            send_seconds: Some(outcome.send_seconds),
            ..Load::default()
        },
        requests: Requests {
            total: outcome.requests as u64,
            failures: Some(0),
            input_length: tokens(outcome.input_tokens),
            output_length: tokens(outcome.output_tokens),
            ..Requests::default()
        },
        latency: Latency {
            ttft: distribution(&outcome.ttft),
            itl: gaps(&outcome.gaps),
            tpot: distribution(&outcome.tpot),
            ntpot: distribution(&outcome.ntpot),
            request: distribution(&outcome.latency),
        },
        throughput: Throughput {
            input_tokens: rate(outcome.input_tokens as f64),
            output_tokens: rate(outcome.output_tokens as f64),
            total_tokens: rate((outcome.input_tokens + outcome.output_tokens) as f64),
            requests: rate(requests),
            seconds: Some(outcome.seconds),
            ..Throughput::default()
        },
        harness: Harness {
            tool: Harness::FORECAST_TOOL.to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        },
        workload: workload.clone(),
        sampled: None,
    }
}

fn distribution(sorted: &[f64]) -> Option<Distribution> {
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let values = SHARES.map(|share| percentile_of_sorted(sorted, share));
    (!sorted.is_empty()).then(|| of(mean, values))
}

fn gaps(gaps: &Gaps) -> Option<Distribution> {
    Some(of(gaps.mean()?, gaps.quantiles(SHARES)?.map(Some)))
}

fn of(
    mean: f64,
    [min, p0p1, p1, p5, p10, p25, p50, p75, p90, p95, p99, p99p9, max]: [Option<f64>; 13],
) -> Distribution {
    let mean = Some(mean);
    Distribution { mean, stddev: None, min, p0p1, p1, p5, p10, p25, p50, p75, p90, p95, p99, p99p9, max }
}
