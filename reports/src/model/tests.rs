//! What a stage's numbers mean at the edges.

use super::*;

fn served(mean_output: f64) -> Stage {
    Stage {
        requests: Requests {
            total: 10,
            failures: Some(0),
            output_length: Some(Distribution::of_mean(mean_output)),
            ..Requests::default()
        },
        latency: Latency {
            ntpot: Some(Distribution::of_mean(0.02)),
            itl: Some(Distribution { mean: Some(0.02), p50: Some(0.019), ..Distribution::default() }),
            ..Latency::default()
        },
        throughput: Throughput {
            output_tokens: Some(mean_output * 2.0),
            total_tokens: Some(mean_output * 2.0 + 50.0),
            requests: Some(2.0),
            ..Throughput::default()
        },
        ..Stage::default()
    }
}

#[test]
fn a_stage_in_which_every_request_failed_has_no_latency_and_no_token_rate() {
    let mut stage = served(60.0);
    stage.requests.failures = Some(10);
    stage.settle();
    assert_eq!(stage.latency, Latency::default());
    assert_eq!(Metric::OutputTokenRate.of(&stage), None);
    assert_eq!(Metric::RequestRate.of(&stage), Some(0.0), "no request a second completed: that was measured");
    assert_eq!(Metric::FailureRate.of(&stage), Some(1.0));
}

#[test]
fn a_stage_without_output_tokens_has_no_ntpot() {
    let mut stage = served(0.0);
    stage.settle();
    assert_eq!(stage.latency.ntpot, None);
}

#[test]
fn the_input_rate_is_derived_only_when_total_and_output_exist() {
    let mut stage = served(60.0);
    stage.settle();
    assert_eq!(stage.throughput.input_tokens, Some(50.0));
    assert!(stage.throughput.input_tokens_derived);

    let mut stage = served(60.0);
    stage.throughput.total_tokens = None;
    stage.settle();
    assert_eq!(stage.throughput.input_tokens, None);
}

#[test]
fn a_median_of_gaps_inside_chunks_is_flagged() {
    let mut stage = served(60.0);
    assert!(!stage.itl_is_chunked());
    stage.latency.itl = Some(Distribution { mean: Some(0.02), p50: Some(0.0), ..Distribution::default() });
    assert!(stage.itl_is_chunked());
}

#[test]
fn a_concurrent_stage_is_placed_by_its_concurrency() {
    let mut stage = served(60.0);
    assert_eq!(stage.level(), None);
    stage.load.requested_rate = Some(40.0);
    assert_eq!(stage.level(), Some(Level::Rate(40.0)));
    stage.load.concurrency = Some(8);
    assert_eq!(stage.level(), Some(Level::Concurrency(8)));
}

#[test]
fn metric_keys_are_unique() {
    let mut keys: Vec<_> = Metric::all().into_iter().map(Metric::key).collect();
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
}
