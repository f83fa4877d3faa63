//! Deep merge, order kept.

use serde_yaml::Value;

/// Lays `overlay` over `base`: mappings are merged key by key, anything else is replaced whole.
///
/// Keys keep the place where they first appeared, so that rendered files can be compared line by line.
pub fn merge(base: &mut Value, overlay: Value) {
    match (base, overlay) {
        (Value::Mapping(base), Value::Mapping(overlay)) => {
            for (key, value) in overlay {
                match base.get_mut(&key) {
                    Some(existing) => merge(existing, value),
                    None => {
                        base.insert(key, value);
                    }
                }
            }
        }
        (_, Value::Null) => {}
        (base, overlay) => *base = overlay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, overlay: &str) -> String {
        let mut base = serde_yaml::from_str(base).unwrap();
        merge(&mut base, serde_yaml::from_str(overlay).unwrap());
        serde_json::to_string(&base).unwrap()
    }

    #[test]
    fn mappings_are_merged_and_keep_their_order() {
        assert_eq!(
            merged("{a: {x: 1, y: 2}, b: 3}", "{c: 5, a: {y: 4, z: 6}}"),
            r#"{"a":{"x":1,"y":4,"z":6},"b":3,"c":5}"#
        );
    }

    #[test]
    fn lists_and_scalars_are_replaced_whole() {
        assert_eq!(merged("{a: [1, 2], b: {c: 1}}", "{a: [3], b: none}"), r#"{"a":[3],"b":"none"}"#);
    }

    #[test]
    fn an_empty_overlay_changes_nothing() {
        assert_eq!(merged("{a: {b: 1}}", "{a: }"), r#"{"a":{"b":1}}"#);
        assert_eq!(merged("{a: 1}", ""), r#"{"a":1}"#);
    }
}
