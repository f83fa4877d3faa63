//! What a difference between two treatments is worth.
//!
//! Request latencies of one run say nothing about how runs differ, and where requests land varies from run to run. With
//! three or more repetitions a side, Welch's t interval at 99% on the logarithms decides (on the plain numbers where one
//! is 0). Runs that happen to agree too well do not make noise vanish: the spread between runs is never taken for less
//! than [`NOISE_FLOOR`]. With fewer repetitions a percentile is judged by the intervals that single requests give, widened
//! by [`RUN_SPREAD`]; what has no such interval is not judged.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::{Delta, Point, RunInterval, Verdict, Word};
use crate::model::{Better, Metric, Quantity, Statistic};
use crate::statistics::Spread;

/// Fewest repetitions a side from which the noise between runs can be told.
pub const MIN_REPETITIONS: usize = 3;
/// Confidence of the interval that decides. A table has about a hundred rows, so 95% would call several by chance.
pub const CONFIDENCE: f64 = 0.99;
/// Smallest relative standard deviation between runs that is believed.
pub const NOISE_FLOOR: f64 = 0.02;
/// Relative standard deviation between runs that is assumed where repetitions are too few to tell. Where prompt groups
/// land moved percentiles of repeated campaigns by this much.
pub const RUN_SPREAD: f64 = 0.2;

/// The number that chunks make meaningless.
const CHUNKED: Metric = Metric::Latency(Quantity::Itl, Statistic::P50);

/// What one side knows of a metric.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Over repetitions; `None` when none has the number.
    pub spread: Option<Spread>,
    /// What each repetition's requests say.
    pub intervals: Vec<RunInterval>,
    /// Whether the number says nothing although it is there: the median of gaps inside chunks.
    pub is_of_chunks: bool,
}

impl Side {
    /// A point's side; nothing without a point.
    pub fn of(point: Option<&Point>, metric: Metric) -> Self {
        point.map_or_else(Self::default, |point| Self {
            spread: point.spread(metric),
            intervals: point.intervals(metric),
            is_of_chunks: metric == CHUNKED && point.itl_is_chunked(),
        })
    }
}

/// The difference of a metric between two sides, with its verdict.
pub fn delta(metric: Metric, baseline: Side, candidate: Side) -> Delta {
    let medians =
        baseline.spread.as_ref().zip(candidate.spread.as_ref()).map(|(left, right)| (left.median, right.median));
    let absolute = medians.map(|(left, right)| right - left);
    let relative = medians.filter(|&(left, _)| left != 0.0).map(|(left, right)| (right - left) / left);
    let verdict = verdict(metric, &baseline, &candidate);
    Delta {
        metric,
        baseline: baseline.spread,
        candidate: candidate.spread,
        baseline_intervals: baseline.intervals,
        candidate_intervals: candidate.intervals,
        absolute,
        relative,
        verdict,
    }
}

fn nothing(reason: String) -> Verdict {
    Verdict { word: Word::NotEnoughData, reason, interval: None }
}

fn verdict(metric: Metric, left: &Side, right: &Side) -> Verdict {
    let (baseline, candidate) = match (&left.spread, &right.spread) {
        (Some(baseline), Some(candidate)) => (baseline, candidate),
        (None, None) => return nothing("neither side has this number".into()),
        (None, Some(_)) => return nothing("the baseline does not have this number".into()),
        (Some(_), None) => return nothing("the candidate does not have this number".into()),
    };
    let sign = match metric.better() {
        Better::Lower => -1.0,
        Better::Higher => 1.0,
        Better::Neither => return nothing("describes the load; neither direction is better".into()),
    };
    if left.is_of_chunks || right.is_of_chunks {
        return nothing("several tokens arrive in one chunk, so the median gap between tokens says nothing".into());
    }
    let percent = CONFIDENCE * 100.0;
    if baseline.count().min(candidate.count()) < MIN_REPETITIONS {
        let runs = |count| if count == 1 { "1 repetition".into() } else { format!("{count} repetitions") };
        let sides = format!("{} against {}", runs(baseline.count()), runs(candidate.count()));
        return match interval_of_few(left, right) {
            None => nothing(format!(
                "{sides}: how far runs differ by chance is not known from fewer than {MIN_REPETITIONS} a side"
            )),
            Some((low, high)) => {
                let reason = format!(
                    "{sides}: {percent:.0}% interval of the difference from single requests, runs taken to differ by \
                     {:.0}%: {} to {}",
                    RUN_SPREAD * 100.0,
                    percent_of(low),
                    percent_of(high)
                );
                Verdict { word: word(low, high, sign), reason, interval: Some((low, high)) }
            }
        };
    }
    // Ratios are what matters, and latencies scatter in ratios; a number that can be 0 has none.
    let positive = baseline.min > 0.0 && candidate.min > 0.0;
    let interval = if positive { ratio_interval(baseline, candidate) } else { plain_interval(baseline, candidate) };
    let Some((low, high)) = interval else { return nothing("the numbers do not allow an interval".into()) };
    let (reason, interval) = if positive {
        let reason = format!("{percent:.0}% interval of the difference: {} to {}", percent_of(low), percent_of(high));
        (reason, Some((low, high)))
    } else {
        (format!("{percent:.0}% interval of the difference: {low:+} to {high:+}"), None)
    };
    Verdict { word: word(low, high, sign), reason, interval }
}

/// A relative difference in percent; beyond a hundredfold its digits say nothing.
fn percent_of(relative: f64) -> String {
    if relative > 100.0 { "over +10000%".to_owned() } else { format!("{:+.1}%", relative * 100.0) }
}

/// The verdict of an interval of the difference; `sign` is that of an improvement.
fn word(low: f64, high: f64, sign: f64) -> Word {
    if low <= 0.0 && high >= 0.0 {
        Word::WithinNoise
    } else if low * sign > 0.0 {
        Word::Better
    } else {
        Word::Worse
    }
}

/// Interval of the relative difference from single requests where there are too few repetitions: the sides' intervals on
/// the logarithms, each widened by what runs are taken to differ, recovered into one of their difference (MOVER: Zou and
/// Donner, Statistics in Medicine 27, 2008). `None` unless every repetition has an interval.
fn interval_of_few(baseline: &Side, candidate: &Side) -> Option<(f64, f64)> {
    let (left, right) = (Reach::of(baseline)?, Reach::of(candidate)?);
    let difference = right.centre - left.centre;
    let (down, up) = ((right.below + left.above).sqrt(), (right.above + left.below).sqrt());
    Some(((difference - down).exp_m1(), (difference + up).exp_m1()))
}

/// A side's logarithm, and the squares of how far it may be from it.
struct Reach {
    centre: f64,
    below: f64,
    above: f64,
}

impl Reach {
    fn of(side: &Side) -> Option<Self> {
        let spread = side.spread.as_ref()?;
        let usable = side.intervals.iter().all(|run| run.interval.low > 0.0) && spread.min > 0.0;
        if side.intervals.len() != spread.count() || !usable {
            return None;
        }
        let runs = spread.count() as f64;
        let z = Normal::standard().inverse_cdf(0.5 + CONFIDENCE / 2.0);
        let between = (z * RUN_SPREAD).powi(2) / runs;
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / runs;
        let centre = mean(&mut spread.values.iter().map(|value| value.ln()));
        let low = centre - mean(&mut side.intervals.iter().map(|run| run.interval.low.ln()));
        let high = mean(&mut side.intervals.iter().map(|run| run.interval.high.ln())) - centre;
        // The mean of independent runs is as much surer as there are runs.
        Some(Self {
            centre,
            below: low.max(0.0).powi(2) / runs + between,
            above: high.max(0.0).powi(2) / runs + between,
        })
    }
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
    use crate::statistics::QuantileInterval;

    const TTFT: Metric = Metric::Latency(Quantity::Ttft, Statistic::P50);

    fn of(metric: Metric, baseline: &[f64], candidate: &[f64]) -> Delta {
        let side = |values: &[f64]| Side {
            spread: Spread::of(values.iter().copied()),
            intervals: Vec::new(),
            is_of_chunks: false,
        };
        delta(metric, side(baseline), side(candidate))
    }

    #[test]
    fn one_repetition_a_side_without_records_never_tells() {
        let delta = of(Metric::RequestRate, &[6.7], &[16.5]);
        assert_eq!(delta.verdict.word, Word::NotEnoughData);
        assert!(delta.verdict.reason.starts_with("1 repetition against 1 repetition"), "{}", delta.verdict.reason);
        assert!(delta.relative.unwrap() > 1.4, "the difference itself is still told");
    }

    /// One repetition whose requests place it between `low` and `high`.
    fn run(value: f64, low: f64, high: f64) -> Side {
        let interval = QuantileInterval { low, high, coverage: 0.99 };
        Side {
            spread: Spread::of([value]),
            intervals: vec![RunInterval { repetition: 1, count: 500, interval }],
            is_of_chunks: false,
        }
    }

    #[test]
    fn single_requests_tell_a_difference_beyond_what_runs_may_differ_by() {
        let told = |candidate: Side| delta(TTFT, run(2.7, 2.5, 2.9), candidate).verdict;
        let better = told(run(0.058, 0.056, 0.060));
        assert_eq!(better.word, Word::Better);
        assert!(better.reason.contains("from single requests, runs taken to differ by 20%"), "{}", better.reason);
        assert_eq!(told(run(1.6, 1.55, 1.65)).word, Word::WithinNoise, "as far apart as two runs may be");
        assert_eq!(told(run(1.0, 0.2, 3.0)).word, Word::WithinNoise, "too few requests");
        assert_eq!(told(run(8.0, 7.8, 8.2)).word, Word::Worse);
        assert_eq!(told(Side { intervals: Vec::new(), ..run(0.05, 0.0, 0.0) }).word, Word::NotEnoughData);
    }

    /// Without any sampling error the interval is `exp(ln(1/2) -+ 2.5758 x 0.2 x sqrt(2)) - 1`.
    #[test]
    fn the_assumed_spread_of_runs_widens_the_interval_by_both_sides() {
        let (low, high) = interval_of_few(&run(2.0, 2.0, 2.0), &run(1.0, 1.0, 1.0)).unwrap();
        assert!((low - -0.758_697).abs() < 1e-5 && (high - 0.036_0).abs() < 1e-3, "{low} {high}");
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
    fn a_median_of_gaps_inside_chunks_is_not_judged() {
        let itl = Metric::Latency(Quantity::Itl, Statistic::P50);
        let side = |values: &[f64], is_of_chunks| Side {
            spread: Spread::of(values.iter().copied()),
            is_of_chunks,
            ..Side::default()
        };
        let delta = delta(itl, side(&[0.03; 3], false), side(&[1e-5; 3], true));
        assert_eq!(delta.verdict.word, Word::NotEnoughData);
        assert!(delta.verdict.reason.starts_with("several tokens arrive in one chunk"));
    }

    #[test]
    fn a_missing_side_is_named() {
        let delta = delta(
            TTFT,
            Side::default(),
            Side { spread: Spread::of([1.0]), intervals: Vec::new(), is_of_chunks: false },
        );
        assert_eq!(delta.verdict.reason, "the baseline does not have this number");
        assert_eq!((delta.absolute, delta.relative), (None, None));
    }
}
