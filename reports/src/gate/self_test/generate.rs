//! Seeded synthetic campaigns.
//!
//! Log latencies have a standard deviation of 0.4. What repetitions differ by (`tau`) is split: a share of its variance is
//! common to all stages of a run, the rest is each stage's own; a campaign's drift is common to all its treatments. Since a
//! factor only shifts logarithms, samples are drawn once and serve several settings of tau, drift and effect.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;

use super::super::calibration::{Calibration, Noise};
use super::super::metric::{Metric, Statistic};
use super::super::summary::{ErrorSource, LatencySummary, Quantile, Run, StageSummary, Summary};
use crate::statistics::between_runs::{BetweenRunsEstimator, Measured};
use crate::statistics::quantile_error::{LogQuantile, QuantileEstimator};

/// The treatment under test and the one to normalise by.
pub(super) const CANDIDATE: &str = "candidate";
pub(super) const SERVICE: &str = "service";
/// Latencies, with a typical median in seconds.
pub(super) const LATENCIES: [(Metric, f64); 4] =
    [(Metric::Ttft, 0.2), (Metric::Itl, 0.03), (Metric::Ntpot, 0.033), (Metric::RequestLatency, 10.0)];
/// Repetitions of the campaign under test; the baseline has as many in each of its campaigns.
pub(super) const REPETITIONS: usize = 3;
pub(super) const BASELINE_CAMPAIGNS: usize = 3;

const SIGMA: f64 = 0.4;
/// Repetitions of the throughput ratio differ less than latencies do.
const RATIO_TAU: f64 = 0.01;
const FAILURE_RATE: f64 = 0.002;
const PROBABILITIES: [f64; 3] = [0.5, 0.9, 0.99];
/// The calibration that a gate uses: A/A campaigns x treatments, each with three repetitions.
const CALIBRATION_GROUPS: usize = 4 * 3;

/// How a request's latency is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Lognormal.
    Lognormal,
    /// Lognormal, with a Pareto tail (index 1.5) on one request in twenty.
    HeavyTail,
    /// Lognormal, each request correlated 0.3 with the one before.
    Autoregressive,
}

/// What differs between repetitions, campaigns, and the code under test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub tau: f64,
    /// Share of tau's variance that all stages of a run have in common.
    pub shared: f64,
    /// Relative standard deviation between campaigns, common to all treatments.
    pub drift: f64,
    pub effect: Effect,
}

/// What the code under test does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Effect {
    None,
    /// TTFT of every stage grows by this share.
    AllStages(f64),
    /// TTFT of one stage grows by this share.
    OneStage(f64),
    /// Three requests in a hundred take four times as long to their first token.
    SlowPath,
    /// This share of the requests fails; none did before.
    Failures(f64),
}

type Cell = [LogQuantile; 3];

/// Samples of one gate, reduced to quantiles: runs x stages x latencies.
pub(super) struct Draw {
    ladder: Vec<usize>,
    candidate: Vec<Vec<[Cell; 4]>>,
    service: Vec<Vec<[Cell; 4]>>,
    /// TTFT of the campaign under test with the slow path in it.
    slow: Vec<Vec<Cell>>,
}

/// The random numbers and scratch space of one thread.
pub(super) struct Generator {
    estimator: QuantileEstimator,
    logs: Vec<f64>,
}

fn normal(random: &mut Pcg64Mcg) -> f64 {
    StandardNormal.sample(random)
}

/// Random numbers that depend only on what they are for, whichever thread draws them.
pub(super) fn random(seed: u64, purpose: u64, index: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(
        seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index.wrapping_mul(0xd1b5_4a32_d192_ed03),
    )
}

impl Generator {
    pub(super) fn new() -> Self {
        Self { estimator: QuantileEstimator::new(), logs: Vec::new() }
    }

    /// Draws the samples of a gate.
    pub(super) fn draw(&mut self, random: &mut Pcg64Mcg, ladder: &[usize], shape: Shape, needs: Needs) -> Draw {
        let runs = REPETITIONS * (1 + BASELINE_CAMPAIGNS);
        let candidate = (0..runs).map(|_| self.run(random, ladder, shape)).collect();
        // The service has every second stage: fewer to pool over is the harder case.
        let sparse: Vec<usize> = ladder.iter().copied().skip(1).step_by(2).collect();
        let service =
            if needs.service { (0..runs).map(|_| self.run(random, &sparse, shape)).collect() } else { Vec::new() };
        let slow = if needs.slow_path {
            let mut stage = |&n: &usize| self.cell(random, n, shape, true);
            (0..REPETITIONS).map(|_| ladder.iter().map(&mut stage).collect()).collect()
        } else {
            Vec::new()
        };
        Draw { ladder: ladder.to_vec(), candidate, service, slow }
    }

    fn run(&mut self, random: &mut Pcg64Mcg, ladder: &[usize], shape: Shape) -> Vec<[Cell; 4]> {
        ladder.iter().map(|&n| std::array::from_fn(|_| self.cell(random, n, shape, false))).collect()
    }

    fn cell(&mut self, random: &mut Pcg64Mcg, n: usize, shape: Shape, slow_path: bool) -> Cell {
        self.logs.clear();
        let mut last = normal(random);
        for _ in 0..n {
            let mut z = normal(random);
            if shape == Shape::Autoregressive {
                z = 0.3 * last + (1.0f64 - 0.09).sqrt() * z;
                last = z;
            }
            let mut log = SIGMA * z;
            if shape == Shape::HeavyTail && random.random_bool(0.05) {
                log -= random.random_range(f64::MIN_POSITIVE..1.0f64).ln() / 1.5;
            }
            if slow_path && random.random_bool(0.03) {
                log += 4f64.ln();
            }
            self.logs.push(log);
        }
        let estimates = self.estimator.estimate(&self.logs, &PROBABILITIES);
        std::array::from_fn(|i| estimates[i])
    }
}

/// What settings need besides the candidate's samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    pub service: bool,
    pub slow_path: bool,
}

impl Draw {
    /// The campaign under test and the baseline under a setting.
    pub(super) fn summaries(&self, random: &mut Pcg64Mcg, setting: &Setting) -> (Summary, Summary) {
        let mut runs = Vec::with_capacity(2 * self.candidate.len());
        for campaign in 0..=BASELINE_CAMPAIGNS {
            let drift = setting.drift * normal(random);
            for (treatment, cells) in [(CANDIDATE, &self.candidate), (SERVICE, &self.service)] {
                let range = campaign * REPETITIONS..(campaign + 1) * REPETITIONS;
                for (repetition, stages) in cells.get(range).unwrap_or_default().iter().enumerate() {
                    let changed = campaign == 0 && treatment == CANDIDATE;
                    let effect = if changed { setting.effect } else { Effect::None };
                    let slow = if effect == Effect::SlowPath { self.slow.get(repetition) } else { None };
                    let stages = self.stages(random, setting, stages, Changes { drift, effect, slow });
                    let repetition = repetition as u32 + 1;
                    runs.push(Run { campaign: campaign.to_string(), treatment: treatment.into(), repetition, stages });
                }
            }
        }
        let baseline = runs.split_off(runs.iter().take_while(|run| run.campaign == "0").count());
        (Summary { runs }, Summary { runs: baseline })
    }

    fn stages(
        &self,
        random: &mut Pcg64Mcg,
        setting: &Setting,
        cells: &[[Cell; 4]],
        changes: Changes<'_>,
    ) -> Vec<StageSummary> {
        let common: [f64; 4] = std::array::from_fn(|_| setting.tau * setting.shared.sqrt() * normal(random));
        let own = setting.tau * (1.0 - setting.shared).sqrt();
        let ratio = (RATIO_TAU * normal(random)).exp();
        let one_stage = self.ladder.len() / 2;
        // Stages that the treatment has: all, or every second.
        let (skip, step) = if cells.len() == self.ladder.len() { (0, 1) } else { (1, 2) };
        cells
            .iter()
            .zip((skip..).step_by(step))
            .map(|(cell, k)| {
                let n = self.ladder[k];
                let mut latencies = std::collections::BTreeMap::new();
                for (m, (metric, median)) in LATENCIES.into_iter().enumerate() {
                    let mut shift = median.ln() + common[m] + own * normal(random) + changes.drift;
                    let mut quantiles = &cell[m];
                    if metric == Metric::Ttft {
                        match changes.effect {
                            Effect::AllStages(share) => shift += share.ln_1p(),
                            Effect::OneStage(share) if k == one_stage => shift += share.ln_1p(),
                            _ => {}
                        }
                        quantiles = changes.slow.map_or(quantiles, |slow| &slow[k]);
                    }
                    latencies.insert(metric, summarise(quantiles, n, shift));
                }
                let rate = match (setting.effect, changes.effect) {
                    (_, Effect::Failures(rate)) => rate,
                    (Effect::Failures(_), _) => 0.0,
                    _ => FAILURE_RATE,
                };
                let failures = binomial(random, n, rate);
                let offered = (k + 1) as f64;
                StageSummary {
                    stage: format!("rate={}", k + 1),
                    requests: n as u64,
                    failures: Some(failures),
                    offered_rate: Some(offered),
                    completed_rate: Some(offered * 0.98 * ratio),
                    output_tokens: Some(300.0),
                    schedule_delay: Some(0.001),
                    latencies,
                }
            })
            .collect()
    }
}

/// How many of `n` requests fail, by jumping from failure to failure: there are few.
fn binomial(random: &mut Pcg64Mcg, n: usize, rate: f64) -> u64 {
    if rate <= 0.0 {
        return 0;
    }
    let (mut position, mut failures) = (0.0, 0);
    loop {
        let uniform: f64 = random.random_range(f64::MIN_POSITIVE..1.0);
        position += (uniform.ln() / (-rate).ln_1p()).floor() + 1.0;
        if position > n as f64 {
            return failures;
        }
        failures += 1;
    }
}

struct Changes<'a> {
    drift: f64,
    effect: Effect,
    slow: Option<&'a Vec<Cell>>,
}

fn summarise(cell: &Cell, n: usize, shift: f64) -> LatencySummary {
    let quantiles = Statistic::QUANTILES
        .into_iter()
        .zip(cell)
        .map(|(statistic, quantile)| Quantile {
            statistic,
            seconds: (quantile.log + shift).exp(),
            log_error: Some(quantile.se),
            source: if quantile.blocked { ErrorSource::Blocks } else { ErrorSource::Samples },
        })
        .collect();
    LatencySummary { samples: n as u64, quantiles }
}

/// A calibration as A/A campaigns of this tau would give it: quantiles are drawn around their run's deviation with the
/// errors of a lognormal's quantiles, and go through the estimator that `baseline calibrate` uses.
pub(super) fn calibration(random: &mut Pcg64Mcg, setting: &Setting, ladder: &[usize]) -> Calibration {
    let mut noise = Vec::new();
    for (metric, _) in LATENCIES {
        for (statistic, density) in Statistic::QUANTILES.into_iter().zip([0.398_942, 0.175_498, 0.026_652]) {
            let p = statistic.probability().unwrap_or(0.5);
            let error = |n: usize| (p * (1.0 - p) / n as f64).sqrt() * SIGMA / density;
            noise.extend(learn(random, setting, ladder, (metric, statistic), error));
        }
    }
    let ratios = Setting { tau: RATIO_TAU, shared: 1.0, ..*setting };
    noise.extend(learn(random, &ratios, ladder, (Metric::Throughput, Statistic::Ratio), |_| 1e-4));
    Calibration { campaigns: vec!["synthetic".into()], noise }
}

fn learn(
    random: &mut Pcg64Mcg,
    setting: &Setting,
    ladder: &[usize],
    (metric, statistic): (Metric, Statistic),
    error: impl Fn(usize) -> f64,
) -> Option<Noise> {
    let ladder: Vec<usize> =
        ladder.iter().copied().filter(|&n| statistic.is_supported_by((n * REPETITIONS) as u64)).collect();
    let mut stages = BetweenRunsEstimator::default();
    let mut means = BetweenRunsEstimator::default();
    for _ in 0..CALIBRATION_GROUPS {
        let common: [f64; REPETITIONS] = std::array::from_fn(|_| setting.tau * setting.shared.sqrt() * normal(random));
        let mut totals = [Measured { log: 0.0, se: 0.0 }; REPETITIONS];
        for &n in &ladder {
            let se = error(n);
            let group: [Measured; REPETITIONS] = std::array::from_fn(|run| {
                let own = setting.tau * (1.0 - setting.shared).sqrt() * normal(random);
                Measured { log: common[run] + own + se * normal(random), se }
            });
            stages.add(&group);
            for (total, value) in totals.iter_mut().zip(group) {
                total.log += value.log / ladder.len() as f64;
                total.se += (value.se / ladder.len() as f64).powi(2);
            }
        }
        means.add(&totals.map(|total| Measured { log: total.log, se: total.se.sqrt() }));
    }
    let (stage, mean) = (stages.finish()?, means.finish()?);
    Some(Noise { metric, statistic, stage: stage.tau, mean: mean.tau, df: mean.df })
}
