//! Files that inference-perf 0.4.0, 0.5.0, 0.6.1 and 0.7.0 really wrote.

use std::path::{Path, PathBuf};

use super::*;
use crate::model::{Latency, Level, Metric, Quantity, Stage, Statistic};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/native").join(name)
}

fn stages(name: &str) -> Vec<Stage> {
    let results = Results::read(&fixture(name)).unwrap();
    results.stages.into_iter().map(|file| file.stage).collect()
}

fn stage_of(text: &str) -> Result<Stage, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(stage_file_name(0));
    fs_err::write(&path, text).unwrap();
    StageFile::read(&path, 0).map(|file| file.stage)
}

#[test]
fn every_version_s_input_lengths_and_latencies_are_read() {
    for version in ["0.4", "0.5", "0.6", "0.7-streaming"] {
        let stage = stages(version).swap_remove(0);
        assert_eq!(stage.requests.input_length.unwrap().mean, Some(52.0), "{version}");
        for quantity in Quantity::ALL {
            for statistic in [Statistic::Mean, Statistic::P50, Statistic::P90] {
                assert!(
                    Metric::Latency(quantity, statistic).of(&stage).is_some(),
                    "{version} {quantity} {statistic:?}"
                );
            }
        }
        assert!(stage.throughput.output_tokens.unwrap() > 0.0, "{version}");
    }
}

#[test]
fn a_stage_in_which_every_request_failed_has_no_latency() {
    let stage = stages("0.7-streaming").swap_remove(3);
    assert!(stage.all_failed());
    assert_eq!(stage.latency, Latency::default());
    assert_eq!(stage.throughput.output_tokens, None, "the file says 0.0");
    assert_eq!(stage.requests.failures_by_label[0].label, "503 - Service Unavailable");
    assert_eq!(stage.requests.failures_by_label[0].count, 8);
}

#[test]
fn a_single_request_has_no_achieved_rate() {
    let stage = stages("0.7-streaming").swap_remove(4);
    assert_eq!(stage.requests.total, 1);
    assert_eq!(stage.load.achieved_rate, None, "the file says 0.0");
    assert_eq!(stage.load.requested_rate, Some(1.0));
}

#[test]
fn failures_within_a_stage_are_counted_by_label() {
    let stage = stages("0.7-streaming").swap_remove(2);
    assert_eq!((stage.requests.total, stage.requests.failures), (32, Some(2)));
    assert_eq!(stage.requests.failure_rate(), Some(2.0 / 32.0));
}

#[test]
fn a_run_without_streaming_has_request_latency_only() {
    let stage = stages("0.7-unary").swap_remove(1);
    assert!(stage.latency.request.is_some() && stage.latency.ntpot.is_some());
    assert!(stage.latency.ttft.is_none() && stage.latency.itl.is_none() && stage.latency.tpot.is_none());
}

#[test]
fn a_concurrent_stage_has_a_concurrency_and_no_rate() {
    let stage = stages("0.7-concurrent").swap_remove(1);
    assert_eq!(stage.level(), Some(Level::Concurrency(4)));
    assert_eq!(stage.load.requested_rate, None, "the file says 16, which is its number of requests");
    assert!(stage.load.achieved_rate.is_some());
}

#[test]
fn several_tokens_in_a_chunk_flag_the_median_gap() {
    assert!(stages("0.7-chunked")[1].itl_is_chunked());
    assert!(!stages("0.7-streaming")[0].itl_is_chunked());
}

#[test]
fn stages_come_in_numeric_order_and_by_exact_name() {
    let folder = tempfile::tempdir().unwrap();
    let others = [
        "stage_0_prometheus_metrics.json",
        "adapter_a_stage_0_lifecycle_metrics.json",
        "stage_1_lifecycle_metrics.json.tmp",
        "stage_01_lifecycle_metrics.json",
        "stage_+1_lifecycle_metrics.json",
        SUMMARY_FILE,
    ];
    let names = [stage_file_name(10), stage_file_name(2), stage_file_name(0)];
    for name in names.iter().map(String::as_str).chain(others) {
        fs_err::write(folder.path().join(name), "{}").unwrap();
    }
    let numbers: Vec<_> = stage_files(folder.path()).unwrap().into_iter().map(|(number, _)| number).collect();
    assert_eq!(numbers, [0, 2, 10]);
}

#[test]
fn an_empty_folder_has_no_stages() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Results::read(folder.path()), Err(Error::NoStages { .. })));
}

#[test]
fn truncated_empty_and_senseless_files_are_named_errors() {
    let real = fs_err::read_to_string(fixture("0.7-streaming").join(stage_file_name(1))).unwrap();
    let cut = stage_of(&real[..real.len() / 2]).unwrap_err().to_string();
    assert!(cut.contains("stage_0_lifecycle_metrics.json: EOF while parsing"), "{cut}");
    let empty = stage_of("").unwrap_err().to_string();
    assert!(empty.ends_with("the file is empty"), "{empty}");
    let nan = real.replacen("\"achieved_rate\": ", "\"achieved_rate\": NaN, \"was\": ", 1);
    assert!(matches!(stage_of(&nan), Err(Error::Json { .. })));
    for (from, to, says) in [
        ("\"count\": 8", "\"count\": 9", "load_summary.count: 8 succeeded and 0 failed of 9"),
        ("\"benchmark_time_seconds\": ", "\"benchmark_time_seconds\": -", "benchmark_time_seconds: is negative"),
        ("\"requested_rate\": 4.0", "\"requested_rate\": true", "invalid type: boolean"),
        ("\"requested_rate\": 4.0", "\"requested_rate\": \"4\"", "invalid type: string"),
    ] {
        assert!(real.contains(from), "{from}");
        let error = stage_of(&real.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn warnings_of_the_harness_are_not_errors() {
    let validation = Validation::read(&fixture("0.7-streaming")).unwrap().unwrap();
    assert!(!validation.warnings.is_empty());
    assert_eq!(validation.errors, []);
    assert_eq!(Validation::read(&fixture("0.4")).unwrap(), None);
}

#[test]
fn the_configuration_tells_the_data_s_shape_by_old_and_new_names() {
    for version in ["0.4", "0.7-streaming"] {
        let config = Config::read(&fixture(version)).unwrap().unwrap();
        let data = config.data();
        assert_eq!((data.prefix, data.groups, data.prompts_per_group), (Some(40), Some(4), Some(4)), "{version}");
        assert_eq!(data.input, Some(("fixed".to_owned(), 52.0)), "{version}");
        assert_eq!(config.planned_stages(), Some(stages(version).len()), "{version}");
    }
}

#[test]
fn secrets_and_folders_never_leave_a_configuration() {
    let text = "
server: {api_key: sk-1, base_url: 'https://user:pass@host:8000/v1?x=@'}
tokenizer: {token: hf_2, pretrained_model_name_or_path: /home/someone/tok}
api: {headers: {Authorization: Bearer 3}, streaming: true}
storage: {local_storage: {path: results}}
";
    let redacted = Config(serde_yaml::from_str(text).unwrap()).redacted();
    let text = serde_yaml::to_string(&redacted.0).unwrap();
    for secret in ["sk-1", "pass", "user", "hf_2", "Bearer", "someone"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert_eq!(redacted.get(&["server", "base_url"]).unwrap(), "https://host:8000/v1?x=@");
    assert_eq!(redacted.get(&["tokenizer", "pretrained_model_name_or_path"]).unwrap(), "tok");
    assert_eq!(redacted.get(&["storage", "local_storage", "path"]).unwrap(), "results");
}

#[test]
fn the_workload_s_hash_ignores_where_it_is_sent() {
    let one = Config(serde_yaml::from_str("{server: {base_url: a}, load: {base_seed: 1, type: poisson}}").unwrap());
    let other = Config(serde_yaml::from_str("{server: {base_url: b}, load: {base_seed: 2, type: poisson}}").unwrap());
    assert_eq!(one.workload(), other.workload());
}

#[test]
fn records_of_every_version_yield_the_same_numbers() {
    for version in ["0.4", "0.5", "0.6"] {
        let text = fs_err::read_to_string(fixture(version).join(PER_REQUEST_FILE)).unwrap();
        let records: Vec<Record> = serde_json::from_str(&text).unwrap();
        let record = &records[0];
        assert!(record.succeeded(), "{version}");
        assert_eq!((record.input_tokens(), record.output_tokens()), (Some(52.0), Some(10.0)), "{version}");
        assert!(record.ttft().unwrap() > 0.0, "{version}");
        assert!(record.gaps().count() > 1, "{version}");
        let failed = &records[2];
        assert!(!failed.succeeded() && failed.ttft().is_none(), "{version}");
    }
}

#[test]
fn a_record_s_numbers_are_those_that_the_harness_computed() {
    let file = fs_err::File::open(fixture("0.7-streaming").join(format!("{PER_REQUEST_FILE}.gz"))).unwrap();
    let records: Vec<Record> = serde_json::from_reader(flate2::read::GzDecoder::new(file)).unwrap();
    assert_eq!(records.len(), 65);
    for record in records.iter().filter(|record| record.succeeded()) {
        let computed = record.computed_metrics.as_ref().unwrap();
        assert_eq!(Some(record.request_latency()), computed.request_latency);
        assert_eq!(record.ttft(), computed.time_to_first_token);
        assert_eq!(record.tpot(), computed.time_per_output_token);
        assert_eq!(record.ntpot(), computed.normalized_time_per_output_token);
        assert_eq!(record.gaps().collect::<Vec<_>>(), *computed.inter_token_latencies.as_ref().unwrap());
    }
}
