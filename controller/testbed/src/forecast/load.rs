//! The load: a ladder of stages, and when their requests arrive.

use rand::RngExt;
use rand_distr::{Distribution, Exp1, Poisson};
use rand_pcg::Pcg64Mcg;

/// How arrivals are spread over a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// A Poisson number each second, at exponential gaps within it (inference-perf's `poisson`). The last request comes
    /// when it comes, not at the stage's end.
    Poisson,
    /// Exponential gaps stretched to end exactly with the stage (inference-perf's `constant`, which is not equidistant).
    Constant,
}

/// One stage of a ladder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StageLoad {
    /// Requests a second, above 0.
    pub rate: f64,
    /// Seconds during which requests are sent, above 0.
    pub seconds: f64,
    /// How many requests are sent.
    pub requests: usize,
}

/// A ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// How arrivals are spread.
    pub arrivals: Arrivals,
    /// Seconds between a stage's last answer and the next stage.
    pub interval: f64,
    /// The stages in order.
    pub stages: Vec<StageLoad>,
}

impl Load {
    /// Requests of all stages.
    pub fn requests(&self) -> usize {
        self.stages.iter().map(|stage| stage.requests).sum()
    }
}

/// When a stage's requests arrive, ascending, in seconds; the stage starts at `start`.
pub(super) fn arrivals(kind: Arrivals, stage: &StageLoad, start: f64, random: &mut Pcg64Mcg) -> Vec<f64> {
    let mut times = Vec::with_capacity(stage.requests + stage.rate.min(1e6) as usize + 64);
    match kind {
        Arrivals::Constant => spread(stage.requests, start, stage.seconds, random, &mut times),
        Arrivals::Poisson => {
            let number = Poisson::new(stage.rate).ok();
            let mut second = start;
            while times.len() < stage.requests {
                let count = number.map_or(stage.rate, |number| number.sample(random)) as usize;
                spread(count, second, 1.0, random, &mut times);
                second += 1.0;
            }
            times.truncate(stage.requests);
        }
    }
    times
}

/// `count` times after `start` at exponential gaps, the last exactly `seconds` later.
fn spread(count: usize, start: f64, seconds: f64, random: &mut Pcg64Mcg, times: &mut Vec<f64>) {
    let first = times.len();
    let mut at = 0.0;
    for _ in 0..count {
        let gap: f64 = random.sample(Exp1);
        at += gap;
        times.push(at);
    }
    for time in &mut times[first..] {
        *time = start + *time / at * seconds;
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn times(kind: Arrivals, rate: f64, seconds: f64) -> Vec<f64> {
        let stage = StageLoad { rate, seconds, requests: (rate * seconds) as usize };
        arrivals(kind, &stage, 10.0, &mut Pcg64Mcg::seed_from_u64(5))
    }

    #[test]
    fn constant_arrivals_end_with_the_stage_and_ascend() {
        let times = times(Arrivals::Constant, 40.0, 5.0);
        assert_eq!(times.len(), 200);
        assert!(times.is_sorted() && times[0] > 10.0);
        assert!((times[199] - 15.0).abs() < 1e-9);
    }

    #[test]
    fn poisson_arrivals_come_at_the_rate_asked_for_and_scatter_as_a_poisson_process_does() {
        let times = times(Arrivals::Poisson, 40.0, 500.0);
        assert_eq!(times.len(), 20_000);
        assert!(times.is_sorted());
        assert!((times[19_999] - 510.0).abs() < 15.0, "{}", times[19_999]);
        let mut counts = [0_f64; 480];
        for time in times.iter().filter(|time| **time < 490.0) {
            counts[(time - 10.0) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 480.0;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 479.0;
        assert!((mean - 40.0).abs() < 1.2 && (variance - 40.0).abs() < 12.0, "{mean} {variance}");
    }

    #[test]
    fn rates_below_one_a_second_have_empty_seconds() {
        assert_eq!(times(Arrivals::Poisson, 0.25, 40.0).len(), 10);
    }
}
