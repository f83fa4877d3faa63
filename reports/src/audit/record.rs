//! One request's record in `per_request_lifecycle_metrics.json`, as inference-perf 0.4 to 0.7 write it.

use std::io::Read;

use super::scan::{Error, Scanner};
use super::tally::Tokens;

/// Token times that are kept of one request; no model answers with more.
const TOKENS: usize = 1_000_000;

/// What a record says, as far as metrics need it; reused for the next record.
#[derive(Debug, Default)]
pub struct Record {
    /// Monotonic clock at dispatch, in seconds.
    pub start: Option<f64>,
    /// Monotonic clock at the end of the answer, in seconds.
    pub end: Option<f64>,
    /// Whether the request ended in an error.
    pub failed: bool,
    /// Input tokens, resolved by the harness.
    pub input_tokens: Option<f64>,
    /// Output tokens by the harness's own tokenizer.
    pub output_tokens: Option<f64>,
    /// Output tokens as the server reported them.
    pub server_output_tokens: Option<f64>,
    /// When each token arrived; the tokens of one chunk share a time.
    pub token_times: Vec<f64>,
    /// Whether the record carries response metadata, without which latencies of tokens are unknown.
    pub detailed: bool,
    /// Whether the record is of inference-perf 0.4, which divides TPOT by the token times instead of the token count.
    pub by_token_times: bool,
    /// Metrics that the harness computed itself; used only where the metadata was left out.
    pub computed: Computed,
}

/// `computed_metrics` of inference-perf 0.7.
#[derive(Debug, Default)]
pub struct Computed {
    /// Whether the record has any.
    pub present: bool,
    /// Time to first token, in seconds.
    pub ttft: Option<f64>,
    /// Time per output token, in seconds.
    pub tpot: Option<f64>,
    /// Normalised time per output token, in seconds.
    pub ntpot: Option<f64>,
    /// Inter-token latencies, in seconds.
    pub itl: Vec<f64>,
    /// Input tokens.
    pub input_tokens: Option<f64>,
    /// Output tokens by the harness's own tokenizer.
    pub output_tokens: Option<f64>,
}

type Result<T> = std::result::Result<T, Error>;

impl Record {
    /// Reads the next record in place of this one.
    pub fn read<R: Read>(&mut self, scanner: &mut Scanner<R>) -> Result<()> {
        self.clear();
        object(scanner, |key, scanner| match key {
            b"start_time" => scanner.number().map(|value| self.start = value),
            b"end_time" => scanner.number().map(|value| self.end = value),
            b"error" => {
                self.failed = scanner.peek()? != b'n';
                scanner.skip_value()
            }
            b"info" if scanner.peek()? == b'{' => self.read_info(scanner),
            b"computed_metrics" if scanner.peek()? == b'{' => self.computed.read(scanner),
            _ => scanner.skip_value(),
        })
    }

    /// Output tokens by the count that latencies are divided by.
    pub fn output(&self, tokens: Tokens) -> Option<f64> {
        let client = self.output_tokens.or(self.computed.output_tokens);
        match tokens {
            Tokens::Client => client,
            Tokens::Server => self.server_output_tokens.or(client),
        }
    }

    /// When the first token came, in seconds after `start`, however many followed.
    pub fn first_token(&self, start: f64) -> Option<f64> {
        self.token_times.first().map(|first| first - start).or(self.computed.ttft)
    }

    /// Time to first token as the harness counts it, of a request that started at `start`; only with more than one token time.
    pub fn ttft(&self, start: f64) -> Option<f64> {
        match self.token_times.as_slice() {
            [first, .., _] if self.detailed => Some(first - start),
            _ if self.detailed => None,
            _ => self.computed.ttft,
        }
    }

    /// Time per output token after the first.
    pub fn tpot(&self, tokens: Tokens) -> Option<f64> {
        match self.token_times.as_slice() {
            [first, .., last] if self.detailed => {
                let output = || self.output(tokens).unwrap_or(0.0);
                let divisor = if self.by_token_times { self.token_times.len() as f64 } else { output() };
                (divisor > 1.0).then(|| (last - first) / (divisor - 1.0))
            }
            _ if self.detailed => None,
            _ => self.computed.tpot,
        }
    }

    /// `latency` divided by the output tokens; `None` without any.
    pub fn ntpot(&self, latency: f64, tokens: Tokens) -> Option<f64> {
        self.output(tokens).filter(|output| *output > 0.0).map(|output| latency / output)
    }

    /// The gaps between tokens.
    pub fn gaps(&self) -> impl Iterator<Item = f64> {
        let times = if self.detailed { self.token_times.as_slice() } else { &[] };
        let computed = if self.detailed { &[] } else { self.computed.itl.as_slice() };
        times.windows(2).map(|pair| pair[1] - pair[0]).chain(computed.iter().copied())
    }

    fn clear(&mut self) {
        let (mut token_times, mut itl) =
            (std::mem::take(&mut self.token_times), std::mem::take(&mut self.computed.itl));
        token_times.clear();
        itl.clear();
        *self = Self { token_times, computed: Computed { itl, ..Computed::default() }, ..Self::default() };
    }

    fn read_info<R: Read>(&mut self, scanner: &mut Scanner<R>) -> Result<()> {
        object(scanner, |key, scanner| match key {
            b"request_metrics" if scanner.peek()? == b'{' => object(scanner, |key, scanner| match key {
                b"text" if scanner.peek()? == b'{' => object(scanner, |key, scanner| match key {
                    b"input_tokens" => scanner.number().map(|value| self.input_tokens = value),
                    _ => scanner.skip_value(),
                }),
                _ => scanner.skip_value(),
            }),
            // 0.7 and 0.6 say `response_metrics`, 0.5 says `response_info`.
            b"response_metrics" | b"response_info" if scanner.peek()? == b'{' => {
                self.detailed = true;
                object(scanner, |key, scanner| self.read_response(key, scanner))
            }
            b"input_tokens" => {
                let value = scanner.number()?;
                self.input_tokens = self.input_tokens.or(value);
                Ok(())
            }
            // 0.4 keeps them beside the input tokens.
            b"output_tokens" | b"output_token_times" => {
                self.detailed = true;
                self.by_token_times = true;
                self.read_response(key, scanner)
            }
            _ => scanner.skip_value(),
        })
    }

    fn read_response<R: Read>(&mut self, key: &[u8], scanner: &mut Scanner<R>) -> Result<()> {
        match key {
            b"output_tokens" => scanner.number().map(|value| self.output_tokens = value),
            b"output_token_times" => numbers(scanner, &mut self.token_times),
            b"server_usage" if scanner.peek()? == b'{' => object(scanner, |key, scanner| match key {
                b"completion_tokens" => {
                    let value = scanner.number()?;
                    self.server_output_tokens = value.or(self.server_output_tokens);
                    Ok(())
                }
                b"output_tokens" => {
                    let value = scanner.number()?;
                    self.server_output_tokens = self.server_output_tokens.or(value);
                    Ok(())
                }
                _ => scanner.skip_value(),
            }),
            _ => scanner.skip_value(),
        }
    }
}

impl Computed {
    fn read<R: Read>(&mut self, scanner: &mut Scanner<R>) -> Result<()> {
        self.present = true;
        object(scanner, |key, scanner| match key {
            b"time_to_first_token" => scanner.number().map(|value| self.ttft = value),
            b"time_per_output_token" => scanner.number().map(|value| self.tpot = value),
            b"normalized_time_per_output_token" => scanner.number().map(|value| self.ntpot = value),
            b"inter_token_latencies" => numbers(scanner, &mut self.itl),
            b"input_tokens" => scanner.number().map(|value| self.input_tokens = value),
            b"output_tokens" => scanner.number().map(|value| self.output_tokens = value),
            _ => scanner.skip_value(),
        })
    }
}

/// Hands each key of an object to `member`, which must consume the value.
fn object<R: Read>(
    scanner: &mut Scanner<R>,
    mut member: impl FnMut(&[u8], &mut Scanner<R>) -> Result<()>,
) -> Result<()> {
    scanner.expect(b'{', "a record is not an object")?;
    let mut first = true;
    while scanner.member(b'}', &mut first)? {
        let key = scanner.key()?;
        member(key.as_bytes(), scanner)?;
    }
    Ok(())
}

/// Reads an array of numbers; members of other kinds are left out, and a value that is no array reads as none.
fn numbers<R: Read>(scanner: &mut Scanner<R>, into: &mut Vec<f64>) -> Result<()> {
    into.clear();
    if scanner.peek()? != b'[' {
        return scanner.skip_value();
    }
    scanner.expect(b'[', "an array is missing")?;
    let mut first = true;
    while scanner.member(b']', &mut first)? {
        into.extend(scanner.number()?);
        if into.len() > TOKENS {
            return Err(scanner.syntax("a request has more than a million tokens"));
        }
    }
    Ok(())
}
