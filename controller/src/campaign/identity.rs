//! A campaign's identity: everything that must be equal for two runs to be comparable.

use std::fmt;

use serde::Serialize;
use serde_yaml::{Mapping, Value};
use sha2::{Digest, Sha256};

use crate::failure::{Failure, Result};

/// The ordered fields of an identity, under construction.
///
/// Inputs that are documents (a rendered workload, a treatment file) enter as their SHA-256, under a name that ends in
/// `_sha256`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity(Mapping);

impl Identity {
    /// An identity without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field.
    ///
    /// # Errors
    /// When `value` has no YAML form.
    pub fn with(mut self, name: &str, value: impl Serialize) -> Result<Self> {
        let value = serde_yaml::to_value(value).map_err(Failure::internal)?;
        self.0.insert(Value::from(name), value);
        Ok(self)
    }

    /// Adds the hash of an input document as `<name>_sha256`.
    #[must_use]
    pub fn with_hash(mut self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.0.insert(Value::from(format!("{name}_sha256")), Value::from(sha256(content)));
        self
    }

    /// The fields, in the order in which they were added.
    pub fn fields(&self) -> &Mapping {
        &self.0
    }
}

/// The SHA-256 of `content` in lower-case hexadecimal.
pub fn sha256(content: impl AsRef<[u8]>) -> String {
    use fmt::Write as _;
    Sha256::digest(content.as_ref()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a String cannot fail.
        write!(hex, "{byte:02x}").ok();
        hex
    })
}

/// A field in which two identities differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The field's path, nested fields joined by dots.
    pub field: String,
    /// Its value in the campaign on disk.
    pub recorded: Option<Value>,
    /// Its value in the campaign asked for.
    pub requested: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<Value>| value.as_ref().map_or_else(|| "absent".to_owned(), plain);
        write!(f, "{}: recorded {}, requested {}", self.field, text(&self.recorded), text(&self.requested))
    }
}

/// Every leaf in which the two mappings differ, in `recorded`'s order and then in `requested`'s.
pub fn differences(recorded: &Mapping, requested: &Mapping) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", recorded, requested, &mut found);
    found
}

fn compare(prefix: &str, recorded: &Mapping, requested: &Mapping, found: &mut Vec<Difference>) {
    let path = |key: &Value| if prefix.is_empty() { plain(key) } else { format!("{prefix}.{}", plain(key)) };
    for (key, old) in recorded {
        match (old, requested.get(key)) {
            (old, Some(new)) if old == new => {}
            (Value::Mapping(old), Some(Value::Mapping(new))) => compare(&path(key), old, new, found),
            (old, new) => {
                found.push(Difference { field: path(key), recorded: Some(old.clone()), requested: new.cloned() })
            }
        }
    }
    for (key, new) in requested {
        if recorded.get(key).is_none() {
            found.push(Difference { field: path(key), recorded: None, requested: Some(new.clone()) });
        }
    }
}

/// A value on one line.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string(other).unwrap_or_else(|_| format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(text: &str) -> Mapping {
        serde_yaml::from_str(text).unwrap()
    }

    #[test]
    fn an_identity_keeps_its_order_and_hashes_documents() {
        let identity = Identity::new()
            .with("cluster_provider", "local")
            .and_then(|identity| identity.with("replicas", 4))
            .unwrap()
            .with_hash("workload", "abc");
        let text = serde_yaml::to_string(identity.fields()).unwrap();
        assert_eq!(
            text,
            "cluster_provider: local\nreplicas: 4\nworkload_sha256: \
             ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"
        );
    }

    #[test]
    fn equal_identities_do_not_differ_whatever_their_order() {
        assert_eq!(differences(&mapping("{a: 1, b: {c: x}}"), &mapping("{b: {c: x}, a: 1}")), []);
    }

    #[test]
    fn each_differing_leaf_is_named_by_its_path() {
        let recorded = mapping("{model: m1, storage: {model: {size: 80Gi}}, gone: true}");
        let requested = mapping("{model: m2, storage: {model: {size: 90Gi}}, new: [1, 2]}");
        let lines: Vec<_> = differences(&recorded, &requested).iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "model: recorded m1, requested m2",
                "storage.model.size: recorded 80Gi, requested 90Gi",
                "gone: recorded true, requested absent",
                "new: recorded absent, requested [1,2]",
            ]
        );
    }
}
