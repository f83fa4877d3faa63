//! One request of `per_request_lifecycle_metrics.json`, typed for streaming.
//!
//! The records moved between versions: 0.4 keeps token counts and times in `info` itself, 0.5 in `info.response_info`, 0.6
//! and 0.7 in `info.request_metrics` and `info.response_metrics`; 0.7 can add `computed_metrics`. Prompt and response text
//! is skipped while it is parsed, never stored. All times are seconds of one monotonic clock, not of the calendar.

use serde::Deserialize;

/// One request, as far as its numbers go.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Record {
    /// When it was sent.
    pub start_time: f64,
    /// When its last byte came, or when it failed.
    pub end_time: f64,
    /// What was measured; absent when the run left it out.
    #[serde(default)]
    pub info: Option<Info>,
    /// What the harness computed from it (0.7, where asked for); absent for failed requests.
    #[serde(default)]
    pub computed_metrics: Option<ComputedMetrics>,
    /// Why it failed; absent when it succeeded.
    #[serde(default)]
    pub error: Option<RecordError>,
}

/// What the client saw of a request, in any of the versions' shapes; read it through [`Record`]'s methods.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Info {
    #[serde(default)]
    input_tokens: Option<f64>,
    #[serde(default)]
    output_tokens: Option<f64>,
    #[serde(default)]
    output_token_times: Option<Vec<f64>>,
    #[serde(default)]
    request_metrics: Option<RequestMetrics>,
    #[serde(default, alias = "response_info")]
    response_metrics: Option<ResponseMetrics>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct RequestMetrics {
    #[serde(default)]
    text: Option<Text>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct Text {
    #[serde(default)]
    input_tokens: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct ResponseMetrics {
    #[serde(default)]
    output_tokens: Option<f64>,
    #[serde(default)]
    output_token_times: Option<Vec<f64>>,
    #[serde(default)]
    chunk_times: Option<Vec<f64>>,
    #[serde(default)]
    server_usage: Option<ServerUsage>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct ServerUsage {
    #[serde(default, alias = "input_tokens")]
    prompt_tokens: Option<f64>,
    #[serde(default, alias = "output_tokens")]
    completion_tokens: Option<f64>,
}

/// The harness's own numbers for one request, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ComputedMetrics {
    /// End minus start.
    #[serde(default)]
    pub request_latency: Option<f64>,
    /// Request latency over output tokens.
    #[serde(default)]
    pub normalized_time_per_output_token: Option<f64>,
    /// First token minus start.
    #[serde(default)]
    pub time_to_first_token: Option<f64>,
    /// Time after the first token over the remaining tokens.
    #[serde(default)]
    pub time_per_output_token: Option<f64>,
    /// Mean gap between tokens.
    #[serde(default)]
    pub inter_token_latency: Option<f64>,
    /// Every gap between tokens.
    #[serde(default)]
    pub inter_token_latencies: Option<Vec<f64>>,
    /// Input tokens.
    #[serde(default)]
    pub input_tokens: Option<f64>,
    /// Output tokens.
    #[serde(default)]
    pub output_tokens: Option<f64>,
}

/// Why a request failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct RecordError {
    /// The harness's class: `HTTP Error 503`, `TimeoutError`.
    #[serde(default)]
    pub error_type: String,
    /// The message, which may carry anything a server answered.
    #[serde(default)]
    pub error_msg: String,
}

impl Record {
    /// Whether the request succeeded.
    pub fn succeeded(&self) -> bool {
        self.error.is_none()
    }

    /// Seconds from start to end.
    pub fn request_latency(&self) -> f64 {
        self.end_time - self.start_time
    }

    /// Input tokens, as the harness counted them.
    pub fn input_tokens(&self) -> Option<f64> {
        let info = self.info.as_ref();
        info.and_then(|info| info.request_metrics.as_ref()?.text.as_ref()?.input_tokens)
            .or_else(|| info.and_then(|info| info.input_tokens))
            .or_else(|| self.computed_metrics.as_ref()?.input_tokens)
    }

    /// Output tokens, as the harness counted them: the count that its latencies per token divide by unless it was told to
    /// use the server's ([`Record::server_output_tokens`]).
    pub fn output_tokens(&self) -> Option<f64> {
        let info = self.info.as_ref();
        info.and_then(|info| info.response_metrics.as_ref()?.output_tokens)
            .or_else(|| info.and_then(|info| info.output_tokens))
            .or_else(|| self.computed_metrics.as_ref()?.output_tokens)
    }

    /// Output tokens, as the server reported them.
    pub fn server_output_tokens(&self) -> Option<f64> {
        self.info.as_ref()?.response_metrics.as_ref()?.server_usage.as_ref()?.completion_tokens
    }

    /// Input tokens, as the server reported them.
    pub fn server_input_tokens(&self) -> Option<f64> {
        self.info.as_ref()?.response_metrics.as_ref()?.server_usage.as_ref()?.prompt_tokens
    }

    /// When each output token came; empty for a request that was not streamed.
    pub fn token_times(&self) -> &[f64] {
        let Some(info) = self.info.as_ref() else { return &[] };
        let nested = info.response_metrics.as_ref().and_then(|metrics| metrics.output_token_times.as_deref());
        nested.or(info.output_token_times.as_deref()).unwrap_or_default()
    }

    /// When each chunk came; empty for a request that was not streamed, and before 0.5.
    pub fn chunk_times(&self) -> &[f64] {
        let metrics = self.info.as_ref().and_then(|info| info.response_metrics.as_ref());
        metrics.and_then(|metrics| metrics.chunk_times.as_deref()).unwrap_or_default()
    }

    /// Time to first token: `None` unless at least two tokens have times, as the harness decides it.
    pub fn ttft(&self) -> Option<f64> {
        match self.token_times() {
            [first, _, ..] => Some(first - self.start_time),
            _ => None,
        }
    }

    /// Time per output token after the first: `(last - first) / (tokens - 1)`.
    pub fn tpot(&self) -> Option<f64> {
        let tokens = self.output_tokens()?;
        match self.token_times() {
            [first, .., last] if tokens > 1.0 => Some((last - first) / (tokens - 1.0)),
            _ => None,
        }
    }

    /// Request latency over output tokens; `None` without output tokens (the harness writes 0 there).
    pub fn ntpot(&self) -> Option<f64> {
        let tokens = self.output_tokens()?;
        (tokens > 0.0).then(|| self.request_latency() / tokens)
    }

    /// The gaps between consecutive tokens.
    pub fn gaps(&self) -> impl Iterator<Item = f64> {
        self.token_times().windows(2).map(|pair| pair[1] - pair[0])
    }
}
