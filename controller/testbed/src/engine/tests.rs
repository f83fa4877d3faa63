use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{Hardware, Policy};

use super::*;

fn config(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(path)
}

/// A laptop's server with room for `capacity` tokens.
fn server(capacity: u32) -> Server {
    let mut hardware = Hardware::read(&config("hardware/laptop-4-fast.yaml")).unwrap();
    hardware.kv_cache.capacity_tokens = capacity;
    Server::new(&hardware)
}

/// A prompt of `blocks` blocks of 16 tokens that shares nothing with those of another name.
fn prompt(name: u64, blocks: usize) -> Prompt {
    let hashes: Vec<u64> = hash::named(0, name, blocks).collect();
    Prompt { tokens: u32::try_from(blocks * 16).unwrap(), hashes: Arc::from(hashes) }
}

fn request(name: u64, blocks: usize, output_tokens: u32) -> Request {
    Request { prompt: prompt(name, blocks), output_tokens, tag: name, visible: 0.0 }
}

/// Remembers in which order requests got their first token and finished.
#[derive(Default)]
struct Seen {
    first: Vec<u64>,
    finished: Vec<u64>,
}

impl Sink for Seen {
    const EACH_TOKEN: bool = false;

    fn first_token(&mut self, tag: u64, _at: f64) {
        self.first.push(tag);
    }

    fn resumed(&mut self, _tag: u64, _at: f64, _gap: f64) {}

    fn decoded(&mut self, _tag: u64, _at: f64) {}

    fn stretch(&mut self, _sequences: u32, _first: f64, _growth: f64, _steps: u64) {}

    fn finished(&mut self, tag: u64, _at: f64) {
        self.finished.push(tag);
    }
}

#[test]
fn a_request_waits_until_its_whole_prompt_fits() {
    let mut server = server(160);
    let mut seen = Seen::default();
    server.submit(request(1, 6, 40)).unwrap();
    server.submit(request(2, 6, 4)).unwrap();
    server.advance(0.1, &mut seen);
    assert_eq!((server.running(), server.waiting()), (1, 1));
    server.advance(1e9, &mut seen);
    assert_eq!(seen.finished, [1, 2]);
    assert!(server.is_idle());
    assert_eq!(server.counters().preemptions, 0);
}

#[test]
fn a_request_that_could_never_run_is_refused_at_once() {
    let mut server = server(160);
    assert!(matches!(server.submit(request(1, 9, 17)), Err(Rejection::TooLarge { capacity_tokens: 160, .. })));
    assert_eq!(server.submit(request(1, 9, 0)), Err(Rejection::Empty));
    assert!(server.is_idle());
}

#[test]
fn a_prompt_that_is_cached_whole_still_computes_its_last_block() {
    let mut server = server(1600);
    let mut seen = Seen::default();
    for _ in 0..2 {
        server.submit(request(1, 6, 2)).unwrap();
        server.advance(1e9, &mut seen);
    }
    assert_eq!((server.counters().prefix_queries, server.counters().prefix_hits), (192, 80));
}

#[test]
fn growth_without_room_takes_the_last_running_request_s_place_and_loses_no_token() {
    let mut server = server(160);
    let mut seen = Seen::default();
    server.submit(request(1, 4, 40)).unwrap();
    server.submit(request(2, 4, 40)).unwrap();
    server.advance(1e9, &mut seen);
    assert!(server.counters().preemptions > 0);
    assert_eq!(seen.finished, [1, 2], "the earlier one keeps its place");
    assert_eq!(seen.first, [1, 2], "a preempted request has one first token");
    assert_eq!(server.counters().generated_tokens, 80);
    assert_eq!(server.usage(), 0.0);
}

#[test]
fn a_cancelled_request_leaves_nothing_behind_wherever_it_was() {
    let mut server = server(160);
    let mut seen = Seen::default();
    let running = server.submit(request(1, 6, 40)).unwrap();
    let waiting = server.submit(request(2, 6, 40)).unwrap();
    server.advance(0.1, &mut seen);
    server.cancel(running, 7);
    assert_eq!(server.running(), 1, "another request's tag cancels nothing");
    server.cancel(waiting, 2);
    server.cancel(running, 1);
    assert_eq!((server.running(), server.waiting(), server.usage()), (0, 0, 0.0));
    server.advance(1e9, &mut seen);
    assert!(seen.finished.is_empty());
}

#[test]
fn a_picker_stays_with_the_holder_of_a_prefix_until_it_is_too_far_behind() {
    let hardware = Hardware::read(&config("hardware/laptop-4-fast.yaml")).unwrap();
    let policy = Policy::read(&config("routing/optimized-baseline.yaml"), &hardware.plugin_defaults).unwrap();
    let mut picker = Picker::new(&policy, 4, 1);
    let known = prompt(1, 27);
    let first = picker.pick(&known);
    picker.begun(&first);
    assert_eq!(picker.inflight(first.server), 0, "the first token ends the prompt's load");
    let again = picker.pick(&known);
    assert_eq!((again.server, again.matched_blocks, again.blocks), (first.server, 27, 27));
    // 20,833 pseudo-tokens a second and 3,350 ms: about 69,800 in flight are too many.
    let heavy = Prompt { tokens: 80_000, hashes: known.hashes.clone() };
    let load = picker.pick(&heavy);
    assert_eq!(load.server, first.server);
    assert_ne!(picker.pick(&known).server, first.server);
    picker.begun(&load);
    assert_eq!(picker.pick(&prompt(1, 27)).matched_blocks, 27);
}

/// When requests got their first token: in seconds, and after how many steps of the server.
#[derive(Default)]
struct Firsts {
    at: Vec<f64>,
}

impl Sink for Firsts {
    const EACH_TOKEN: bool = false;

    fn first_token(&mut self, _tag: u64, at: f64) {
        self.at.push(at);
    }

    fn resumed(&mut self, _tag: u64, _at: f64, _gap: f64) {}

    fn decoded(&mut self, _tag: u64, _at: f64) {}

    fn stretch(&mut self, _sequences: u32, _first: f64, _growth: f64, _steps: u64) {}

    fn finished(&mut self, _tag: u64, _at: f64) {}
}

#[test]
fn a_prompt_larger_than_the_budget_is_computed_in_chunks_that_each_take_their_own_time() {
    // 4,800 tokens in steps of 2,048, 2,048 and 704, worked by hand from the model's formula.
    let mut server = server(18_000);
    let mut firsts = Firsts::default();
    server.submit(request(1, 300, 5)).unwrap();
    server.advance(1e9, &mut firsts);
    let decode = 0.014 + 5.0e-4 + 6.25e-7 * 4800.0;
    let chunk = |tokens: f64| decode * (1.0 - 0.3 * (tokens / 2048.0_f64).min(1.0)) + 6.0e-5 * tokens;
    let expected = 2.0 * chunk(2048.0) + chunk(704.0);
    assert!((firsts.at[0] - expected).abs() < 1e-12, "{} {expected}", firsts.at[0]);
    assert_eq!(server.counters().steps, 3 + 4, "three of prefill, then one for each token after the first");
}

/// Steps between a request's arrival during a step and the one that computes it, both included.
fn steps_until_seen(asynchronous: bool) -> u64 {
    let mut hardware = Hardware::read(&config("hardware/laptop-4-fast.yaml")).unwrap();
    hardware.scheduler.asynchronous = asynchronous;
    let mut server = Server::new(&hardware);
    let mut firsts = Firsts::default();
    server.submit(request(1, 1, 500)).unwrap();
    server.advance(0.2, &mut firsts);
    // The step in progress began before 0.2 s and has not ended: the request comes during it.
    assert!(server.now() > 0.2);
    let during = server.counters().steps;
    server.submit(Request { visible: 0.2, ..request(2, 1, 5) }).unwrap();
    loop {
        server.settle(&mut firsts);
        if firsts.at.len() == 2 {
            return server.counters().steps - during;
        }
        // A horizon of now plans one step at a time.
        let now = server.now();
        assert!(matches!(server.plan(now, &mut firsts), Next::Run(_)));
    }
}

#[test]
fn a_request_seen_during_a_step_runs_in_the_next_and_with_asynchronous_scheduling_in_the_one_after() {
    assert_eq!(steps_until_seen(false), 1);
    assert_eq!(steps_until_seen(true), 2);
}

fn picker(policy: &str, servers: usize, seed: u64) -> Picker {
    let hardware = Hardware::read(&config("hardware/laptop-4-fast.yaml")).unwrap();
    Picker::new(&Policy::read(&config(policy), &hardware.plugin_defaults).unwrap(), servers, seed)
}

/// A prompt of 100 blocks that shares its first `shared` with every other of the same `name`.
fn sharing(name: u64, own: u64, shared: usize) -> Prompt {
    let mut hashes: Vec<u64> = hash::named(0, name, 100).take(shared).collect();
    let last = hashes.last().copied().unwrap_or_default();
    hashes.extend(hash::named(last, own, 100 - shared));
    Prompt { tokens: 6400, hashes: Arc::from(hashes) }
}

#[test]
fn four_fifths_of_a_prompt_bind_it_to_its_holder_and_a_block_less_does_not() {
    let mut picker = picker("routing/optimized-baseline.yaml", 4, 3);
    let holder = picker.pick(&sharing(1, 7, 100)).server;
    // Its tokens stay in flight: whoever is free to choose goes elsewhere.
    assert_eq!(picker.inflight(holder), 6400);
    assert_ne!(picker.pick(&sharing(1, 8, 79)).server, holder);
    assert_eq!(picker.pick(&sharing(1, 9, 80)).server, holder);
}

#[test]
fn ties_are_broken_at_random_and_the_same_way_for_the_same_seed() {
    let picks = |seed| {
        let mut picker = picker("routing/load-only.yaml", 4, seed);
        let one = |name| {
            let pick = picker.pick(&prompt(name, 4));
            picker.begun(&pick);
            pick.server
        };
        (0..800).map(one).collect::<Vec<usize>>()
    };
    let seen = picks(5);
    for server in 0..4 {
        let times = seen.iter().filter(|other| **other == server).count();
        // 200 are expected, with a standard deviation of 12.
        assert!((140..=260).contains(&times), "server {server}: {times} of 800");
    }
    assert_eq!(seen, picks(5));
    assert_ne!(seen, picks(6));
}

#[test]
fn the_default_profile_weighs_queue_and_cache_use_2_and_matches_3() {
    // Server 0 holds part of the prompt and has a queue, server 1 neither: 3 m against 2, equal cache use.
    let chosen = |shared| {
        let mut picker = picker("routing/default.yaml", 2, 1);
        picker.observe(1, 9, 0.0);
        assert_eq!(picker.pick(&sharing(1, 7, 100)).server, 0, "a queue of its own keeps requests away");
        picker.observe(0, 9, 0.5);
        picker.observe(1, 0, 0.5);
        picker.pick(&sharing(1, 8, shared)).server
    };
    assert_eq!(chosen(68), 0, "3 x 0.68 is more than 2");
    assert_eq!(chosen(65), 1, "3 x 0.65 is less than 2");
    let mut picker = picker("routing/default.yaml", 2, 1);
    picker.observe(0, 5, 0.9);
    picker.observe(1, 5, 0.2);
    assert_eq!(picker.pick(&prompt(1, 4)).server, 1, "equal queues leave it to the cache's use");
}

#[test]
fn an_index_is_as_large_as_the_servers_caches_when_it_may_tune_itself() {
    let cache = |capacity_tokens, block_tokens| crate::config::hardware::KvCache { capacity_tokens, block_tokens };
    let matched = |tune| {
        let mut picker = picker("routing/optimized-baseline.yaml", 1, 1);
        if tune {
            picker.tune(&cache(640, 128));
            assert_eq!(picker.blocks().0, 128, "a server's blocks, where they are larger than 64");
        }
        picker.pick(&prompt(1, 4));
        picker.pick(&prompt(2, 4));
        picker.pick(&prompt(1, 4)).matched_blocks
    };
    assert_eq!(matched(false), 4, "31,250 blocks hold both prompts");
    assert_eq!(matched(true), 1, "5 blocks hold the second prompt and one block of the first");
    let mut picker = picker("routing/optimized-baseline.yaml", 1, 1);
    picker.tune(&cache(18_000, 16));
    assert_eq!(picker.blocks().0, 64, "never smaller than 64");
}
