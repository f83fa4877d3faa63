//! What a campaign came to: a compact table, where everything is, and how to repeat it.

use std::path::PathBuf;
use std::time::Duration;

use comfy_table::Table;
use controller::campaign::{Plan, Store};
use controller::failure::Failure;
use reports::compare::{self, Options, Point};
use reports::model::{Level, Metric, Quantity, Statistic};
use serde::Serialize;

use crate::progress::duration;

/// The result of a campaign, for `--json` and for people.
#[derive(Debug, Serialize)]
pub struct Result {
    campaign: String,
    folder: PathBuf,
    report: Vec<PathBuf>,
    seconds: f64,
    simulated: bool,
    treatments: Vec<Row>,
    repeat: String,
}

#[derive(Debug, Serialize)]
struct Row {
    treatment: String,
    display_name: String,
    repetitions: usize,
    requests: u64,
    failures: Option<u64>,
    peak_output_tokens_per_second: Option<f64>,
    top: Option<Top>,
}

/// The highest level of the ladder; medians over repetitions, absent where no repetition has the number.
#[derive(Debug, Serialize)]
struct Top {
    requested_qps: Option<f64>,
    output_tokens_per_second: Option<f64>,
    requests_per_second: Option<f64>,
    ttft_p50_seconds: Option<f64>,
    ttft_p90_seconds: Option<f64>,
    itl_p50_seconds: Option<f64>,
}

impl Result {
    /// Reads back what was published, as any later reader will.
    pub fn of(
        plan: &Plan,
        store: &Store,
        report: &[PathBuf],
        elapsed: Duration,
        repeat: String,
    ) -> anyhow::Result<Self> {
        let campaign = reports::campaign::read(store.folder()).map_err(Failure::internal)?;
        let mut treatments = Vec::new();
        for treatment in &campaign.treatments {
            let series = compare::series(treatment, &Options::default()).map_err(Failure::internal)?;
            treatments.push(Row {
                treatment: treatment.name.clone(),
                display_name: treatment.display_name.clone(),
                repetitions: series.repetitions.len(),
                requests: series.totals.requests,
                failures: series.totals.failures,
                peak_output_tokens_per_second: series.peak.map(|peak| peak.value),
                top: series.top().map(Top::of),
            });
        }
        Ok(Self {
            campaign: plan.id.to_string(),
            folder: store.folder().to_path_buf(),
            report: report.to_vec(),
            seconds: (elapsed.as_secs_f64() * 10.0).round() / 10.0,
            simulated: campaign.is_simulated(),
            treatments,
            repeat,
        })
    }

    /// The result for people.
    pub fn text(&self) -> String {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header([
            "TREATMENT",
            "AT REQ/S",
            "REQ/S",
            "OUTPUT TOK/S",
            "TTFT P50",
            "TTFT P90",
            "ITL P50",
            "FAILED",
        ]);
        for row in &self.treatments {
            let top = |value: fn(&Top) -> Option<f64>| row.top.as_ref().and_then(value);
            table.add_row([
                row.treatment.clone(),
                number(top(|top| top.requested_qps), 0),
                number(top(|top| top.requests_per_second), 1),
                number(top(|top| top.output_tokens_per_second), 0),
                milliseconds(top(|top| top.ttft_p50_seconds)),
                milliseconds(top(|top| top.ttft_p90_seconds)),
                milliseconds(top(|top| top.itl_p50_seconds)),
                row.failures.map_or_else(na, |failures| format!("{failures} of {}", row.requests)),
            ]);
        }
        let simulated = if self.simulated { " (simulated)" } else { "" };
        let mut text = format!(
            "campaign {}{simulated}: {} treatments in {}\n\n{}\n\n",
            self.campaign,
            self.treatments.len(),
            duration(Duration::from_secs_f64(self.seconds)),
            table.trim_fmt()
        );
        let report = self.report.iter().map(|page| ("report", page.clone()));
        let folder = [("manifest", "campaign-manifest.yaml"), ("evidence", "runs"), ("commands", "commands.jsonl")];
        for (name, path) in report.chain(folder.map(|(name, path)| (name, self.folder.join(path)))) {
            text.push_str(&format!("{name:9} {}\n", path.display()));
        }
        text.push_str(&format!("repeat    {}\n", self.repeat));
        text
    }
}

impl Top {
    fn of(point: &Point) -> Self {
        let latency = |quantity, statistic| point.median(Metric::Latency(quantity, statistic));
        Self {
            requested_qps: match point.level {
                Level::Rate(rate) => Some(rate),
                Level::Concurrency(_) => None,
            },
            output_tokens_per_second: point.median(Metric::OutputTokenRate),
            requests_per_second: point.median(Metric::RequestRate),
            ttft_p50_seconds: latency(Quantity::Ttft, Statistic::P50),
            ttft_p90_seconds: latency(Quantity::Ttft, Statistic::P90),
            itl_p50_seconds: latency(Quantity::Itl, Statistic::P50),
        }
    }
}

fn na() -> String {
    "n/a".to_owned()
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(na, |value| format!("{value:.decimals$}"))
}

fn milliseconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(na, |seconds| match seconds {
        10.0.. => format!("{seconds:.1} s"),
        1.0.. => format!("{seconds:.2} s"),
        _ => format!("{:.1} ms", seconds * 1000.0),
    })
}
