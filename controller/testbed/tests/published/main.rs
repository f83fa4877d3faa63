//! The engine in virtual time against the published campaign on 16 H100 (8 servers of Qwen3-32B, August 2026).
//!
//! Medians over 40 seeds are compared with the one repetition that was published: where prompt groups land differs from
//! run to run. Bounds are asked at the rates that the hardware model was not fitted to; `docs/forecast.md` has the table
//! of all, printed by `cargo test -p testbed --test published -- --nocapture`.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the repository's own files has failed")]

mod figures;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use figures::{GATEWAY, Published, SERVICE, STANDALONE};
use testbed::config::{Hardware, Policy};
use testbed::forecast::{Arrivals, Load, Route, Setup, Shape, StageLoad, StageOutcome};

/// Requests a second and seconds of each stage; the first warms up.
const LADDER: [(u32, u32); 17] = [
    (15, 50),
    (3, 20),
    (10, 20),
    (15, 20),
    (20, 38),
    (22, 34),
    (25, 30),
    (30, 25),
    (35, 21),
    (40, 38),
    (43, 36),
    (46, 33),
    (49, 30),
    (52, 29),
    (55, 27),
    (57, 26),
    (60, 25),
];
const SHAPE: Shape = Shape::SharedPrefix {
    groups: 150,
    prompts_per_group: 5,
    prefix_tokens: 6000,
    question_tokens: 1200,
    output_tokens: 1000,
};
const SEEDS: u64 = 40;

/// The rates that the hardware model was not fitted to.
const HELD_OUT: [u32; 8] = [25, 35, 43, 46, 49, 52, 55, 57];

/// One stage's figures, as published ones.
type Run = Vec<Published>;

static SERVICE_RUNS: LazyLock<Vec<Run>> = LazyLock::new(|| runs(None));
static ROUTED_RUNS: LazyLock<Vec<Run>> = LazyLock::new(|| runs(Some("routing/optimized-baseline.yaml")));

fn config(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(path)
}

fn setup(policy: Option<&str>) -> Setup {
    let hardware = Hardware::read(&config("hardware/qwen3-32b-h100-tp2.yaml")).unwrap();
    let route = policy.map_or(Route::Service, |policy| {
        Route::Picker(Arc::new(Policy::read(&config(policy), &hardware.plugin_defaults).unwrap()))
    });
    let stage = |(rate, seconds): (u32, u32)| StageLoad {
        rate: f64::from(rate),
        seconds: f64::from(seconds),
        requests: (rate * seconds) as usize,
    };
    let load = Load { arrivals: Arrivals::Poisson, interval: 30.0, stages: LADDER.map(stage).to_vec() };
    Setup::new(&hardware, 8, route, &SHAPE, load, 42).unwrap()
}

/// The ladder's stages of every seed, without the warm-up; seeds are shared out over the machine's cores.
fn runs(policy: Option<&str>) -> Vec<Run> {
    let setup = setup(policy);
    let run = |seed| setup.run(seed).unwrap()[1..].iter().zip(&LADDER[1..]).map(figures_of).collect();
    let half = |seeds: std::ops::RangeInclusive<u64>| seeds.map(run).collect::<Vec<Run>>();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| half(SEEDS / 2 + 1..=SEEDS));
        let mut all = half(1..=SEEDS / 2);
        all.extend(other.join().unwrap());
        all
    })
}

fn figures_of((stage, &(rate, _)): (&StageOutcome, &(u32, u32))) -> Published {
    let ttft = |share: f64| stage.ttft[(share * (stage.requests - 1) as f64).round() as usize];
    let [itl_p50] = stage.gaps.quantiles([0.5]).unwrap();
    Published { rate, request_rate: stage.request_rate(), ttft_p50: ttft(0.5), ttft_p90: ttft(0.9), itl_p50 }
}

/// The 5th percentile, median and 95th percentile over seeds at one rate.
fn band(runs: &[Run], rate: u32, value: fn(&Published) -> f64) -> [f64; 3] {
    let stage = runs[0].iter().position(|stage| stage.rate == rate).unwrap();
    let mut values: Vec<f64> = runs.iter().map(|run| value(&run[stage])).collect();
    values.sort_by(f64::total_cmp);
    [0.05, 0.5, 0.95].map(|share: f64| {
        let at = share * (values.len() - 1) as f64;
        let (below, above) = (values[at.floor() as usize], values[at.ceil() as usize]);
        below + (above - below) * at.fract()
    })
}

/// Holds medians against published values: within `bound` at every held-out rate but those in `misses`, which have a
/// bound of their own.
fn within(bound: f64, misses: &[(u32, f64)], runs: &[Run], published: &[Published], value: fn(&Published) -> f64) {
    let mut outside = Vec::new();
    for stage in published {
        let [low, middle, high] = band(runs, stage.rate, value);
        let distance = middle / value(stage) - 1.0;
        let inside = (low..=high).contains(&value(stage));
        let held_out = HELD_OUT.contains(&stage.rate);
        println!(
            "{:>3} published {:>9.4} median {middle:>9.4} ({:+.1}%) band {low:.4} to {high:.4}{}{}",
            stage.rate,
            value(stage),
            distance * 100.0,
            if inside { "" } else { " outside" },
            if held_out { "" } else { " (fitted)" },
        );
        let allowed = misses.iter().find(|(missed, _)| *missed == stage.rate).map_or(bound, |&(_, own)| own);
        if held_out && distance.abs() > allowed {
            outside.push((stage.rate, distance));
        }
    }
    assert!(outside.is_empty(), "{outside:.3?}");
}

/// Published rates that lie in the band over seeds.
fn inside(runs: &[Run], published: &[Published]) -> usize {
    let inside = |stage: &&Published| {
        let [low, _, high] = band(runs, stage.rate, |stage| stage.request_rate);
        (low..=high).contains(&stage.request_rate)
    };
    published.iter().filter(inside).count()
}

#[test]
fn a_plain_service_completes_requests_as_it_did_on_the_cluster() {
    within(0.03, &[], &SERVICE_RUNS, &SERVICE, |stage| stage.request_rate);
}

#[test]
fn a_plain_service_s_slowest_tenth_waits_as_long_as_it_did_on_the_cluster() {
    // The one miss: at 25 requests/s the median lies 5% below the published value, which is inside the band over seeds.
    within(0.03, &[(25, 0.06)], &SERVICE_RUNS, &SERVICE, |stage| stage.ttft_p90);
}

#[test]
fn a_plain_service_s_tokens_follow_each_other_as_they_did_on_the_cluster() {
    within(0.04, &[], &SERVICE_RUNS, &SERVICE, |stage| stage.itl_p50);
}

#[test]
fn affinity_routing_answers_as_soon_as_it_did_on_the_cluster() {
    within(0.05, &[], &ROUTED_RUNS, &STANDALONE, |stage| stage.ttft_p50);
}

#[test]
fn affinity_routing_s_tokens_follow_each_other_as_they_did_on_the_cluster() {
    within(0.07, &[], &ROUTED_RUNS, &STANDALONE, |stage| stage.itl_p50);
}

#[test]
fn published_request_rates_lie_in_the_band_over_seeds_at_nine_of_ten_rates() {
    let routed = inside(&ROUTED_RUNS, &STANDALONE) + inside(&ROUTED_RUNS, &GATEWAY);
    let service = inside(&SERVICE_RUNS, &SERVICE);
    let all = SERVICE.len() + STANDALONE.len() + GATEWAY.len();
    println!("{service} of 16 service rates, {routed} of 32 routed rates");
    assert!((service + routed) as f64 >= 0.9 * all as f64, "{service} and {routed} of {all}");
}

#[test]
fn figures_that_depend_on_luck_stay_as_close_as_they_were_found() {
    within(0.35, &[], &SERVICE_RUNS, &SERVICE, |stage| stage.ttft_p50);
    within(0.08, &[], &ROUTED_RUNS, &STANDALONE, |stage| stage.ttft_p90);
    within(0.05, &[], &ROUTED_RUNS, &STANDALONE, |stage| stage.request_rate);
}
