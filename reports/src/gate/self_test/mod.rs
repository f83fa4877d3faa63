//! Does the gate keep its promises? Synthetic campaigns, judged by the code that judges real ones.

mod generate;
mod scenarios;

use std::fmt;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::civil::Date;

use self::generate::{Effect, Generator, Needs, calibration, random};
use self::scenarios::{Batch, Scenario, batches, limits};
use super::decide::{Inputs, decide};
use super::outcome::GateVerdict;
use crate::statistics::significance::{lower_bound, upper_bound};

/// How many gates to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// A few: for unit tests; shows that the machinery works, proves no rate.
    Short,
    /// 2,000 false-alarm gates a scenario: under a minute on two cores.
    Default,
    /// Ten times as many, with larger stages.
    Long,
}

/// What a scenario promises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Promise {
    /// Of gates without a change at most the share `rate` fails, with an upper 95% bound of at most `bound`, and at least the
    /// share `pass` passes: a gate that never says anything raises no false alarms either.
    FalseAlarms {
        /// Largest share of failing gates.
        rate: f64,
        /// Largest upper bound of that share.
        bound: f64,
        /// Smallest share of passing gates.
        pass: f64,
    },
    /// At least this share of gates with a change fails.
    Detection(f64),
    /// At most this share passes: the rest reads inconclusive or regression.
    NotPass(f64),
    /// Printed, promises nothing.
    Shown,
}

/// Verdicts seen in one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Result {
    /// What was simulated.
    pub name: String,
    /// What must hold.
    pub promise: Promise,
    /// Gates simulated.
    pub gates: u64,
    /// Gates that read regression.
    pub regression: u64,
    /// Gates that read inconclusive.
    pub inconclusive: u64,
    /// Gates that read pass.
    pub pass: u64,
    /// Gates that read invalid: counted as failed.
    pub invalid: u64,
}

impl Result {
    /// Gates that failed the build.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.regression + self.invalid
    }

    /// Whether the promise held.
    #[must_use]
    pub fn holds(&self) -> bool {
        let share = |count: u64| count as f64 / self.gates.max(1) as f64;
        match self.promise {
            Promise::FalseAlarms { rate, bound, pass } => {
                share(self.failed()) <= rate
                    && upper_bound(self.failed(), self.gates) <= bound
                    && share(self.pass) >= pass
            }
            Promise::Detection(rate) => share(self.failed()) >= rate,
            Promise::NotPass(rate) => share(self.pass) <= rate,
            Promise::Shown => true,
        }
    }
}

impl fmt::Display for Result {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |count: u64| 100.0 * count as f64 / self.gates.max(1) as f64;
        let (low, high) =
            (100.0 * lower_bound(self.failed(), self.gates), 100.0 * upper_bound(self.failed(), self.gates));
        let (what, promise) = match self.promise {
            Promise::FalseAlarms { rate, bound, pass } => {
                let passes = if pass > 0.0 { format!(", pass >= {:.0}%", 100.0 * pass) } else { String::new() };
                ("false alarms", format!("<= {:.1}%, bound <= {:.1}%{passes}", 100.0 * rate, 100.0 * bound))
            }
            Promise::Detection(rate) => ("caught", format!(">= {:.0}%", 100.0 * rate)),
            Promise::NotPass(rate) => ("caught", format!("pass <= {:.0}%", 100.0 * rate)),
            Promise::Shown => ("caught", "shown only".into()),
        };
        let mark = if self.holds() { "ok    " } else { "BROKEN" };
        write!(
            f,
            "{mark} {:<66} {what} {:5.2}% [{low:.2}, {high:.2}] of {} ({promise}); inconclusive {:.1}%, pass {:.1}%",
            self.name,
            percent(self.failed()),
            self.gates,
            percent(self.inconclusive),
            percent(self.pass)
        )
    }
}

/// Runs all scenarios on all cores; the results depend on `seed` and `length` only. `report` is called after each.
pub fn run(seed: u64, length: Length, mut report: impl FnMut(&Result)) -> Vec<Result> {
    let mut results = Vec::new();
    for (number, batch) in batches(length).iter().enumerate() {
        for result in run_batch(batch, random_purpose(seed, number)) {
            report(&result);
            results.push(result);
        }
    }
    results
}

fn random_purpose(seed: u64, batch: usize) -> u64 {
    seed.wrapping_add(batch as u64 * 1_000_003)
}

/// The gates of a batch, spread over the cores. Scenarios of a batch share their samples.
fn run_batch(batch: &Batch, seed: u64) -> Vec<Result> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut results: Vec<Result> = batch.scenarios.iter().map(Scenario::result).collect();
    let counts = std::thread::scope(|scope| {
        let work = || {
            let mut counts = vec![[0u64; 4]; batch.scenarios.len()];
            let mut generator = Generator::new();
            loop {
                let gate = next.fetch_add(1, Ordering::Relaxed);
                if gate >= batch.gates {
                    return counts;
                }
                one_gate(batch, seed, gate, &mut generator, &mut counts);
            }
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect::<Vec<_>>()
    });
    for thread in counts {
        for (result, counts) in results.iter_mut().zip(thread) {
            let [regression, inconclusive, pass, invalid] = counts;
            result.gates += counts.iter().sum::<u64>();
            result.regression += regression;
            result.inconclusive += inconclusive;
            result.pass += pass;
            result.invalid += invalid;
        }
    }
    results
}

fn one_gate(batch: &Batch, seed: u64, gate: usize, generator: &mut Generator, counts: &mut [[u64; 4]]) {
    let needs = Needs {
        service: batch.scenarios.iter().any(|scenario| scenario.normalise),
        slow_path: batch.scenarios.iter().any(|scenario| scenario.setting.effect == Effect::SlowPath),
    };
    let draw = generator.draw(&mut random(seed, 0, gate as u64), &batch.ladder, batch.shape, needs);
    for (number, (scenario, counts)) in batch.scenarios.iter().zip(counts).enumerate() {
        let mut random = random(seed, number as u64 + 1, gate as u64);
        let calibration = calibration(&mut random, &scenario.setting, &batch.ladder);
        let (mut new, mut baseline) = draw.summaries(&mut random, &scenario.setting);
        if !scenario.normalise {
            new.runs.retain(|run| run.treatment == generate::CANDIDATE);
            baseline.runs.retain(|run| run.treatment == generate::CANDIDATE);
        }
        let limits = limits(scenario.normalise);
        let outcome = decide(&Inputs {
            limits: &limits,
            new: &new,
            baseline: Some(&baseline),
            calibration: Some(&calibration),
            today: Date::constant(2026, 1, 1),
        });
        let slot = match outcome.verdict {
            GateVerdict::Regression => 0,
            GateVerdict::Inconclusive => 1,
            GateVerdict::Pass => 2,
            GateVerdict::Invalid | GateVerdict::NoBaseline | GateVerdict::OtherIdentity => 3,
        };
        counts[slot] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_self_test_is_the_same_every_time_and_breaks_no_promise() {
        let first = run(1, Length::Short, |_| {});
        assert_eq!(first, run(1, Length::Short, |_| {}));
        for result in &first {
            println!("{result}");
            assert!(result.holds(), "{result}");
        }
    }

    #[test]
    fn a_gate_that_always_fails_keeps_no_promise_of_few_false_alarms() {
        let result = Result {
            name: "broken".into(),
            promise: Promise::FalseAlarms { rate: 0.01, bound: 0.015, pass: 0.0 },
            gates: 2000,
            regression: 2000,
            inconclusive: 0,
            pass: 0,
            invalid: 0,
        };
        assert!(!result.holds());
        assert!(result.to_string().starts_with("BROKEN"), "{result}");
    }

    #[test]
    fn a_gate_that_never_says_anything_keeps_no_promise_to_pass() {
        let result = Result {
            name: "mute".into(),
            promise: Promise::FalseAlarms { rate: 0.01, bound: 0.015, pass: 0.9 },
            gates: 2000,
            regression: 0,
            inconclusive: 2000,
            pass: 0,
            invalid: 0,
        };
        assert!(!result.holds());
    }

    #[test]
    fn few_alarms_among_few_gates_prove_nothing() {
        let result = Result {
            name: "thin".into(),
            promise: Promise::FalseAlarms { rate: 0.01, bound: 0.015, pass: 0.0 },
            gates: 100,
            regression: 0,
            inconclusive: 0,
            pass: 100,
            invalid: 0,
        };
        assert!(!result.holds(), "no alarm in 100 gates still allows 3%");
    }
}
