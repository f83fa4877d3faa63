//! What must match between a campaign and a baseline, and the key that a baseline is found by.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::summary::{METRIC_DEFINITIONS, Summary};
use crate::campaign::Campaign;

/// Keys that say what is under test, wherever they stand: two versions of a gateway are what a gate compares.
const UNDER_TEST: [&str; 6] = [
    "agentgateway_version",
    "agentgateway_image",
    "agentgateway_binary_sha256",
    "gateway_version",
    "gateway_image",
    "agw_version",
];

/// An identity: a JSON object whose order of keys does not matter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(pub Map<String, Value>);

/// A field in which two identities differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Path of the field, joined by dots.
    pub field: String,
    /// The campaign's value, `None` when absent.
    pub campaign: Option<String>,
    /// The baseline's value, `None` when absent.
    pub baseline: Option<String>,
}

impl Identity {
    /// A campaign's identity: its manifest's without what is under test, with the stages that were really measured, the
    /// harness's major version and the version of the metric definitions.
    #[must_use]
    pub fn of(campaign: &Campaign, summary: &Summary) -> Self {
        let manifest = serde_json::to_value(&campaign.manifest.identity).unwrap_or_default();
        let harness = campaign
            .treatments
            .iter()
            .flat_map(|treatment| &treatment.repetitions)
            .flat_map(|repetition| &repetition.stages)
            .find_map(|stage| Some((stage.harness.tool.clone(), stage.harness.version.clone()?)));
        let mut stages: Vec<&str> = Vec::new();
        for stage in summary.runs.iter().flat_map(|run| &run.stages) {
            if !stages.contains(&stage.stage.as_str()) {
                stages.push(&stage.stage);
            }
        }
        let mut fields = Map::new();
        fields.insert("campaign".into(), without_what_is_under_test(manifest));
        fields.insert("stages".into(), json!(stages));
        fields.insert("metric_definitions".into(), json!(METRIC_DEFINITIONS));
        if let Some((tool, version)) = harness {
            fields.insert("harness".into(), json!({"tool": tool, "compatible_versions": compatible(&version)}));
        }
        Self(fields)
    }

    /// The key under which baselines of this identity are kept: the start of a digest of its canonical text.
    #[must_use]
    pub fn key(&self) -> String {
        digest(canonical(&Value::Object(self.0.clone())).as_bytes())[..16].to_owned()
    }

    /// The fields in which a baseline's identity differs from this campaign's.
    #[must_use]
    pub fn differences(&self, baseline: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        compare(&Value::Object(self.0.clone()), &Value::Object(baseline.0.clone()), "", &mut found);
        found
    }
}

/// Versions within which numbers compare: the major one, or while that is 0 the minor one.
fn compatible(version: &str) -> String {
    let mut parts = version.trim_start_matches('v').split('.');
    match (parts.next(), parts.next()) {
        (Some("0"), Some(minor)) => format!("0.{minor}"),
        (Some(major), _) => major.to_owned(),
        (None, _) => version.to_owned(),
    }
}

fn without_what_is_under_test(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(key, _)| !UNDER_TEST.contains(&key.as_str()))
                .map(|(key, value)| (key, without_what_is_under_test(value)))
                .collect(),
        ),
        other => other,
    }
}

fn compare(campaign: &Value, baseline: &Value, path: &str, found: &mut Vec<Difference>) {
    if campaign == baseline {
        return;
    }
    if let (Value::Object(left), Value::Object(right)) = (campaign, baseline) {
        let missing = Value::Null;
        let mut keys: Vec<&String> = left.keys().collect();
        keys.extend(right.keys().filter(|key| !left.contains_key(*key)));
        for key in keys {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            compare(left.get(key).unwrap_or(&missing), right.get(key).unwrap_or(&missing), &path, found);
        }
        return;
    }
    let show = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(canonical(other)),
    };
    found.push(Difference { field: path.into(), campaign: show(campaign), baseline: show(baseline) });
}

/// JSON text with sorted keys and no spaces: the same value is always the same bytes.
#[must_use]
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            let fields: Vec<String> =
                sorted.into_iter().map(|(key, value)| format!("{}:{}", json!(key), canonical(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// SHA-256 in lower-case hexadecimal.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(value: Value) -> Identity {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_order_of_keys_does_not_change_the_key() {
        let one = identity(json!({"model": "m", "storage": {"a": 1, "b": 2}}));
        let other = identity(json!({"storage": {"b": 2, "a": 1}, "model": "m"}));
        assert_eq!(one.key(), other.key());
        assert!(one.differences(&other).is_empty());
    }

    #[test]
    fn differing_fields_are_named_with_both_values() {
        let campaign = identity(json!({"model": "m", "replicas": 8, "stages": ["rate=3", "rate=21"]}));
        let baseline = identity(json!({"model": "m", "replicas": 4, "seed": 42, "stages": ["rate=3", "rate=20"]}));
        let found: Vec<String> = campaign
            .differences(&baseline)
            .iter()
            .map(|difference| format!("{}: {:?} {:?}", difference.field, difference.campaign, difference.baseline))
            .collect();
        assert_eq!(
            found,
            [
                r#"replicas: Some("8") Some("4")"#,
                r#"stages: Some("[\"rate=3\",\"rate=21\"]") Some("[\"rate=3\",\"rate=20\"]")"#,
                r#"seed: None Some("42")"#,
            ]
        );
    }

    #[test]
    fn the_gateways_version_is_under_test_and_not_identity() {
        let value = json!({"gateway": {"agentgateway_version": "v1", "mode": "standalone"}, "model": "m"});
        assert_eq!(without_what_is_under_test(value), json!({"gateway": {"mode": "standalone"}, "model": "m"}));
    }

    #[test]
    fn harness_versions_compare_within_a_major_version() {
        assert_eq!(compatible("0.7.0"), "0.7");
        assert_eq!(compatible("v2.3.1"), "2");
    }
}
