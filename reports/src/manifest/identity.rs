//! Looking into identities, and telling them apart.

use serde::Serialize;
use serde_yaml::{Mapping, Value};

/// A field in which two identities differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The field's path, joined by dots.
    pub field: String,
    /// Its value on the left, `None` when absent.
    pub left: Option<String>,
    /// Its value on the right, `None` when absent.
    pub right: Option<String>,
}

/// The fields in which two identities differ, in the order of the left one; order of keys does not matter.
pub fn differences(left: &Mapping, right: &Mapping) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(&Value::Mapping(left.clone()), Some(&Value::Mapping(right.clone())), &mut String::new(), &mut found);
    found
}

fn compare(left: &Value, right: Option<&Value>, path: &mut String, found: &mut Vec<Difference>) {
    match (left, right) {
        (Value::Mapping(left), Some(Value::Mapping(right))) => {
            for (key, value) in left {
                within(path, key, |path| compare(value, right.get(key), path, found));
            }
            for (key, value) in right.iter().filter(|(key, _)| !left.contains_key(key)) {
                within(path, key, |path| {
                    found.push(Difference { field: path.clone(), left: None, right: Some(show(value)) });
                });
            }
        }
        (left, right) if Some(left) != right => {
            found.push(Difference { field: path.clone(), left: Some(show(left)), right: right.map(show) });
        }
        _ => {}
    }
}

fn within(path: &mut String, key: &Value, action: impl FnOnce(&mut String)) {
    let length = path.len();
    if length > 0 {
        path.push('.');
    }
    path.push_str(&text(key).unwrap_or_else(|| show(key)));
    action(path);
    path.truncate(length);
}

/// The value at a path of keys.
pub(super) fn at<'a>(mapping: &'a Mapping, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(mapping.get(*first)?, |value, key| value.get(*key))
}

/// A scalar as text.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn show(value: &Value) -> String {
    text(value).unwrap_or_else(|| serde_json::to_string(value).unwrap_or_else(|_| format!("{value:?}")))
}
