//! The format's shape, as far as it is read, and which other keys the format knows.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_ignored::Path;

#[derive(Deserialize)]
pub(super) struct Document {
    pub version: VersionText,
    #[serde(default)]
    pub scenario: Option<Scenario>,
    pub results: Results,
}

#[derive(Default, Deserialize)]
pub(super) struct Scenario {
    #[serde(default)]
    pub stack: Option<Vec<Component>>,
    #[serde(default)]
    pub load: Option<Load>,
}

#[derive(Deserialize)]
pub(super) struct Component {
    pub metadata: ComponentMetadata,
    pub standardized: ComponentStandardized,
}

#[derive(Deserialize)]
pub(super) struct ComponentMetadata {
    #[serde(default)]
    pub label: Option<String>,
    #[serde(default)]
    pub cfg_id: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ComponentStandardized {
    pub kind: String,
    #[serde(default)]
    pub tool: Option<String>,
    #[serde(default)]
    pub tool_version: Option<String>,
    #[serde(default)]
    pub role: Option<String>,
    #[serde(default)]
    pub replicas: Option<u64>,
    #[serde(default)]
    pub model: Option<Model>,
    #[serde(default)]
    pub accelerator: Option<Accelerator>,
}

#[derive(Deserialize)]
pub(super) struct Model {
    pub name: String,
}

#[derive(Deserialize)]
pub(super) struct Accelerator {
    pub model: String,
    #[serde(default)]
    pub count: Option<u64>,
    #[serde(default)]
    pub parallelism: Option<Parallelism>,
}

#[derive(Deserialize)]
pub(super) struct Parallelism {
    #[serde(default)]
    pub tp: Option<u64>,
    #[serde(default)]
    pub dp: Option<u64>,
    #[serde(default)]
    pub dp_local: Option<u64>,
    #[serde(default)]
    pub workers: Option<u64>,
    #[serde(default)]
    pub ep: Option<u64>,
    #[serde(default)]
    pub pp: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Load {
    #[serde(default)]
    pub metadata: Option<LoadMetadata>,
    pub standardized: LoadStandardized,
}

#[derive(Deserialize)]
pub(super) struct LoadMetadata {
    #[serde(default)]
    pub cfg_id: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct LoadStandardized {
    #[serde(default)]
    pub tool: Option<String>,
    #[serde(default)]
    pub tool_version: Option<String>,
    #[serde(default)]
    pub source: Option<String>,
    #[serde(default)]
    pub stage: Option<u32>,
    #[serde(default)]
    pub input_seq_len: Option<SequenceLength>,
    #[serde(default)]
    pub output_seq_len: Option<SequenceLength>,
    #[serde(default)]
    pub prefix: Option<Prefix>,
    #[serde(default)]
    pub rate_qps: Option<f64>,
    /// A whole number, or `.inf` where concurrency was not limited.
    #[serde(default)]
    pub concurrency: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct SequenceLength {
    pub distribution: String,
    pub value: f64,
}

#[derive(Deserialize)]
pub(super) struct Prefix {
    #[serde(default)]
    pub prefix_len: Option<SequenceLength>,
    #[serde(default)]
    pub num_groups: Option<u64>,
    #[serde(default)]
    pub num_users_per_group: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Results {
    #[serde(default)]
    pub request_performance: Option<RequestPerformance>,
    #[serde(default)]
    pub observability: Option<Observability>,
}

/// The format allows any key here; ours is `load_generator`.
#[derive(Deserialize)]
pub(super) struct Observability {
    #[serde(default)]
    pub load_generator: Option<LoadGenerator>,
}

#[derive(Deserialize)]
pub(super) struct LoadGenerator {
    #[serde(default)]
    pub warm_up: bool,
    #[serde(default)]
    pub achieved_rate: Option<Statistics>,
    #[serde(default)]
    pub send_duration: Option<Statistics>,
    #[serde(default)]
    pub schedule_delay: Option<Statistics>,
    #[serde(default)]
    pub measured_time: Option<Statistics>,
    #[serde(default)]
    pub failures_by_label: Vec<FailureCount>,
}

#[derive(Deserialize)]
pub(super) struct FailureCount {
    pub label: String,
    pub count: u64,
}

#[derive(Deserialize)]
pub(super) struct RequestPerformance {
    #[serde(default)]
    pub aggregate: Option<Aggregate>,
}

#[derive(Deserialize)]
pub(super) struct Aggregate {
    #[serde(default)]
    pub requests: Option<Requests>,
    #[serde(default)]
    pub latency: Option<Latency>,
    #[serde(default)]
    pub throughput: Option<Throughput>,
}

#[derive(Deserialize)]
pub(super) struct Requests {
    pub total: u64,
    #[serde(default)]
    pub failures: Option<u64>,
    #[serde(default)]
    pub incomplete: Option<u64>,
    #[serde(default)]
    pub input_length: Option<Statistics>,
    #[serde(default)]
    pub output_length: Option<Statistics>,
}

#[derive(Default, Deserialize)]
pub(super) struct Latency {
    #[serde(default)]
    pub time_to_first_token: Option<Statistics>,
    #[serde(default)]
    pub normalized_time_per_output_token: Option<Statistics>,
    #[serde(default)]
    pub time_per_output_token: Option<Statistics>,
    #[serde(default)]
    pub inter_token_latency: Option<Statistics>,
    #[serde(default)]
    pub request_latency: Option<Statistics>,
}

#[derive(Default, Deserialize)]
pub(super) struct Throughput {
    #[serde(default)]
    pub input_token_rate: Option<Statistics>,
    #[serde(default)]
    pub output_token_rate: Option<Statistics>,
    #[serde(default)]
    pub total_token_rate: Option<Statistics>,
    #[serde(default)]
    pub request_rate: Option<Statistics>,
}

#[derive(Deserialize)]
pub(super) struct Statistics {
    pub units: String,
    #[serde(default)]
    pub mean: Option<f64>,
    #[serde(default)]
    pub stddev: Option<f64>,
    #[serde(default)]
    pub min: Option<f64>,
    #[serde(default)]
    pub p0p1: Option<f64>,
    #[serde(default)]
    pub p1: Option<f64>,
    #[serde(default)]
    pub p5: Option<f64>,
    #[serde(default)]
    pub p10: Option<f64>,
    #[serde(default)]
    pub p25: Option<f64>,
    #[serde(default)]
    pub p50: Option<f64>,
    #[serde(default)]
    pub p75: Option<f64>,
    #[serde(default)]
    pub p90: Option<f64>,
    #[serde(default)]
    pub p95: Option<f64>,
    #[serde(default)]
    pub p99: Option<f64>,
    #[serde(default)]
    pub p99p9: Option<f64>,
    #[serde(default)]
    pub max: Option<f64>,
}

/// The version, which YAML takes for a number when nobody quoted it.
pub(super) struct VersionText(pub String);

impl<'de> Deserialize<'de> for VersionText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = VersionText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a version")
            }
            fn visit_str<E>(self, text: &str) -> Result<VersionText, E> {
                Ok(VersionText(text.to_owned()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<VersionText, E> {
                Ok(VersionText(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<VersionText, E> {
                Ok(VersionText(number.to_string()))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

/// Keys that the format knows and that are not read here, each with the key that it stands under; items of lists stand
/// under the list's key.
const KNOWN: [(&str, &str); 29] = [
    ("", "run"),
    ("stack", "native"),
    ("metadata", "schema_version"),
    ("metadata", "description"),
    ("load", "native"),
    ("load.standardized", "parallelism"),
    ("load.standardized", "multi_turn"),
    ("prefix", "num_prefixes"),
    ("input_seq_len", "std_dev"),
    ("input_seq_len", "min"),
    ("input_seq_len", "max"),
    ("output_seq_len", "std_dev"),
    ("output_seq_len", "min"),
    ("output_seq_len", "max"),
    ("prefix_len", "std_dev"),
    ("prefix_len", "min"),
    ("prefix_len", "max"),
    ("results", "session_performance"),
    ("results", "profiling"),
    ("results", "component_health"),
    ("request_performance", "time_series"),
    ("requests", "request_size"),
    ("requests", "multimodal"),
    ("throughput", "image_rate"),
    ("throughput", "video_rate"),
    ("throughput", "audio_rate"),
    // Any key may stand in these.
    ("stack.standardized", "*"),
    ("observability", "*"),
    ("*", "mode"),
];

/// Whether the format knows a key that was skipped.
pub(super) fn is_known(path: &Path<'_>) -> bool {
    let mut keys = keys(path).into_iter();
    let (Some(key), parent, grandparent) = (keys.next(), keys.next(), keys.next()) else { return false };
    let parent = parent.unwrap_or_default();
    let qualified = format!("{}.{parent}", grandparent.unwrap_or_default());
    KNOWN.iter().any(|&(under, known)| {
        (under == "*" || under == parent || under == qualified) && (known == "*" || known == key)
    })
}

/// The keys on the way to a path, innermost first; positions in lists left out.
fn keys<'a>(path: &'a Path<'a>) -> Vec<&'a str> {
    let (mut path, mut keys) = (path, Vec::new());
    loop {
        path = match path {
            Path::Root => return keys,
            Path::Map { parent, key } => {
                keys.push(key.as_str());
                parent
            }
            Path::Seq { parent, .. }
            | Path::Some { parent }
            | Path::NewtypeStruct { parent }
            | Path::NewtypeVariant { parent } => parent,
        };
    }
}
