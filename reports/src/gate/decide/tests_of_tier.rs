//! The tests of a tier together: Holm's correction, detectable effects, verdicts.

use super::super::limits::Gate;
use super::super::metric::Metric;
use super::super::rows::{Row, Tier, Verdict};
use super::{Candidate, SUSPECT, Test};
use crate::statistics::between_runs::minimum_detectable_effect;
use crate::statistics::significance::{critical_value, holm};

/// Turns candidates into rows with verdicts. Each tier has half of the gate's alpha.
pub(super) fn conclude(mut candidates: Vec<Candidate>, gate: &Gate) -> Vec<Row> {
    let alpha = gate.alpha / 2.0;
    for tier in [Tier::Mean, Tier::Stage] {
        let mut family: Vec<(&mut Row, Test)> = candidates
            .iter_mut()
            .filter(|candidate| candidate.row.tier == tier)
            .filter_map(|candidate| Some((&mut candidate.row, candidate.test?)))
            .collect();
        // Rows whose noise is unknown take no share of alpha: nothing can be called about them.
        let known: Vec<(f64, f64)> = family.iter().filter_map(|(_, test)| test.p).collect();
        let worse = holm(&known.iter().map(|p| p.0).collect::<Vec<_>>());
        let better = holm(&known.iter().map(|p| p.1).collect::<Vec<_>>());
        let tests = known.len().max(1) as f64;
        let mut critical = Critical { alpha: alpha / tests, known: Vec::new() };
        let mut adjusted = worse.into_iter().zip(better);
        for (row, test) in &mut family {
            let adjusted = test.p.and_then(|_| adjusted.next());
            decide(row, test, adjusted, gate, &mut critical);
        }
    }
    candidates.into_iter().map(|candidate| candidate.row).collect()
}

/// t values by degrees of freedom, of which a gate has few.
struct Critical {
    alpha: f64,
    known: Vec<(f64, f64)>,
}

impl Critical {
    fn value(&mut self, df: f64) -> f64 {
        if let Some((_, value)) = self.known.iter().find(|(known, _)| *known == df) {
            return *value;
        }
        let value = critical_value(self.alpha, df);
        self.known.push((df, value));
        value
    }
}

fn decide(row: &mut Row, test: &Test, adjusted: Option<(f64, f64)>, gate: &Gate, critical: &mut Critical) {
    let Some(((p, _), (worse, better))) = test.p.zip(adjusted) else {
        return row.conclude(Verdict::Inconclusive, "how much runs differ by themselves is not known: calibrate first");
    };
    let alpha = gate.alpha / 2.0;
    row.p = Some(p);
    row.p_adjusted = Some(worse);
    if let Some(error) = test.error {
        let threshold = (critical.value(test.df) * error).max(test.tolerance);
        row.mde95 = Some(minimum_detectable_effect(threshold, error, test.df));
    }
    let beyond_floor = test.absolute.is_none_or(|(change, floor)| change > floor);
    let beyond = test.worse > test.tolerance && beyond_floor;
    // A tolerance wider than usual (p99) promises less, and needs no finer eye.
    let limit = if row.tier == Tier::Mean { gate.max_mde } else { gate.max_stage_mde };
    let limit = limit.max(3.0 * test.tolerance.exp_m1());
    if beyond && worse < alpha {
        row.verdict = Verdict::Regression;
    } else if better < alpha && -test.worse > test.tolerance {
        if row.metric != Metric::Failed && -test.worse > suspect(row.metric) {
            row.conclude(Verdict::Suspect, "better by more than half: first explain how");
        } else {
            row.verdict = Verdict::Improvement;
        }
    } else if row.mde95.is_some_and(|mde| mde > limit) {
        let mde = 100.0 * row.mde95.unwrap_or_default();
        row.conclude(
            Verdict::Inconclusive,
            format!("only changes from {mde:.0}% on would be found, the limit is {:.0}%", 100.0 * limit),
        );
    } else if row.tier == Tier::Mean && beyond && p < gate.alpha {
        row.conclude(Verdict::Inconclusive, "beyond the tolerance, but not yet beyond doubt: repeat the campaign");
    } else {
        row.verdict = Verdict::Pass;
    }
}

/// The log change that is too good: half the latency, one and a half times the throughput.
fn suspect(metric: Metric) -> f64 {
    if metric.higher_is_better() { SUSPECT.ln_1p() } else { -(-SUSPECT).ln_1p() }
}
