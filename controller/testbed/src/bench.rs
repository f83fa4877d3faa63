//! What the testbed itself costs and whether it holds: CPU time a streamed chunk, how late steps end, memory, and that
//! every stream arrives whole and in order.
//!
//! Drives a running `testbed serve` through its router with a fixed number of streams and reads figures where they are
//! exact: the process's CPU time and memory from /proc, the lateness of steps and the counts from the servers' own pages.

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
    /// Streams that were opened and read to their end.
    pub requests: u64,
    /// Of those, streams that did not end with `[DONE]`, lacked a chunk, or had one twice or out of order.
    pub broken: u64,
    /// Chunks that arrived, one a token.
    pub chunks: u64,
    /// Requests that the servers say they finished, and tokens that they say they generated.
    pub counted: Counted,
    /// Memory of the testbed in MiB after a tenth of the time.
    pub memory_early_mebibytes: f64,
    /// Memory of the testbed in MiB at the end of the load.
    pub memory_late_mebibytes: f64,
    /// Chunks a second.
    pub chunks_per_second: f64,
    /// Microseconds of CPU time that the testbed (servers and router) took for a chunk.
    pub cpu_microseconds_per_chunk: f64,
    /// Steps of all servers.
    pub steps: u64,
    /// Upper bound of the bucket, in milliseconds, within which 99% of steps ended late; `None` above the last bucket.
    pub step_lateness_p99_milliseconds: Option<f64>,
}

/// What servers count themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Requests finished.
    pub requests: u64,
    /// Tokens generated.
    pub tokens: u64,
    /// Requests running or waiting.
    pub under_way: u64,
}

/// What streams came to.
#[derive(Clone, Copy, Debug, Default)]
struct Streamed {
    requests: u64,
    broken: u64,
    chunks: u64,
}

impl std::iter::Sum for Streamed {
    fn sum<I: Iterator<Item = Self>>(streams: I) -> Self {
        streams.fold(Self::default(), |all, one| Self {
            requests: all.requests + one.requests,
            broken: all.broken + one.broken,
            chunks: all.chunks + one.chunks,
        })
    }
}

/// Sends the load and measures process `pid`, which serves `ready` for `model`.
///
/// # Errors
/// When a connection fails, or the process's figures cannot be read.
pub fn run(ready: &Ready, pid: u32, model: &str, load: Load) -> io::Result<Cost> {
    let router = address(ready.router.as_deref().ok_or_else(|| io::Error::other("the testbed has no router"))?)?;
    let before = cpu_seconds(pid)?;
    let began = Instant::now();
    let mut early = 0.0;
    let streamed = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..load.streams)
            .map(|client| scope.spawn(move || stream_until(router, model, client, load, began + load.duration)))
            .collect();
        std::thread::sleep(load.duration / 10);
        early = memory(pid)?;
        let counts =
            clients.into_iter().map(|client| client.join().map_err(|_| io::Error::other("a client panicked"))?);
        counts.sum::<io::Result<Streamed>>()
    })?;
    let late = memory(pid)?;
    let seconds = began.elapsed().as_secs_f64();
    let cpu = cpu_seconds(pid)? - before;
    let pages = ready.servers.iter().map(|server| metrics(address(server)?)).collect::<io::Result<Vec<_>>>()?;
    let (steps, p99) = lateness(&pages);
    let Streamed { requests, broken, chunks } = streamed;
    Ok(Cost {
        requests,
        broken,
        chunks,
        counted: counted(&pages),
        memory_early_mebibytes: early,
        memory_late_mebibytes: late,
        chunks_per_second: chunks as f64 / seconds,
        cpu_microseconds_per_chunk: cpu * 1e6 / chunks.max(1) as f64,
        steps,
        step_lateness_p99_milliseconds: p99.map(|seconds| seconds * 1e3),
    })
}

/// Sends one streaming request after the other until `end`.
fn stream_until(router: &str, model: &str, client: usize, load: Load, end: Instant) -> io::Result<Streamed> {
    let mut all = Streamed::default();
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
        let (chunks, whole) = follow(BufReader::new(stream))?;
        all.requests += 1;
        all.chunks += chunks;
        all.broken += u64::from(!whole || chunks != u64::from(load.output_tokens));
    }
    Ok(all)
}

/// Reads a stream to its end: its chunks, and whether their words come in the one order that the testbed writes them in
/// and the stream says that it is complete.
fn follow(stream: impl BufRead) -> io::Result<(u64, bool)> {
    let (mut chunks, mut first, mut in_order, mut done) = (0, None, true, false);
    for line in stream.split(b'\n') {
        let line = line?;
        let Some(data) = line.strip_prefix(b"data: ") else { continue };
        done |= data.starts_with(b"[DONE]");
        let Some(word) = word(data) else { continue };
        let first = *first.get_or_insert(word);
        in_order &= !done && word == (first + chunks as usize * tokenizer::ANSWER_STRIDE) % tokenizer::WORDS;
        chunks += 1;
    }
    Ok((chunks, in_order && done))
}

/// The number of the word that a chunk carries.
fn word(data: &[u8]) -> Option<usize> {
    const TEXT: &[u8] = b"\"text\":\"";
    let at = data.windows(TEXT.len()).position(|window| window == TEXT)? + TEXT.len();
    let letters = data.get(at..at + 4)?;
    letters.iter().try_fold(0, |number, letter| Some(number * 26 + usize::from(letter.checked_sub(b'a')?)))
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

/// Resident memory of a process in MiB.
fn memory(pid: u32) -> io::Result<f64> {
    let status = fs_err::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")).map(|number| number.trim().parse::<f64>());
    kibibytes
        .map_or_else(|| Err(io::Error::other("no VmRSS")), |number| number.map_err(io::Error::other))
        .map(|kib| kib / 1024.0)
}

/// What the servers' pages count, together.
fn counted(pages: &[String]) -> Counted {
    let sum = |name: &str| {
        let lines = pages.iter().flat_map(|page| page.lines()).filter(|line| line.starts_with(name));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
    };
    Counted {
        requests: sum("vllm:request_success_total{"),
        tokens: sum("vllm:generation_tokens_total{"),
        under_way: sum("vllm:num_requests_running{") + sum("vllm:num_requests_waiting{"),
    }
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
    fn a_stream_is_whole_only_in_order_and_with_its_end() {
        let stream = |words: &[usize], end: &str| {
            let chunk =
                |word: &usize| format!("data: {{\"choices\":[{{\"text\":\"{} \"}}]}}\n\n", tokenizer::word(*word));
            follow((words.iter().map(chunk).collect::<String>() + end).as_bytes()).unwrap()
        };
        let done = "data: [DONE]\n\n";
        assert_eq!(stream(&[7, 14, 21], done), (3, true));
        assert_eq!(stream(&[tokenizer::WORDS - 1, 6], done), (2, true), "words begin again after the last one");
        assert_eq!(stream(&[7, 21, 14], done), (3, false), "out of order");
        assert_eq!(stream(&[7, 7, 14], done), (3, false), "twice");
        assert_eq!(stream(&[7, 14], ""), (2, false), "cut off");
    }

    #[test]
    fn servers_count_together() {
        let page = "vllm:request_success_total{a=\"1\"} 3\nvllm:generation_tokens_total{} 180\nvllm:num_requests_running{} 2\n";
        let both = [page.to_owned(), page.to_owned()];
        assert_eq!(counted(&both), Counted { requests: 6, tokens: 360, under_way: 4 });
    }

    #[test]
    fn the_memory_of_this_process_can_be_read() {
        assert!(memory(std::process::id()).unwrap() > 1.0);
    }

    #[test]
    fn the_cpu_time_of_this_process_can_be_read() {
        assert!(cpu_seconds(std::process::id()).unwrap() >= 0.0);
    }
}
