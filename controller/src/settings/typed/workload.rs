//! The load.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::settings::stage::{Ratio, Stage};

/// What load is sent.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Name of a template of `config/workloads/`.
    pub template: String,
    /// A ready-made workload used instead.
    pub file: Option<PathBuf>,
    /// Upstream's arrivals or deterministic ones.
    pub variant: Variant,
    /// Arrival process.
    pub load: Arrivals,
    /// The ladder as written, before scaling; empty only with a ready-made file.
    #[serde(default)]
    pub stages: Vec<Stage>,
    /// Seconds between stages.
    pub interval: f64,
    /// Exact factor on every rate.
    pub rate_scale: Ratio,
    /// Seconds until a request is given up.
    pub request_timeout: f64,
    /// Shape of prompts and responses.
    pub data: Data,
}

impl Workload {
    /// The ladder with every rate scaled by [`Workload::rate_scale`].
    pub fn scaled_stages(&self) -> Vec<Stage> {
        self.stages.iter().map(|stage| Stage { rate: self.rate_scale.scale(stage.rate), ..*stage }).collect()
    }

    /// Seconds of load and of the pauses between stages, without any drain.
    pub fn seconds(&self) -> f64 {
        let pauses = self.stages.len().saturating_sub(1) as f64 * self.interval;
        self.stages.iter().map(|stage| stage.duration).sum::<f64>() + pauses
    }

    /// Requests that the harness plans for the scaled ladder.
    pub fn planned_requests(&self) -> u64 {
        self.scaled_stages().iter().map(Stage::planned).sum()
    }
}

/// Which family of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Poisson, as published.
    Upstream,
    /// Constant.
    Deterministic,
}

/// Arrival process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps.
    Constant,
}

/// Shape of prompts and responses; what a template does not use stays `None`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Groups of prompts with a shared prefix.
    pub groups: Option<u64>,
    /// Prompts in each group.
    pub prompts_per_group: Option<u64>,
    /// Tokens of the shared prefix.
    pub prefix_tokens: Option<u64>,
    /// Tokens that differ.
    pub question_tokens: Option<u64>,
    /// Number of random prompts.
    pub prompts: Option<u64>,
    /// Mean tokens of a random prompt.
    pub input_tokens: Option<u64>,
    /// Fewest tokens of a random prompt.
    pub input_tokens_min: Option<u64>,
    /// Most tokens of a random prompt.
    pub input_tokens_max: Option<u64>,
    /// Tokens asked for.
    pub output_tokens: Option<u64>,
    /// Fewest tokens asked for.
    pub output_tokens_min: Option<u64>,
    /// Most tokens asked for.
    pub output_tokens_max: Option<u64>,
    /// Seed of prompts.
    pub seed: u64,
}
