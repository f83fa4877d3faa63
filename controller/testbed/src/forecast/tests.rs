use std::path::{Path, PathBuf};

use super::*;

fn config(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(path)
}

fn laptop() -> Hardware {
    Hardware::read(&config("hardware/laptop-4-fast.yaml")).unwrap()
}

fn picker_route(policy: &str) -> Route {
    Route::Picker(Arc::new(Policy::read(&config(policy), &laptop().plugin_defaults).unwrap()))
}

const GROUPS: Shape = Shape::SharedPrefix {
    groups: 24,
    prompts_per_group: 4,
    prefix_tokens: 1200,
    question_tokens: 192,
    output_tokens: 60,
};

fn load(stages: &[(f64, f64)]) -> Load {
    let stage = |&(rate, seconds): &(f64, f64)| StageLoad { rate, seconds, requests: (rate * seconds) as usize };
    Load { arrivals: Arrivals::Poisson, interval: 1.0, stages: stages.iter().map(stage).collect() }
}

/// The ladder of the `quick` profile.
fn quick() -> Load {
    load(&[(96.0, 1.0), (4.0, 3.0), (12.0, 3.0), (24.0, 3.0), (40.0, 3.0), (60.0, 4.0)])
}

fn setup(route: Route) -> Setup {
    Setup::new(&laptop(), 4, route, &GROUPS, quick(), 42).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let setup = setup(picker_route("routing/optimized-baseline.yaml"));
    let run = |seed| setup.run(seed).unwrap().pop().unwrap();
    assert_eq!(run(3).ttft, run(3).ttft);
    assert_ne!(run(3).ttft, run(4).ttft);
}

#[test]
fn the_laptop_s_ladder_comes_out_as_it_was_measured_over_http() {
    // Measured with inference-perf on two cores: affinity 2328 to 2457 output tokens a second, TTFT p50 54 to 58 ms;
    // a plain Service 1125, 2.97 s.
    let median = |route: Route, value: fn(&StageOutcome) -> f64| {
        let setup = setup(route);
        let mut values: Vec<f64> = (1..=20).map(|seed| value(&setup.run(seed).unwrap()[5])).collect();
        values.sort_by(f64::total_cmp);
        values[10]
    };
    let tokens = |stage: &StageOutcome| stage.output_tokens as f64 / stage.seconds;
    let ttft = |stage: &StageOutcome| stage.ttft[stage.ttft.len() / 2];
    let routed = || picker_route("routing/optimized-baseline.yaml");
    let (service, affinity) = (median(Route::Service, tokens), median(routed(), tokens));
    assert!((service / 1125.0 - 1.0).abs() < 0.08, "{service}");
    assert!((affinity / 2400.0 - 1.0).abs() < 0.08, "{affinity}");
    let (service, affinity) = (median(Route::Service, ttft), median(routed(), ttft));
    assert!((service / 2.97 - 1.0).abs() < 0.25, "{service}");
    assert!((affinity / 0.056 - 1.0).abs() < 0.25, "{affinity}");
}

#[test]
fn every_request_is_in_every_figure_of_its_stage() {
    for route in [Route::Service, picker_route("routing/default.yaml"), picker_route("routing/load-only.yaml")] {
        let stages = setup(route).run(1).unwrap();
        assert_eq!(stages.iter().map(|stage| stage.requests).sum::<usize>(), 96 + 12 + 36 + 72 + 120 + 240);
        for stage in stages {
            let counts = [stage.ttft.len(), stage.latency.len(), stage.tpot.len(), stage.ntpot.len()];
            assert_eq!(counts, [stage.requests; 4]);
            assert_eq!(stage.requests_by_server.iter().sum::<u64>(), stage.requests as u64);
            assert_eq!(stage.output_tokens, stage.requests as u64 * 60);
            assert_eq!(stage.gaps.total(), stage.requests as u64 * 59, "one gap between each two tokens");
            assert!(stage.ttft.iter().chain(&stage.latency).all(|seconds| *seconds > 0.0));
            assert!(stage.send_seconds < stage.seconds && stage.request_rate() > 0.0);
            assert!((0.0..1.0).contains(&stage.hit_share));
        }
    }
}

#[test]
fn what_nobody_shares_is_never_found_again() {
    let shape = Shape::Distinct { prompts: 50, input: Lengths::fixed(500), output: Lengths::fixed(10) };
    let load = load(&[(20.0, 10.0)]);
    let route = picker_route("routing/optimized-baseline.yaml");
    let stages = Setup::new(&laptop(), 4, route, &shape, load, 1).unwrap().run(1).unwrap();
    assert_eq!((stages[0].requests, stages[0].hit_share), (200, 0.0));
    assert!(stages[0].requests_by_server.iter().all(|&requests| requests > 20), "{:?}", stages[0].requests_by_server);
}

#[test]
fn a_delay_on_the_way_is_in_the_time_to_first_token() {
    let light = load(&[(1.0, 40.0)]);
    let ttft = |delay| {
        let setup = Setup::new(&laptop(), 4, Route::Service, &GROUPS, light.clone(), 1).unwrap().delayed(delay);
        let stage = setup.run(1).unwrap().remove(0);
        stage.ttft[stage.ttft.len() / 2]
    };
    assert!((ttft(0.25) - ttft(0.0) - 0.25).abs() < 0.01);
}

#[test]
fn impossible_setups_say_why() {
    let mut hardware = laptop();
    hardware.step.per_prefill_token_seconds = -1e-5;
    let error = Setup::new(&hardware, 4, Route::Service, &GROUPS, quick(), 1).unwrap_err().to_string();
    assert!(error.contains("per_prefill_token_seconds") && error.contains("-0.00001"), "{error}");
    let error = Setup::new(&laptop(), 0, Route::Service, &GROUPS, quick(), 1).unwrap_err();
    assert_eq!(error, Error::NoServers);
    let mut hardware = laptop();
    hardware.kv_cache.capacity_tokens = 1440;
    let error = Setup::new(&hardware, 4, Route::Service, &GROUPS, quick(), 1).unwrap_err().to_string();
    assert!(error.contains("1392") && error.contains("1440"), "{error}");
}
