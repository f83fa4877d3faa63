//! What the self-test simulates, and what must hold.

use super::super::limits::{Bound, Gate, Limits, Noise, Origin, Rule, Selector, Validity};
use super::super::metric::{Metric, Statistic};
use super::generate::{Effect, LATENCIES, SERVICE, Setting, Shape};
use super::{Length, Promise, Result};

/// Scenarios that share their samples.
pub(super) struct Batch {
    pub shape: Shape,
    /// Requests in each stage.
    pub ladder: Vec<usize>,
    pub gates: usize,
    pub scenarios: Vec<Scenario>,
}

/// One setting and its promise.
pub(super) struct Scenario {
    name: String,
    promise: Promise,
    pub setting: Setting,
    pub normalise: bool,
}

impl Scenario {
    pub(super) fn result(&self) -> Result {
        Result {
            name: self.name.clone(),
            promise: self.promise,
            gates: 0,
            regression: 0,
            inconclusive: 0,
            pass: 0,
            invalid: 0,
        }
    }
}

/// Sixteen stages from 40 to 340 requests: small stages have the worst quantiles, and 340 x 3 is just enough for p99.
const LADDER: [usize; 16] = [40, 60, 60, 80, 100, 100, 120, 120, 150, 150, 150, 200, 200, 200, 250, 340];
/// The ladder of a measured campaign on GPUs.
const LONG_LADDER: [usize; 16] =
    [60, 200, 300, 760, 748, 750, 750, 735, 1520, 1548, 1518, 1470, 1508, 1485, 1482, 1500];

/// What a gate without a change must do; `pass` is the share that must pass.
const fn quiet(pass: f64) -> Promise {
    Promise::FalseAlarms { rate: 0.01, bound: 0.015, pass }
}

/// The share that must pass without normalising. Three repetitions resolve a tau of 2%; at 3% the smallest stages of this
/// ladder leave some of eight quantiles above the limit of what may stay undetected; at 5% no gate of three repetitions could
/// see +10%, and it says so.
fn resolved(tau: f64) -> f64 {
    match tau {
        tau if tau < 0.025 => 0.9,
        tau if tau < 0.035 => 0.5,
        _ => 0.0,
    }
}

/// How tau's variance is split where nothing else is said: half is common to a run's stages.
const SHARED: f64 = 0.5;

pub(super) fn batches(length: Length) -> Vec<Batch> {
    let (false_alarms, detection) = match length {
        Length::Short => (12, 12),
        Length::Default => (2000, 300),
        Length::Long => (20_000, 4000),
    };
    let calm = |tau: f64, shared: f64| Setting { tau, shared, drift: 0.0, effect: Effect::None };
    // So few gates as in the short form prove no rate.
    let alarm = |pass: f64| match length {
        Length::Short => Promise::FalseAlarms { rate: 0.05, bound: 1.0, pass: 0.5 * pass },
        Length::Default | Length::Long => quiet(pass),
    };
    let same = |name: &str, setting: Setting| Scenario {
        name: format!("A/A, tau {:.0}%, {name}", 100.0 * setting.tau),
        promise: alarm(resolved(setting.tau)),
        setting,
        normalise: false,
    };
    let drifting = |tau: f64| Scenario {
        name: format!("A/A, tau {:.0}%, 5% drift, normalised by the service", 100.0 * tau),
        promise: alarm(0.0),
        setting: Setting { drift: 0.05, ..calm(tau, SHARED) },
        normalise: true,
    };
    let ladder = if length == Length::Long { LONG_LADDER } else { LADDER };
    let aa = |shape, scenarios| Batch { shape, ladder: ladder.to_vec(), gates: false_alarms, scenarios };
    let mut batches = vec![
        aa(
            Shape::Lognormal,
            vec![
                same("lognormal", calm(0.02, SHARED)),
                same("lognormal", calm(0.03, SHARED)),
                same("lognormal", calm(0.05, SHARED)),
                same("lognormal, stages of a run move together", calm(0.05, 1.0)),
                same("lognormal, stages of a run move apart", calm(0.05, 0.0)),
                drifting(0.02),
                drifting(0.03),
                drifting(0.05),
            ],
        ),
        aa(Shape::HeavyTail, [0.02, 0.03, 0.05].map(|tau| same("heavy tails", calm(tau, SHARED))).into()),
        aa(Shape::Autoregressive, [0.02, 0.03, 0.05].map(|tau| same("AR(1) 0.3", calm(tau, SHARED))).into()),
    ];
    batches.extend(detections(detection));
    batches
}

fn detections(gates: usize) -> [Batch; 2] {
    let changed = |name: &str, tau: f64, shared: f64, effect: Effect, promise: Promise| Scenario {
        name: format!("{name}, tau {:.0}%", 100.0 * tau),
        promise,
        setting: Setting { tau, shared, drift: 0.0, effect },
        normalise: false,
    };
    // So few gates as in the short form prove no rate; most must still be caught.
    let caught = Promise::Detection(if gates < 100 { 0.75 } else { 0.95 });
    let ten = Effect::AllStages(0.10);
    let batch = |n: usize, scenarios| Batch { shape: Shape::Lognormal, ladder: vec![n; 16], gates, scenarios };
    [
        batch(
            200,
            vec![
                changed("TTFT +10% in all stages, n = 200", 0.03, SHARED, ten, caught),
                changed("TTFT +10% in all stages, n = 200, stages move together", 0.03, 1.0, ten, Promise::Shown),
                changed("TTFT +10% in all stages, n = 200", 0.05, SHARED, ten, Promise::NotPass(0.01)),
            ],
        ),
        batch(
            760,
            vec![
                changed("TTFT +20% in one stage, n = 760", 0.03, SHARED, Effect::OneStage(0.2), caught),
                changed("slow path: 3% of requests x4, n = 760", 0.03, SHARED, Effect::SlowPath, caught),
                changed("failures 0 -> 2%, n = 760 x 3", 0.03, SHARED, Effect::Failures(0.02), caught),
            ],
        ),
    ]
}

/// The limits that the synthetic gates are judged by: p50 and p90 of four latencies, TTFT's p99, throughput, failures.
pub(super) fn limits(normalise: bool) -> Limits {
    let rule = |metric, statistic, tolerance, floor| Rule {
        metric,
        statistic,
        selector: Selector::default(),
        bound: Bound::Relative { tolerance: Some(tolerance), floor },
        origin: Origin::default(),
    };
    let floors = [Some(0.005), Some(0.001), Some(0.001), Some(0.02)];
    let mut rules = Vec::new();
    for ((metric, _), floor) in LATENCIES.into_iter().zip(floors) {
        rules.push(rule(metric, Statistic::P50, 0.05, floor));
        rules.push(rule(metric, Statistic::P90, 0.05, floor));
    }
    rules.push(rule(Metric::Ttft, Statistic::P99, 0.10, Some(0.015)));
    rules.push(rule(Metric::Throughput, Statistic::Ratio, 0.03, None));
    rules.push(rule(Metric::Failed, Statistic::Rate, 0.005, None));
    Limits {
        noise: Noise { tau: None, tau_floor: 0.02, normalise_by: normalise.then(|| SERVICE.to_owned()) },
        gate: Gate::default(),
        validity: Validity::default(),
        rules,
        waivers: Vec::new(),
    }
}
