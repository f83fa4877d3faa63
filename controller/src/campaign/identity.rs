//! A campaign's identity: everything that must be equal for two runs to be comparable.

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
    Sha256::digest(content.as_ref()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
