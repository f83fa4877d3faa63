//! `stage_<n>_lifecycle_metrics.json`: the summary of one stage.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::Deserialize;

use super::Error;
use crate::files;
use crate::model::{Distribution, Failure, Harness, Latency, Load, Requests, Stage, Throughput};

/// One stage's file, read and checked.
#[derive(Clone, Debug)]
pub struct StageFile {
    /// The file.
    pub path: PathBuf,
    /// Its numbers.
    pub stage: Stage,
}

#[derive(Deserialize)]
struct Summary {
    /// Who measured; only other clients than inference-perf say so.
    tool: Option<String>,
    benchmark_time_seconds: Option<f64>,
    load_summary: LoadSummary,
    successes: Successes,
    failures: Failures,
}

#[derive(Deserialize)]
struct LoadSummary {
    count: Option<u64>,
    schedule_delay: Option<Numbers>,
    send_duration: Option<f64>,
    requested_rate: Option<f64>,
    achieved_rate: Option<f64>,
    concurrency: Option<u64>,
}

#[derive(Deserialize)]
struct Successes {
    count: u64,
    latency: Option<Latencies>,
    throughput: Option<Rates>,
    prompt_len: Option<Numbers>,
    prompt_tokens: Option<Numbers>,
    output_len: Option<Numbers>,
}

#[derive(Deserialize)]
struct Latencies {
    request_latency: Option<Numbers>,
    normalized_time_per_output_token: Option<Numbers>,
    time_per_output_token: Option<Numbers>,
    time_to_first_token: Option<Numbers>,
    inter_token_latency: Option<Numbers>,
}

#[derive(Deserialize)]
struct Rates {
    input_tokens_per_sec: Option<f64>,
    output_tokens_per_sec: Option<f64>,
    total_tokens_per_sec: Option<f64>,
    requests_per_sec: Option<f64>,
}

#[derive(Deserialize)]
struct Failures {
    count: u64,
    #[serde(default)]
    by_label: IndexMap<String, Label>,
}

#[derive(Deserialize)]
struct Label {
    count: u64,
}

#[derive(Deserialize)]
struct Numbers {
    mean: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    #[serde(rename = "p0.1")]
    p0p1: Option<f64>,
    p1: Option<f64>,
    p5: Option<f64>,
    p10: Option<f64>,
    p25: Option<f64>,
    median: Option<f64>,
    p75: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    #[serde(rename = "p99.9")]
    p99p9: Option<f64>,
}

impl Numbers {
    /// The same numbers by the model's names; `None` where the harness summarised nothing (0.7 then writes totals only).
    fn distribution(&self) -> Option<Distribution> {
        Distribution {
            mean: self.mean,
            stddev: None,
            min: self.min,
            p0p1: self.p0p1,
            p1: self.p1,
            p5: self.p5,
            p10: self.p10,
            p25: self.p25,
            p50: self.median,
            p75: self.p75,
            p90: self.p90,
            p95: self.p95,
            p99: self.p99,
            p99p9: self.p99p9,
            max: self.max,
        }
        .known()
    }
}

impl StageFile {
    /// Reads a stage's file and checks its numbers.
    pub fn read(path: &Path, number: u32) -> Result<Self, Error> {
        let text = files::read_text(path, files::DOCUMENT_LIMIT)?;
        let summary: Summary =
            serde_json::from_str(&text).map_err(|source| Error::Json { path: path.into(), source })?;
        let stage = summary.stage(number).map_err(|(field, what)| Error::Value {
            path: path.into(),
            field: field.into(),
            what,
        })?;
        Ok(Self { path: path.into(), stage })
    }
}

type Wrong = (&'static str, String);

impl Summary {
    fn stage(self, number: u32) -> Result<Stage, Wrong> {
        let successes = &self.successes;
        let total = self.load_summary.count.unwrap_or(successes.count + self.failures.count);
        if successes.count + self.failures.count != total {
            let what = format!("{} succeeded and {} failed of {total}", successes.count, self.failures.count);
            return Err(("load_summary.count", what));
        }
        let nothing = Latencies {
            request_latency: None,
            normalized_time_per_output_token: None,
            time_per_output_token: None,
            time_to_first_token: None,
            inter_token_latency: None,
        };
        let latency = successes.latency.as_ref().unwrap_or(&nothing);
        let input_length = successes.prompt_tokens.as_ref().or(successes.prompt_len.as_ref());
        let mut stage = Stage {
            number,
            warm_up: false,
            load: self.load()?,
            requests: Requests {
                total,
                failures: Some(self.failures.count),
                incomplete: None,
                failures_by_label: self.labels(),
                input_length: checked("successes.prompt_tokens", input_length)?,
                output_length: checked("successes.output_len", successes.output_len.as_ref())?,
            },
            latency: Latency {
                ttft: checked("successes.latency.time_to_first_token", latency.time_to_first_token.as_ref())?,
                itl: checked("successes.latency.inter_token_latency", latency.inter_token_latency.as_ref())?,
                tpot: checked("successes.latency.time_per_output_token", latency.time_per_output_token.as_ref())?,
                ntpot: checked(
                    "successes.latency.normalized_time_per_output_token",
                    latency.normalized_time_per_output_token.as_ref(),
                )?,
                request: checked("successes.latency.request_latency", latency.request_latency.as_ref())?,
            },
            throughput: self.throughput()?,
            harness: Harness { tool: self.tool.clone().unwrap_or_else(|| "inference-perf".into()), version: None },
            workload: Default::default(),
            sampled: None,
        };
        stage.settle();
        Ok(stage)
    }

    fn load(&self) -> Result<Load, Wrong> {
        let load = &self.load_summary;
        let schedule_delay = load.schedule_delay.as_ref().and_then(Numbers::distribution);
        if let Some(delay) = &schedule_delay {
            delay.check(true).map_err(|what| ("load_summary.schedule_delay", what))?;
        }
        let send_seconds = number("load_summary.send_duration", load.send_duration)?;
        let sends = send_seconds.is_some_and(|seconds| seconds > 0.0);
        Ok(Load {
            // A concurrent stage's rate is its number of requests, which nobody requested a second.
            requested_rate: match load.concurrency {
                Some(_) => None,
                None => number("load_summary.requested_rate", load.requested_rate)?.filter(|&rate| rate > 0.0),
            },
            concurrency: load.concurrency,
            // Written as 0 when there was one send only.
            achieved_rate: number("load_summary.achieved_rate", load.achieved_rate)?.filter(|_| sends),
            send_seconds,
            schedule_delay,
        })
    }

    fn throughput(&self) -> Result<Throughput, Wrong> {
        let seconds = number("benchmark_time_seconds", self.benchmark_time_seconds)?.filter(|&seconds| seconds > 0.0);
        let Some(rates) = &self.successes.throughput else {
            return Ok(Throughput { seconds, ..Throughput::default() });
        };
        Ok(Throughput {
            input_tokens: number("successes.throughput.input_tokens_per_sec", rates.input_tokens_per_sec)?,
            input_tokens_derived: false,
            output_tokens: number("successes.throughput.output_tokens_per_sec", rates.output_tokens_per_sec)?,
            total_tokens: number("successes.throughput.total_tokens_per_sec", rates.total_tokens_per_sec)?,
            requests: number("successes.throughput.requests_per_sec", rates.requests_per_sec)?,
            seconds,
        })
    }

    fn labels(&self) -> Vec<Failure> {
        let labels = self.failures.by_label.iter();
        let mut labels: Vec<_> =
            labels.map(|(label, entry)| Failure { label: label.clone(), count: entry.count }).collect();
        labels.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.label.cmp(&b.label)));
        labels
    }
}

fn checked(field: &'static str, numbers: Option<&Numbers>) -> Result<Option<Distribution>, Wrong> {
    let distribution = numbers.and_then(Numbers::distribution);
    if let Some(distribution) = &distribution {
        distribution.check(false).map_err(|what| (field, what))?;
    }
    Ok(distribution)
}

fn number(field: &'static str, value: Option<f64>) -> Result<Option<f64>, Wrong> {
    match value {
        Some(value) if !value.is_finite() => Err((field, format!("is {value}"))),
        Some(value) if value < 0.0 => Err((field, format!("is negative ({value})"))),
        value => Ok(value),
    }
}
