//! The specification file: which scenario, values and templates llm-d-benchmark puts together.

use std::path::Path;

use serde_yaml::{Mapping, Value};

/// The specification for a scenario file and a checkout, with absolute paths.
pub fn spec(checkout: &Path, scenario: &Path) -> Value {
    let text = |path: &Path| Value::from(path.display().to_string());
    let path = |path: &Path| Value::Mapping(Mapping::from_iter([("path".into(), text(path))]));
    Value::Mapping(Mapping::from_iter([
        ("base_dir".into(), text(checkout)),
        ("values_file".into(), path(&checkout.join("config/templates/values/defaults.yaml"))),
        ("template_dir".into(), path(&checkout.join("config/templates/jinja"))),
        ("scenario_file".into(), path(scenario)),
    ]))
}
