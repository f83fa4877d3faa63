//! What a load generator would have seen of a stage.

use crate::engine::Counters;

use super::Gaps;
use super::prompts::Asked;

/// One stage of one run. Times in seconds; lists are sorted, so that they can be read as distributions.
#[derive(Clone, Debug)]
pub struct StageOutcome {
    /// Requests; none ever fails.
    pub requests: usize,
    /// When the last answer ended, since the run's start.
    pub end: f64,
    /// From the first request's start to the last answer's end: what rates are over.
    pub seconds: f64,
    /// From the first request's start to the last request's.
    pub send_seconds: f64,
    /// Time to first token of each request.
    pub ttft: Vec<f64>,
    /// Request latency of each request.
    pub latency: Vec<f64>,
    /// Time per output token after the first, of each request with more than one.
    pub tpot: Vec<f64>,
    /// Request latency divided by output tokens, of each request.
    pub ntpot: Vec<f64>,
    /// Times between tokens of all requests.
    pub gaps: Gaps,
    /// Tokens of all prompts.
    pub input_tokens: u64,
    /// Tokens of all answers.
    pub output_tokens: u64,
    /// Requests sent to each server.
    pub requests_by_server: Vec<u64>,
    /// Part of the prompts' tokens that servers found in their caches, 0 to 1.
    pub hit_share: f64,
    /// Sequences that lost their place for want of room.
    pub preemptions: u64,
}

impl StageOutcome {
    /// Completed requests a second over the whole stage, drain included.
    pub fn request_rate(&self) -> f64 {
        self.requests as f64 / self.seconds
    }
}

/// A stage under way: what the servers had counted when it began, and what was sent.
pub(super) struct Began {
    counters: Vec<Counters>,
    sent: Vec<u64>,
    input_tokens: u64,
    output_tokens: u64,
}

impl Began {
    pub(super) fn new(counters: impl Iterator<Item = Counters>) -> Self {
        let counters: Vec<Counters> = counters.collect();
        Self { sent: vec![0; counters.len()], counters, input_tokens: 0, output_tokens: 0 }
    }

    pub(super) fn sent(&mut self, server: usize, asked: &Asked) {
        self.sent[server] += 1;
        self.input_tokens += u64::from(asked.server.tokens);
        self.output_tokens += u64::from(asked.output_tokens);
    }

    /// The stage with its requests' times of arrival, of first and last token, all by number; tokens reach the client
    /// `response` later.
    pub(super) fn ended(
        self,
        counters: impl Iterator<Item = Counters>,
        response: f64,
        times: &[f64],
        outputs: impl Iterator<Item = u32>,
        (first, last, gaps): (Vec<f64>, Vec<f64>, Gaps),
    ) -> StageOutcome {
        let (mut queries, mut hits, mut preemptions) = (0, 0, 0);
        for (before, after) in self.counters.iter().zip(counters) {
            queries += after.prefix_queries - before.prefix_queries;
            hits += after.prefix_hits - before.prefix_hits;
            preemptions += after.preemptions - before.preemptions;
        }
        let requests = times.len();
        let end = last.iter().copied().fold(0.0, f64::max) + response;
        let (mut ttft, mut latency) = (first, last);
        let (mut tpot, mut ntpot) = (Vec::with_capacity(requests), Vec::with_capacity(requests));
        for (number, (&at, output)) in times.iter().zip(outputs).enumerate() {
            let (first, last) = (ttft[number], latency[number]);
            if output > 1 {
                tpot.push((last - first) / f64::from(output - 1));
            }
            (ttft[number], latency[number]) = (first + response - at, last + response - at);
            ntpot.push(latency[number] / f64::from(output));
        }
        for values in [&mut ttft, &mut latency, &mut tpot, &mut ntpot] {
            values.sort_unstable_by(f64::total_cmp);
        }
        let (from, to) = (times.first().copied().unwrap_or(end), times.last().copied().unwrap_or(end));
        StageOutcome {
            requests,
            end,
            seconds: end - from,
            send_seconds: to - from,
            ttft,
            latency,
            tpot,
            ntpot,
            gaps,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            requests_by_server: self.sent,
            hit_share: if queries == 0 { 0.0 } else { hits as f64 / queries as f64 },
            preemptions,
        }
    }
}
