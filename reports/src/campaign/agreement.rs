//! Whether two measurements measured the same thing, and in what they differ if not.

use std::fmt;

use crate::model::{Component, Stack, Stage};

/// A field in which two measurements differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The field, for people.
    pub field: String,
    /// Its value on the left.
    pub left: String,
    /// Its value on the right.
    pub right: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} v {})", self.field, self.left, self.right)
    }
}

/// The fields in one line, for error messages.
pub(crate) fn list(disagreements: &[Disagreement]) -> String {
    disagreements.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn differ(field: &str, left: impl fmt::Display, right: impl fmt::Display) -> Option<Disagreement> {
    let (left, right) = (left.to_string(), right.to_string());
    (left != right).then(|| Disagreement { field: field.into(), left, right })
}

/// Differences between two ladders: which stages, at which levels, in which order.
pub fn between_ladders(left: &[Stage], right: &[Stage]) -> Vec<Disagreement> {
    let same = left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| {
            left.number == right.number
                && match (left.level(), right.level()) {
                    (Some(left), Some(right)) => left.same(right),
                    (left, right) => left == right,
                }
        });
    if same {
        return Vec::new();
    }
    let ladder = |stages: &[Stage]| {
        let stages = stages.iter().map(|stage| match stage.level() {
            Some(level) => format!("{}:{level}", stage.number),
            None => format!("{}:n/a", stage.number),
        });
        stages.collect::<Vec<_>>().join(" ")
    };
    vec![Disagreement { field: "ladder".into(), left: ladder(left), right: ladder(right) }]
}

/// Differences between what two ladders sent, and with which harness. What only one side tells does not count.
pub fn between_workloads(left: &[Stage], right: &[Stage]) -> Vec<Disagreement> {
    let (Some(left), Some(right)) = (left.first(), right.first()) else { return Vec::new() };
    let mut found = Vec::new();
    let both = |left: Option<String>, right: Option<String>| left.zip(right);
    let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let fields = [
        ("harness", both(filled(&left.harness.tool), filled(&right.harness.tool))),
        ("harness version", both(left.harness.version.clone(), right.harness.version.clone())),
        ("data source", both(left.workload.source.clone(), right.workload.source.clone())),
        ("shared prefixes", both(prefix(left), prefix(right))),
    ];
    for (field, values) in fields {
        found.extend(values.and_then(|(left, right)| differ(field, left, right)));
    }
    found
}

fn prefix(stage: &Stage) -> Option<String> {
    let prefix = stage.workload.prefix.as_ref()?;
    let part = |number: Option<f64>| number.map_or_else(|| "n/a".into(), |number| number.to_string());
    let count = |number: Option<u64>| part(number.map(|number| number as f64));
    let (groups, prompts) = (count(prefix.groups), count(prefix.prompts_per_group));
    Some(format!("{groups} groups x {prompts} prompts of {} tokens", part(prefix.tokens)))
}

/// Differences between the model servers of two stacks: what must match for two treatments to be comparable. Routers and
/// proxies are what treatments differ in. A stack that lists no engine tells nothing.
pub fn between_stacks(left: &Stack, right: &Stack) -> Vec<Disagreement> {
    let engines = |stack: &Stack| stack.engines().cloned().collect::<Vec<_>>();
    between(&engines(left), &engines(right), "model servers")
}

/// Differences between all components of two stacks: what must match for two repetitions of a treatment.
pub(super) fn between_components(left: &Stack, right: &Stack) -> Vec<Disagreement> {
    between(&left.components, &right.components, "components")
}

fn between(left: &[Component], right: &[Component], what: &str) -> Vec<Disagreement> {
    if left.is_empty() || right.is_empty() {
        return Vec::new();
    }
    if left.len() != right.len() {
        return differ(&format!("number of {what}"), left.len(), right.len()).into_iter().collect();
    }
    // Labels carry pod names and hashes carry addresses, so neither is compared.
    left.iter().zip(right).flat_map(|(left, right)| between_two(left, right)).collect()
}

fn between_two(left: &Component, right: &Component) -> Vec<Disagreement> {
    let name = if left.label.is_empty() { &left.kind } else { &left.label };
    let field = |what: &str| format!("{name} {what}");
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "n/a".into());
    let count = |value: Option<u64>| value.map_or_else(|| "n/a".into(), |value| value.to_string());
    let hardware = |component: &Component| {
        component.accelerator.as_ref().map_or_else(
            || ("n/a".to_owned(), "n/a".to_owned()),
            |accelerator| {
                let split = accelerator.parallelism;
                let degrees = [
                    ("tp", split.tp),
                    ("dp", split.dp),
                    ("dp_local", split.dp_local),
                    ("workers", split.workers),
                    ("ep", split.ep),
                    ("pp", split.pp),
                ];
                let degrees =
                    degrees.iter().filter_map(|(name, degree)| degree.map(|degree| format!("{name}={degree}")));
                let model = format!("{} x {}", count(accelerator.count), accelerator.model);
                (model, degrees.collect::<Vec<_>>().join(" "))
            },
        )
    };
    let ((left_hardware, left_split), (right_hardware, right_split)) = (hardware(left), hardware(right));
    [
        differ(&field("kind"), &left.kind, &right.kind),
        differ(&field("tool"), &left.tool, &right.tool),
        differ(&field("version"), &left.tool_version, &right.tool_version),
        differ(&field("role"), text(&left.role), text(&right.role)),
        differ(&field("replicas"), count(left.replicas), count(right.replicas)),
        differ(&field("model"), text(&left.model), text(&right.model)),
        differ(&field("accelerator"), left_hardware, right_hardware),
        differ(&field("parallelism"), left_split, right_split),
    ]
    .into_iter()
    .flatten()
    .collect()
}
