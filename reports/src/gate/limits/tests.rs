use std::path::Path;

use super::*;

fn parsed(text: &str) -> Limits {
    parse(Path::new("limits.yaml"), text).unwrap()
}

fn refused(text: &str) -> String {
    parse(Path::new("limits.yaml"), text).unwrap_err().to_string()
}

#[test]
fn the_repositorys_limits_file_is_understood() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/regression.yaml");
    let limits = read(&path).unwrap();
    assert_eq!(limits.noise.normalise_by.as_deref(), Some("service"));
    assert_eq!(limits.gate, Gate::default());
    assert_eq!(limits.validity, Validity::default());
    let rule = limits.rule(Metric::Ttft, Statistic::P90, "any", None, false).unwrap();
    assert_eq!(rule.bound, Bound::Relative { tolerance: Some(0.05), floor: Some(0.005) });
}

#[test]
fn the_schema_knows_every_metric_and_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/schemas/regression.schema.json");
    let schema: serde_json::Value = serde_json::from_slice(&fs_err::read(path).unwrap()).unwrap();
    let patterns: Vec<&String> =
        schema["properties"]["thresholds"]["patternProperties"].as_object().unwrap().keys().collect();
    for metric in Metric::ALL {
        assert!(patterns.iter().any(|pattern| pattern.contains(metric.key())), "{metric}");
    }
    let file = fs_err::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/regression.yaml")).unwrap();
    let document: serde_json::Value = serde_yaml::from_str(&file).unwrap();
    for section in ["noise", "gate", "validity"] {
        let known = schema["properties"][section]["properties"].as_object().unwrap();
        let used = document[section].as_object().unwrap();
        assert!(known.keys().eq(used.keys()), "the default file shows every key of {section}");
    }
}

#[test]
fn a_line_says_tolerance_floor_and_hard_limit() {
    let limits = parsed(
        "version: 1\nthresholds:\n  ttft: [\"p99 < +10% or +15ms\", \"p90 < 800ms absolute\"]\n  throughput: [\"ratio > -3%\"]\n  \
         failed: [\"rate < +0.5pp\", \"rate <= 1% absolute\"]\n",
    );
    let bounds: Vec<Bound> = limits.rules.iter().map(|rule| rule.bound).collect();
    assert_eq!(
        bounds,
        [
            Bound::Relative { tolerance: Some(0.1), floor: Some(0.015) },
            Bound::Absolute { limit: 0.8, inclusive: false },
            Bound::Relative { tolerance: Some(0.03), floor: None },
            Bound::Relative { tolerance: Some(0.005), floor: None },
            Bound::Absolute { limit: 0.01, inclusive: true },
        ]
    );
}

#[test]
fn the_most_specific_rule_wins() {
    let limits = parsed(
        "version: 1\nthresholds:\n  \"ttft{stage:rate=20,treatment:a}\": [\"p90 < +30%\"]\n  ttft: [\"p90 < +5%\"]\n  \
         \"ttft{stage:rate=20}\": [\"p90 < +20%\"]\n",
    );
    let tolerance = |treatment, stage| match limits.rule(Metric::Ttft, Statistic::P90, treatment, stage, false) {
        Some(Rule { bound: Bound::Relative { tolerance, .. }, .. }) => tolerance.unwrap(),
        _ => panic!("no rule"),
    };
    assert_eq!(tolerance("a", Some("rate=20")), 0.3);
    assert_eq!(tolerance("b", Some("rate=20")), 0.2);
    assert_eq!(tolerance("a", None), 0.05);
}

#[test]
fn an_unknown_metric_is_shown_where_it_stands() {
    insta::assert_snapshot!(refused("version: 1\nthresholds:\n  tfft: [\"p90 < +5%\"]\n"), @r#"
    limits.yaml:3:3: unknown metric `tfft`; known: ttft, itl, tpot, ntpot, request_latency, throughput, failed
         3 |   tfft: ["p90 < +5%"]
           |   ^
    "#);
}

#[test]
fn all_faults_are_told_at_once() {
    insta::assert_snapshot!(refused(
        "version: 1\nnoise: {tau: some}\ngate:\n  on_inconclusive: maybe\nthresholds:\n  ttft:\n    - p95 < +5%\n    - p90 > +5%\n    \
         - p90 < 5%\n    - p50 < +5% and +3ms\n  \"itl{size:1}\":\n    - p90 < +5%\n  throughput:\n    - ratio > +3%\nwaivers:\n  \
         - {match: itl p42, until: 2027-01-31, reason: x}\n  - {match: itl p90, until: never, reason: x}\n"
    ));
}

#[test]
fn an_unknown_key_is_refused_with_its_line() {
    let error = refused("version: 1\ngate:\n  alfa: 1%\nthresholds:\n  ttft: [\"p90 < +5%\"]\n");
    assert!(error.starts_with("limits.yaml:3:3: "), "{error}");
    assert!(error.contains("alfa"), "{error}");
}

#[test]
fn a_waiver_without_an_end_is_refused() {
    let error =
        refused("version: 1\nthresholds:\n  ttft: [\"p90 < +5%\"]\nwaivers:\n  - {match: ttft p90, reason: because}\n");
    assert!(error.contains("until"), "{error}");
}

#[test]
fn a_newer_version_and_an_empty_file_are_refused() {
    assert!(refused("version: 2\nthresholds:\n  ttft: [\"p90 < +5%\"]\n").contains("version 2 is not understood"));
    assert!(refused("version: 1\nthresholds: {}\n").contains("nothing would be gated"));
}
