//! `open-loop.json`: what the testbed's open-loop client leaves in a repetition's folder.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Error;
use crate::files;

/// The file's name.
pub const FILE: &str = "open-loop.json";

/// The version of the form that is read.
const VERSION: u32 = 1;

/// A client's results.
#[derive(Clone, Debug, Deserialize)]
pub struct Client {
    schema_version: u32,
    /// Its name and version.
    pub client: String,
    /// What was proven before the load.
    pub qualification: Qualification,
    /// Stages in order.
    pub stages: Vec<Stage>,
}

/// What was proven of an endpoint before any load.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Qualification {
    /// A whole answer is JSON with usage.
    pub json_with_usage: bool,
    /// A streamed answer ended with its end event.
    pub stream_ends: bool,
    /// Milliseconds between the first and the last chunk of one answer.
    pub stream_spread_ms: f64,
    /// A server's own 429 was passed on.
    pub upstream_429: Option<bool>,
}

/// One stage; times in microseconds from the intended sending.
#[derive(Clone, Debug, Deserialize)]
pub struct Stage {
    /// Requests a second asked for.
    pub offered_rate: f64,
    /// Requests a second sent.
    pub achieved_rate: f64,
    /// Requests a second answered.
    pub completed_rate: f64,
    /// Whether the rate was reached.
    pub target_met: bool,
    /// Requests answered.
    pub succeeded: u64,
    /// Requests not sent.
    pub unsent: u64,
    /// Failures by reason.
    pub failed: BTreeMap<String, u64>,
    /// To the first chunk.
    pub ttft: Times,
    /// To the end.
    pub latency: Times,
    /// Mean time between an answer's chunks.
    pub chunk_interval: Times,
    /// From the intended time to the sending.
    pub lateness: Times,
    /// What components used.
    pub usage: Vec<Usage>,
}

/// Percentiles of a time, microseconds.
#[derive(Clone, Debug, Deserialize)]
pub struct Times {
    /// The mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 90th percentile.
    pub p90: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
}

/// What a component used during a stage.
#[derive(Clone, Debug, Deserialize)]
pub struct Usage {
    /// Its name.
    pub name: String,
    /// CPU seconds.
    pub cpu_seconds: Option<f64>,
    /// Resident bytes at the end.
    pub resident_bytes: Option<u64>,
}

impl Client {
    /// Reads a repetition's file; `None` where another client measured.
    ///
    /// # Errors
    /// When it is there and is not what the client writes, or holds a number that cannot be meant.
    pub fn read(repetition: &Path) -> Result<Option<Self>, Error> {
        let path = repetition.join(FILE);
        if !path.is_file() {
            return Ok(None);
        }
        let text = files::read_text(&path, files::DOCUMENT_LIMIT)?;
        let client: Self = serde_json::from_str(&text).map_err(|source| Error::Json { path: path.clone(), source })?;
        if client.schema_version > VERSION {
            return Err(Error::Version { path, found: client.schema_version });
        }
        for (number, stage) in client.stages.iter().enumerate() {
            let rates = [stage.offered_rate, stage.achieved_rate, stage.completed_rate];
            if rates.iter().any(|rate| !rate.is_finite() || *rate < 0.0) || stage.offered_rate <= 0.0 {
                let what = format!("stage {number}: its rates {rates:?} are not rates");
                return Err(Error::Value { path, what });
            }
        }
        Ok(Some(client))
    }
}
