//! The testbed's open-loop client as a provider's harness: for what inference-perf is too coarse for.

use std::path::Path;
use std::time::Duration;

use reports::native::stage_file_name;
use serde_json::{Value as Json, json};
use serde_yaml::{Mapping, Value};
use testbed::client::{Arrivals, Component, NAME, Percentiles, Plan, Report, StagePlan, StageResult};

use super::{Harness, Load};
use crate::evidence::SCRATCH;
use crate::failure::{Failure, Kind, Result};
use crate::lifecycle::{self, Event, Observer};
use crate::process::{Session, Stream};
use crate::settings::{self, Settings};

/// The file that the client leaves in a repetition's evidence.
pub const FILE: &str = "open-loop.json";

/// Words of a prompt when the workload does not say.
const PROMPT_WORDS: u64 = 200;
/// Tokens of an answer when the workload does not say.
const OUTPUT_TOKENS: u32 = 16;
/// Threads of the client.
const THREADS: usize = 1;

/// The open-loop client.
pub struct OpenLoop<'a> {
    settings: &'a Settings,
}

impl<'a> OpenLoop<'a> {
    /// The client for these settings.
    pub fn new(settings: &'a Settings) -> Self {
        Self { settings }
    }

    fn plan(&self, load: &Load<'_>) -> Plan {
        let workload = &self.settings.workload;
        let stage = |stage: &settings::Stage| StagePlan { rate: stage.rate, duration: stage.duration };
        Plan {
            endpoint: load.endpoint.to_owned(),
            model: self.settings.cluster.model.clone(),
            prompt_words: workload.data.input_tokens.unwrap_or(PROMPT_WORDS) as usize,
            output_tokens: workload
                .data
                .output_tokens
                .and_then(|tokens| u32::try_from(tokens).ok())
                .unwrap_or(OUTPUT_TOKENS),
            arrivals: match workload.load {
                settings::Arrivals::Constant => Arrivals::Constant,
                settings::Arrivals::Poisson => Arrivals::Poisson,
            },
            seed: workload.data.seed,
            stages: workload.scaled_stages().iter().map(stage).collect(),
            pause_seconds: workload.interval,
            timeout_seconds: workload.request_timeout,
            most_in_flight: self.settings.harness.worker_max_concurrency as usize,
            threads: THREADS,
            upstream_errors: load.upstream_errors,
            components: load.processes.iter().map(|(name, pid)| Component { name: name.clone(), pid: *pid }).collect(),
        }
    }
}

impl Harness for OpenLoop<'_> {
    fn prepare(&mut self, _session: &Session, _observer: &dyn Observer) -> Result<Mapping> {
        Ok(Mapping::from_iter([(Value::from("harness_client"), client().into())]))
    }

    fn run(&mut self, load: Load<'_>) -> Result<Mapping> {
        let plan = self.plan(&load);
        let scratch = load.work.join(SCRATCH);
        fs_err::create_dir_all(&scratch)?;
        let file = scratch.join("open-loop-plan.json");
        fs_err::write(&file, serde_json::to_vec_pretty(&plan).map_err(Failure::internal)?)?;
        let output = load.work.join(FILE);
        let mut watcher = |stream: Stream, line: &str| {
            if let (Stream::Stdout, Some(position)) = (stream, position(&plan, line)) {
                load.observer.notify(Event::Load(position));
            }
        };
        super::local::on_cores("testbed load", super::local::this_program()?, load.cores)
            .args(["testbed", "load", "--plan"])
            .arg(&file)
            .arg("--output")
            .arg(&output)
            .no_progress(Duration::from_secs_f64(self.settings.harness.no_progress_timeout))
            .run_observed(load.session, &mut watcher)
            .map_err(|error| error.failure(Kind::Measurement))?;
        let text = fs_err::read_to_string(&output)?;
        let report: Report = serde_json::from_str(&text).map_err(Failure::measurement)?;
        self.judge(&report)?;
        for (number, stage) in (0..).zip(&report.stages) {
            let native = native(stage, plan.output_tokens).to_string();
            fs_err::write(load.work.join(stage_file_name(number)), native)?;
        }
        write_config(load.work, &plan)?;
        let sent: u64 = report.stages.iter().map(|stage| stage.planned - stage.unsent).sum();
        let failures: u64 = report.stages.iter().flat_map(|stage| stage.failed.values()).sum();
        let mut harness = Mapping::new();
        harness.insert("name".into(), NAME.into());
        harness.insert("version".into(), env!("CARGO_PKG_VERSION").into());
        harness.insert("requests".into(), sent.into());
        harness.insert("failures".into(), failures.into());
        Ok(Mapping::from_iter([(Value::from("harness"), Value::Mapping(harness))]))
    }
}

impl OpenLoop<'_> {
    /// A stage with more failures than the limits allow, or with no answer at all, is no measurement. A rate that was not
    /// reached is one: it is where the limit is.
    fn judge(&self, report: &Report) -> Result<()> {
        for (number, stage) in report.stages.iter().enumerate() {
            let sent = stage.planned - stage.unsent;
            let failed: u64 = stage.failed.values().sum();
            let allowed = self.settings.limits.failure_rate * sent as f64;
            if stage.succeeded == 0 || failed as f64 > allowed {
                let reasons: Vec<String> =
                    stage.failed.iter().map(|(reason, count)| format!("{count} x {reason}")).collect();
                let (rate, reasons) = (stage.offered_rate, reasons.join(", "));
                return Err(Failure::measurement(format!(
                    "stage {} at {rate} requests/s: {failed} of {sent} requests failed: {reasons}",
                    number + 1
                ))
                .hint("lower the ladder's highest rates, or raise limits.failure_rate"));
            }
        }
        Ok(())
    }
}

/// The client's name and version, as its report has them.
pub(super) fn client() -> String {
    format!("{NAME} {}", env!("CARGO_PKG_VERSION"))
}

/// Where the load is, from a line of the client's output: `{"stage":0,"done":12}`.
fn position(plan: &Plan, line: &str) -> Option<lifecycle::Load> {
    let told: Json = serde_json::from_str(line).ok()?;
    let (stage, done) = (usize::try_from(told["stage"].as_u64()?).ok()?, told["done"].as_u64()?);
    let planned = plan.stages.get(stage)?;
    let later: f64 = plan.stages[stage + 1..].iter().map(|stage| stage.duration + plan.pause_seconds).sum();
    let left = planned.duration * (1.0 - done as f64 / planned.requests().max(1) as f64);
    Some(lifecycle::Load {
        stage: stage + 1,
        stages: plan.stages.len(),
        rate: Some(planned.rate),
        done,
        planned: planned.requests(),
        remaining: Some(Duration::from_secs_f64((left + later).max(0.0))),
    })
}

/// A stage in the form of inference-perf's files, which documents are made from; it names its own tool.
fn native(stage: &StageResult, output_tokens: u32) -> Json {
    let failed: u64 = stage.failed.values().sum();
    let sent = stage.planned - stage.unsent;
    let labels: serde_json::Map<String, Json> =
        stage.failed.iter().map(|(label, count)| (label.clone(), json!({"count": count}))).collect();
    json!({
        "tool": NAME,
        "benchmark_time_seconds": stage.seconds,
        "load_summary": {
            "count": sent, "schedule_delay": seconds(&stage.lateness), "send_duration": stage.seconds,
            "requested_rate": stage.offered_rate, "achieved_rate": stage.achieved_rate,
        },
        "successes": {
            "count": stage.succeeded,
            "latency": {
                "request_latency": seconds(&stage.latency),
                "time_to_first_token": seconds(&stage.ttft),
                "inter_token_latency": seconds(&stage.chunk_gap),
                "time_per_output_token": seconds(&stage.chunk_interval),
            },
            "throughput": {
                "requests_per_sec": stage.completed_rate,
                "output_tokens_per_sec": stage.completed_rate * f64::from(output_tokens),
            },
        },
        "failures": {"count": failed, "by_label": labels},
    })
}

fn seconds(times: &Percentiles) -> Json {
    let value = |microseconds: Option<f64>| microseconds.map(|microseconds| microseconds / 1e6);
    json!({
        "mean": value(times.mean), "min": value(times.min), "median": value(times.p50), "p90": value(times.p90),
        "p99": value(times.p99), "p99.9": value(times.p999), "max": value(times.max),
    })
}

/// The load's shape where documents look for it.
fn write_config(work: &Path, plan: &Plan) -> Result<()> {
    let fixed = |length: u64| json!({"type": "fixed", "mean": length, "min": length, "max": length});
    let stages: Vec<Json> =
        plan.stages.iter().map(|stage| json!({"rate": stage.rate, "duration": stage.duration})).collect();
    let load = match plan.arrivals {
        Arrivals::Constant => "constant",
        Arrivals::Poisson => "poisson",
    };
    let config = json!({
        "load": {"type": load, "stages": stages, "interval": plan.pause_seconds},
        "api": {"type": "completion", "streaming": true},
        "server": {"type": "vllm", "model_name": plan.model},
        "data": {
            "type": "random",
            "input_distribution": fixed(plan.prompt_words as u64),
            "output_distribution": fixed(u64::from(plan.output_tokens)),
        },
    });
    fs_err::write(
        work.join(reports::native::CONFIG_FILE),
        reports::yaml::to_string(&config).map_err(Failure::internal)?,
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_s_lines_tell_where_the_load_is() {
        let stage = StagePlan { rate: 100.0, duration: 2.0 };
        let plan = Plan {
            endpoint: String::new(),
            model: String::new(),
            prompt_words: 1,
            output_tokens: 1,
            arrivals: Arrivals::Poisson,
            seed: 0,
            stages: vec![stage, stage],
            pause_seconds: 1.0,
            timeout_seconds: 1.0,
            most_in_flight: 1,
            threads: 1,
            upstream_errors: false,
            components: Vec::new(),
        };
        let position = |line| position(&plan, line);
        let told = position("{\"stage\":0,\"done\":50}").unwrap();
        assert_eq!((told.stage, told.stages, told.done, told.planned), (1, 2, 50, 200));
        assert_eq!(told.remaining, Some(Duration::from_millis(4500)));
        assert!(position("{\"stage\":7,\"done\":0}").is_none() && position("noise").is_none());
    }
}
