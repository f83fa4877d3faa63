//! Stages of a ladder and exact ratios, in the short forms that people type.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One stage of a ladder.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Requested rate in requests per second, above 0.
    pub rate: f64,
    /// Seconds during which requests are sent, above 0.
    pub duration: f64,
    /// Whether the stage only warms caches up: counted in failures, left out of curves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warm_up: bool,
}

impl Stage {
    /// The requests that inference-perf plans for the stage: `int(rate x duration)`.
    pub fn planned(&self) -> u64 {
        // Rates and durations are checked to be positive and finite before any use.
        (self.rate * self.duration) as u64
    }
}

/// `96x1w`: 96 requests a second for 1 s, as a warm-up.
impl FromStr for Stage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed =
            || format!("`{text}` is not a stage: write RATExSECONDS, with a trailing w for a warm-up (96x1w)");
        let (body, warm_up) = text.strip_suffix('w').map_or((text, false), |body| (body, true));
        let (rate, duration) = body.split_once('x').ok_or_else(malformed)?;
        let number = |part: &str| part.trim().parse::<f64>().map_err(|_| malformed());
        Ok(Self { rate: number(rate)?, duration: number(duration)?, warm_up })
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}{}", self.rate, self.duration, if self.warm_up { "w" } else { "" })
    }
}

/// An exact positive ratio, written `2/8`, `0.25` or `1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// `None` when either part is 0.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        (numerator > 0 && denominator > 0).then_some(Self { numerator, denominator })
    }

    /// `value` times the ratio: one multiplication and one division, so that a whole multiple of the denominator comes
    /// out whole.
    pub fn scale(self, value: f64) -> f64 {
        value * self.numerator as f64 / self.denominator as f64
    }

    /// Whether scaling by it changes nothing.
    pub fn is_one(self) -> bool {
        self.numerator == self.denominator
    }
}

impl FromStr for Ratio {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("`{text}` is not a ratio above 0: write 2/8, 0.25 or 1");
        let whole = |part: &str| part.trim().parse::<u64>().map_err(|_| malformed());
        let (numerator, denominator) = if let Some((numerator, denominator)) = text.split_once('/') {
            (whole(numerator)?, whole(denominator)?)
        } else if let Some((integer, decimals)) = text.split_once('.') {
            let places = u32::try_from(decimals.len()).ok().filter(|places| *places <= 9).ok_or_else(malformed)?;
            (whole(&format!("{integer}{decimals}"))?, 10_u64.pow(places))
        } else {
            (whole(text)?, 1)
        };
        Self::new(numerator, denominator).ok_or_else(malformed)
    }
}

impl TryFrom<String> for Ratio {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Ratio> for String {
    fn from(ratio: Ratio) -> Self {
        ratio.to_string()
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_written_as_it_is_read() {
        for text in ["96x1w", "4x3", "0.5x20"] {
            assert_eq!(text.parse::<Stage>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_stage_without_a_duration_is_refused() {
        assert!("96".parse::<Stage>().unwrap_err().contains("RATExSECONDS"));
    }

    #[test]
    fn scaling_by_replicas_over_eight_is_exact() {
        let scale = "3/8".parse::<Ratio>().unwrap();
        assert_eq!(scale.scale(15.0), 5.625);
        assert_eq!("8/8".parse::<Ratio>().unwrap().scale(43.0), 43.0);
        assert_eq!("0.25".parse::<Ratio>().unwrap().scale(60.0), 15.0);
    }

    #[test]
    fn a_ratio_of_nothing_is_refused() {
        for text in ["0", "0/8", "1/0", "-1", "a/b", "1.2.3"] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
    }
}
