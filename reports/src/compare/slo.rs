//! How objectives are met: the share of requests that were fast enough, and how many of those a second.
//!
//! The denominator is all requests of a stage; a request that failed is a miss. From per-request records shares are exact.
//! Percentiles alone place a share between two of them, so it is an interval, and a level meets an objective only where the
//! lower end does.

use serde::Serialize;

use super::Point;
use crate::model::{Distribution, Level, Objective, Quantity, Slo, Stage, Within};

/// A number that is known to lie between two; both are the same where it is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// At least this.
    pub low: f64,
    /// At most this.
    pub high: f64,
}

/// What share of all requests met the limits at one level; of several repetitions the worst.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attainment {
    /// By objective: the share within its limit, 0 to 1. For inter-token latency the share of gaps, those of failed requests
    /// counting as misses. `None` where the latency is not known.
    pub each: Vec<Option<Bounds>>,
    /// The share of requests within all limits; `None` where a latency is not known. A request is within a limit on
    /// inter-token latency when the objective's share of its own gaps is, which only records tell.
    pub all: Option<Bounds>,
    /// Requests within all limits, a second of the stage's whole time.
    pub goodput: Option<Bounds>,
}

/// How a treatment meets the objectives over its ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct SloResult {
    /// The objectives.
    pub slo: Slo,
    /// The attainment at each level, ascending.
    pub levels: Vec<(Level, Attainment)>,
    /// The highest level up to which all levels certainly meet every objective.
    pub highest_met: Option<Level>,
}

impl SloResult {
    /// The attainment over a curve's points, ascending.
    pub(super) fn over(slo: &Slo, points: &[Point]) -> Self {
        let levels: Vec<_> = points.iter().map(|point| (point.level, worst(slo, point))).collect();
        let met = levels.iter().take_while(|(_, attainment)| attainment.meets(slo));
        let highest_met = met.last().map(|(level, _)| *level);
        Self { slo: slo.clone(), levels, highest_met }
    }
}

impl Attainment {
    /// Whether every objective is certainly met.
    pub fn meets(&self, slo: &Slo) -> bool {
        let met = |(share, objective): (&Option<Bounds>, &Objective)| {
            share.is_some_and(|share| share.low >= objective.share())
        };
        self.each.iter().zip(&slo.objectives).all(met)
    }

    /// The attainment of one stage.
    pub fn of(slo: &Slo, stage: &Stage) -> Self {
        let within = stage.sampled.as_ref().and_then(|sampled| sampled.within.as_ref());
        let within = within.filter(|within| within.each.len() == slo.objectives.len());
        let objectives = slo.objectives.iter().enumerate();
        let each: Vec<Option<Bounds>> =
            objectives.map(|(index, objective)| each(stage, *objective, within, index)).collect();
        let all = all(slo, stage, within, &each);
        let goodput = all.zip(stage.measured_seconds().filter(|seconds| *seconds > 0.0)).map(|(all, seconds)| {
            let a_second = |share: f64| share * stage.requests.total as f64 / seconds;
            Bounds { low: a_second(all.low), high: a_second(all.high) }
        });
        Self { each, all, goodput }
    }
}

fn worst(slo: &Slo, point: &Point) -> Attainment {
    let stages = point.repetitions.iter().map(|(_, stage)| Attainment::of(slo, stage));
    let lower = |a: Option<Bounds>, b: Option<Bounds>| a.zip(b).map(|(a, b)| if b.low < a.low { b } else { a });
    stages
        .reduce(|worst, next| Attainment {
            each: worst.each.iter().zip(&next.each).map(|(a, b)| lower(*a, *b)).collect(),
            all: lower(worst.all, next.all),
            goodput: lower(worst.goodput, next.goodput),
        })
        .unwrap_or_else(|| Attainment { each: vec![None; slo.objectives.len()], all: None, goodput: None })
}

/// The share of all requests within one limit.
fn each(stage: &Stage, objective: Objective, within: Option<&Within>, index: usize) -> Option<Bounds> {
    let total = stage.requests.total;
    if total == 0 {
        return None;
    }
    let counted = within.filter(|_| objective.quantity != Quantity::Itl).and_then(|within| within.each[index]);
    if let Some(met) = counted {
        return Some(exactly(met as f64 / total as f64));
    }
    let succeeded = stage.requests.successes()? as f64 / total as f64;
    if succeeded == 0.0 {
        return Some(exactly(0.0));
    }
    let share = share_within(&objective.quantity.of(stage)?, objective.seconds)?;
    Some(Bounds { low: share.low * succeeded, high: share.high * succeeded })
}

/// The share of all requests within all limits.
fn all(slo: &Slo, stage: &Stage, within: Option<&Within>, each: &[Option<Bounds>]) -> Option<Bounds> {
    let total = stage.requests.total;
    if let Some(met) = within.and_then(|within| within.all).filter(|_| total > 0) {
        return Some(exactly(met as f64 / total as f64));
    }
    if stage.all_failed() && total > 0 {
        return Some(exactly(0.0));
    }
    if slo.objectives.iter().any(|objective| objective.quantity == Quantity::Itl) {
        return None;
    }
    // Misses of different limits may fall on different requests or on the same (Fréchet's bounds); a failed request
    // misses them all, once.
    let succeeded = stage.requests.successes()? as f64 / total as f64;
    let shares = each.iter().copied().collect::<Option<Vec<Bounds>>>()?;
    let missed: f64 = shares.iter().map(|share| succeeded - share.low).sum();
    let high = shares.iter().map(|share| share.high).fold(succeeded, f64::min);
    Some(Bounds { low: (succeeded - missed).max(0.0), high })
}

fn exactly(value: f64) -> Bounds {
    Bounds { low: value, high: value }
}

/// Bounds of the share of values at or below `limit`, from the known percentiles around it.
fn share_within(distribution: &Distribution, limit: f64) -> Option<Bounds> {
    let known = distribution.percentiles().into_iter().filter_map(|at| Some((at.probability, at.value?)));
    let (mut low, mut high, mut any) = (0.0, 1.0, false);
    for (probability, value) in known {
        any = true;
        if value <= limit {
            low = probability;
        } else {
            // All values from the smallest on are above.
            high = probability;
            break;
        }
    }
    any.then_some(Bounds { low, high })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Latency, Requests, Sampled, Throughput};

    fn stage(failures: u64) -> Stage {
        let ttft = Distribution {
            min: Some(0.1),
            p50: Some(0.2),
            p90: Some(0.5),
            p99: Some(2.0),
            max: Some(3.0),
            ..Distribution::default()
        };
        Stage {
            requests: Requests { total: 100, failures: Some(failures), ..Requests::default() },
            latency: Latency { ttft: Some(ttft), request: Some(ttft.scaled(10.0)), ..Latency::default() },
            throughput: Throughput { seconds: Some(50.0), ..Throughput::default() },
            ..Stage::default()
        }
    }

    fn found(objectives: &str, stage: &Stage) -> Attainment {
        Attainment::of(&objectives.parse().unwrap(), stage)
    }

    fn between(low: f64, high: f64) -> Option<Bounds> {
        Some(Bounds { low, high })
    }

    #[test]
    fn percentiles_place_the_share_between_two_values() {
        let found = |seconds: f64| found(&format!("ttft_p90={seconds}s"), &stage(0));
        assert_eq!((found(0.6).all, found(0.6).goodput), (between(0.9, 0.99), between(1.8, 1.98)));
        assert_eq!(found(3.0).all, between(1.0, 1.0));
        assert_eq!(found(0.05).all, between(0.0, 0.0));
    }

    #[test]
    fn a_failed_request_is_a_miss() {
        let slo: Slo = "ttft_p90=3s".parse().unwrap();
        for (failures, share, meets) in [(0, 1.0, true), (10, 0.9, true), (20, 0.8, false), (100, 0.0, false)] {
            let found = Attainment::of(&slo, &stage(failures));
            assert_eq!((found.all, found.meets(&slo)), (between(share, share), meets), "{failures}");
        }
    }

    #[test]
    fn two_limits_may_miss_different_requests() {
        let found = found("ttft_p90=600ms,request_latency_p90=6s", &stage(0)).all.unwrap();
        assert!((found.low - 0.8).abs() < 1e-12 && found.high == 0.99, "{found:?}");
    }

    #[test]
    fn a_missing_latency_is_not_known_and_gaps_do_not_tell_requests() {
        let mut unary = stage(0);
        unary.latency.ttft = None;
        let unknown = found("ttft_p90=1s", &unary);
        assert_eq!((&unknown.each[..], unknown.all, unknown.goodput), (&[None][..], None, None));
        let mut streamed = stage(0);
        streamed.latency.itl = streamed.latency.ttft;
        let gaps = found("itl_p50=200ms", &streamed);
        assert_eq!((&gaps.each[..], gaps.all), (&[between(0.5, 0.9)][..], None));
    }

    #[test]
    fn records_tell_exactly_what_share_met_all_limits() {
        let mut counted = stage(20);
        let within = Within { each: vec![Some(75), Some(60)], all: Some(58) };
        counted.sampled = Some(Arc::new(Sampled { within: Some(within), ..Sampled::default() }));
        let found = found("ttft_p90=600ms,request_latency_p50=6s", &counted);
        assert_eq!(found.each, [between(0.75, 0.75), between(0.6, 0.6)]);
        assert_eq!((found.all, found.goodput), (between(0.58, 0.58), between(1.16, 1.16)));
    }
}
