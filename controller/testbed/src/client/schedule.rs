//! When requests are due, and a thread that is there then.

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::plan::{Arrivals, StagePlan};

/// The times of a stage's requests after its beginning, in order; the same for the same seed.
pub(super) fn times(stage: &StagePlan, arrivals: Arrivals, seed: u64) -> Vec<Duration> {
    let count = stage.requests();
    match arrivals {
        Arrivals::Constant => (0..count).map(|number| Duration::from_secs_f64(number as f64 / stage.rate)).collect(),
        Arrivals::Poisson => {
            // Given their number, the times of a Poisson process are independent and uniform over the stage.
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let mut times: Vec<f64> = (0..count).map(|_| random.random::<f64>() * stage.duration).collect();
            times.sort_by(f64::total_cmp);
            times.into_iter().map(Duration::from_secs_f64).collect()
        }
    }
}

/// Asks the kernel to wake our threads when they asked to be woken instead of up to 50 us later, which is its default.
/// Threads started from now on inherit it.
pub(super) fn sharpen_timers() {
    // Kernels without the file wake up later; intended-send times keep that in the results.
    std::fs::write("/proc/self/timerslack_ns", "1").unwrap_or_default();
}

/// Sleeps until `due`.
pub(super) fn sleep_until(due: Instant) {
    if let Some(left) = due.checked_duration_since(Instant::now()) {
        std::thread::sleep(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_arrivals_are_evenly_spaced_and_poisson_ones_are_repeatable() {
        let stage = StagePlan { rate: 4.0, duration: 1.0 };
        let quarters = times(&stage, Arrivals::Constant, 1);
        assert_eq!(quarters, [0, 250, 500, 750].map(Duration::from_millis));
        let stage = StagePlan { rate: 1000.0, duration: 10.0 };
        let poisson = times(&stage, Arrivals::Poisson, 1);
        assert_eq!(poisson, times(&stage, Arrivals::Poisson, 1));
        assert_ne!(poisson, times(&stage, Arrivals::Poisson, 2));
        assert!(poisson.is_sorted() && poisson.len() == 10_000);
        // Gaps of a Poisson process have a standard deviation equal to their mean.
        let gaps: Vec<f64> = poisson.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{}", variance.sqrt() / mean);
    }
}
