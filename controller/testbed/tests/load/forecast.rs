//! The testbed in real time against its own forecast: the smoke profile's ladder, sent by a small client over HTTP, and
//! computed in virtual time.
//!
//! Both are random: arrivals, the order of prompts, where groups land. So the measured value of one run is held against the
//! band of 40 computed ones, widened by what a client on a busy machine of two cores adds to each request,
//! which the forecast does not have.

use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::Exp1;
use rand_pcg::Pcg64Mcg;
use testbed::config::{Hardware, Policy};
use testbed::forecast::{Arrivals, Load, Route, Setup, Shape, StageLoad};
use testbed::tokenizer;

use super::process::{Testbed, config, request};

/// Requests a second and seconds of each stage of the smoke profile; the first warms up.
const LADDER: [(f64, f64); 4] = [(96.0, 1.0), (24.0, 2.0), (80.0, 2.0), (120.0, 3.0)];
const GROUPS: usize = 24;
const PROMPTS_PER_GROUP: usize = 4;
const PREFIX_TOKENS: usize = 1200;
const QUESTION_TOKENS: usize = 192;
const OUTPUT_TOKENS: u32 = 60;
const SEEDS: u64 = 40;

/// How far outside the band of computed request rates one run may lie: 8%, one and a half of the deviations between runs.
const RATE_BEYOND: f64 = 0.08;
/// How far outside the band of computed TTFT medians: a quarter and 120 ms, for a client whose threads wait for two cores
/// that others keep busy. A Service and a picker still lie a factor of ten apart.
const TTFT_BEYOND: (f64, f64) = (0.25, 0.12);

/// One stage: completed requests a second and median seconds to the first token.
#[derive(Clone, Copy, Debug)]
struct Seen {
    rate: f64,
    ttft: f64,
}

fn prompt(number: usize) -> String {
    let group = number / PROMPTS_PER_GROUP;
    let prefix = (0..PREFIX_TOKENS).map(|word| tokenizer::word((group * 331 + word) % tokenizer::WORDS));
    let question = (0..QUESTION_TOKENS).map(|word| tokenizer::word((number * 67 + word * 3 + 11) % tokenizer::WORDS));
    prefix.chain(question).collect::<Vec<_>>().join(" ")
}

/// Sends one request; seconds to its first token and to its end.
fn send(router: &str, body: &str) -> (f64, f64) {
    let began = Instant::now();
    let stream = request(router, body);
    let (mut first, mut chunks) = (None, 0);
    for line in BufReader::new(stream).lines() {
        if line.unwrap().starts_with("data: {") {
            first.get_or_insert_with(|| began.elapsed().as_secs_f64());
            chunks += 1;
        }
    }
    assert_eq!(chunks, OUTPUT_TOKENS);
    (first.unwrap(), began.elapsed().as_secs_f64())
}

/// Runs the ladder over HTTP.
fn measured(testbed: &Testbed, seed: u64) -> Vec<Seen> {
    let router = testbed.ready.router.as_ref().unwrap().trim_start_matches("http://");
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let body = |number: usize| {
        let prompt = prompt(number);
        serde_json::json!({"model": "m", "prompt": prompt, "max_tokens": OUTPUT_TOKENS, "stream": true}).to_string()
    };
    let mut bodies: Vec<String> = (0..GROUPS * PROMPTS_PER_GROUP).map(body).collect();
    bodies.shuffle(&mut random);
    let mut stage = |(rate, seconds): (f64, f64)| {
        let count = (rate * seconds) as usize;
        let began = Instant::now() + Duration::from_millis(20);
        let mut at = 0.0;
        let times: Vec<f64> = (0..count)
            .map(|_| {
                at += random.sample::<f64, _>(Exp1) / rate;
                at
            })
            .collect();
        let ended: Vec<(f64, f64, f64)> = std::thread::scope(|scope| {
            let requests = times.iter().zip(bodies.iter().cycle()).map(|(&at, body)| {
                scope.spawn(move || {
                    std::thread::sleep((began + Duration::from_secs_f64(at)).saturating_duration_since(Instant::now()));
                    let sent = began.elapsed().as_secs_f64();
                    let (first, whole) = send(router, body);
                    (sent, first, sent + whole)
                })
            });
            let requests: Vec<_> = requests.collect();
            requests.into_iter().map(|request| request.join().unwrap()).collect()
        });
        let start = ended.iter().map(|(sent, ..)| *sent).fold(f64::INFINITY, f64::min);
        let end = ended.iter().map(|(.., end)| *end).fold(0.0, f64::max);
        let mut ttft: Vec<f64> = ended.iter().map(|(_, first, _)| *first).collect();
        ttft.sort_by(f64::total_cmp);
        Seen { rate: count as f64 / (end - start), ttft: ttft[count / 2] }
    };
    LADDER.map(&mut stage).to_vec()
}

/// The band of each stage over seeds: 5th and 95th percentile.
fn computed(route: Route, hardware: &Hardware) -> Vec<[Seen; 2]> {
    let shape = Shape::SharedPrefix {
        groups: GROUPS as u32,
        prompts_per_group: PROMPTS_PER_GROUP as u32,
        prefix_tokens: PREFIX_TOKENS as u32,
        question_tokens: QUESTION_TOKENS as u32,
        output_tokens: OUTPUT_TOKENS,
    };
    let stage = |(rate, seconds): (f64, f64)| StageLoad { rate, seconds, requests: (rate * seconds) as usize };
    let load = Load { arrivals: Arrivals::Poisson, interval: 0.0, stages: LADDER.map(stage).to_vec() };
    let setup = Setup::new(hardware, 4, route, &shape, load, 1).unwrap();
    let runs: Vec<_> = (1..=SEEDS).map(|seed| setup.run(seed).unwrap()).collect();
    let band = |stage: usize| {
        let at = |share: f64, mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[(share * (values.len() - 1) as f64).round() as usize]
        };
        let rates = || runs.iter().map(|run| run[stage].request_rate()).collect();
        let ttft = || runs.iter().map(|run| run[stage].ttft[run[stage].requests / 2]).collect();
        [0.05, 0.95].map(|share| Seen { rate: at(share, rates()), ttft: at(share, ttft()) })
    };
    (0..LADDER.len()).map(band).collect()
}

fn agree(kind: &str, route: Route, router: serde_json::Value, hardware: &Hardware) {
    let testbed = Testbed::behind("laptop-4-smoke", 4, router);
    let measured = measured(&testbed, 11);
    for (stage, (seen, [low, high])) in measured.iter().zip(computed(route, hardware)).enumerate().skip(1) {
        println!("{kind} {}: {seen:?} band {low:?} {high:?}", LADDER[stage].0);
        let rates = low.rate * (1.0 - RATE_BEYOND)..=high.rate * (1.0 + RATE_BEYOND);
        assert!(rates.contains(&seen.rate), "{kind} at {}: {seen:?} outside {rates:?}", LADDER[stage].0);
        let (factor, plus) = TTFT_BEYOND;
        let ttft = low.ttft * (1.0 - factor)..=high.ttft * (1.0 + factor) + plus;
        assert!(ttft.contains(&seen.ttft), "{kind} at {}: {seen:?} outside {ttft:?}", LADDER[stage].0);
    }
}

#[test]
fn the_smoke_ladder_in_real_time_lies_in_the_band_of_its_own_forecast() {
    let hardware = Hardware::read(&config("hardware/laptop-4-smoke.yaml")).unwrap();
    let path = config("routing/optimized-baseline.yaml");
    let policy = Arc::new(Policy::read(&path, &hardware.plugin_defaults).unwrap());
    agree("service", Route::Service, serde_json::json!({"kind": "service"}), &hardware);
    let picker = serde_json::json!({"kind": "picker", "policy": path});
    agree("picker", Route::Picker(policy), picker, &hardware);
}
