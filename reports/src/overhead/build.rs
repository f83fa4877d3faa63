//! From clients' results to differences with their uncertainty.

use serde::Serialize;
use serde_yaml::Value;

use super::Error;
use super::evidence::{Client, Qualification, Stage, Times};
use crate::campaign::Campaign;
use crate::statistics::median;
use crate::statistics::significance::critical_value;

/// Share of rounds in which the true difference lies within its interval.
const CONFIDENCE: f64 = 0.95;

/// What each treatment costs beside the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overhead {
    /// The version of this form of document.
    pub schema_version: u32,
    /// The campaign.
    pub campaign_id: String,
    /// Whether the servers behind the proxies are simulated (constant).
    pub simulated: bool,
    /// Which client measured what.
    pub client: String,
    /// How components were divided over cores.
    pub pinning: Option<String>,
    /// Rounds in which every treatment was measured.
    pub rounds: usize,
    /// The treatment that the others are compared with.
    pub baseline: String,
    /// All treatments, the baseline first.
    pub treatments: Vec<TreatmentCost>,
}

/// One treatment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreatmentCost {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// Its proxy: program and version.
    pub proxy: Option<String>,
    /// What was proven of it before the load, in the first round.
    pub qualification: Qualification,
    /// Its stages.
    pub stages: Vec<StageCost>,
    /// How much it can take.
    pub limit: Limit,
}

/// Throughput limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// The highest offered rate that was reached in every round, requests a second.
    pub highest_met: Option<f64>,
    /// Whether a higher rate was offered and missed: otherwise the limit lies above the ladder.
    pub found: bool,
    /// The highest rate of answers, median over rounds.
    pub most_completed: Option<f64>,
}

/// One rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageCost {
    /// Requests a second offered.
    pub offered_rate: f64,
    /// Sent, median over rounds.
    pub achieved_rate: Option<f64>,
    /// Answered, median over rounds.
    pub completed_rate: Option<f64>,
    /// Rounds in which the rate was reached.
    pub target_met: usize,
    /// Failed requests of all rounds.
    pub failed: u64,
    /// Requests of all rounds that were not sent.
    pub unsent: u64,
    /// How late the client sent, median of medians, milliseconds.
    pub lateness_ms: Option<f64>,
    /// The latencies, and what they are above the baseline's.
    pub costs: Vec<Cost>,
    /// CPU and memory.
    pub components: Vec<Component>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Time to first token.
    Ttft,
    /// Whole request.
    Request,
    /// Mean time between the chunks of an answer.
    Chunk,
}

/// One statistic of one measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Of what.
    pub measure: Measure,
    /// `p50`, `p90`, `p99`, `p99.9`, `mean`.
    pub statistic: &'static str,
    /// Median over rounds, milliseconds.
    pub value_ms: Option<f64>,
    /// Above the baseline; absent for the baseline itself and where either has no value.
    pub added: Option<Difference>,
}

/// A difference, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Mean of the rounds' differences.
    pub mean_ms: f64,
    /// Bounds of its 95% confidence interval (Student's t over rounds); absent below two rounds.
    pub interval_ms: Option<(f64, f64)>,
    /// Rounds that it comes from.
    pub rounds: usize,
}

/// What a component used at one rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Component {
    /// `proxy`, `picker`, `testbed`.
    pub name: String,
    /// CPU seconds for 1,000 answered requests, median over rounds.
    pub cpu_seconds_per_1000: Option<f64>,
    /// Resident memory at the stage's end, MiB, median over rounds.
    pub resident_mib: Option<f64>,
}

/// The statistics that are compared, with the way to each.
type Statistic = (Measure, &'static str, fn(&Stage) -> Option<f64>);

const STATISTICS: [Statistic; 9] = [
    (Measure::Ttft, "p50", |stage| stage.ttft.p50),
    (Measure::Ttft, "p90", |stage| stage.ttft.p90),
    (Measure::Ttft, "p99", |stage| stage.ttft.p99),
    (Measure::Ttft, "p99.9", |stage| stage.ttft.p999),
    (Measure::Request, "p50", |stage| stage.latency.p50),
    (Measure::Request, "p90", |stage| stage.latency.p90),
    (Measure::Request, "p99", |stage| stage.latency.p99),
    (Measure::Request, "p99.9", |stage| stage.latency.p999),
    (Measure::Chunk, "mean", |stage| mean(&stage.chunk_interval)),
];

fn mean(times: &Times) -> Option<f64> {
    times.mean
}

/// A treatment's rounds: for each its client's results.
struct Rounds<'a> {
    name: &'a str,
    display_name: &'a str,
    proxy: Option<String>,
    clients: Vec<(u32, Client)>,
}

/// Compares what the open-loop client measured; `None` where another client did, or nothing is complete yet.
///
/// # Errors
/// When a client's results cannot be read.
pub fn build(campaign: &Campaign) -> Result<Option<Overhead>, Error> {
    let mut treatments = Vec::new();
    for treatment in &campaign.treatments {
        let mut clients = Vec::new();
        for repetition in &treatment.repetitions {
            if let Some(client) = Client::read(&repetition.dir)? {
                clients.push((repetition.number, client));
            }
        }
        let proxy = treatment.stack.components.iter().find(|component| component.label == treatment.name);
        let proxy = proxy.map(|component| format!("{} {}", component.tool, component.tool_version));
        if !clients.is_empty() {
            let (name, display_name) = (treatment.name.as_str(), treatment.display_name.as_str());
            treatments.push(Rounds { name, display_name, proxy, clients });
        }
    }
    let Some(baseline) = treatments.first() else { return Ok(None) };
    // Only rounds in which every treatment was measured are interleaved.
    let complete = |number: u32| treatments.iter().all(|other| other.clients.iter().any(|(it, _)| *it == number));
    let rounds: Vec<u32> =
        baseline.clients.iter().map(|(number, _)| *number).filter(|number| complete(*number)).collect();
    if rounds.is_empty() {
        return Ok(None);
    }
    let base: Vec<&Client> = of_rounds(baseline, &rounds);
    let pinning = campaign.manifest.provenance.as_ref().and_then(|facts| facts.get("cpu_pinning"));
    let pinning = pinning.and_then(Value::as_str).map(str::to_owned);
    let warm_up = campaign.manifest.warm_up_stages();
    let costs = treatments.iter().enumerate().map(|(number, treatment)| {
        let own = of_rounds(treatment, &rounds);
        treatment_cost(treatment, &own, (number > 0).then_some(base.as_slice()), &warm_up)
    });
    Ok(Some(Overhead {
        schema_version: 1,
        campaign_id: campaign.manifest.campaign_id.clone(),
        simulated: campaign.is_simulated(),
        client: baseline.clients[0].1.client.clone(),
        pinning,
        rounds: rounds.len(),
        baseline: baseline.name.to_owned(),
        treatments: costs.collect(),
    }))
}

fn of_rounds<'a>(treatment: &'a Rounds<'_>, rounds: &[u32]) -> Vec<&'a Client> {
    let find = |number: &u32| treatment.clients.iter().find(|(it, _)| it == number).map(|(_, client)| client);
    rounds.iter().filter_map(find).collect()
}

fn treatment_cost(treatment: &Rounds<'_>, own: &[&Client], base: Option<&[&Client]>, warm_up: &[u32]) -> TreatmentCost {
    let count = own.iter().map(|client| client.stages.len()).min().unwrap_or(0);
    let measured = (0..count).filter(|&number| warm_up.iter().all(|&stage| stage as usize != number));
    let stages: Vec<StageCost> = measured.map(|number| stage_cost(own, base, number)).collect();
    let met = |stage: &&StageCost| stage.target_met == own.len();
    let highest_met = stages.iter().take_while(met).map(|stage| stage.offered_rate).reduce(f64::max);
    TreatmentCost {
        name: treatment.name.to_owned(),
        display_name: treatment.display_name.to_owned(),
        proxy: treatment.proxy.clone(),
        qualification: own[0].qualification.clone(),
        limit: Limit {
            highest_met,
            found: !stages.iter().all(|stage| met(&stage)),
            most_completed: stages.iter().filter_map(|stage| stage.completed_rate).reduce(f64::max),
        },
        stages,
    }
}

fn stage_cost(own: &[&Client], base: Option<&[&Client]>, number: usize) -> StageCost {
    let stages: Vec<&Stage> = own.iter().map(|client| &client.stages[number]).collect();
    let over = |value: &dyn Fn(&Stage) -> Option<f64>| {
        let values: Vec<f64> = stages.iter().filter_map(|stage| value(stage)).collect();
        median(&values)
    };
    let costs = STATISTICS.iter().map(|&(measure, statistic, value)| {
        let added = base.and_then(|base| {
            let pairs = stages.iter().zip(base).filter_map(|(stage, base)| {
                let base = base.stages.get(number).filter(|base| base.offered_rate == stage.offered_rate)?;
                Some((value(stage)? - value(base)?) / 1e3)
            });
            difference(&pairs.collect::<Vec<_>>())
        });
        Cost { measure, statistic, value_ms: over(&value).map(|microseconds| microseconds / 1e3), added }
    });
    let names = stages.first().map(|stage| stage.usage.iter().map(|usage| usage.name.clone())).into_iter().flatten();
    let components = names.map(|name| {
        let usage = |stage: &&Stage| stage.usage.iter().find(|usage| usage.name == name).cloned();
        let cpu: Vec<f64> = stages
            .iter()
            .filter(|stage| stage.succeeded > 0)
            .filter_map(|stage| Some(usage(stage)?.cpu_seconds? * 1000.0 / stage.succeeded as f64))
            .collect();
        let memory: Vec<f64> =
            stages.iter().filter_map(|stage| Some(usage(stage)?.resident_bytes? as f64 / f64::from(1 << 20))).collect();
        Component { cpu_seconds_per_1000: median(&cpu), resident_mib: median(&memory), name: name.clone() }
    });
    StageCost {
        offered_rate: stages[0].offered_rate,
        achieved_rate: over(&|stage| Some(stage.achieved_rate)),
        completed_rate: over(&|stage| Some(stage.completed_rate)),
        target_met: stages.iter().filter(|stage| stage.target_met).count(),
        failed: stages.iter().flat_map(|stage| stage.failed.values()).sum(),
        unsent: stages.iter().map(|stage| stage.unsent).sum(),
        lateness_ms: over(&|stage| stage.lateness.p50).map(|microseconds| microseconds / 1e3),
        costs: costs.collect(),
        components: components.collect(),
    }
}

/// The mean of paired differences with Student's interval; `None` without any.
pub(super) fn difference(values: &[f64]) -> Option<Difference> {
    let rounds = values.len();
    if rounds == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / rounds as f64;
    let interval = (rounds > 1).then(|| {
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (rounds - 1) as f64;
        let half = critical_value((1.0 - CONFIDENCE) / 2.0, (rounds - 1) as f64) * (variance / rounds as f64).sqrt();
        (mean - half, mean + half)
    });
    Some(Difference { mean_ms: mean, interval_ms: interval, rounds })
}
