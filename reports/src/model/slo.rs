//! Service level objectives: what share of requests must be how fast.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::{Quantity, Statistic};

/// Objectives, in the order in which they were given; never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Slo {
    /// Each must be met.
    pub objectives: Vec<Objective>,
}

/// One objective: `ttft_p90=2s` asks that nine of ten requests have their first token within two seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// The latency.
    pub quantity: Quantity,
    /// The percentile that must be within the limit.
    pub statistic: Statistic,
    /// The limit, in seconds.
    pub seconds: f64,
}

/// Why a text names no objectives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no objective: {why}; write it like ttft_p90=2s or itl_p50=50ms")]
pub struct Unclear {
    text: String,
    why: String,
}

/// Percentiles that an objective may name; a mean or an extreme is no share of requests.
const PERCENTILES: [Statistic; 6] =
    [Statistic::P50, Statistic::P75, Statistic::P90, Statistic::P95, Statistic::P99, Statistic::P99p9];

impl Objective {
    /// The share of requests that must be within the limit, from 0 to 1.
    pub fn share(self) -> f64 {
        self.statistic.share().unwrap_or(1.0)
    }
}

impl FromStr for Slo {
    type Err = Unclear;

    /// `ttft_p90=2s,itl_p50=50ms`.
    fn from_str(text: &str) -> Result<Self, Unclear> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let objectives = parts.map(str::parse).collect::<Result<Vec<Objective>, _>>()?;
        let twice = objectives.iter().enumerate().find(|(index, objective)| {
            let same =
                |other: &Objective| (other.quantity, other.statistic) == (objective.quantity, objective.statistic);
            objectives[..*index].iter().any(same)
        });
        match (twice, objectives.is_empty()) {
            (_, true) => Err(Unclear { text: text.into(), why: "it is empty".into() }),
            (Some((_, twice)), _) => Err(Unclear { text: text.into(), why: format!("{} comes twice", twice.key()) }),
            (None, false) => Ok(Self { objectives }),
        }
    }
}

impl FromStr for Objective {
    type Err = Unclear;

    fn from_str(text: &str) -> Result<Self, Unclear> {
        let unclear = |why: String| Unclear { text: text.into(), why };
        let (name, limit) = text.split_once('=').ok_or_else(|| unclear("an equals sign is missing".into()))?;
        let (quantity, statistic) =
            name.trim().rsplit_once('_').ok_or_else(|| unclear("a percentile is missing".into()))?;
        let statistic = statistic.replace('.', "p");
        let statistic = PERCENTILES.into_iter().find(|known| known.key() == statistic).ok_or_else(|| {
            unclear(format!("the percentile is one of {}", PERCENTILES.map(Statistic::label).join(", ")))
        })?;
        let quantity = Quantity::ALL
            .into_iter()
            .find(|known| known.key() == quantity)
            .ok_or_else(|| unclear(format!("the latency is one of {}", Quantity::ALL.map(Quantity::key).join(", "))))?;
        let seconds = seconds(limit.trim()).ok_or_else(|| unclear("the limit is a positive time in s or ms".into()))?;
        Ok(Self { quantity, statistic, seconds })
    }
}

fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s')?, 1.0),
    };
    let number: f64 = number.trim().parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number * unit)
}

impl Objective {
    fn key(self) -> String {
        format!("{}_{}", self.quantity.key(), self.statistic.key())
    }
}

impl fmt::Display for Objective {
    /// As it is written: `ttft_p90=2s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = (self.seconds * 1e6).round() / 1e3;
        if self.seconds < 1.0 {
            write!(f, "{}={milliseconds}ms", self.key())
        } else {
            write!(f, "{}={}s", self.key(), self.seconds)
        }
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objectives: Vec<String> = self.objectives.iter().map(ToString::to_string).collect();
        f.write_str(&objectives.join(","))
    }
}

impl Serialize for Slo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.objectives.iter().map(ToString::to_string))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_read_as_they_are_written() {
        let slo: Slo = "ttft_p90=2s, itl_p50=50ms,request_latency_p99.9=1.5s".parse().unwrap();
        assert_eq!(slo.objectives[0], Objective { quantity: Quantity::Ttft, statistic: Statistic::P90, seconds: 2.0 });
        assert_eq!(slo.objectives[1].seconds, 0.05);
        assert_eq!(slo.to_string(), "ttft_p90=2s,itl_p50=50ms,request_latency_p99p9=1.5s");
        assert_eq!(slo.to_string().parse::<Slo>().unwrap(), slo);
    }

    #[test]
    fn what_is_unclear_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "it is empty"),
            ("ttft_p90", "an equals sign is missing"),
            ("ttft=2s", "a percentile is missing"),
            ("ttft_mean=2s", "the percentile is one of p50, p75, p90, p95, p99, p99.9"),
            ("e2e_p90=2s", "the latency is one of ttft"),
            ("ttft_p90=2", "a positive time"),
            ("ttft_p90=0s", "a positive time"),
            ("ttft_p90=-1s", "a positive time"),
            ("ttft_p90=nans", "a positive time"),
            ("ttft_p90=infs", "a positive time"),
            ("ttft_p90=1s,ttft_p90=2s", "ttft_p90 comes twice"),
        ] {
            let error = text.parse::<Slo>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
