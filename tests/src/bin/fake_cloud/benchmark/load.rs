//! A load that has ended: the harness's native files and a Benchmark Report document for each stage of the workload.

use std::path::{Path, PathBuf};

use e2e::stage_file;
use reports::benchmark_report::{Context, convert, file_name};
use serde_json::{Value, json};

use super::{context, deploy};
use crate::answer::Answer;
use crate::call::Call;
use crate::kubectl::objects::{key, named, put};

/// The treatment that the converter's names carry and llm-d-benchmark's do not.
const UNNAMED: &str = "x";

pub fn run(state: &mut Value, call: &Call) -> Answer {
    let context = match context(call) {
        Ok(context) => context,
        Err(answer) => return answer,
    };
    let namespace = call.flag("namespace").unwrap_or_default();
    if !deploy::is_up(state, &context, namespace) {
        return Answer::failed(1, "nothing is deployed");
    }
    let text = std::fs::read_to_string(call.flag("workload-file-path").unwrap_or_default()).unwrap_or_default();
    let Ok(workload) = serde_yaml::from_str::<Value>(&text) else { return Answer::failed(2, "no workload") };
    let stages: Vec<(f64, u64)> = workload["load"]["stages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|stage| {
            let (rate, seconds) = (stage["rate"].as_f64().unwrap_or(1.0), stage["duration"].as_f64().unwrap_or(1.0));
            (rate, (rate * seconds) as u64)
        })
        .collect();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "x-log": format!("INFO - Stage {} - run completed", stages.len().max(1) - 1),
        "metadata": {"name": "harness", "namespace": namespace, "labels": {"app": "llmdbench-harness-launcher"}},
        "spec": {"containers": [{"name": "harness", "image": "ghcr.io/llm-d/llm-d-benchmark:v0.8.0"}]},
    });
    put(state, &context, &key(named("pod").expect("a kind"), namespace, "harness"), pod);
    let folder = PathBuf::from(call.flag("workspace").unwrap_or_default()).join("run-1/results/exp-1_1");
    match leave(&folder, &stages, &text) {
        Ok(()) => Answer::text("run complete"),
        Err(error) => Answer::failed(1, error),
    }
}

fn leave(folder: &Path, stages: &[(f64, u64)], workload: &str) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(folder).map_err(text)?;
    let write = |name: &str, content: String| std::fs::write(folder.join(name), content).map_err(text);
    let mut log = String::new();
    for (number, (rate, count)) in stages.iter().enumerate() {
        write(&format!("stage_{number}_lifecycle_metrics.json"), stage_file(*rate, *count, 0).to_string())?;
        for (what, second) in [("run started", 0), ("run completed", 9)] {
            let time = format!("2026-08-17 10:{number:02}:{second:02},000");
            log.push_str(&format!("{time} - inference_perf - INFO - Stage {number} - {what}\n"));
        }
    }
    let count = stages.iter().map(|(_, count)| count).sum();
    write("summary_lifecycle_metrics.json", stage_file(4.0, count, 0).to_string())?;
    write("per_request_lifecycle_metrics.json", "[]".to_owned())?;
    write("config.yaml", workload.to_owned())?;
    write("run_metadata.yaml", "harness_name: inference-perf\n".to_owned())?;
    write("stdout.log", log)?;
    write("stderr.log", String::new())?;
    let context = Context {
        campaign_id: "exp-1".to_owned(),
        treatment: UNNAMED.to_owned(),
        repetition: 1,
        harness_version: "0.7.0".to_owned(),
        ..Context::default()
    };
    for (stage, document) in convert(folder, &context).map_err(|error| error.to_string())?.iter().enumerate() {
        let name = file_name(UNNAMED, stage as u32).replace(&format!("_{UNNAMED}_stage"), "_stage");
        write(&name, document.text.clone())?;
    }
    Ok(())
}
