//! What the testbed itself costs: CPU time a streamed chunk, and how late steps end.
//!
//! Drives a running `testbed serve` through its router with a fixed number of streams and reads the two figures where they
//! are exact: the process's CPU time from /proc, the lateness of steps from the servers' own histograms.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::serve::Ready;
use crate::tokenizer;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Streams open at the same time.
    pub streams: usize,
    /// How long streams are renewed.
    pub duration: Duration,
    /// Words of a prompt; streams share none.
    pub prompt_tokens: usize,
    /// Tokens of an answer.
    pub output_tokens: u32,
}

/// What was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Chunks that arrived, one a token.
    pub chunks: u64,
    /// Chunks a second.
    pub chunks_per_second: f64,
    /// Microseconds of CPU time that the testbed (servers and router) took for a chunk.
    pub cpu_microseconds_per_chunk: f64,
    /// Steps of all servers.
    pub steps: u64,
    /// Upper bound of the bucket, in milliseconds, within which 99% of steps ended late; `None` above the last bucket.
    pub step_lateness_p99_milliseconds: Option<f64>,
}

/// Sends the load and measures process `pid`, which serves `ready` for `model`.
///
/// # Errors
/// When a connection fails, or the process's figures cannot be read.
pub fn run(ready: &Ready, pid: u32, model: &str, load: Load) -> io::Result<Cost> {
    let router = address(ready.router.as_deref().ok_or_else(|| io::Error::other("the testbed has no router"))?)?;
    let before = cpu_seconds(pid)?;
    let began = Instant::now();
    let chunks = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..load.streams)
            .map(|client| scope.spawn(move || stream_until(router, model, client, load, began + load.duration)))
            .collect();
        let counts =
            clients.into_iter().map(|client| client.join().map_err(|_| io::Error::other("a client panicked"))?);
        counts.sum::<io::Result<u64>>()
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let cpu = cpu_seconds(pid)? - before;
    let pages = ready.servers.iter().map(|server| metrics(address(server)?)).collect::<io::Result<Vec<_>>>()?;
    let (steps, p99) = lateness(&pages);
    Ok(Cost {
        chunks,
        chunks_per_second: chunks as f64 / seconds,
        cpu_microseconds_per_chunk: cpu * 1e6 / chunks.max(1) as f64,
        steps,
        step_lateness_p99_milliseconds: p99.map(|seconds| seconds * 1e3),
    })
}

/// Sends one streaming request after the other until `end`; the chunks that carried a token.
fn stream_until(router: &str, model: &str, client: usize, load: Load, end: Instant) -> io::Result<u64> {
    let mut chunks = 0;
    for request in 0.. {
        if Instant::now() >= end {
            break;
        }
        let first = (client * 131 + request * 17) % tokenizer::WORDS;
        let words: Vec<_> =
            (0..load.prompt_tokens).map(|word| tokenizer::word((first + word) % tokenizer::WORDS)).collect();
        let body = serde_json::json!({
            "model": model, "prompt": words.join(" "), "max_tokens": load.output_tokens, "stream": true
        })
        .to_string();
        let mut stream = TcpStream::connect(router)?;
        let length = body.len();
        write!(
            stream,
            "POST /v1/completions HTTP/1.1\r\nhost: {router}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )?;
        for line in BufReader::new(stream).split(b'\n') {
            chunks += u64::from(line?.starts_with(b"data: {"));
        }
    }
    Ok(chunks)
}

fn address(url: &str) -> io::Result<&str> {
    url.strip_prefix("http://").ok_or_else(|| io::Error::other(format!("not an http:// address: {url}")))
}

fn metrics(server: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(server)?;
    write!(stream, "GET /metrics HTTP/1.0\r\nhost: {server}\r\n\r\n")?;
    io::read_to_string(stream)
}

/// User and system time of a process; the kernel counts in hundredths of a second.
fn cpu_seconds(pid: u32) -> io::Result<f64> {
    let stat = fs_err::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"))?;
    // The name in parentheses may hold spaces; user and system time are the 12th and 13th field after it.
    let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
    let ticks = after_name.split(' ').skip(11).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>();
    ticks.map(|ticks| ticks / 100.0).map_err(io::Error::other)
}

/// Steps of all pages, and the bucket that holds 99% of their lateness.
fn lateness(pages: &[String]) -> (u64, Option<f64>) {
    let mut buckets: Vec<(f64, u64)> = Vec::new();
    for line in pages.iter().flat_map(|page| page.lines()) {
        let Some(rest) = line.strip_prefix("testbed_step_lateness_seconds_bucket{") else { continue };
        let Some((bound, count)) = rest.split_once("le=\"").and_then(|(_, rest)| rest.split_once("\"} ")) else {
            continue;
        };
        let bound = bound.parse().unwrap_or(f64::INFINITY);
        let count = count.trim().parse().unwrap_or(0);
        match buckets.iter_mut().find(|(known, _)| *known == bound) {
            Some((_, total)) => *total += count,
            None => buckets.push((bound, count)),
        }
    }
    let steps = buckets.iter().map(|&(_, count)| count).max().unwrap_or(0);
    let within = buckets.iter().find(|&&(_, count)| count as f64 >= 0.99 * steps as f64);
    (steps, within.map(|&(bound, _)| bound).filter(|bound| bound.is_finite() && steps > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_of_several_servers_is_read_from_their_pages_together() {
        let page = |early: u64, all: u64| {
            format!(
                "testbed_step_lateness_seconds_bucket{{engine=\"0\",le=\"0.001\"}} {early}\n\
                 testbed_step_lateness_seconds_bucket{{engine=\"0\",le=\"0.0025\"}} {all}\n\
                 testbed_step_lateness_seconds_bucket{{engine=\"0\",le=\"+Inf\"}} {all}\n"
            )
        };
        assert_eq!(lateness(&[page(100, 100), page(98, 100)]), (200, Some(0.001)));
        assert_eq!(lateness(&[page(100, 100), page(97, 100)]), (200, Some(0.0025)));
        assert_eq!(lateness(&[]), (0, None));
    }

    #[test]
    fn the_cpu_time_of_this_process_can_be_read() {
        assert!(cpu_seconds(std::process::id()).unwrap() >= 0.0);
    }
}
