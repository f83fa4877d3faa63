//! From a document to the model.

use std::cell::RefCell;
use std::path::Path;

use serde::Deserialize;

use super::schema::{self, Document, Statistics};
use super::{Error, Version};
use crate::model::{
    Accelerator, Component, Distribution, Failure, Harness, Latency, Load, Parallelism, Prefix, Requests, Sequence,
    Stack, Stage, Throughput, Workload,
};
use crate::{files, yaml};

/// A document, read and checked.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its version.
    pub version: Version,
    /// Its numbers.
    pub stage: Stage,
    /// What was measured.
    pub stack: Stack,
    /// Keys that the format does not know, by their path.
    pub unknown_keys: Vec<String>,
}

/// Reads a stage's document. `number` is the stage's number by the file's name; a document that says another is refused.
pub fn read(path: &Path, number: u32) -> Result<Report, Error> {
    let text = files::read_text(path, files::DOCUMENT_LIMIT)?;
    parse(path, &text, number)
}

/// As [`read`], for text that was read already; `path` is for messages.
pub fn parse(path: &Path, text: &str, number: u32) -> Result<Report, Error> {
    let unknown = RefCell::new(Vec::new());
    let note = |key: serde_ignored::Path<'_>| {
        if !schema::is_known(&key) {
            unknown.borrow_mut().push(key.to_string().replace(".?", ""));
        }
    };
    let document: Document = {
        let mut note = note;
        yaml::refuse_brackets(text).map_err(|source| yaml::Error::Syntax { path: path.into(), source })?;
        let yaml = serde_yaml::Deserializer::from_str(text);
        Document::deserialize(serde_ignored::Deserializer::new(yaml, &mut note))
            .map_err(|source| yaml::Error::Syntax { path: path.into(), source })?
    };
    let version = Version::parse(&document.version.0)
        .ok_or_else(|| Error::Version { path: path.into(), found: document.version.0.clone() })?;
    let fail = |wrong: Wrong| Error::Value { path: path.into(), field: wrong.field, what: wrong.what };
    let (stage, stack) = convert(document, number).map_err(fail)?;
    Ok(Report { version, stage, stack, unknown_keys: unknown.into_inner() })
}

struct Wrong {
    field: String,
    what: String,
}

fn wrong(field: impl Into<String>, what: impl Into<String>) -> Wrong {
    Wrong { field: field.into(), what: what.into() }
}

fn convert(document: Document, number: u32) -> Result<(Stage, Stack), Wrong> {
    let scenario = document.scenario.unwrap_or_default();
    let stack = Stack { components: scenario.stack.unwrap_or_default().into_iter().map(component).collect() };
    let aggregate = document
        .results
        .request_performance
        .and_then(|performance| performance.aggregate)
        .ok_or_else(|| wrong("results.request_performance.aggregate", "is missing"))?;
    let requests =
        aggregate.requests.ok_or_else(|| wrong("results.request_performance.aggregate.requests", "is missing"))?;
    let generator = document.results.observability.and_then(|observability| observability.load_generator);

    let mut stage = Stage { number, ..Stage::default() };
    if let Some(load) = scenario.load {
        if let Some(said) = load.standardized.stage.filter(|&said| said != number) {
            return Err(wrong("scenario.load.standardized.stage", format!("is {said}, the file's name says {number}")));
        }
        read_load(load, &mut stage)?;
    }
    stage.requests = read_requests(requests)?;
    stage.latency = read_latency(aggregate.latency.unwrap_or_default())?;
    stage.throughput = read_throughput(aggregate.throughput.unwrap_or_default())?;
    if let Some(generator) = generator {
        read_generator(generator, &mut stage)?;
    }
    stage.settle();
    Ok((stage, stack))
}

fn component(component: schema::Component) -> Component {
    let standardized = component.standardized;
    Component {
        label: component.metadata.label.unwrap_or_default(),
        kind: standardized.kind,
        tool: standardized.tool.unwrap_or_default(),
        tool_version: standardized.tool_version.unwrap_or_default(),
        cfg_id: component.metadata.cfg_id,
        role: standardized.role,
        replicas: standardized.replicas,
        model: standardized.model.map(|model| model.name),
        accelerator: standardized.accelerator.map(|accelerator| Accelerator {
            model: accelerator.model,
            count: accelerator.count,
            parallelism: accelerator.parallelism.map_or_else(Parallelism::default, |split| Parallelism {
                tp: split.tp,
                dp: split.dp,
                dp_local: split.dp_local,
                workers: split.workers,
                ep: split.ep,
                pp: split.pp,
            }),
        }),
    }
}

fn read_load(load: schema::Load, stage: &mut Stage) -> Result<(), Wrong> {
    let place = "scenario.load.standardized";
    let standardized = load.standardized;
    let version = standardized.tool_version.filter(|version| !version.is_empty());
    stage.harness = Harness { tool: standardized.tool.unwrap_or_default(), version };
    // Unlimited concurrency is how a rate's load is described, not a level.
    let concurrency = standardized.concurrency.filter(|concurrency| concurrency.is_finite());
    if let Some(concurrency) = concurrency.filter(|&c| c < 1.0 || c.fract() != 0.0) {
        return Err(wrong(format!("{place}.concurrency"), format!("{concurrency} is not a number of requests")));
    }
    if let Some(rate) = standardized.rate_qps.filter(|&rate| !rate.is_finite() || rate <= 0.0) {
        return Err(wrong(format!("{place}.rate_qps"), format!("{rate} is not a rate")));
    }
    stage.load = Load {
        requested_rate: standardized.rate_qps,
        concurrency: concurrency.map(|concurrency| concurrency as u64),
        ..Load::default()
    };
    let sequence = |length: schema::SequenceLength| Sequence { distribution: length.distribution, value: length.value };
    stage.workload = Workload {
        cfg_id: load.metadata.and_then(|metadata| metadata.cfg_id),
        source: standardized.source,
        input: standardized.input_seq_len.map(sequence),
        output: standardized.output_seq_len.map(sequence),
        prefix: standardized.prefix.map(|prefix| Prefix {
            tokens: prefix.prefix_len.map(|length| length.value),
            groups: prefix.num_groups,
            prompts_per_group: prefix.num_users_per_group,
        }),
    };
    Ok(())
}

fn read_requests(requests: schema::Requests) -> Result<Requests, Wrong> {
    let place = "results.request_performance.aggregate.requests";
    if let Some(failures) = requests.failures.filter(|&failures| failures > requests.total) {
        return Err(wrong(format!("{place}.failures"), format!("{failures} of {} requests", requests.total)));
    }
    let length = |key, statistics| distribution(format!("{place}.{key}"), statistics, COUNT);
    Ok(Requests {
        total: requests.total,
        failures: requests.failures,
        incomplete: requests.incomplete,
        failures_by_label: Vec::new(),
        input_length: length("input_length", requests.input_length)?,
        output_length: length("output_length", requests.output_length)?,
    })
}

fn read_latency(latency: schema::Latency) -> Result<Latency, Wrong> {
    let place = "results.request_performance.aggregate.latency";
    let of = |key, statistics, units| distribution(format!("{place}.{key}"), statistics, units);
    Ok(Latency {
        ttft: of("time_to_first_token", latency.time_to_first_token, TIME)?,
        itl: of("inter_token_latency", latency.inter_token_latency, TIME_PER_TOKEN)?,
        tpot: of("time_per_output_token", latency.time_per_output_token, TIME_PER_TOKEN)?,
        ntpot: of("normalized_time_per_output_token", latency.normalized_time_per_output_token, TIME_PER_TOKEN)?,
        request: of("request_latency", latency.request_latency, TIME)?,
    })
}

fn read_throughput(throughput: schema::Throughput) -> Result<Throughput, Wrong> {
    let place = "results.request_performance.aggregate.throughput";
    let of = |key, statistics, units| -> Result<Option<f64>, Wrong> {
        Ok(distribution(format!("{place}.{key}"), statistics, units)?.and_then(|rate| rate.mean))
    };
    Ok(Throughput {
        input_tokens: of("input_token_rate", throughput.input_token_rate, TOKEN_RATE)?,
        input_tokens_derived: false,
        output_tokens: of("output_token_rate", throughput.output_token_rate, TOKEN_RATE)?,
        total_tokens: of("total_token_rate", throughput.total_token_rate, TOKEN_RATE)?,
        requests: of("request_rate", throughput.request_rate, REQUEST_RATE)?,
        seconds: None,
    })
}

fn read_generator(generator: schema::LoadGenerator, stage: &mut Stage) -> Result<(), Wrong> {
    let place = "results.observability.load_generator";
    let mean = |key, statistics, units| -> Result<Option<f64>, Wrong> {
        Ok(distribution(format!("{place}.{key}"), statistics, units)?.and_then(|summary| summary.mean))
    };
    stage.warm_up = generator.warm_up;
    stage.load.achieved_rate = mean("achieved_rate", generator.achieved_rate, REQUEST_RATE)?;
    stage.load.send_seconds = mean("send_duration", generator.send_duration, TIME)?;
    stage.throughput.seconds = mean("measured_time", generator.measured_time, TIME)?;
    if let Some(delay) = generator.schedule_delay {
        // Sends happen a little early too.
        stage.load.schedule_delay = converted(format!("{place}.schedule_delay"), delay, TIME, true)?.known();
    }
    let labels = generator.failures_by_label.into_iter();
    stage.requests.failures_by_label = labels.map(|entry| Failure { label: entry.label, count: entry.count }).collect();
    Ok(())
}

/// Units of a kind, with the factor to the base unit.
type Units = &'static [(&'static str, f64)];
const TIME: Units = &[("s", 1.0), ("ms", 1e-3)];
const TIME_PER_TOKEN: Units = &[("s/token", 1.0), ("ms/token", 1e-3)];
const TOKEN_RATE: Units = &[("tokens/s", 1.0)];
const REQUEST_RATE: Units = &[("queries/s", 1.0)];
const COUNT: Units = &[("count", 1.0)];

fn distribution(field: String, statistics: Option<Statistics>, units: Units) -> Result<Option<Distribution>, Wrong> {
    match statistics {
        None => Ok(None),
        Some(statistics) => Ok(converted(field, statistics, units, false)?.known()),
    }
}

fn converted(field: String, statistics: Statistics, units: Units, signed: bool) -> Result<Distribution, Wrong> {
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == statistics.units) else {
        let known: Vec<_> = units.iter().map(|(name, _)| *name).collect();
        let what = format!("{:?} is not understood here; {} is", statistics.units, known.join(" or "));
        return Err(wrong(format!("{field}.units"), what));
    };
    let distribution = Distribution {
        mean: statistics.mean,
        stddev: statistics.stddev,
        min: statistics.min,
        p0p1: statistics.p0p1,
        p1: statistics.p1,
        p5: statistics.p5,
        p10: statistics.p10,
        p25: statistics.p25,
        p50: statistics.p50,
        p75: statistics.p75,
        p90: statistics.p90,
        p95: statistics.p95,
        p99: statistics.p99,
        p99p9: statistics.p99p9,
        max: statistics.max,
    };
    distribution.check(signed).map_err(|what| wrong(field, what))?;
    // Multiplying by 1 is exact, but a stage in seconds should not depend on that.
    Ok(if *factor == 1.0 { distribution } else { distribution.scaled(*factor) })
}
