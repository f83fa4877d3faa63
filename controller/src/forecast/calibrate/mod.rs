//! Fits a hardware model's coefficients to a measured campaign.
//!
//! Every second rate of the measured ladder is for fitting, the others are held out. The whole ladder is computed in virtual
//! time with a few fixed seeds, so that two sets of coefficients differ by their coefficients alone; the cost is the weighted
//! sum of squared logarithms of computed over measured medians at the fitting rates; a downhill simplex search moves the
//! logarithms of the coefficients from those of the starting model. A coefficient that starts at 0 stays 0. The errors that
//! are reported come from other seeds, at all rates.

mod simplex;

use std::collections::BTreeMap;
use std::path::Path;

use reports::campaign::{self, Campaign};
use reports::compare::{self, Options, Series};
use reports::manifest::{self, Manifest};
use reports::model::{Level, Metric, Quantity, Statistic};
use reports::statistics::median;
use serde::Serialize;
use serde_yaml::Mapping;
use testbed::config::Hardware;

use super::{Asked, Model, Plan};
use crate::failure::{Failure, Result};
use crate::settings::Resolved;

/// Metrics that the fit looks at, with their weights: what is steady from run to run weighs more.
const FITTED: [(Metric, f64); 4] = [
    (Metric::RequestRate, 1.0),
    (Metric::Latency(Quantity::Ttft, Statistic::P50), 0.8),
    (Metric::Latency(Quantity::Ttft, Statistic::P90), 0.5),
    (Metric::Latency(Quantity::Itl, Statistic::P50), 2.0),
];

/// Seeds of a treatment while fitting.
const SEEDS: u32 = 3;
/// Seeds of a treatment when errors are reported.
const CHECK_SEEDS: u32 = 20;
/// Sets of coefficients that are tried.
const EVALUATIONS: usize = 240;
/// A logarithm counts no more than this, so that one number that luck decides cannot bend the rest.
const MOST: f64 = 0.7;

/// A fitted hardware model, and how well it holds.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The model.
    pub hardware: Hardware,
    /// The cost of the starting model and of the fitted one.
    pub cost: (f64, f64),
    /// Errors by treatment and metric, held-out rates apart.
    pub errors: Vec<Errors>,
}

/// Relative errors of one metric of one treatment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// The treatment.
    pub treatment: String,
    /// The metric's key.
    pub metric: String,
    /// Whether the rates were held out of the fit.
    pub held_out: bool,
    /// How many rates.
    pub rates: usize,
    /// Median of the absolute errors.
    pub median: f64,
    /// The largest error by size, with its sign, and its rate.
    pub worst: (f64, f64),
}

/// Measured medians over repetitions: treatment, rate in the ladder's order, metric.
type Measured = BTreeMap<(String, u64), [Option<f64>; FITTED.len()]>;

/// Reads a campaign's folder, or a published table: a `metrics.csv`, or a folder that holds one and no campaign.
///
/// # Errors
/// A usage failure when there is no campaign.
pub fn read(folder: &Path) -> Result<Campaign> {
    let metrics = if folder.is_file() { folder.to_path_buf() } else { folder.join("metrics.csv") };
    if !folder.join(manifest::FILE_NAME).is_file() && metrics.is_file() {
        let text = fs_err::read_to_string(&metrics).map_err(Failure::usage)?;
        let name = metrics.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        return campaign::from_metrics(folder, Manifest::new(name, Mapping::new()), &text).map_err(Failure::usage);
    }
    campaign::read(folder)
        .map_err(|error| Failure::usage(error).hint("a campaign's folder holds campaign-manifest.yaml and runs/"))
}

/// Fits `start` to the treatments that `measured` and `resolved` have in common; `resolved` is the workload that was
/// measured. `progress` is told the number of sets tried and the lowest cost.
///
/// # Errors
/// Usage failures: nothing in common, or too few rates to hold some out.
pub fn calibrate(
    root: &Path,
    resolved: &Resolved,
    measured: &Campaign,
    start: &Model,
    progress: &mut dyn FnMut(usize, f64),
) -> Result<Calibration> {
    let asked = |seeds| Asked { seeds, hardware: None, differences: Vec::new(), standup_seconds: 0.0 };
    let fit = Plan::with_model(root, resolved, asked(SEEDS), start.clone())?;
    let known = observe(measured.treatments.iter())?;
    let rates = common_rates(&known, &fit)?;
    let training = |rate: u64| rates.iter().position(|other| *other == rate).is_some_and(|place| place % 2 == 0);
    let free: Vec<Coefficient> =
        COEFFICIENTS.into_iter().filter(|coefficient| *(coefficient.of)(&mut start.hardware.clone()) > 0.0).collect();
    let mut tried = 0;
    let mut lowest = f64::INFINITY;
    let mut first = f64::INFINITY;
    let mut cost = |point: &[f64]| {
        let hardware = moved(&start.hardware, &free, point);
        let cost =
            fit.with_hardware(hardware).and_then(|plan| plan.compute("fit")).ok().map_or(f64::INFINITY, |computed| {
                observe(computed.campaign.treatments.iter())
                    .map_or(f64::INFINITY, |found| distance(&known, &found, training))
            });
        if tried == 0 {
            first = cost;
        }
        tried += 1;
        lowest = lowest.min(cost);
        progress(tried, lowest);
        cost
    };
    let steps: Vec<f64> = free.iter().map(|coefficient| coefficient.step).collect();
    let (point, reached) = simplex::minimize(&steps, EVALUATIONS, 2e-3, &mut cost);
    let hardware = moved(&start.hardware, &free, &point);
    let check =
        Plan::with_model(root, resolved, asked(CHECK_SEEDS), Model { hardware: hardware.clone(), ..start.clone() })?;
    let found = observe(check.compute("check")?.campaign.treatments.iter())?;
    Ok(Calibration { hardware, cost: (first, reached), errors: errors(&known, &found, &rates, training) })
}

/// A coefficient that may move, and the first change of its logarithm that is tried.
struct Coefficient {
    of: fn(&mut Hardware) -> &mut f64,
    step: f64,
}

const COEFFICIENTS: [Coefficient; 7] = [
    Coefficient { of: |hardware| &mut hardware.step.base_seconds, step: 0.1 },
    Coefficient { of: |hardware| &mut hardware.step.per_sequence_seconds, step: 0.25 },
    Coefficient { of: |hardware| &mut hardware.step.per_unique_token_seconds, step: 0.25 },
    Coefficient { of: |hardware| &mut hardware.step.per_prefill_token_seconds, step: 0.1 },
    Coefficient { of: |hardware| &mut hardware.step.prefill_overlap, step: -0.25 },
    Coefficient { of: |hardware| &mut hardware.overhead.request_seconds, step: 0.25 },
    Coefficient { of: |hardware| &mut hardware.overhead.per_running_request_seconds, step: 0.4 },
];

/// The model with the logarithms of its coefficients moved by `point`, to four digits.
fn moved(start: &Hardware, free: &[Coefficient], point: &[f64]) -> Hardware {
    let mut hardware = start.clone();
    for (coefficient, distance) in free.iter().zip(point) {
        let value = (coefficient.of)(&mut hardware);
        let digits = 10_f64.powi(3 - (*value * distance.exp()).log10().floor() as i32);
        *value = (*value * distance.exp() * digits).round() / digits;
    }
    hardware.step.prefill_overlap = hardware.step.prefill_overlap.min(0.95);
    hardware
}

fn observe<'a>(treatments: impl Iterator<Item = &'a campaign::Treatment>) -> Result<Measured> {
    let mut all = Measured::new();
    for treatment in treatments.filter(|treatment| !treatment.repetitions.is_empty()) {
        let series: Series = compare::series(treatment, &Options::default()).map_err(Failure::usage)?;
        for point in &series.points {
            let Level::Rate(rate) = point.level else { continue };
            let values = FITTED.map(|(metric, _)| point.median(metric).filter(|value| *value > 0.0));
            all.insert((series.name.clone(), key(rate)), values);
        }
    }
    Ok(all)
}

/// A rate as a key, to a millionth.
fn key(rate: f64) -> u64 {
    (rate * 1e6).round() as u64
}

/// The measured rates that the workload has too, ascending.
fn common_rates(known: &Measured, plan: &Plan<'_>) -> Result<Vec<u64>> {
    let (names, planned) = (plan.treatments(), plan.rates());
    let common = known.keys().filter(|(treatment, rate)| {
        names.contains(&treatment.as_str()) && planned.iter().any(|planned| key(*planned) == *rate)
    });
    let mut rates: Vec<u64> = common.map(|(_, rate)| *rate).collect();
    rates.sort_unstable();
    rates.dedup();
    if rates.len() < 4 {
        return Err(Failure::usage(format!(
            "the campaign and the chosen workload have {} rates in common: at least 4 are needed, so that some can be held out",
            rates.len()
        ))
        .hint("choose the profile and the treatments that the campaign was measured with: --profile, --treatment, --set"));
    }
    Ok(rates)
}

/// The cost of computed values at the rates that are for fitting.
fn distance(known: &Measured, found: &Measured, training: impl Fn(u64) -> bool) -> f64 {
    let pairs =
        known.iter().filter(|((_, rate), _)| training(*rate)).filter_map(|(at, known)| Some((known, found.get(at)?)));
    let one = |(known, found): (&[Option<f64>; 4], &[Option<f64>; 4])| -> f64 {
        let terms = known.iter().zip(found).zip(FITTED).filter_map(|((known, found), (_, weight))| {
            Some(weight * ((*found)? / (*known)?).ln().clamp(-MOST, MOST).powi(2))
        });
        terms.sum()
    };
    pairs.map(one).sum()
}

fn errors(known: &Measured, found: &Measured, rates: &[u64], training: impl Fn(u64) -> bool) -> Vec<Errors> {
    let mut treatments: Vec<&String> = known.keys().map(|(treatment, _)| treatment).collect();
    treatments.dedup();
    let mut all = Vec::new();
    for treatment in treatments {
        for (place, (metric, _)) in FITTED.into_iter().enumerate() {
            for held_out in [true, false] {
                let error = |rate: &u64| {
                    let at = (treatment.clone(), *rate);
                    let (known, found) = ((*known.get(&at)?)[place]?, (*found.get(&at)?)[place]?);
                    Some((found / known - 1.0, *rate as f64 / 1e6))
                };
                let errors: Vec<(f64, f64)> =
                    rates.iter().filter(|rate| training(**rate) != held_out).filter_map(error).collect();
                let sizes: Vec<f64> = errors.iter().map(|(error, _)| error.abs()).collect();
                let worst = errors.iter().copied().max_by(|one, two| one.0.abs().total_cmp(&two.0.abs()));
                let Some((median, worst)) = median(&sizes).zip(worst) else { continue };
                all.push(Errors {
                    treatment: treatment.clone(),
                    metric: metric.key(),
                    held_out,
                    rates: errors.len(),
                    median,
                    worst,
                });
            }
        }
    }
    all
}
