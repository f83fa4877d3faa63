//! Runtime metrics of a repetition: samples clipped to stages and summed up, whatever took them.
//!
//! `runtime-metrics/samples.jsonl` has one line a source and moment: `at` (UTC), `elapsed_seconds`, `source`, and either
//! `metrics` (Prometheus series and their values) or `error`. `summary.json` says for each stage and source what the
//! quantities below were while the stage ran; a quantity that was not seen is left out.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use fs_err::File;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::atomic;
use crate::failure::{Failure, Result};

/// The folder in a repetition's evidence that holds samples.
pub const FOLDER: &str = "runtime-metrics";
/// The samples in it.
pub const SAMPLES: &str = "samples.jsonl";
/// What is made of them.
pub const SUMMARY: &str = "summary.json";

/// A quantity and the series it is read from, by the names that different versions give them.
struct Quantity {
    name: &'static str,
    from: From,
}

/// How a quantity follows from series.
enum From {
    /// The series' values, added over their labels.
    Sum(&'static [&'static str]),
    /// The largest of the series over their labels: shares cannot be added.
    Largest(&'static [&'static str]),
    /// What the first counters gained during the stage, divided by what the second ones did.
    Ratio(&'static [&'static str], &'static [&'static str]),
}

/// vLLM's names, with those of its older versions; containers' use as the collector writes it.
const QUANTITIES: [Quantity; 6] = [
    Quantity {
        name: "kv_cache_usage",
        from: From::Largest(&["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"]),
    },
    Quantity { name: "waiting_requests", from: From::Sum(&["vllm:num_requests_waiting"]) },
    Quantity { name: "running_requests", from: From::Sum(&["vllm:num_requests_running"]) },
    Quantity {
        name: "prefix_cache_hit_rate",
        from: From::Ratio(
            &["vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total", "vllm:prefix_cache_hits"],
            &["vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total", "vllm:prefix_cache_queries"],
        ),
    },
    Quantity { name: "cpu_cores", from: From::Sum(&["container_cpu_cores", "process_cpu_cores"]) },
    Quantity { name: "memory_bytes", from: From::Sum(&["container_memory_bytes", "process_resident_memory_bytes"]) },
];

/// One line of the samples, as far as it is read here.
#[derive(Deserialize)]
struct Sample {
    at: Timestamp,
    source: String,
    #[serde(default)]
    metrics: BTreeMap<String, f64>,
}

/// `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Stage by stage, in the order in which they ran.
    pub stages: Vec<StageSummary>,
}

/// What was sampled while a stage ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageSummary {
    /// The stage, from 0.
    pub stage: u32,
    /// When it began, UTC.
    pub from: Timestamp,
    /// When its last request had ended.
    pub to: Timestamp,
    /// Quantities by source (`server-1`, `picker-1`, `proxy-1`, …) and name.
    pub sources: BTreeMap<String, BTreeMap<&'static str, Spread>>,
}

/// How a quantity was spread over a stage's samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// How many samples there are.
    pub samples: usize,
}

/// Writes the summary of the samples in `work`, if there are any and the harness's log says when stages ran.
///
/// # Errors
/// When samples cannot be read or the summary cannot be written.
pub fn summarise(work: &Path) -> Result<()> {
    let folder = work.join(FOLDER);
    let samples = folder.join(SAMPLES);
    let log = work.join("stdout.log");
    if !samples.is_file() || !log.is_file() {
        return Ok(());
    }
    let windows = windows(BufReader::new(File::open(log)?))?;
    let summary = summary(&windows, BufReader::new(File::open(samples)?))?;
    let text = serde_json::to_vec_pretty(&summary).map_err(Failure::internal)?;
    Ok(atomic::write(&folder.join(SUMMARY), text)?)
}

/// When each stage ran, from the harness's log: `2026-08-17 10:15:00,123 - … - Stage 0 - run started`.
fn windows(log: impl BufRead) -> Result<Vec<(u32, Timestamp, Timestamp)>> {
    let mut begun: BTreeMap<u32, Timestamp> = BTreeMap::new();
    let mut windows = Vec::new();
    for line in log.lines() {
        let line = line?;
        let Some((stage, what, at)) = mark(&line) else { continue };
        match what {
            "run started" => {
                begun.insert(stage, at);
            }
            "run completed" => {
                if let Some(from) = begun.remove(&stage) {
                    windows.push((stage, from, at));
                }
            }
            _ => {}
        }
    }
    Ok(windows)
}

fn mark(line: &str) -> Option<(u32, &str, Timestamp)> {
    let (before, rest) = line.rsplit_once("Stage ")?;
    let (number, what) = rest.split_once(" - ")?;
    // A progress bar may stand before the time on the same line.
    let (head, _) = before.split_once(" - ")?;
    let start = head.len().checked_sub("2026-08-17 10:15:00,123".len())?;
    // The harness's pods, and our own processes, run in UTC.
    let at = format!("{}Z", head.get(start..)?.replace(',', ".").replace(' ', "T"));
    Some((number.parse().ok()?, what.trim_end(), at.parse().ok()?))
}

fn summary(windows: &[(u32, Timestamp, Timestamp)], samples: impl BufRead) -> Result<Summary> {
    let mut clipped: Vec<BTreeMap<String, Vec<BTreeMap<String, f64>>>> = vec![BTreeMap::new(); windows.len()];
    for line in samples.lines() {
        // A line that broke off with its process says nothing; the others still do.
        let Ok(sample) = serde_json::from_str::<Sample>(&line?) else { continue };
        for (index, (_, from, to)) in windows.iter().enumerate() {
            if (*from..=*to).contains(&sample.at) {
                clipped[index].entry(sample.source.clone()).or_default().push(sample.metrics.clone());
            }
        }
    }
    let stages = windows.iter().zip(clipped).map(|(&(stage, from, to), sources)| StageSummary {
        stage,
        from,
        to,
        sources: sources
            .into_iter()
            .map(|(source, samples)| (source, quantities(&samples)))
            .filter(|(_, found)| !found.is_empty())
            .collect(),
    });
    Ok(Summary { stages: stages.collect() })
}

fn quantities(samples: &[BTreeMap<String, f64>]) -> BTreeMap<&'static str, Spread> {
    QUANTITIES
        .iter()
        .filter_map(|quantity| {
            let values: Vec<f64> = match &quantity.from {
                From::Sum(names) => samples.iter().filter_map(|it| total(it, names)).collect(),
                From::Largest(names) => samples.iter().filter_map(|it| matching(it, names).reduce(f64::max)).collect(),
                From::Ratio(over, under) => gained_ratio(samples, over, under).into_iter().collect(),
            };
            Some((quantity.name, Spread::of(&values)?))
        })
        .collect()
}

/// The values of the first of these names that is there, over all its labels.
fn matching<'a>(metrics: &'a BTreeMap<String, f64>, names: &[&str]) -> impl Iterator<Item = f64> + use<'a> {
    let has = |name: &&&str| metrics.keys().any(|series| base(series) == **name);
    let name = names.iter().find(has).map(|name| (*name).to_owned());
    metrics.iter().filter(move |(series, _)| name.as_deref() == Some(base(series))).map(|(_, value)| *value)
}

fn base(series: &str) -> &str {
    series.split('{').next().unwrap_or(series)
}

fn total(metrics: &BTreeMap<String, f64>, names: &[&str]) -> Option<f64> {
    matching(metrics, names).reduce(|one, other| one + other)
}

/// What a ratio of counters was between the first and the last sample; `None` when nothing was counted.
fn gained_ratio(samples: &[BTreeMap<String, f64>], over: &[&str], under: &[&str]) -> Option<f64> {
    let gained = |names: &[&str]| {
        let seen: Vec<f64> = samples.iter().filter_map(|metrics| total(metrics, names)).collect();
        // A counter that fell was begun anew: its server was started again.
        Some(seen.last()? - seen.first()?).filter(|gained| *gained >= 0.0)
    };
    let (over, under) = (gained(over)?, gained(under)?);
    (under > 0.0).then(|| over / under)
}

impl Spread {
    fn of(values: &[f64]) -> Option<Self> {
        let first = *values.first()?;
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            min: values.iter().copied().fold(first, f64::min),
            max: values.iter().copied().fold(first, f64::max),
            samples: values.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LOG: &str = "Overall Progress 0% 0/4 0:00:002026-08-17 10:00:00,500 - a.b - INFO - Stage 0 - run started\n\
                       2026-08-17 10:00:10,500 - a.b - INFO - Stage 0 - run completed\n\
                       2026-08-17 10:00:20,000 - a.b - INFO - Stage 1 - run started\n";

    fn sample(second: u32, source: &str, metrics: serde_json::Value) -> String {
        json!({"at": format!("2026-08-17T10:00:{second:02}Z"), "source": source, "metrics": metrics}).to_string()
    }

    #[test]
    fn samples_are_clipped_to_the_stages_that_ran_to_their_end_and_summed_up() {
        let samples = [
            sample(0, "server-1", json!({"vllm:num_requests_running{m=\"a\"}": 100.0})),
            sample(
                2,
                "server-1",
                json!({
                    "vllm:num_requests_running{m=\"a\"}": 2.0, "vllm:kv_cache_usage_perc{m=\"a\"}": 0.25,
                    "vllm:prefix_cache_hits_total": 10.0, "vllm:prefix_cache_queries_total": 100.0,
                }),
            ),
            sample(
                8,
                "server-1",
                json!({
                    "vllm:num_requests_running{m=\"a\"}": 4.0, "vllm:kv_cache_usage_perc{m=\"a\"}": 0.75,
                    "vllm:prefix_cache_hits_total": 85.0, "vllm:prefix_cache_queries_total": 200.0,
                }),
            ),
            sample(
                5,
                "proxy-1",
                json!({"container_cpu_cores{container=\"a\"}": 0.5, "container_cpu_cores{container=\"b\"}": 0.25}),
            ),
            sample(21, "server-1", json!({"vllm:num_requests_running": 9.0})),
            r#"{"at": "2026-08-17T10:00:09Z", "source": "serv"#.to_owned(),
        ];
        let summary = summary(&windows(LOG.as_bytes()).unwrap(), samples.join("\n").as_bytes()).unwrap();
        assert_eq!(summary.stages.len(), 1, "the second stage did not end");
        let server = &summary.stages[0].sources["server-1"];
        assert_eq!(server["running_requests"], Spread { mean: 3.0, min: 2.0, max: 4.0, samples: 2 });
        assert_eq!(server["kv_cache_usage"].max, 0.75);
        assert_eq!(server["prefix_cache_hit_rate"].mean, 0.75);
        assert!(!server.contains_key("memory_bytes"), "what was not seen is not there");
        assert_eq!(summary.stages[0].sources["proxy-1"]["cpu_cores"].mean, 0.75);
    }

    #[test]
    fn counters_that_stand_still_or_begin_anew_have_no_ratio() {
        let at = |hits: f64, queries: f64| {
            BTreeMap::from([
                ("vllm:prefix_cache_hits_total".to_owned(), hits),
                ("vllm:prefix_cache_queries_total".to_owned(), queries),
            ])
        };
        assert!(quantities(&[at(5.0, 10.0), at(5.0, 10.0)]).is_empty());
        assert!(quantities(&[at(50.0, 100.0), at(1.0, 2.0)]).is_empty());
    }

    #[test]
    fn without_samples_or_log_there_is_no_summary() {
        let work = tempfile::tempdir().unwrap();
        summarise(work.path()).unwrap();
        assert!(!work.path().join(FOLDER).exists());
    }
}
