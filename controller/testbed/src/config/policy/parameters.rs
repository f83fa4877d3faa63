//! Parameters of the plugins, with the defaults of llm-d-router v0.9.0.

use serde::Deserialize;

/// Parameters of `approx-prefix-cache-producer`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct ApproxPrefixCache {
    /// Whether sizes that servers report take the place of `block_size_tokens` and `lru_capacity_per_server`.
    pub auto_tune: bool,
    /// Pseudo-tokens (4 bytes) of a block; values below 64 count as 64.
    pub block_size_tokens: u32,
    /// Blocks of a prompt that are looked at when `max_prefix_tokens_to_match` is 0.
    pub max_prefix_blocks_to_match: u32,
    /// Pseudo-tokens of a prompt that are looked at.
    pub max_prefix_tokens_to_match: u32,
    /// Blocks remembered for each server.
    #[serde(rename = "lruCapacityPerServer")]
    pub lru_capacity_per_server: u32,
}

impl Default for ApproxPrefixCache {
    fn default() -> Self {
        Self {
            auto_tune: true,
            block_size_tokens: 16,
            max_prefix_blocks_to_match: 2048,
            max_prefix_tokens_to_match: 131_072,
            lru_capacity_per_server: 31_250,
        }
    }
}

/// The smallest block the producer works with, whatever is configured.
const LEAST_BLOCK_TOKENS: u32 = 64;

impl ApproxPrefixCache {
    /// Pseudo-tokens of a block as used.
    pub fn block_tokens(&self) -> u32 {
        self.block_size_tokens.max(LEAST_BLOCK_TOKENS)
    }

    /// Blocks of a prompt that are looked at, as used.
    pub fn most_blocks(&self) -> usize {
        let blocks = match self.max_prefix_tokens_to_match {
            0 => self.max_prefix_blocks_to_match,
            tokens => tokens / self.block_tokens(),
        };
        blocks as usize
    }
}

/// Parameters of `inflight-load-producer`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct InflightLoad {
    /// Counts 1.5 output tokens for each prompt token too, until the response's end.
    pub add_estimated_output_tokens: bool,
    /// The producer of matches, by name.
    pub prefix_match_info_producer_name: Option<String>,
}

/// Parameters of `prefix-cache-affinity-filter`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct PrefixCacheAffinity {
    /// Matched part of the prompt from which a server counts as holding it; 0 or less switches the filter off.
    pub affinity_threshold: f64,
    /// Probability of keeping all servers for one request.
    pub exploration_probability: f64,
    /// Milliseconds that the best holder may be behind the best other server; 0 for any.
    #[serde(rename = "maxTTFTPenaltyMs")]
    pub max_ttft_penalty_ms: f64,
    /// Where the estimate of a server's delay comes from.
    pub ttft_source: TtftSource,
    /// Tokens in flight that a server works off in a second.
    pub peak_prefill_throughput: f64,
    /// The producer of matches, by name.
    pub prefix_match_info_producer_name: Option<String>,
    /// The producer of tokens in flight, by name.
    #[serde(rename = "inFlightLoadProducerName")]
    pub inflight_load_producer_name: Option<String>,
}

/// Where the affinity filter's estimate of a server's delay comes from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum TtftSource {
    /// Tokens in flight divided by the peak prefill throughput.
    PrefillThroughput,
}

impl Default for PrefixCacheAffinity {
    fn default() -> Self {
        Self {
            affinity_threshold: 0.80,
            exploration_probability: 0.0,
            max_ttft_penalty_ms: 18_000.0,
            ttft_source: TtftSource::PrefillThroughput,
            peak_prefill_throughput: 15_928.0,
            prefix_match_info_producer_name: None,
            inflight_load_producer_name: None,
        }
    }
}

/// Parameters of `token-load-scorer`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct TokenLoad {
    /// Tokens in flight at which the score reaches 0.
    pub queue_threshold_tokens: u64,
    /// The producer of tokens in flight, by name.
    #[serde(rename = "inFlightLoadProducerName")]
    pub inflight_load_producer_name: Option<String>,
}

impl Default for TokenLoad {
    fn default() -> Self {
        Self { queue_threshold_tokens: 4_194_304, inflight_load_producer_name: None }
    }
}

/// Parameters of `prefix-cache-scorer`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct PrefixCacheScorer {
    /// The producer of matches, by name.
    pub prefix_match_info_producer_name: Option<String>,
}

/// Parameters of `max-score-picker`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct MaxScorePicker {
    /// Endpoints to name; the testbed's proxy can use one.
    pub max_num_of_endpoints: u32,
}

impl Default for MaxScorePicker {
    fn default() -> Self {
        Self { max_num_of_endpoints: 1 }
    }
}
