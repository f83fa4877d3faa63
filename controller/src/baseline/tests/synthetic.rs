//! Campaigns that measured whatever a test says, with per-request records on disk and without random numbers.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use reports::campaign::{Campaign, Repetition, Treatment};
use reports::manifest::{FILE_NAME, Manifest};
use reports::model::{Distribution, Harness, Latency, Load, Requests, Stage, Throughput};

/// What a campaign measured.
#[derive(Clone)]
pub struct Spec {
    pub name: &'static str,
    pub treatments: Vec<&'static str>,
    pub rates: Vec<f64>,
    pub repetitions: u32,
    pub requests: u64,
    /// TTFT of every treatment but the service, relative to 100 ms.
    pub ttft: f64,
    /// Latencies of all treatments: what the cluster does.
    pub cluster: f64,
    pub failed_share: f64,
    pub output_tokens: f64,
    pub harness: &'static str,
    pub model: &'static str,
    pub itl: f64,
    pub schedule_delay: f64,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            name: "aa-1",
            treatments: vec!["service", "agentgateway-standalone"],
            rates: vec![3.0, 20.0, 60.0],
            repetitions: 3,
            requests: 760,
            ttft: 1.0,
            cluster: 1.0,
            failed_share: 0.0,
            output_tokens: 50.0,
            harness: "0.7.0",
            model: "Qwen/Qwen3-32B",
            itl: 0.03,
            schedule_delay: 0.001,
        }
    }
}

impl Spec {
    /// Writes manifest and records below `root`, and returns the campaign as it would be read.
    pub fn write(&self, root: &Path) -> Campaign {
        let dir = root.join(self.name);
        fs_err::create_dir_all(&dir).unwrap();
        let identity = serde_yaml::from_str(&format!(
            "{{model: '{}', replicas: 8, agentgateway_version: '{}'}}",
            self.model, self.name
        ));
        let manifest = Manifest::new(self.name, identity.unwrap());
        fs_err::write(dir.join(FILE_NAME), manifest.to_yaml().unwrap()).unwrap();
        let treatments = self
            .treatments
            .iter()
            .map(|&name| Treatment {
                name: name.into(),
                display_name: name.into(),
                repetitions: (1..=self.repetitions).map(|number| self.repetition(&dir, name, number)).collect(),
                failed: Vec::new(),
                stack: Default::default(),
            })
            .collect();
        Campaign { dir, manifest, treatments, warnings: Vec::new() }
    }

    fn repetition(&self, campaign: &Path, treatment: &str, number: u32) -> Repetition {
        let dir = campaign.join(format!("runs/{treatment}/repetition-{number}"));
        fs_err::create_dir_all(&dir).unwrap();
        let file = fs_err::File::create(dir.join("per_request_lifecycle_metrics.json.gz")).unwrap();
        let mut out = GzEncoder::new(file, Compression::fast());
        // Runs differ by up to one percent, in an order that depends on the campaign.
        let shift = [0.99, 1.0, 1.01][(number as usize + self.name.len() + treatment.len()) % 3] * self.cluster;
        let ttft = if treatment == "service" { 0.1 } else { 0.1 * self.ttft };
        let failures = (self.requests as f64 * self.failed_share).round() as u64;
        let mut separator = "[";
        for k in 0..self.rates.len() as u64 {
            for i in 0..self.requests {
                // Evenly spaced quantiles of a logistic distribution, in an order without pattern.
                let u = ((i * 7919 + k * 31 + u64::from(number)) % self.requests) as f64 + 0.5;
                let spread = (0.22 * (u / (self.requests as f64 - u)).ln()).exp() * shift;
                let start = k as f64 * 1e4 + i as f64 * 0.01;
                let first = start + ttft * spread;
                let last = first + self.itl * (self.output_tokens - 1.0) * shift;
                let error =
                    if i < failures { r#","error":{"error_type":"HTTP Error 503","error_msg":""}"# } else { "" };
                write!(
                    out,
                    r#"{separator}{{"start_time":{start},"end_time":{last},"info":{{"response_metrics":{{"output_tokens":{},"output_token_times":[{first},{last}]}}}}{error}}}"#,
                    self.output_tokens
                )
                .unwrap();
                separator = ",";
            }
        }
        out.write_all(b"]").unwrap();
        out.finish().unwrap();
        let stages = (0..self.rates.len()).map(|k| self.stage(k, failures, shift)).collect();
        Repetition { number, dir, stages }
    }

    fn stage(&self, k: usize, failures: u64, shift: f64) -> Stage {
        let of = |mean: f64| Some(Distribution::of_mean(mean));
        let itl = self.itl * shift;
        Stage {
            number: k as u32,
            load: Load {
                requested_rate: Some(self.rates[k]),
                schedule_delay: Some(Distribution { p90: Some(self.schedule_delay), ..Distribution::default() }),
                ..Load::default()
            },
            requests: Requests {
                total: self.requests,
                failures: Some(failures),
                output_length: of(self.output_tokens),
                ..Requests::default()
            },
            latency: Latency {
                itl: Some(Distribution {
                    mean: Some(itl),
                    p50: Some(itl),
                    p90: Some(1.3 * itl),
                    p95: Some(1.4 * itl),
                    p99: Some(1.6 * itl),
                    ..Distribution::default()
                }),
                ..Latency::default()
            },
            throughput: Throughput { requests: Some(self.rates[k] * 0.97), ..Throughput::default() },
            harness: Harness { tool: "inference-perf".into(), version: Some(self.harness.into()) },
            ..Stage::default()
        }
    }
}
