//! What a difference between two treatments is worth.
//!
//! The unit is the repetition, never the request: request latencies of one run say nothing about how runs differ, and
//! where requests land varies from run to run. With three or more repetitions a side, Welch's t interval at 99% on the
//! logarithms decides (on the plain numbers where one is 0). Runs that happen to agree too well do not make noise vanish:
//! the spread between runs is never taken for less than [`NOISE_FLOOR`].

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Delta, Verdict, Word};
use crate::model::{Better, Metric};
use crate::statistics::Spread;

/// Fewest repetitions a side for a verdict.
pub const MIN_REPETITIONS: usize = 3;
/// Confidence of the interval that decides. A table has about a hundred rows, so 95% would call several by chance.
pub const CONFIDENCE: f64 = 0.99;
/// Smallest relative standard deviation between runs that is believed.
pub const NOISE_FLOOR: f64 = 0.02;

/// The difference of a metric between two sides, with its verdict.
pub fn delta(metric: Metric, baseline: Option<Spread>, candidate: Option<Spread>) -> Delta {
    let medians = baseline.as_ref().zip(candidate.as_ref()).map(|(left, right)| (left.median, right.median));
    let absolute = medians.map(|(left, right)| right - left);
    let relative = medians.filter(|&(left, _)| left != 0.0).map(|(left, right)| (right - left) / left);
    let verdict = verdict(metric, baseline.as_ref(), candidate.as_ref());
    Delta { metric, baseline, candidate, absolute, relative, verdict }
}

fn verdict(metric: Metric, baseline: Option<&Spread>, candidate: Option<&Spread>) -> Verdict {
    let nothing = |reason: String| Verdict { word: Word::NotEnoughData, reason, interval: None };
    let (baseline, candidate) = match (baseline, candidate) {
        (Some(baseline), Some(candidate)) => (baseline, candidate),
        (None, None) => return nothing("neither side has this number".into()),
        (None, Some(_)) => return nothing("the baseline does not have this number".into()),
        (Some(_), None) => return nothing("the candidate does not have this number".into()),
    };
    let counts = (baseline.count(), candidate.count());
    if counts.0.min(counts.1) < MIN_REPETITIONS {
        let runs = |count| if count == 1 { "1 repetition".into() } else { format!("{count} repetitions") };
        return nothing(format!(
            "{} against {}: how far runs differ by chance is not known from fewer than {MIN_REPETITIONS} a side",
            runs(counts.0),
            runs(counts.1)
        ));
    }
    let sign = match metric.better() {
        Better::Lower => -1.0,
        Better::Higher => 1.0,
        Better::Neither => return nothing("describes the load; neither direction is better".into()),
    };
    // Ratios are what matters, and latencies scatter in ratios; a number that can be 0 has none.
    let positive = baseline.min > 0.0 && candidate.min > 0.0;
    let interval = if positive { ratio_interval(baseline, candidate) } else { plain_interval(baseline, candidate) };
    let Some((low, high)) = interval else { return nothing("the numbers do not allow an interval".into()) };
    let word = if low <= 0.0 && high >= 0.0 {
        Word::WithinNoise
    } else if low * sign > 0.0 {
        Word::Better
    } else {
        Word::Worse
    };
    let percent = CONFIDENCE * 100.0;
    let (reason, interval) = if positive {
        let reason = format!("{percent:.0}% interval of the difference: {:+.1}% to {:+.1}%", low * 100.0, high * 100.0);
        (reason, Some((low, high)))
    } else {
        (format!("{percent:.0}% interval of the difference: {low:+} to {high:+}"), None)
    };
    Verdict { word, reason, interval }
}

/// Interval of the relative difference: of the logarithms, turned back.
fn ratio_interval(baseline: &Spread, candidate: &Spread) -> Option<(f64, f64)> {
    let logs = |spread: &Spread| spread.values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let (low, high) = welch(&logs(baseline), &logs(candidate), NOISE_FLOOR)?;
    Some((low.exp_m1(), high.exp_m1()))
}

/// Interval of the absolute difference.
fn plain_interval(baseline: &Spread, candidate: &Spread) -> Option<(f64, f64)> {
    let largest = baseline.max.abs().max(candidate.max.abs());
    welch(&baseline.values, &candidate.values, NOISE_FLOOR * largest)
}

/// Welch's interval of the difference of means, with Welch and Satterthwaite's degrees of freedom; standard deviations are
/// taken for at least `floor`.
fn welch(left: &[f64], right: &[f64], floor: f64) -> Option<(f64, f64)> {
    let (left_mean, left_deviation) = mean_and_deviation(left)?;
    let (right_mean, right_deviation) = mean_and_deviation(right)?;
    let share = |deviation: f64, values: &[f64]| deviation.max(floor).powi(2) / values.len() as f64;
    let (a, b) = (share(left_deviation, left), share(right_deviation, right));
    let difference = right_mean - left_mean;
    if a + b == 0.0 {
        // Only where all values are 0: there is nothing to tell apart.
        return Some((difference, difference));
    }
    let freedom = (a + b).powi(2) / (a.powi(2) / (left.len() - 1) as f64 + b.powi(2) / (right.len() - 1) as f64);
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.5 + CONFIDENCE / 2.0);
    let reach = t * (a + b).sqrt();
    Some((difference - reach, difference + reach))
}

fn mean_and_deviation(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    Some((mean, (squares / (count - 1.0)).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Quantity, Statistic};

    const TTFT: Metric = Metric::Latency(Quantity::Ttft, Statistic::P50);

    fn of(metric: Metric, baseline: &[f64], candidate: &[f64]) -> Delta {
        delta(metric, Spread::of(baseline.iter().copied()), Spread::of(candidate.iter().copied()))
    }

    #[test]
    fn one_repetition_a_side_never_tells() {
        let delta = of(Metric::RequestRate, &[6.7], &[16.5]);
        assert_eq!(delta.verdict.word, Word::NotEnoughData);
        assert!(delta.verdict.reason.starts_with("1 repetition against 1 repetition"), "{}", delta.verdict.reason);
        assert!(delta.relative.unwrap() > 1.4, "the difference itself is still told");
    }

    #[test]
    fn the_direction_depends_on_the_metric() {
        let (low, high) = ([1.0, 1.02, 0.99], [2.0, 2.03, 1.97]);
        assert_eq!(of(TTFT, &high, &low).verdict.word, Word::Better);
        assert_eq!(of(TTFT, &low, &high).verdict.word, Word::Worse);
        assert_eq!(of(Metric::OutputTokenRate, &low, &high).verdict.word, Word::Better);
        assert_eq!(of(Metric::OutputTokenRate, &high, &low).verdict.word, Word::Worse);
    }

    #[test]
    fn a_difference_of_the_size_of_the_spread_is_within_noise() {
        assert_eq!(of(TTFT, &[1.0, 1.2, 0.9], &[1.1, 1.3, 0.95]).verdict.word, Word::WithinNoise);
    }

    #[test]
    fn runs_that_agree_too_well_do_not_make_noise_vanish() {
        assert_eq!(of(TTFT, &[1.0; 3], &[1.03; 3]).verdict.word, Word::WithinNoise);
        assert_eq!(of(TTFT, &[1.0; 3], &[1.2; 3]).verdict.word, Word::Worse);
    }

    #[test]
    fn no_failures_on_either_side_are_within_noise() {
        let delta = of(Metric::FailureRate, &[0.0; 3], &[0.0; 3]);
        assert_eq!(delta.verdict.word, Word::WithinNoise);
        assert_eq!(delta.relative, None, "a ratio to 0");
        assert_eq!(of(Metric::FailureRate, &[0.0; 3], &[0.5; 3]).verdict.word, Word::Worse);
    }

    /// `scipy.stats.ttest_ind(right, left, equal_var=False).confidence_interval(0.99)`.
    #[test]
    fn the_interval_is_welch_s() {
        let (low, high) = welch(&[1.0, 1.3, 0.8, 1.1], &[2.0, 2.6, 1.9], 0.0).unwrap();
        assert!(
            (low - -0.341_613_756_480_773_5).abs() < 1e-6 && (high - 2.574_947_089_814_107).abs() < 1e-6,
            "{low} {high}"
        );
    }

    #[test]
    fn a_missing_side_is_named() {
        let delta = delta(TTFT, None, Spread::of([1.0]));
        assert_eq!(delta.verdict.reason, "the baseline does not have this number");
        assert_eq!((delta.absolute, delta.relative), (None, None));
    }
}
