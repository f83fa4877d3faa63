//! The testbed over HTTP under load, as a process of its own: nothing lost, nothing left behind, and the same answer as
//! its own forecast. The long form is `cargo xtask testbed bench --streams 1000 --seconds 600`.

#![allow(clippy::unwrap_used, reason = "a test that cannot set its stage has failed")]

mod forecast;
mod process;

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use process::{Testbed, request};
use testbed::bench::{self, Load};

/// Opens a stream and reads its first token.
fn begun(testbed: &Testbed, words: usize, output_tokens: u32) -> BufReader<TcpStream> {
    let mut stream = BufReader::new(opened(testbed, words, output_tokens));
    let mut line = String::new();
    while !line.starts_with("data: {") {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended before its first token");
    }
    stream
}

fn opened(testbed: &Testbed, words: usize, output_tokens: u32) -> TcpStream {
    let router = testbed.ready.router.as_ref().unwrap().trim_start_matches("http://");
    let prompt = vec!["word"; words].join(" ");
    let body =
        serde_json::json!({"model": "m", "prompt": prompt, "max_tokens": output_tokens, "stream": true}).to_string();
    request(router, &body)
}

#[test]
fn a_thousand_streams_arrive_whole_and_in_order_and_are_counted_right() {
    let testbed = Testbed::start("laptop-4-smoke", 4);
    let load = Load { streams: 1000, duration: Duration::from_secs(4), prompt_tokens: 12, output_tokens: 20 };
    let cost = bench::run(&testbed.ready, testbed.pid(), "m", load).unwrap();
    println!("{cost:?}");
    assert!(cost.requests >= 1000, "{cost:?}");
    assert_eq!(cost.broken, 0, "{cost:?}");
    assert_eq!(cost.chunks, cost.requests * 20, "{cost:?}");
    assert_eq!(cost.counted, bench::Counted { requests: cost.requests, tokens: cost.chunks, under_way: 0 });
    // A thousand connections that come and go may leave some memory with the allocator, not some for each of them.
    let grown = cost.memory_late_mebibytes - cost.memory_early_mebibytes;
    assert!(grown < 64.0, "{grown} MiB more after {} requests", cost.requests);
}

#[test]
fn connections_that_vanish_free_what_they_held() {
    let testbed = Testbed::start("laptop-4-smoke", 2);
    // 2 servers hold 36,000 tokens: 60 streams of 1,000 would fill them; all vanish in the middle of their answers.
    let streams: Vec<_> = (0..24).map(|_| begun(&testbed, 1000, 400)).collect();
    assert!(testbed.sum("vllm:num_requests_running") > 0.0);
    drop(streams);
    testbed.wait_for("no request is left", |testbed| {
        testbed.sum("vllm:num_requests_running") == 0.0 && testbed.sum("vllm:kv_cache_usage_perc") == 0.0
    });
    let finished = testbed.sum("vllm:request_success_total");
    assert_eq!(finished, 0.0, "a request whose client is gone is not finished");
    drop(begun(&testbed, 1000, 2));
}

#[test]
fn a_client_that_reads_slowly_gets_everything_and_holds_no_cache_meanwhile() {
    let testbed = Testbed::start("laptop-4-smoke", 1);
    let slow: Vec<_> = (0..8).map(|_| opened(&testbed, 200, 100)).collect();
    testbed.wait_for("all requests are finished", |testbed| testbed.sum("vllm:request_success_total") == 8.0);
    assert_eq!(testbed.sum("vllm:kv_cache_usage_perc"), 0.0);
    for stream in slow {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let began = Instant::now();
        let lines = BufReader::new(stream).lines().map(Result::unwrap);
        let chunks = lines.filter(|line| line.starts_with("data: {")).count();
        assert_eq!(chunks, 100, "after {:?}", began.elapsed());
    }
}
