//! Service level objectives: the share of requests that were fast enough, and how many of those a second.
//!
//! The denominator is all requests of a stage; a request that failed is a miss. Percentiles alone place the share of fast
//! requests between two of them, so attainment is an interval, and a level meets the limits only where its lower end does.

use serde::Serialize;

use super::Point;
use crate::model::{Distribution, Level, Quantity, Stage};

/// Limits that a request must meet, and the share of requests that must meet them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slo {
    /// Each must hold for a request to count as good.
    pub limits: Vec<Limit>,
    /// Share of all requests, 0 to 1, errors counting as misses.
    pub required: f64,
}

/// One limit of a request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// The latency.
    pub quantity: Quantity,
    /// The longest that is good, in seconds.
    pub seconds: f64,
}

/// The share of requests that met all limits at one level, as bounds: percentiles alone place it between two values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Attainment {
    /// At least this share of all requests.
    pub low: f64,
    /// At most this share.
    pub high: f64,
    /// Good requests a second, lower bound: the low share of all requests over the stage's time.
    pub goodput_low: Option<f64>,
    /// Good requests a second, upper bound.
    pub goodput_high: Option<f64>,
}

/// How a treatment meets the limits over its ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct SloResult {
    /// The limits.
    pub slo: Slo,
    /// The attainment at each level, ascending; the worst repetition's. `None` where a latency is missing.
    pub levels: Vec<(Level, Option<Attainment>)>,
    /// The highest level up to which all levels certainly meet the limits.
    pub highest_met: Option<Level>,
}

impl SloResult {
    /// The attainment over a curve's points, ascending.
    pub(super) fn over(slo: &Slo, points: &[Point]) -> Self {
        let levels: Vec<_> = points.iter().map(|point| (point.level, worst(slo, point))).collect();
        let met = levels.iter().take_while(|(_, attainment)| attainment.is_some_and(|found| found.low >= slo.required));
        let highest_met = met.last().map(|(level, _)| *level);
        Self { slo: slo.clone(), levels, highest_met }
    }
}

fn worst(slo: &Slo, point: &Point) -> Option<Attainment> {
    let attainments: Option<Vec<_>> = point.repetitions.iter().map(|(_, stage)| slo.attainment(stage)).collect();
    attainments?.into_iter().min_by(|a, b| a.low.total_cmp(&b.low))
}

impl Slo {
    /// The attainment of one stage; `None` where a limited latency is not known although requests succeeded.
    ///
    /// Inter-token latency summarises gaps, not requests: a share of gaps is not a share of requests, so a limit on it
    /// cannot be told from summaries.
    pub fn attainment(&self, stage: &Stage) -> Option<Attainment> {
        let total = stage.requests.total;
        let successes = stage.requests.successes()?;
        if total == 0 {
            return None;
        }
        let (mut missed_high, mut high) = (0.0, 1.0_f64);
        if successes > 0 {
            for limit in &self.limits {
                if limit.quantity == Quantity::Itl {
                    return None;
                }
                let (at_least, at_most) = share_within(&limit.quantity.of(stage)?, limit.seconds)?;
                // Misses of different limits may fall on different requests or on the same (Fréchet's bounds).
                missed_high += 1.0 - at_least;
                high = high.min(at_most);
            }
        }
        let succeeded = successes as f64 / total as f64;
        let (low, high) = ((1.0 - missed_high).max(0.0) * succeeded, high * succeeded);
        let goodput = |share: f64| stage.measured_seconds().map(|seconds| share * total as f64 / seconds);
        Some(Attainment { low, high, goodput_low: goodput(low), goodput_high: goodput(high) })
    }
}

/// Bounds of the share of values at or below `limit`, from the known percentiles around it.
fn share_within(distribution: &Distribution, limit: f64) -> Option<(f64, f64)> {
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
    any.then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Latency, Requests, Throughput};

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

    fn ttft(seconds: f64) -> Slo {
        Slo { limits: vec![Limit { quantity: Quantity::Ttft, seconds }], required: 0.9 }
    }

    #[test]
    fn percentiles_place_the_share_between_two_values() {
        let found = ttft(0.6).attainment(&stage(0)).unwrap();
        assert_eq!((found.low, found.high), (0.9, 0.99));
        assert_eq!((found.goodput_low, found.goodput_high), (Some(1.8), Some(1.98)));
        assert_eq!(ttft(3.0).attainment(&stage(0)).map(|found| found.low), Some(1.0));
        assert_eq!(ttft(0.05).attainment(&stage(0)).map(|found| found.high), Some(0.0));
    }

    #[test]
    fn a_failed_request_is_a_miss() {
        let found = ttft(3.0).attainment(&stage(20)).unwrap();
        assert_eq!((found.low, found.high), (0.8, 0.8));
        let found = ttft(3.0).attainment(&stage(100)).unwrap();
        assert_eq!((found.low, found.high), (0.0, 0.0));
    }

    #[test]
    fn two_limits_may_miss_different_requests() {
        let request = Limit { quantity: Quantity::RequestLatency, seconds: 6.0 };
        let slo = Slo { limits: vec![ttft(0.6).limits[0], request], required: 0.9 };
        let found = slo.attainment(&stage(0)).unwrap();
        assert!((found.low - 0.8).abs() < 1e-12 && found.high == 0.99, "{found:?}");
    }

    #[test]
    fn a_missing_latency_and_a_share_of_gaps_tell_nothing() {
        let mut unary = stage(0);
        unary.latency.ttft = None;
        assert_eq!(ttft(1.0).attainment(&unary), None);
        let itl = Slo { limits: vec![Limit { quantity: Quantity::Itl, seconds: 1.0 }], required: 0.9 };
        assert_eq!(itl.attainment(&stage(0)), None);
    }
}
