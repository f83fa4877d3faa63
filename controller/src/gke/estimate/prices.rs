//! Prices and durations, each with its source.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A number and where it is from.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced {
    /// The number.
    pub value: f64,
    /// Where it is from.
    pub source: String,
    /// When that was so.
    pub date: String,
}

/// A file of `config/prices/`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// What it is.
    pub description: String,
    /// The currency of all prices.
    pub currency: String,
    /// Prices of GPU nodes.
    pub nodes: Vec<Node>,
    /// What else is paid by the hour.
    pub hourly: IndexMap<String, Sourced>,
    /// What is paid for each run.
    pub per_run: IndexMap<String, Sourced>,
    /// How long things take.
    pub durations: Durations,
    /// Requests a second that one replica completes at its limit, by treatment; `other` for those not named.
    pub drain: IndexMap<String, Sourced>,
}

/// The price of a GPU node.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Machine type.
    pub machine_type: String,
    /// Whether this is its Spot price.
    pub spot: bool,
    /// An hour of one node.
    pub hourly: Sourced,
}

/// How long things take.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Durations {
    /// From asking for nodes to the first request of the ladder.
    pub startup_minutes: Sourced,
    /// From asking for no nodes to seeing none.
    pub release_minutes: Sourced,
    /// From the last request to the last report at home.
    pub collection_minutes: Sourced,
    /// Everything else of a run: rendering, teardown.
    pub other_minutes: Sourced,
    /// Replacing the routing layer in front of servers that stay.
    pub swap_minutes: Sourced,
    /// From a stage's last arrival to its last answer where servers keep up.
    pub tail_seconds: Sourced,
}
