//! Campaign folders for tests: the published figures built into stage documents.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test binary uses its part; a test that cannot set up must fail"
)]

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The published figures against `service`, as tables with one row a treatment and rate.
pub const STANDALONE: &str = include_str!("../fixtures/earlier/service-vs-agentgateway-standalone.csv");
/// As [`STANDALONE`], for the other candidate.
pub const GATEWAY: &str = include_str!("../fixtures/earlier/service-vs-agentgateway-gateway.csv");
/// The published campaign's manifest.
pub const MANIFEST: &str = include_str!("../fixtures/earlier/campaign-manifest.yaml");

/// One row of a published table.
pub type Row = Vec<f64>;

/// The rows of a treatment, without its name.
pub fn rows(table: &str, treatment: &str) -> Vec<Row> {
    let rows = table.lines().skip(1).filter_map(|line| line.strip_prefix(treatment)?.strip_prefix(','));
    rows.map(|row| row.split(',').map(|cell| cell.parse().unwrap()).collect()).collect()
}

/// What a stage's document says beside its row of figures.
pub struct Stage {
    pub version: &'static str,
    pub number: u32,
    pub replicas: u32,
    /// `s` or `ms`.
    pub unit: &'static str,
}

impl Stage {
    pub fn number(number: u32) -> Self {
        Self { version: "0.2", number, replicas: 8, unit: "s" }
    }

    /// A document as llm-d-benchmark writes them, with this row's figures.
    pub fn document(&self, row: &Row) -> String {
        let Self { version, number, replicas, unit } = self;
        let scale = if *unit == "ms" { 1000.0 } else { 1.0 };
        let mut text = format!(
            "version: '{version}'\nrun:\n  uid: 1d1c0f5a\n  cid: 0d\n  pid: 0e\n  time: {{start: '2026-08-17T10:00:00Z', end: \
             '2026-08-17T11:00:00Z', duration: PT3600S}}\n  user: namespace=bench\nscenario:\n  stack:\n  - metadata: {{label: \
             vllm-svc-0, cfg_id: cc, schema_version: 0.0.1}}\n    standardized:\n      kind: inference_engine\n      tool: \
             vllm\n      tool_version: docker.io/vllm/vllm-openai:v0.23.0\n      role: replica\n      replicas: {replicas}\n      \
             model: {{name: Qwen/Qwen3-32B}}\n      accelerator: {{model: NVIDIA-H100-80GB-HBM3, count: 16, parallelism: \
             {{tp: 2, dp: 1, dp_local: 1, workers: 1, ep: 1, pp: 1}}}}\n    native: {{args: {{}}, envars: {{A: b}}}}\n  load:\n    \
             metadata: {{schema_version: 0.0.1, cfg_id: ab}}\n    standardized: {{tool: inference-perf, tool_version: 0.6.1, \
             parallelism: 1, source: random, stage: {number}, rate_qps: {rate}, input_seq_len: {{distribution: gaussian, \
             value: 7200.5}}}}\n    native: {{config: {{data: {{type: shared_prefix}}}}}}\nresults:\n  request_performance:\n    \
             aggregate:\n      requests: {{total: {total}, failures: {failures}}}\n      latency:\n",
            rate = row[0],
            total = row[13],
            failures = row[12],
        );
        let number = |value: f64| format!("{:?}", value * scale);
        writeln!(
            text,
            "        time_to_first_token: {{units: {unit}, mean: {}, p50: {}, p90: {}}}",
            number(row[5]),
            number(row[6]),
            number(row[7])
        )
        .unwrap();
        for (key, mean, p50) in [("inter_token_latency", 8, 9), ("normalized_time_per_output_token", 10, 11)] {
            let (mean, p50) = (number(row[mean]), number(row[p50]));
            writeln!(text, "        {key}: {{units: {unit}/token, mean: {mean}, p50: {p50}}}").unwrap();
        }
        text.push_str("      throughput:\n");
        for (key, column) in [("output_token_rate", 2), ("total_token_rate", 3)] {
            writeln!(text, "        {key}: {{units: tokens/s, mean: {:?}}}", row[column]).unwrap();
        }
        writeln!(text, "        request_rate: {{units: queries/s, mean: {:?}}}", row[4]).unwrap();
        text
    }

    /// The document's file name.
    pub fn file(&self, treatment: &str) -> String {
        format!("benchmark_report_v{},_{treatment}_stage_{}_lifecycle_metrics.json.yaml", self.version, self.number)
    }
}

/// A campaign folder with the three published treatments: 17 stages each, the first being the warm-up at rate 15 that the
/// ladder repeats later.
pub fn published(folder: &Path) {
    fs_err::write(folder.join("campaign-manifest.yaml"), MANIFEST).unwrap();
    for (treatment, table) in
        [("service", STANDALONE), ("agentgateway-standalone", STANDALONE), ("agentgateway-gateway", GATEWAY)]
    {
        repetition(folder, treatment, 1, table);
    }
}

/// One repetition's documents.
pub fn repetition(folder: &Path, treatment: &str, number: u32, table: &str) -> PathBuf {
    let dir = folder.join("runs").join(treatment).join(format!("repetition-{number}"));
    fs_err::create_dir_all(&dir).unwrap();
    let rows = rows(table, treatment);
    let warm_up = rows.iter().find(|row| row[0] == 15.0).unwrap();
    for (number, row) in std::iter::once(warm_up).chain(&rows).enumerate() {
        write(&dir, treatment, &Stage::number(number as u32), row);
    }
    dir
}

/// One stage's document.
pub fn write(dir: &Path, treatment: &str, stage: &Stage, row: &Row) {
    fs_err::write(dir.join(stage.file(treatment)), stage.document(row)).unwrap();
}

/// One repetition's folder.
pub fn dir(folder: &Path, treatment: &str, number: u32) -> PathBuf {
    folder.join("runs").join(treatment).join(format!("repetition-{number}"))
}
