//! What a run of records adds up to, and the stage that it amounts to.

use super::limits::Counts;
use super::record::Record;
use super::values::Values;
use crate::model::{Distribution, Latency, Load, Quantity, Requests, Sampled, Stage, Throughput};
use crate::statistics::RankIntervals;

/// The sums and values of a run of records.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Records.
    pub records: u64,
    /// Records that ended in an error.
    pub failures: u64,
    /// Earliest start, in seconds of a clock without an epoch.
    pub first_start: f64,
    /// Latest start.
    pub last_start: f64,
    /// Latest end.
    pub last_end: f64,
    input_tokens: f64,
    output_tokens: f64,
    /// Successful requests without output tokens: the harness counts their NTPOT as 0.
    without_output: u64,
    /// Successful requests whose record lacks what token latencies need.
    undetailed: u64,
    /// Requests that met limits; empty without limits.
    pub within: Counts,
    values: [Values; SERIES],
}

const LATENCY: usize = 0;
const NTPOT: usize = 1;
const TPOT: usize = 2;
const TTFT: usize = 3;
const ITL: usize = 4;
const INPUT: usize = 5;
const CLIENT_OUTPUT: usize = 6;
const SERVER_OUTPUT: usize = 7;
const SERIES: usize = 8;

impl Default for Tally {
    fn default() -> Self {
        Self {
            records: 0,
            failures: 0,
            first_start: f64::INFINITY,
            last_start: f64::NEG_INFINITY,
            last_end: f64::NEG_INFINITY,
            input_tokens: 0.0,
            output_tokens: 0.0,
            without_output: 0,
            undetailed: 0,
            within: Counts::default(),
            values: Default::default(),
        }
    }
}

/// Which of two counts of output tokens the latencies are divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokens {
    /// Those of the harness's own tokenizer, the default of inference-perf.
    #[default]
    Client,
    /// Those that the server reported, where it did (`use_server_output_tokens`).
    Server,
}

/// Two readings of the same records, both in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Native files: the NTPOT of a request without output tokens is 0; output lengths are the client's count.
    Native,
    /// Benchmark Report documents: such a request has no NTPOT; output lengths are the server's count where it gave one.
    Report,
}

impl Tally {
    /// Adds a record whose clock readings are `start` and `end`.
    ///
    /// The formulas are those of `compute_request_latency_metrics` and `summarize_requests` of inference-perf 0.7.0;
    /// a failed request counts, extends the measured time, and has no latency.
    pub fn add(&mut self, record: &Record, start: f64, end: f64, tokens: Tokens) {
        self.records += 1;
        self.first_start = self.first_start.min(start);
        self.last_start = self.last_start.max(start);
        self.last_end = self.last_end.max(end);
        if record.failed {
            self.failures += 1;
            return;
        }
        let computed = &record.computed;
        let latency = end - start;
        self.values[LATENCY].push(latency);
        let input = record.input_tokens.or(computed.input_tokens).unwrap_or(0.0);
        self.input_tokens += input;
        self.values[INPUT].push(input);
        let client = record.output(Tokens::Client);
        client.into_iter().for_each(|count| self.values[CLIENT_OUTPUT].push(count));
        let server = record.output(Tokens::Server);
        server.into_iter().for_each(|count| self.values[SERVER_OUTPUT].push(count));
        self.output_tokens += record.output(tokens).unwrap_or(0.0);
        match record.ntpot(latency, tokens) {
            Some(ntpot) => self.values[NTPOT].push(ntpot),
            None => self.without_output += 1,
        }
        if !record.detailed && !computed.present {
            self.undetailed += 1;
            return;
        }
        record.ttft(start).into_iter().for_each(|ttft| self.values[TTFT].push(ttft));
        record.tpot(tokens).into_iter().for_each(|tpot| self.values[TPOT].push(tpot));
        record.gaps().for_each(|gap| self.values[ITL].push(gap));
    }

    /// Adds all that `other` has; its records are taken to follow or precede these, which changes nothing.
    pub fn merge(&mut self, other: Self) {
        self.records += other.records;
        self.failures += other.failures;
        self.first_start = self.first_start.min(other.first_start);
        self.last_start = self.last_start.max(other.last_start);
        self.last_end = self.last_end.max(other.last_end);
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.without_output += other.without_output;
        self.undetailed += other.undetailed;
        self.within.merge(&other.within);
        for (ours, theirs) in self.values.iter_mut().zip(other.values) {
            ours.merge(theirs);
        }
    }

    /// Bytes held in values.
    pub fn bytes(&self) -> usize {
        self.values.iter().map(Values::bytes).sum()
    }

    /// The series that holds most.
    pub fn largest(&mut self) -> &mut Values {
        let index = (0..SERIES).max_by_key(|index| self.values[*index].bytes()).unwrap_or(LATENCY);
        &mut self.values[index]
    }

    /// Largest relative error of any percentile; 0 while all values are held.
    pub fn error(&self) -> f64 {
        self.values.iter().map(Values::error).fold(0.0, f64::max)
    }

    /// Whether token latencies could be computed for all successful requests.
    pub fn is_detailed(&self) -> bool {
        self.undetailed == 0
    }

    /// What these records say beyond their summary; `drawn` asks for the curves of what people wait for.
    pub fn sampled(&mut self, ranks: &mut RankIntervals, drawn: bool) -> Sampled {
        let series = [
            (Quantity::RequestLatency, LATENCY),
            (Quantity::Ntpot, NTPOT),
            (Quantity::Tpot, TPOT),
            (Quantity::Ttft, TTFT),
            (Quantity::Itl, ITL),
        ];
        let detailed = self.is_detailed();
        let mut sampled = Sampled { within: self.within.within(), ..Sampled::default() };
        for (quantity, index) in series {
            if detailed || matches!(quantity, Quantity::Ntpot | Quantity::RequestLatency) {
                let curve = drawn && matches!(quantity, Quantity::Ttft | Quantity::RequestLatency);
                let sample = self.values[index].sample(ranks, curve);
                sampled.quantities.extend(sample.map(|sample| (quantity, sample)));
            }
        }
        sampled
    }

    /// The stage that these records amount to, in the model that stored documents are read into.
    pub fn stage(&mut self, number: u32, reading: Reading) -> Stage {
        let successes = self.records - self.failures;
        let seconds = self.last_end - self.first_start;
        let send_seconds = self.last_start - self.first_start;
        let rate = |amount: f64| (seconds > 0.0).then(|| amount / seconds);
        let (zeros, output) = match reading {
            Reading::Native => (self.without_output, CLIENT_OUTPUT),
            Reading::Report => (0, SERVER_OUTPUT),
        };
        let detailed = self.is_detailed();
        let mut series = |index: usize, zeros: u64| self.values[index].distribution(zeros);
        let token_latency = |distribution: Option<Distribution>| distribution.filter(|_| detailed);
        let latency = Latency {
            request: series(LATENCY, 0),
            ntpot: series(NTPOT, zeros),
            tpot: token_latency(series(TPOT, 0)),
            ttft: token_latency(series(TTFT, 0)),
            itl: token_latency(series(ITL, 0)),
        };
        let requests = Requests {
            total: self.records,
            failures: Some(self.failures),
            input_length: series(INPUT, 0),
            output_length: series(output, 0),
            ..Requests::default()
        };
        let mut stage = Stage {
            number,
            load: Load {
                achieved_rate: (send_seconds > 0.0).then(|| self.records as f64 / send_seconds),
                send_seconds: Some(send_seconds),
                ..Load::default()
            },
            requests,
            latency,
            throughput: Throughput {
                input_tokens: rate(self.input_tokens),
                output_tokens: rate(self.output_tokens),
                total_tokens: rate(self.input_tokens + self.output_tokens),
                requests: rate(successes as f64),
                seconds: Some(seconds),
                ..Throughput::default()
            },
            ..Stage::default()
        };
        stage.settle();
        stage
    }
}
