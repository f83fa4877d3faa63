//! From the model to a document. Absent numbers are left out, never written as null or 0.

use serde::Serialize;
use serde_yaml::Value;

use crate::model::{Component, Distribution, Failure};

/// Whole documents, in the format's order of keys.
#[derive(Serialize)]
pub(super) struct Document {
    pub version: &'static str,
    pub run: Run,
    pub scenario: Scenario,
    pub results: Results,
}

#[derive(Serialize)]
pub(super) struct Run {
    pub uid: String,
    pub eid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    pub description: String,
}

#[derive(Serialize)]
pub(super) struct Time {
    pub start: String,
    pub end: String,
    pub duration: String,
}

#[derive(Serialize)]
pub(super) struct Scenario {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<StackEntry>,
    pub load: Load,
}

#[derive(Serialize)]
pub(super) struct StackEntry {
    pub metadata: Metadata,
    pub standardized: Standardized,
    pub native: Native,
}

#[derive(Serialize)]
pub(super) struct Metadata {
    pub schema_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cfg_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Standardized {
    pub kind: String,
    pub tool: String,
    pub tool_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<Accelerator>,
}

#[derive(Serialize)]
pub(super) struct Model {
    pub name: String,
}

#[derive(Serialize)]
pub(super) struct Accelerator {
    pub model: String,
    pub count: u64,
    pub parallelism: Parallelism,
}

#[derive(Serialize)]
pub(super) struct Parallelism {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tp: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dp: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dp_local: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ep: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pp: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct Native {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
}

#[derive(Serialize)]
pub(super) struct Load {
    pub metadata: Metadata,
    pub standardized: LoadStandardized,
    pub native: Native,
}

#[derive(Serialize)]
pub(super) struct LoadStandardized {
    pub tool: String,
    pub tool_version: String,
    pub parallelism: u64,
    pub source: &'static str,
    pub stage: u32,
    pub input_seq_len: SequenceLength,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_seq_len: Option<SequenceLength>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Prefix>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_qps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct SequenceLength {
    pub distribution: String,
    pub value: f64,
}

#[derive(Serialize)]
pub(super) struct Prefix {
    pub prefix_len: SequenceLength,
    pub num_groups: u64,
    pub num_users_per_group: u64,
    pub num_prefixes: u64,
}

#[derive(Serialize)]
pub(super) struct Results {
    pub request_performance: RequestPerformance,
    pub observability: Observability,
}

#[derive(Serialize)]
pub(super) struct RequestPerformance {
    pub aggregate: Aggregate,
}

#[derive(Serialize)]
pub(super) struct Aggregate {
    pub requests: Requests,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
}

#[derive(Serialize)]
pub(super) struct Requests {
    pub total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_length: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_length: Option<Statistics>,
}

#[derive(Serialize)]
pub(super) struct Latency {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_first_token: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalized_time_per_output_token: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_per_output_token: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inter_token_latency: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_latency: Option<Statistics>,
}

#[derive(Serialize)]
pub(super) struct Throughput {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_token_rate: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_token_rate: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_token_rate: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_rate: Option<Statistics>,
}

/// What the format has no place for; its observability section allows any key.
#[derive(Serialize)]
pub(super) struct Observability {
    pub load_generator: LoadGenerator,
}

#[derive(Serialize)]
pub(super) struct LoadGenerator {
    pub warm_up: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub achieved_rate: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_duration: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_delay: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_time: Option<Statistics>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures_by_label: Vec<Failure>,
}

#[derive(Serialize)]
pub(super) struct Statistics {
    units: &'static str,
    mean: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stddev: Option<f64>,
    #[serde(flatten)]
    percentiles: indexmap::IndexMap<&'static str, f64>,
}

impl Statistics {
    /// A distribution; `None` without a mean, which the format requires.
    pub(super) fn of(distribution: Option<Distribution>, units: &'static str) -> Option<Self> {
        let distribution = distribution?;
        let known = distribution.percentiles().into_iter().filter_map(|at| Some((at.name, at.value?)));
        Some(Self { units, mean: distribution.mean?, stddev: distribution.stddev, percentiles: known.collect() })
    }

    /// One number.
    pub(super) fn single(value: Option<f64>, units: &'static str) -> Option<Self> {
        Self::of(value.map(Distribution::of_mean), units)
    }
}

impl Standardized {
    pub(super) fn of(component: &Component) -> Self {
        Self {
            kind: component.kind.clone(),
            tool: component.tool.clone(),
            tool_version: component.tool_version.clone(),
            role: component.role.clone(),
            replicas: component.replicas,
            model: component.model.clone().map(|name| Model { name }),
            accelerator: component.accelerator.as_ref().map(|accelerator| Accelerator {
                model: accelerator.model.clone(),
                count: accelerator.count.unwrap_or_default(),
                parallelism: Parallelism {
                    tp: accelerator.parallelism.tp,
                    dp: accelerator.parallelism.dp,
                    dp_local: accelerator.parallelism.dp_local,
                    workers: accelerator.parallelism.workers,
                    ep: accelerator.parallelism.ep,
                    pp: accelerator.parallelism.pp,
                },
            }),
        }
    }
}
