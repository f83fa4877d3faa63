//! One number on both sides, their difference, and what it is worth.

use std::fmt;

use serde::Serialize;

use crate::model::Metric;
use crate::statistics::{QuantileInterval, Spread};

/// A metric of baseline and candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    /// Which number.
    pub metric: Metric,
    /// The baseline's repetitions.
    pub baseline: Option<Spread>,
    /// The candidate's repetitions.
    pub candidate: Option<Spread>,
    /// What single requests say about each of the baseline's repetitions; only of percentiles, only where there are records.
    pub baseline_intervals: Vec<RunInterval>,
    /// As `baseline_intervals`, for the candidate.
    pub candidate_intervals: Vec<RunInterval>,
    /// Candidate's median minus baseline's.
    pub absolute: Option<f64>,
    /// `absolute` over the baseline's median; `None` where that is 0.
    pub relative: Option<f64>,
    /// What the difference is worth.
    pub verdict: Verdict,
}

/// Where a percentile of one run lies, as far as the run's own requests tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunInterval {
    /// The repetition.
    pub repetition: u32,
    /// Requests, or gaps between tokens, that it rests on.
    pub count: u64,
    /// Its ends, and how often such an interval covers the true percentile.
    #[serde(flatten)]
    pub interval: QuantileInterval,
}

/// What a difference is worth, in a word and a sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The word.
    pub word: Word,
    /// Why, for people.
    pub reason: String,
    /// Confidence interval of the relative difference, where repetitions allow one.
    pub interval: Option<(f64, f64)>,
}

/// The verdict's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The candidate is better, beyond the noise between runs.
    Better,
    /// The candidate is worse, beyond the noise between runs.
    Worse,
    /// The difference could come from the noise between runs.
    WithinNoise,
    /// Nothing can be said: too few repetitions, or a side without the number.
    NotEnoughData,
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::WithinNoise => "within noise",
            Self::NotEnoughData => "not enough data",
        })
    }
}
