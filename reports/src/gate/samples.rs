//! Latencies of single requests, stage by stage, from a repetition's per-request file.
//!
//! Records carry no stage. The harness drains a stage before it starts the next, so records sorted by their start fall into
//! stages by the counts that the stages' documents give; if the counts do not add up, nothing is guessed.

use std::fmt;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::metric::Metric;
use crate::native::{PER_REQUEST_FILE, Record};

/// What has no positive logarithm counts as this: the clock does not resolve less.
const SHORTEST: f64 = 1e-6;
/// Latencies that are kept of each request. Gaps between tokens are not: those of one request depend on one another.
const KEPT: [Metric; 4] = [Metric::Ttft, Metric::Tpot, Metric::Ntpot, Metric::RequestLatency];

/// Why a repetition has no usable samples; the gate then falls back on summary percentiles.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is not what the harness writes.
    #[error("{path}: {source}", path = path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The records are not those of the stages.
    #[error("{path}: {found} records, the stages have {expected}", path = path.display())]
    Count {
        /// The file.
        path: PathBuf,
        /// Records in it.
        found: u64,
        /// Requests of all stages.
        expected: u64,
    },
}

/// Natural logarithms of the latencies of a stage's successful requests, in the order in which these started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageSamples {
    /// By metric; only requests that have it.
    pub logs: Vec<(Metric, Vec<f64>)>,
}

struct Latencies {
    start: f64,
    values: Option<[Option<f64>; 4]>,
}

/// Reads a repetition's samples: one entry a stage, given the requests of each, warm-up stages included. `None` when the
/// repetition has no per-request file.
///
/// # Errors
///
/// The file cannot be read, or its records are not those of the stages.
pub fn read(dir: &Path, requests: &[u64]) -> Result<Option<Vec<StageSamples>>, Error> {
    let candidates = [dir.join(format!("{PER_REQUEST_FILE}.gz")), dir.join(PER_REQUEST_FILE)];
    let Some(path) = candidates.into_iter().find(|path| path.is_file()) else { return Ok(None) };
    let file = BufReader::with_capacity(1 << 18, fs_err::File::open(&path)?);
    let compressed = path.extension().is_some_and(|extension| extension == "gz");
    let parsed =
        if compressed { parse(BufReader::with_capacity(1 << 18, MultiGzDecoder::new(file))) } else { parse(file) };
    let mut records = parsed.map_err(|source| Error::Json { path: path.clone(), source })?;
    let expected = requests.iter().sum();
    if records.len() as u64 != expected {
        return Err(Error::Count { path, found: records.len() as u64, expected });
    }
    records.sort_by(|a, b| a.start.total_cmp(&b.start));
    let mut rest = records.as_slice();
    let mut stages = Vec::with_capacity(requests.len());
    for &count in requests {
        let (stage, after) = rest.split_at(count as usize);
        rest = after;
        stages.push(StageSamples::of(stage));
    }
    Ok(Some(stages))
}

impl StageSamples {
    fn of(records: &[Latencies]) -> Self {
        let logs = KEPT
            .into_iter()
            .enumerate()
            .filter_map(|(index, metric)| {
                let logs: Vec<f64> = records
                    .iter()
                    .filter_map(|record| record.values?[index])
                    .map(|seconds| seconds.max(SHORTEST).ln())
                    .collect();
                (!logs.is_empty()).then_some((metric, logs))
            })
            .collect();
        Self { logs }
    }
}

fn parse(reader: impl Read) -> Result<Vec<Latencies>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let records = Records.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(records)
}

/// Reads the array record by record, so that only the latencies of each are kept.
struct Records;

impl<'de> DeserializeSeed<'de> for Records {
    type Value = Vec<Latencies>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Records {
    type Value = Vec<Latencies>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of requests")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut records: A) -> Result<Self::Value, A::Error> {
        let mut latencies = Vec::new();
        while let Some(record) = records.next_element::<Record>()? {
            if !(record.start_time.is_finite() && record.end_time >= record.start_time) {
                return Err(A::Error::custom(format!("request {} ends before it starts", latencies.len())));
            }
            let values = record
                .succeeded()
                .then(|| [record.ttft(), record.tpot(), record.ntpot(), Some(record.request_latency())]);
            latencies.push(Latencies { start: record.start_time, values });
        }
        Ok(latencies)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn request(start: f64, latency: f64, failed: bool) -> String {
        let error = if failed { r#", "error": {"error_type": "HTTP Error 503", "error_msg": ""}"# } else { "" };
        let (first, last) = (start + latency / 2.0, start + latency);
        format!(
            r#"{{"start_time": {start}, "end_time": {last}, "request": "text", "response": "text",
            "info": {{"response_metrics": {{"output_tokens": 2, "output_token_times": [{first}, {last}]}}}}{error}}}"#
        )
    }

    fn folder(requests: &[String]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let file = fs_err::File::create(folder.path().join("per_request_lifecycle_metrics.json.gz")).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        write!(gzip, "[{}]", requests.join(",")).unwrap();
        gzip.finish().unwrap();
        folder
    }

    #[test]
    fn records_in_any_order_fall_into_their_stages() {
        let folder = folder(&[
            request(10.0, 0.4, false),
            request(1.0, 0.1, false),
            request(11.0, 0.5, true),
            request(0.0, 0.2, false),
            request(12.0, 0.6, false),
        ]);
        let stages = read(folder.path(), &[2, 3]).unwrap().unwrap();
        let ttft = |stage: usize| -> Vec<f64> {
            let (metric, logs) = &stages[stage].logs[0];
            assert_eq!(*metric, Metric::Ttft);
            logs.iter().map(|log| (log.exp() * 1e6).round() / 1e6).collect()
        };
        assert_eq!(ttft(0), [0.1, 0.05], "in the order of their starts");
        assert_eq!(ttft(1), [0.2, 0.3], "without the one that failed");
    }

    #[test]
    fn counts_that_do_not_add_up_are_not_guessed_about() {
        let folder = folder(&[request(0.0, 0.1, false)]);
        let error = read(folder.path(), &[2]).unwrap_err().to_string();
        assert!(error.ends_with("1 records, the stages have 2"), "{error}");
    }

    #[test]
    fn a_truncated_file_is_an_error_and_no_file_is_none() {
        let folder = folder(&[request(0.0, 0.1, false), r#"{"start_time": 3"#.into()]);
        assert!(matches!(read(folder.path(), &[2]), Err(Error::Json { .. })));
        assert!(read(tempfile::tempdir().unwrap().path(), &[2]).unwrap().is_none());
    }
}
