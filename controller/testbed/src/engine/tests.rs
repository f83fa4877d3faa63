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
