//! Documents in and out; sources are files that inference-perf really wrote.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::model::{Component, Level, Metric, Quantity, Stage, Statistic};
use crate::native::Results;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/native").join(name)
}

fn context() -> Context {
    Context {
        campaign_id: "2026-11-30".into(),
        treatment: "service".into(),
        repetition: 2,
        harness_version: "0.7.0".into(),
        stack: vec![
            Part {
                component: Component {
                    label: "model-servers".into(),
                    kind: "inference_engine".into(),
                    tool: "testbed".into(),
                    tool_version: "0.1.0".into(),
                    role: Some("replica".into()),
                    replicas: Some(4),
                    model: Some("tiny".into()),
                    accelerator: Some(crate::model::Accelerator {
                        model: "simulated".into(),
                        count: Some(0),
                        parallelism: crate::model::Parallelism { tp: Some(2), ..Default::default() },
                    }),
                    ..Component::default()
                },
                description: Some("yes".into()),
                config: Some(serde_yaml::from_str("{on: off, time: '22:22', number: '1_000', mode: '0755'}").unwrap()),
            },
            Part {
                component: Component {
                    label: "router".into(),
                    kind: "generic".into(),
                    tool: "testbed".into(),
                    tool_version: "0.1.0".into(),
                    ..Component::default()
                },
                ..Part::default()
            },
        ],
        warm_up_stages: [0].into(),
    }
}

fn converted(name: &str) -> Vec<Converted> {
    convert(&fixture(name), &context()).unwrap()
}

fn parsed(text: &str) -> Result<Report, Error> {
    parse(Path::new("doc.yaml"), text, 1)
}

/// A small document; `requests`, `latency` and `throughput` are YAML flow mappings.
fn document(version: &str, requests: &str, latency: &str, throughput: &str) -> String {
    format!(
        "version: {version}\nrun: {{uid: a}}\nscenario:\n  load:\n    metadata: {{}}\n    native: {{}}\n    standardized: \
         {{tool: inference-perf, tool_version: 0.6.0, stage: 1, rate_qps: 10, source: random, input_seq_len: \
         {{distribution: fixed, value: 1}}}}\nresults:\n  request_performance:\n    aggregate:\n      requests: \
         {requests}\n      latency: {latency}\n      throughput: {throughput}\n"
    )
}

const REQUESTS: &str = "{total: 20, failures: 0}";

fn with_latency(latency: &str) -> Result<Report, Error> {
    parsed(&document("'0.2'", REQUESTS, latency, "{}"))
}

fn refusal(latency: &str) -> String {
    with_latency(latency).unwrap_err().to_string()
}

#[test]
fn a_converted_document_reads_back_as_the_native_stage() {
    for name in ["0.4", "0.5", "0.6", "0.7-streaming", "0.7-unary", "0.7-concurrent", "0.7-chunked"] {
        let native = Results::read(&fixture(name)).unwrap();
        for (document, file) in converted(name).into_iter().zip(native.stages) {
            let report = parse(Path::new(&document.file_name), &document.text, document.stage).unwrap();
            assert_eq!(report.unknown_keys, Vec::<String>::new());
            assert!(report.stack.is_simulated());
            let mut expected: Stage = file.stage;
            expected.warm_up = document.stage == 0;
            expected.harness.version = Some("0.7.0".into());
            expected.workload = report.stage.workload.clone();
            assert_eq!(report.stage, expected, "{name} stage {}", document.stage);
        }
    }
}

#[test]
fn documents_are_named_and_described_by_treatment_and_repetition() {
    let documents = converted("0.7-streaming");
    let names: Vec<_> = documents.iter().map(|document| document.file_name.as_str()).collect();
    assert_eq!(names[4], "benchmark_report_v0.2,_service_stage_4_lifecycle_metrics.json.yaml");
    assert!(documents[4].text.contains("description: 2026-11-30/service/repetition-2 (simulated)\n"));
    assert!(!documents[4].text.contains("keywords"));
}

#[test]
fn a_whole_document() {
    insta::assert_snapshot!(converted("0.7-streaming")[2].text);
}

#[test]
fn a_document_of_a_stage_in_which_every_request_failed() {
    let text = &converted("0.7-streaming")[3].text;
    let results = &text[text.find("results:").unwrap()..];
    insta::assert_snapshot!(results);
}

#[test]
fn no_secret_and_no_folder_of_the_configuration_is_in_a_document() {
    for document in converted("0.7-streaming") {
        for secret in ["sk-planted-secret", "someone", "no endpoint available"] {
            assert!(!document.text.contains(secret), "{secret}");
        }
    }
}

#[test]
fn milliseconds_become_seconds() {
    let report = with_latency(
        "{time_to_first_token: {units: ms, mean: 120, p50: 100}, inter_token_latency: {units: ms/token, mean: 30}}",
    )
    .unwrap();
    assert_eq!(Metric::Latency(Quantity::Ttft, Statistic::P50).of(&report.stage), Some(0.1));
    assert_eq!(Metric::Latency(Quantity::Itl, Statistic::Mean).of(&report.stage), Some(0.03));
    assert_eq!(report.stage.level(), Some(Level::Rate(10.0)));
}

#[test]
fn unknown_units_are_refused() {
    let place = "doc.yaml: results.request_performance.aggregate.latency.time_to_first_token";
    assert_eq!(
        refusal("{time_to_first_token: {units: minutes, mean: 1}}"),
        format!("{place}.units: \"minutes\" is not understood here; s or ms is")
    );
    // A time per token is no time.
    assert!(refusal("{time_to_first_token: {units: s/token, mean: 1}}").starts_with(place));
}

#[test]
fn numbers_that_cannot_be_meant_are_refused_by_name() {
    for (value, says) in [
        (".nan", "mean is NaN"),
        (".inf", "mean is inf"),
        ("-0.5", "mean is negative (-0.5)"),
        ("true", "invalid type: boolean `true`, expected f64"),
        ("'1.5'", "invalid type: string \"1.5\", expected f64"),
        ("1, p90: 2, p99: 1.5", "p99 (1.5) is below p90 (2)"),
        ("1, min: 2", "mean (1) is below min (2)"),
        ("3, max: 2", "mean (3) is above max (2)"),
    ] {
        let error = refusal(&format!("{{time_to_first_token: {{units: s, mean: {value}}}}}"));
        assert!(error.contains(says) && error.contains("time_to_first_token"), "{value}: {error}");
    }
}

#[test]
fn corrupt_text_is_an_error_with_its_place() {
    let text = document("'0.2'", REQUESTS, "{}", "{}");
    let error = parsed(&text.replace("scenario:", "scenario: [")).unwrap_err().to_string();
    assert!(error.starts_with("doc.yaml: ") && error.contains("line"), "{error}");
}

#[test]
fn more_failures_than_requests_are_refused() {
    let error = parsed(&document("'0.2'", "{total: 3, failures: 4}", "{}", "{}")).unwrap_err().to_string();
    assert!(error.ends_with("requests.failures: 4 of 3 requests"), "{error}");
}

#[test]
fn other_versions_are_refused_and_an_unquoted_one_is_understood() {
    let error = parsed(&document("'0.3'", REQUESTS, "{}", "{}")).unwrap_err().to_string();
    assert_eq!(error, "doc.yaml: Benchmark Report version \"0.3\" is not understood; 0.2 and 0.2.1 are");
    assert_eq!(parsed(&document("0.2", REQUESTS, "{}", "{}")).unwrap().version, Version::V02);
    assert_eq!(parsed(&document("0.2.1", REQUESTS, "{}", "{}")).unwrap().version, Version::V021);
}

#[test]
fn unknown_keys_are_told_and_known_ones_are_not() {
    let latency = "{time_to_first_token: {units: s, mean: 1, mode: 1, p42: 1}}";
    let requests = "{total: 20, failures: 0, multimodal: {image: {}}, retried: 3}";
    let report = parsed(&document("0.2.1", requests, latency, "{image_rate: {units: images/s, mean: 1}}")).unwrap();
    assert_eq!(
        report.unknown_keys,
        [
            "results.request_performance.aggregate.requests.retried",
            "results.request_performance.aggregate.latency.time_to_first_token.p42",
        ]
    );
}

#[test]
fn a_document_of_another_stage_than_its_name_says_is_refused() {
    let text = document("'0.2'", REQUESTS, "{}", "{}");
    let error = parse(Path::new("doc.yaml"), &text, 3).unwrap_err().to_string();
    assert!(error.ends_with("scenario.load.standardized.stage: is 1, the file's name says 3"), "{error}");
}

#[test]
fn alias_bombs_and_deep_nesting_cost_nothing() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    // Keys that nobody knows are skipped, aliases and all; where a value is read, a list is a type error.
    let report = parsed(&format!("{}{bomb}", document("'0.2'", REQUESTS, "{}", "{}"))).unwrap();
    assert_eq!(report.unknown_keys.len(), 12);
    assert!(parsed(&format!("{bomb}{}", document("'0.2'", REQUESTS, "*a11", "{}"))).is_err());
    let deep = format!("deep: {}{}\n", "[".repeat(2_000), "]".repeat(2_000));
    let report = parsed(&format!("{}{deep}", document("'0.2'", REQUESTS, "{}", "{}"))).unwrap();
    assert_eq!(report.unknown_keys, ["deep"]);
    let throughput = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    assert!(parsed(&document("'0.2'", REQUESTS, "{}", &throughput)).is_err());
}

/// Runs a Python program over converted documents, when an interpreter with its needs is named.
fn python(program: &str, folder: &Path, environment: &[(&str, &str)]) -> Option<(bool, String)> {
    let interpreter = std::env::var_os("LLM_D_BENCHMARK_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = Command::new(interpreter);
    command.args(["-c", program]).arg(folder).envs(environment.iter().copied());
    let output = command.output().ok()?;
    Some((output.status.success(), format!("{}{}", text(&output.stdout), text(&output.stderr))))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn write_all(folder: &Path) -> usize {
    let mut count = 0;
    for name in ["0.4", "0.5", "0.6", "0.7-streaming", "0.7-unary", "0.7-concurrent", "0.7-chunked"] {
        for document in converted(name) {
            fs_err::write(folder.join(format!("{name}-{}", document.file_name)), document.text).unwrap();
            count += 1;
        }
    }
    count
}

/// llm-d-benchmark's own model accepts what is written here. Needs `LLM_D_BENCHMARK_DIR` (a checkout) and a Python with
/// pydantic, PyYAML and numpy (`LLM_D_BENCHMARK_PYTHON`, otherwise `python3`).
#[test]
fn llm_d_benchmark_s_own_model_accepts_every_converted_document() {
    let Ok(checkout) = std::env::var("LLM_D_BENCHMARK_DIR") else {
        eprintln!("SKIPPED: LLM_D_BENCHMARK_DIR names no checkout of llm-d-benchmark");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let count = write_all(folder.path());
    let program = "
import os, sys
sys.path.insert(0, os.path.join(os.environ['LLM_D_BENCHMARK_DIR'], 'llmdbenchmark', 'analysis'))
from benchmark_report import import_benchmark_report
n = 0
for name in sorted(os.listdir(sys.argv[1])):
    report = import_benchmark_report(os.path.join(sys.argv[1], name))
    assert report.version == '0.2', name
    n += 1
print('accepted', n)
";
    let (ok, output) = python(program, folder.path(), &[("LLM_D_BENCHMARK_DIR", &checkout)]).expect("python3 starts");
    assert!(ok && output.contains(&format!("accepted {count}")), "{output}");
}

/// What PyYAML reads from a document equals what is read here, value by value and type by type.
#[test]
fn pyyaml_reads_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path());
    let program = "
import json, os, sys
try:
    import yaml
except ImportError:
    print('SKIPPED'); sys.exit(0)
read = {n: yaml.safe_load(open(os.path.join(sys.argv[1], n))) for n in os.listdir(sys.argv[1])}
print(json.dumps(read))
";
    let Some((true, output)) = python(program, folder.path(), &[]) else {
        eprintln!("SKIPPED: no python3");
        return;
    };
    if output.starts_with("SKIPPED") {
        eprintln!("SKIPPED: python3 has no PyYAML");
        return;
    }
    let theirs: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&output).unwrap();
    for (name, theirs) in theirs {
        let text = fs_err::read_to_string(folder.path().join(&name)).unwrap();
        let ours: serde_json::Value = serde_yaml::from_str(&text).unwrap();
        assert_eq!(theirs, ours, "{name}");
    }
}
