//! What the client is told to do.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Requests of one stage above which a plan is refused: it would not fit into memory or a day.
const MOST_REQUESTS: f64 = 10_000_000.0;

/// The client's orders.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Where requests go: `http://127.0.0.1:8000`.
    pub endpoint: String,
    /// The model that requests name.
    pub model: String,
    /// Words of each prompt.
    pub prompt_words: usize,
    /// Tokens of each answer, a chunk each.
    pub output_tokens: u32,
    /// How requests follow each other.
    pub arrivals: Arrivals,
    /// Seed of arrivals and prompts: the same for every treatment.
    pub seed: u64,
    /// Stages in order.
    pub stages: Vec<StagePlan>,
    /// Seconds between stages.
    pub pause_seconds: f64,
    /// Seconds after which a request has failed.
    pub timeout_seconds: f64,
    /// Requests that may be under way at once; what would come on top is not sent, and counted.
    pub most_in_flight: usize,
    /// Threads of the client.
    pub threads: usize,
    /// Whether the servers answer a request that asks for it with status 429, as the testbed's constant ones do.
    pub upstream_errors: bool,
    /// Processes whose CPU time and memory are measured, by name.
    #[serde(default)]
    pub components: Vec<Component>,
}

/// One stage.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StagePlan {
    /// Requests a second.
    pub rate: f64,
    /// Seconds.
    pub duration: f64,
}

impl StagePlan {
    /// How many requests it sends.
    pub fn requests(&self) -> u64 {
        (self.rate * self.duration) as u64
    }
}

/// How requests follow each other.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// Independently of each other.
    Poisson,
}

/// A process to be measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// `proxy`, `picker`, …
    pub name: String,
    /// Its process.
    pub pid: u32,
}

/// Why a plan was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plan cannot be carried out: {0}")]
pub struct PlanError(pub(super) String);

impl Plan {
    /// # Errors
    /// When it asks for something impossible.
    pub fn check(&self) -> Result<(), PlanError> {
        let refuse = |why: String| Err(PlanError(why));
        for stage in &self.stages {
            let StagePlan { rate, duration } = *stage;
            if !(rate.is_finite() && rate > 0.0 && duration.is_finite() && duration > 0.0) {
                return refuse(format!("a stage of {rate} requests a second for {duration} s: both must be above 0"));
            }
            if stage.requests() == 0 || rate * duration > MOST_REQUESTS {
                return refuse(format!("a stage of {} requests: 1 to {MOST_REQUESTS} can be sent", rate * duration));
            }
        }
        let seconds = [self.pause_seconds, self.timeout_seconds];
        if seconds.iter().any(|seconds| !(seconds.is_finite() && (0.0..=86_400.0).contains(seconds))) {
            return refuse("pause and timeout must be between 0 and a day".into());
        }
        if self.stages.is_empty() || self.threads == 0 || self.most_in_flight == 0 || self.output_tokens == 0 {
            return refuse("it has no stage, thread, request in flight or output token".into());
        }
        Ok(())
    }

    pub(super) fn pause(&self) -> Duration {
        Duration::from_secs_f64(self.pause_seconds)
    }

    pub(super) fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout_seconds)
    }
}
