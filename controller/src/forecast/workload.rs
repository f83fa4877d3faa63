//! From a configuration of inference-perf to what is computed.

use reports::model::{Prefix, Sequence, Workload as Described};
use serde_yaml::Value;
use testbed::forecast::{Arrivals, Lengths, Load, Shape, StageLoad};

use crate::failure::{Failure, Result};
use crate::harness::Workload;

/// The shape of prompts and the ladder.
///
/// # Errors
/// A usage failure for what cannot be computed: loads of constant concurrency, data that depends on a file.
pub(super) fn read(workload: &Workload) -> Result<(Shape, Load)> {
    let document = workload.document();
    let load = section(document, "load")?;
    let arrivals = match load.get("type").and_then(Value::as_str) {
        Some("poisson") => Arrivals::Poisson,
        Some("constant") | None => Arrivals::Constant,
        Some(other) => return Err(cannot(format!("load of type `{other}`"), "poisson and constant loads can be")),
    };
    let stages = workload.plan().iter().map(|stage| match (stage.rate, stage.seconds) {
        (Some(rate), Some(seconds)) => Ok(StageLoad { rate, seconds, requests: stage.requests as usize }),
        _ => Err(cannot("a stage of constant concurrency".to_owned(), "stages of a rate and a duration can be")),
    });
    let stages = stages.collect::<Result<Vec<_>>>()?;
    let interval = load.get("interval").and_then(Value::as_f64).unwrap_or(1.0);
    Ok((shape(section(document, "data")?)?, Load { arrivals, interval, stages }))
}

fn shape(data: &Value) -> Result<Shape> {
    match data.get("type").and_then(Value::as_str).unwrap_or_default() {
        "shared_prefix" => {
            let shared = section(data, "shared_prefix")?;
            // Renamed in inference-perf 0.7; it still takes the names before.
            Ok(Shape::SharedPrefix {
                groups: whole(shared, &["num_groups", "num_unique_system_prompts"])?,
                prompts_per_group: whole(shared, &["num_prompts_per_group", "num_users_per_system_prompt"])?,
                prefix_tokens: whole(shared, &["system_prompt_len"])?,
                question_tokens: whole(shared, &["question_len"])?,
                output_tokens: whole(shared, &["output_len"])?,
            })
        }
        "random" | "synthetic" => {
            let (input, output) = (section(data, "input_distribution")?, section(data, "output_distribution")?);
            let prompts = input.get("total_count").map_or(Ok(DRAWN), |_| whole(input, &["total_count"]))?;
            Ok(Shape::Distinct { prompts, input: lengths(input)?, output: lengths(output)? })
        }
        other => Err(cannot(
            format!("data of type `{other}`"),
            "shared_prefix, random and synthetic data can be: their lengths are known from the configuration",
        )),
    }
}

/// Lengths that are drawn where the configuration does not say how many.
const DRAWN: u32 = 10_000;

fn lengths(distribution: &Value) -> Result<Lengths> {
    let number = |key: &str| distribution.get(key).and_then(Value::as_f64);
    let mean = number("mean").ok_or_else(|| cannot("a distribution without a mean".to_owned(), "give `mean`"))?;
    let fixed = distribution.get("type").and_then(Value::as_str) == Some("fixed");
    let deviation = if fixed { 0.0 } else { number("std_dev").unwrap_or(0.0) };
    let bound = |key: &str| number(key).unwrap_or(mean) as u32;
    let (min, max) = if deviation == 0.0 { (mean as u32, mean as u32) } else { (bound("min"), bound("max")) };
    if min > max {
        return Err(cannot(format!("lengths from {min} to {max}"), "the minimum must not be above the maximum"));
    }
    Ok(Lengths { mean, deviation, min, max })
}

fn section<'a>(value: &'a Value, key: &str) -> Result<&'a Value> {
    value.get(key).ok_or_else(|| cannot(format!("a workload without `{key}`"), "describe it"))
}

fn whole(value: &Value, names: &[&str]) -> Result<u32> {
    let found = names.iter().find_map(|name| value.get(*name));
    let number = found.and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| {
        cannot(format!("`{}` as given", names[0]), "a whole number can be; lengths that vary inside a group cannot")
    })
}

fn cannot(what: String, can: &str) -> Failure {
    Failure::usage(format!("{what} cannot be computed in virtual time")).hint(can)
}

/// The workload as stages describe it.
pub(super) fn described(workload: &Workload, shape: &Shape) -> Described {
    let sequence = |distribution: &str, value: f64| Some(Sequence { distribution: distribution.to_owned(), value });
    let fixed = |tokens: u32| sequence("fixed", f64::from(tokens));
    let varied =
        |lengths: &Lengths| sequence(if lengths.deviation == 0.0 { "fixed" } else { "gaussian" }, lengths.mean);
    let kind = workload.document().get("data").and_then(|data| data.get("type")).and_then(Value::as_str);
    let source = Some(if kind == Some("synthetic") { "sampled" } else { "random" }.to_owned());
    match shape {
        Shape::SharedPrefix { groups, prompts_per_group, prefix_tokens, question_tokens, output_tokens } => Described {
            source,
            input: fixed(prefix_tokens + question_tokens),
            output: fixed(*output_tokens),
            prefix: Some(Prefix {
                tokens: Some(f64::from(*prefix_tokens)),
                groups: Some(u64::from(*groups)),
                prompts_per_group: Some(u64::from(*prompts_per_group)),
            }),
            ..Described::default()
        },
        Shape::Distinct { input, output, .. } => {
            Described { source, input: varied(input), output: varied(output), ..Described::default() }
        }
    }
}
