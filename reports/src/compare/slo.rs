//! Service level objectives: the share of requests that were fast enough, and how many of those a second.

use serde::Serialize;

use crate::model::{Level, Quantity};

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
