//! What must be the same in all treatments of a comparison, whatever the proxy.

use serde_yaml::Value;
use sha2::{Digest, Sha256};

use super::names::hex;

/// Dotted places of a scenario that belong to the way requests take.
const PROXY: [&str; 10] = [
    "name",
    "common.gatewayProviders",
    "modelservice.gateway.className",
    "modelservice.gateway.providerNamespace",
    "modelservice.router.proxy",
    "modelservice.router.inferencePool",
    "modelservice.router.extraServicePorts",
    "modelservice.router.epp.flags.secure-serving",
    "modelservice.routing.proxy",
    "chartVersions.agentgateway",
];

/// The scenario without the parts that differ between proxies, and the workload.
pub fn document(scenario: &Value, workload: &Value) -> Value {
    let mut entry = scenario.get("scenario").and_then(|list| list.get(0)).cloned().unwrap_or(Value::Null);
    for place in PROXY {
        remove(&mut entry, place);
    }
    let entries = [("scenario", entry), ("workload", workload.clone())];
    Value::Mapping(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// SHA-256 of a document that does not depend on the order of keys.
pub fn hash(document: &Value) -> String {
    hex(&Sha256::digest(canonical(document).as_bytes()))
}

fn canonical(value: &Value) -> String {
    match value {
        Value::Mapping(entries) => {
            let mut fields: Vec<_> =
                entries.iter().map(|(key, value)| format!("{}:{}", canonical(key), canonical(value))).collect();
            fields.sort();
            format!("{{{}}}", fields.join(","))
        }
        Value::Sequence(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::String(text) => serde_json::Value::from(text.as_str()).to_string(),
        Value::Number(number) => number.to_string(),
        Value::Bool(boolean) => boolean.to_string(),
        Value::Null => "null".to_owned(),
        Value::Tagged(tagged) => format!("{}{}", tagged.tag, canonical(&tagged.value)),
    }
}

/// Removes a dotted place, and the mappings that are empty without it.
fn remove(value: &mut Value, place: &str) {
    let Value::Mapping(entries) = value else { return };
    match place.split_once('.') {
        None => {
            entries.shift_remove(place);
        }
        Some((head, rest)) => {
            let Some(inner) = entries.get_mut(head) else { return };
            remove(inner, rest);
            if inner.as_mapping().is_some_and(serde_yaml::Mapping::is_empty) {
                entries.shift_remove(head);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_does_not_depend_on_the_order_of_keys() {
        let parse = |text: &str| serde_yaml::from_str::<Value>(text).unwrap();
        assert_eq!(hash(&parse("{a: 1, b: [x, {c: 2, d: 3}]}")), hash(&parse("{b: [x, {d: 3, c: 2}], a: 1}")));
        assert_ne!(hash(&parse("{a: 1}")), hash(&parse("{a: '1'}")));
    }
}
