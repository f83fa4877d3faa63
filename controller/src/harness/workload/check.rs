//! What would make a run worthless, found before it starts: everything at once, each with its fix.

use std::fmt;

use serde_yaml::Value;

use crate::settings::Stage;

/// Something wrong with a workload, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub fix: String,
}

impl Problem {
    fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.fix)
    }
}

/// Checks a ladder from the settings before it is written into a template.
pub(super) fn stages(stages: &[Stage]) -> Result<(), Vec<Problem>> {
    let fractional = stages.iter().enumerate().filter(|(_, stage)| stage.duration.fract() != 0.0);
    let problems: Vec<Problem> = fractional
        .map(|(index, stage)| {
            Problem::new(
                format!("stage {index} lasts {} s", stage.duration),
                "inference-perf takes whole seconds: change the duration, and the rate with it",
            )
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Checks a whole configuration of inference-perf.
pub(super) fn document(document: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let Some(load) = document.get("load").filter(|load| load.is_mapping()) else {
        return vec![Problem::new("it has no `load` section", "describe the ladder under `load.stages`")];
    };
    if load.get("sweep").is_some_and(|sweep| !sweep.is_null()) {
        problems.push(Problem::new(
            "`load.sweep` finds its own ladder, so that two treatments would not get the same load",
            "write the stages out under `load.stages`",
        ));
    }
    if load.get("num_workers").and_then(Value::as_u64) == Some(0) {
        problems.push(Problem::new(
            "`load.num_workers` is 0, with which inference-perf ignores the planned number of requests",
            "set it to 1 or more",
        ));
    }
    match load.get("stages").and_then(Value::as_sequence) {
        Some(stages) if !stages.is_empty() => {
            problems.extend(stages.iter().enumerate().flat_map(|(index, stage)| self::stage(index, stage)));
        }
        _ => problems.push(Problem::new("it has no stages", "give a ladder under `load.stages`: rate and duration")),
    }
    if document.get("data").and_then(|data| data.get("type")).is_none() {
        problems.push(Problem::new("it does not say which data to send", "set `data.type`"));
    }
    problems
}

fn stage(index: usize, stage: &Value) -> Vec<Problem> {
    let positive = |key: &str, unit: &str| match stage.get(key) {
        None | Some(Value::Null) => {
            Some(Problem::new(format!("stage {index} has no `{key}`"), format!("give it in {unit}")))
        }
        Some(value) => match value.as_f64() {
            Some(number) if number.is_finite() && number > 0.0 => None,
            Some(number) => {
                Some(Problem::new(format!("stage {index} has the {key} {number}"), "it must be greater than 0"))
            }
            None => Some(Problem::new(
                format!("stage {index} has a `{key}` that is not a number"),
                format!("give it in {unit}"),
            )),
        },
    };
    if stage.get("num_requests").is_some() || stage.get("concurrency_level").is_some() {
        return ["num_requests", "concurrency_level"].iter().filter_map(|key| positive(key, "whole numbers")).collect();
    }
    let mut problems: Vec<Problem> = [("rate", "requests a second"), ("duration", "whole seconds")]
        .iter()
        .filter_map(|(k, u)| positive(k, u))
        .collect();
    if problems.is_empty() {
        let number = |key: &str| stage.get(key).and_then(Value::as_f64).unwrap_or_default();
        if number("duration").fract() != 0.0 {
            problems.push(Problem::new(
                format!("stage {index} lasts {} s", number("duration")),
                "inference-perf takes whole seconds",
            ));
        } else if number("rate") * number("duration") < 1.0 {
            problems.push(Problem::new(
                format!(
                    "stage {index} plans no request: {} requests a second for {} s",
                    number("rate"),
                    number("duration")
                ),
                "raise the rate or the duration",
            ));
        }
    }
    problems
}
