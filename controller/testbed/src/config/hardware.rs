//! Hardware models: what one model server can do, as coefficients of its step time.

use std::path::Path;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_yaml::Mapping;

use super::{Error, not_negative, policy, positive, read_yaml};

/// One model server: its step time, overheads, KV cache and scheduler.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// One line for people: model, accelerator, how many.
    pub description: String,
    /// What real servers it stands for; absent when it stands for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub describes: Option<Describes>,
    /// Accelerators that one server occupies; 0 when it is only simulated.
    pub gpus_per_server: u32,
    /// Bytes of text a token stands for; pickers count bytes where servers count tokens.
    pub bytes_per_token: f64,
    /// The step time's coefficients.
    pub step: Step,
    /// What a request costs outside the steps.
    pub overhead: Overhead,
    /// The KV cache.
    pub kv_cache: KvCache,
    /// The scheduler's limits.
    pub scheduler: Scheduler,
    /// Parameters that describe the machine to picker plugins, by plugin type: they take the place of the plugin's own
    /// defaults and give way to what a policy says itself.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub plugin_defaults: IndexMap<String, Mapping>,
}

/// The real servers that a hardware model stands for; forecasts find it by them.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Describes {
    /// The served model's name: `Qwen/Qwen3-32B`.
    pub model: String,
    /// The accelerator's model: `h100`.
    pub accelerator: String,
}

/// Coefficients of one step's duration. With R sequences running, T context tokens of decoding sequences, U unique
/// pinned KV tokens and n prefill tokens, each behind `ctx` tokens of context:
/// `(base + b R + b2 R^2 + cT T + cU U) (1 - overlap min(1, n / 2048)) + p n + q sum(n ctx)`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Seconds of an empty step.
    pub base_seconds: f64,
    /// Seconds a running sequence adds (b).
    pub per_sequence_seconds: f64,
    /// Seconds the square of the running sequences adds (b2).
    pub per_sequence_squared_seconds: f64,
    /// Seconds a context token of a decoding sequence adds (cT).
    pub per_context_token_seconds: f64,
    /// Seconds a unique pinned KV token adds (cU).
    pub per_unique_token_seconds: f64,
    /// Seconds a prefill token adds (p).
    pub per_prefill_token_seconds: f64,
    /// Seconds a prefill token adds for each token of context before it (q).
    pub per_prefill_token_context_seconds: f64,
    /// Fraction of the decode time that hides under a prefill chunk of 2048 tokens or more.
    pub prefill_overlap: f64,
}

/// What a request costs outside the steps.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    /// Seconds from a request's arrival until the scheduler can see it (HTTP, tokenisation).
    pub request_seconds: f64,
    /// Seconds from a token's computation until the client has it (detokenisation, HTTP).
    pub response_seconds: f64,
    /// Seconds each request already running adds to `request_seconds`.
    pub per_running_request_seconds: f64,
}

/// The KV cache's size.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KvCache {
    /// Tokens that fit.
    pub capacity_tokens: u32,
    /// Tokens of a block, the unit of prefix matches and eviction.
    pub block_tokens: u32,
}

/// The scheduler's limits.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    /// Tokens, decoded and prefilled together, that one step may hold.
    pub prefill_budget_tokens: u32,
    /// Sequences that may run together.
    pub max_sequences: u32,
    /// Whether a step is scheduled while the one before it runs: a request seen during step k runs in k + 2.
    pub asynchronous: bool,
}

impl Hardware {
    /// Reads and checks a hardware model.
    ///
    /// # Errors
    /// When it cannot be read, has an unknown key, a negative coefficient, or a cache or scheduler of size 0.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let hardware: Self = read_yaml(path)?;
        let checked = hardware.check();
        checked.map_err(|message| Error::Invalid { path: path.to_owned(), message })?;
        Ok(hardware)
    }

    /// Checks the model without a file.
    ///
    /// # Errors
    /// Says which value is impossible, and what would be possible.
    pub fn check(&self) -> Result<(), String> {
        let Step { per_sequence_seconds, per_sequence_squared_seconds, .. } = self.step;
        positive("bytes_per_token", self.bytes_per_token)?;
        positive("step.base_seconds", self.step.base_seconds)?;
        not_negative("step.per_sequence_seconds", per_sequence_seconds)?;
        not_negative("step.per_sequence_squared_seconds", per_sequence_squared_seconds)?;
        not_negative("step.per_context_token_seconds", self.step.per_context_token_seconds)?;
        not_negative("step.per_unique_token_seconds", self.step.per_unique_token_seconds)?;
        not_negative("step.per_prefill_token_seconds", self.step.per_prefill_token_seconds)?;
        not_negative("step.per_prefill_token_context_seconds", self.step.per_prefill_token_context_seconds)?;
        not_negative("step.prefill_overlap", self.step.prefill_overlap)?;
        if self.step.prefill_overlap >= 1.0 {
            return Err(format!("`step.prefill_overlap` is {}: it must be below 1", self.step.prefill_overlap));
        }
        not_negative("overhead.request_seconds", self.overhead.request_seconds)?;
        not_negative("overhead.response_seconds", self.overhead.response_seconds)?;
        not_negative("overhead.per_running_request_seconds", self.overhead.per_running_request_seconds)?;
        let KvCache { capacity_tokens, block_tokens } = self.kv_cache;
        if block_tokens == 0 || capacity_tokens < block_tokens {
            return Err(format!("`kv_cache` holds {capacity_tokens} tokens in blocks of {block_tokens}: not even one"));
        }
        let Scheduler { prefill_budget_tokens, max_sequences, .. } = self.scheduler;
        if max_sequences == 0 || prefill_budget_tokens <= max_sequences {
            return Err(format!(
                "`scheduler.prefill_budget_tokens` is {prefill_budget_tokens} for {max_sequences} sequences: each \
                 running sequence takes one token of it, so it must be larger"
            ));
        }
        for (plugin, parameters) in &self.plugin_defaults {
            policy::Kind::new(plugin, parameters.clone())
                .map_err(|message| format!("`plugin_defaults.{plugin}`: {message}"))?;
        }
        Ok(())
    }
}
