//! From a result folder of inference-perf to one document a stage.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use serde_yaml::Value;
use sha2::{Digest, Sha256};

use super::emit::{self, Statistics};
use super::{Error, file_name};
use crate::model::{Component, Stage};
use crate::native::{Config, Results};
use crate::{files, yaml};

/// What documents say and native files do not know.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The campaign's name.
    pub campaign_id: String,
    /// The treatment's name.
    pub treatment: String,
    /// The repetition's number, from 1.
    pub repetition: u32,
    /// The harness's version: `0.7.0`.
    pub harness_version: String,
    /// What was measured. Simulated components have `testbed` as their tool.
    pub stack: Vec<Part>,
    /// The stages that the workload declares as warm-up, by number from 0.
    pub warm_up_stages: BTreeSet<u32>,
}

/// A component of the stack, with its own configuration.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The component; its `cfg_id` is computed from `config` when absent.
    pub component: Component,
    /// For people.
    pub description: Option<String>,
    /// Its configuration, as it is; must carry no secrets.
    pub config: Option<Value>,
}

/// A document, ready to be written beside the native files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// Its file's name.
    pub file_name: String,
    /// The stage's number.
    pub stage: u32,
    /// YAML text.
    pub text: String,
}

/// Converts every stage of a result folder, in numeric order. Secrets of the harness's configuration and the folders of
/// its paths are left out.
pub fn convert(native_dir: &Path, context: &Context) -> Result<Vec<Converted>, Error> {
    let results = Results::read(native_dir)?;
    let config = results.config.as_ref();
    let stages = results.stages.into_iter().map(|file| file.stage);
    stages.map(|stage| document(native_dir, stage, config, context)).collect()
}

fn document(dir: &Path, mut stage: Stage, config: Option<&Config>, context: &Context) -> Result<Converted, Error> {
    stage.warm_up = context.warm_up_stages.contains(&stage.number);
    let document = emit::Document {
        version: "0.2",
        run: run(dir, &stage, context)?,
        scenario: emit::Scenario { stack: stack(&context.stack)?, load: load(&stage, config, context)? },
        results: results(&stage),
    };
    Ok(Converted {
        file_name: file_name(&context.treatment, stage.number),
        stage: stage.number,
        text: yaml::to_string(&document)?,
    })
}

fn run(dir: &Path, stage: &Stage, context: &Context) -> Result<emit::Run, Error> {
    let Context { campaign_id, treatment, repetition, .. } = context;
    let experiment = format!("{campaign_id}/{treatment}/repetition-{repetition}");
    let simulated =
        context.stack.iter().any(|part| crate::model::Stack::SIMULATED_TOOLS.contains(&part.component.tool.as_str()));
    Ok(emit::Run {
        uid: identifier(&format!("{experiment}/stage-{}", stage.number)),
        eid: identifier(&experiment),
        time: time(dir, stage.number)?,
        description: if simulated { format!("{experiment} (simulated)") } else { experiment },
    })
}

/// A UUID that is the same whenever the same evidence is converted: version 8 (RFC 9562), from SHA-256 of the name.
fn identifier(name: &str) -> String {
    let hash = hex(name.as_bytes());
    format!("{}-{}-8{}-a{}-{}", &hash[..8], &hash[8..12], &hash[13..16], &hash[17..20], &hash[20..32])
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").expect("a string takes any text");
        text
    })
}

/// When the stage ran, from the partial document that inference-perf 0.7 writes beside it; earlier versions do not say.
fn time(dir: &Path, stage: u32) -> Result<Option<emit::Time>, Error> {
    #[derive(Deserialize)]
    struct Partial {
        run: PartialRun,
    }
    #[derive(Deserialize)]
    struct PartialRun {
        time: Option<PartialTime>,
    }
    #[derive(Deserialize)]
    struct PartialTime {
        start: String,
        end: String,
    }
    let path = dir.join(format!("inference-perf.partial.stage_{stage}.yaml"));
    if !fs_err::exists(&path).map_err(files::Error::Io)? {
        return Ok(None);
    }
    let partial: Partial = yaml::read(&path, files::DOCUMENT_LIMIT)?;
    let Some(PartialTime { start, end }) = partial.run.time else { return Ok(None) };
    let parse = |field: &str, text: &str| {
        text.parse::<jiff::Timestamp>().map_err(|error| Error::Value {
            path: path.clone(),
            field: format!("run.time.{field}"),
            what: error.to_string(),
        })
    };
    let (from, to) = (parse("start", &start)?, parse("end", &end)?);
    let duration = format!("PT{}S", to.duration_since(from).as_secs_f64());
    Ok(Some(emit::Time { start, end, duration }))
}

/// The stack's entries as a document has them, for documents that were written elsewhere.
///
/// # Errors
/// When a part's configuration cannot be written as YAML.
pub fn stack_entries(parts: &[Part]) -> Result<Value, Error> {
    Ok(serde_yaml::to_value(stack(parts)?).map_err(|error| yaml::Error::Emit(error.to_string()))?)
}

fn stack(parts: &[Part]) -> Result<Vec<emit::StackEntry>, Error> {
    let entry = |part: &Part| {
        let config = yaml::to_string(&part.config)?;
        Ok(emit::StackEntry {
            metadata: emit::Metadata {
                schema_version: "0.0.1",
                label: Some(part.component.label.clone()),
                cfg_id: Some(part.component.cfg_id.clone().unwrap_or_else(|| hex(config.as_bytes())[..32].to_owned())),
                description: part.description.clone(),
            },
            standardized: emit::Standardized::of(&part.component),
            native: emit::Native { config: part.config.clone() },
        })
    };
    parts.iter().map(entry).collect()
}

fn load(stage: &Stage, config: Option<&Config>, context: &Context) -> Result<emit::Load, Error> {
    let data = config.map(Config::data).unwrap_or_default();
    let sequence = |(distribution, value)| emit::SequenceLength { distribution, value };
    let measured = |length: Option<crate::model::Distribution>| Some(("other".to_owned(), length?.mean?));
    let input = data.input.clone().or_else(|| measured(stage.requests.input_length));
    let output = data.output.clone().or_else(|| measured(stage.requests.output_length));
    let workload = config.map(|config| yaml::to_string(&config.workload())).transpose()?;
    Ok(emit::Load {
        metadata: emit::Metadata {
            schema_version: "0.0.1",
            label: None,
            cfg_id: workload.map(|workload| hex(workload.as_bytes())[..32].to_owned()),
            description: config.map(describe),
        },
        standardized: emit::LoadStandardized {
            tool: stage.harness.tool.clone(),
            tool_version: context.harness_version.clone(),
            parallelism: 1,
            source: match data.kind.as_str() {
                "" => "unknown",
                "random" | "shared_prefix" => "random",
                _ => "sampled",
            },
            stage: stage.number,
            // The format requires an input length; nothing is known of it only when the configuration is missing and
            // every request failed.
            input_seq_len: sequence(input.unwrap_or_else(|| ("other".into(), 0.0))),
            output_seq_len: output.map(sequence),
            prefix: data.prefix.zip(data.groups).zip(data.prompts_per_group).map(|((tokens, groups), prompts)| {
                emit::Prefix {
                    prefix_len: sequence(("fixed".into(), tokens as f64)),
                    num_groups: groups,
                    num_users_per_group: prompts,
                    num_prefixes: 1,
                }
            }),
            rate_qps: stage.load.requested_rate,
            concurrency: stage.load.concurrency,
        },
        native: emit::Native { config: config.map(|config| config.redacted().0) },
    })
}

/// The load in words: its data and arrivals, and what of them is seeded.
fn describe(config: &Config) -> String {
    let data = config.data();
    let seed = data.seed.map_or_else(|| "no data seed".into(), |seed| format!("data seed {seed}"));
    let kind = if data.kind.is_empty() { "unknown" } else { &data.kind };
    format!("{kind} data, {seed}; {} arrivals", config.load_kind().unwrap_or("unknown"))
}

fn results(stage: &Stage) -> emit::Results {
    let Stage { load, requests, latency, throughput, .. } = stage;
    let latency = emit::Latency {
        time_to_first_token: Statistics::of(latency.ttft, "s"),
        normalized_time_per_output_token: Statistics::of(latency.ntpot, "s/token"),
        time_per_output_token: Statistics::of(latency.tpot, "s/token"),
        inter_token_latency: Statistics::of(latency.itl, "s/token"),
        request_latency: Statistics::of(latency.request, "s"),
    };
    let rates = emit::Throughput {
        input_token_rate: Statistics::single(throughput.input_tokens, "tokens/s"),
        output_token_rate: Statistics::single(throughput.output_tokens, "tokens/s"),
        total_token_rate: Statistics::single(throughput.total_tokens, "tokens/s"),
        request_rate: Statistics::single(throughput.requests, "queries/s"),
    };
    let succeeded = !stage.all_failed();
    emit::Results {
        request_performance: emit::RequestPerformance {
            aggregate: emit::Aggregate {
                requests: emit::Requests {
                    total: requests.total,
                    failures: requests.failures,
                    input_length: Statistics::of(requests.input_length, "count"),
                    output_length: Statistics::of(requests.output_length, "count"),
                },
                latency: succeeded.then_some(latency),
                throughput: succeeded.then_some(rates),
            },
        },
        observability: emit::Observability {
            load_generator: emit::LoadGenerator {
                warm_up: stage.warm_up,
                achieved_rate: Statistics::single(load.achieved_rate, "queries/s"),
                send_duration: Statistics::single(load.send_seconds, "s"),
                schedule_delay: Statistics::of(load.schedule_delay, "s"),
                measured_time: Statistics::single(throughput.seconds, "s"),
                failures_by_label: requests.failures_by_label.clone(),
            },
        },
    }
}
