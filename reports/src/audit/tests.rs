use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

/// Evidence of real runs of inference-perf 0.7.0: `streamed`; `failing` (three tokens a chunk, a third of the requests
/// answered 503, the server's token counts used); `concurrent`; `all-failed`.
fn evidence(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/audit/testdata").join(name)
}

/// A copy of real evidence with its records as text, for a test to spoil.
struct Copy {
    dir: tempfile::TempDir,
    records: String,
}

impl Copy {
    fn of(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut records = String::new();
        for entry in fs::read_dir(evidence(name)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "gz") {
                input::open(&path).unwrap().read_to_string(&mut records).unwrap();
            } else {
                fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
            }
        }
        Self { dir, records }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn audit(&self) -> Outcome {
        fs::write(self.file(native::PER_REQUEST_FILE), &self.records).unwrap();
        audit_repetition(self.dir.path())
    }

    fn edit(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.file(name)).unwrap();
        assert!(text.contains(from), "{name} does not contain {from}");
        fs::write(self.file(name), text.replacen(from, to, 1)).unwrap();
    }
}

fn compared(outcome: Outcome) -> Comparison {
    match outcome {
        Outcome::Compared(comparison) => comparison,
        outcome => panic!("{outcome:?}"),
    }
}

fn differences(comparison: &Comparison) -> Vec<(String, Vec<String>)> {
    let fields = |document: &DocumentAgreement| {
        document.agreement.differences.iter().map(|difference| difference.field.clone()).collect()
    };
    let differing = comparison.documents.iter().filter(|document| !document.agrees());
    differing.map(|document| (document.document.clone(), fields(document))).collect()
}

fn unreadable(outcome: Outcome) -> String {
    match outcome {
        Outcome::Unreadable { error } => error,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn every_number_that_the_harness_wrote_follows_from_its_records() {
    for (name, counts) in [
        ("streamed", vec![12, 36, 75]),
        ("failing", vec![12, 36, 75]),
        ("concurrent", vec![20, 30]),
        ("all-failed", vec![10, 18]),
    ] {
        let comparison = compared(audit_repetition(&evidence(name)));
        assert_eq!(differences(&comparison), [], "{name}");
        assert_eq!(comparison.stages.counts, counts, "{name}");
        assert_eq!(comparison.stages.counts_from, Some("config.yaml"), "{name}");
        assert!(comparison.stages.as_planned, "{name}");
        assert_eq!(comparison.percentile_error, 0.0, "{name}");
        let fields = if name == "all-failed" { 4 } else { 100 };
        for document in comparison.documents.iter().filter(|document| document.document.ends_with("json")) {
            assert!(document.agreement.agreeing >= fields, "{name}: {document:?}");
        }
    }
}

#[test]
fn records_of_every_version_are_understood() {
    for version in ["0.4", "0.5", "0.6"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/native").join(version);
        let text = fs::read_to_string(path.join(native::PER_REQUEST_FILE)).unwrap();
        let expected: Vec<native::Record> = serde_json::from_str(&text).unwrap();
        let mut scanner = Scanner::new(text.as_bytes());
        let (mut record, mut first) = (Record::default(), true);
        scanner.expect(b'[', "").unwrap();
        for expected in &expected {
            assert!(scanner.member(b']', &mut first).unwrap());
            record.read(&mut scanner).unwrap();
            assert_eq!((record.start, record.end), (Some(expected.start_time), Some(expected.end_time)), "{version}");
            assert_eq!(record.failed, !expected.succeeded(), "{version}");
            assert_eq!(record.input_tokens, expected.input_tokens(), "{version}");
            assert_eq!(record.output_tokens, expected.output_tokens(), "{version}");
            assert_eq!(record.server_output_tokens, expected.server_output_tokens(), "{version}");
            assert_eq!(record.token_times, expected.token_times(), "{version}");
        }
        assert!(!scanner.member(b']', &mut first).unwrap());
    }
}

#[test]
fn a_changed_number_is_named_with_both_values() {
    let copy = Copy::of("streamed");
    let path = copy.file("stage_1_lifecycle_metrics.json");
    let mut document: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    document["successes"]["latency"]["time_to_first_token"]["p99"] = 9.5.into();
    document["successes"]["latency"]["time_to_first_token"]["p99.9"] = 9.6.into();
    document["successes"]["latency"]["time_to_first_token"]["max"] = 9.7.into();
    fs::write(&path, document.to_string()).unwrap();
    let comparison = compared(copy.audit());
    let fields = ["latency.ttft.p99", "latency.ttft.p99p9", "latency.ttft.max"].map(str::to_owned).to_vec();
    assert_eq!(differences(&comparison), [("stage_1_lifecycle_metrics.json".to_owned(), fields)]);
    let difference = comparison.documents.iter().find_map(|document| document.agreement.differences.first()).unwrap();
    assert_eq!(difference.stored, 9.5);
    assert!(difference.recomputed.is_some_and(|ours| ours > 0.0 && ours < 1.0));
}

#[test]
fn whole_run_numbers_attached_to_a_stage_are_found() {
    let copy = Copy::of("streamed");
    let summary = fs::read_to_string(copy.file(native::SUMMARY_FILE)).unwrap();
    fs::write(copy.file("stage_2_lifecycle_metrics.json"), summary).unwrap();
    let comparison = compared(copy.audit());
    let found = differences(&comparison);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "stage_2_lifecycle_metrics.json");
    assert_eq!(found[0].1[0], "requests.total");
}

#[test]
fn a_failed_request_is_no_latency_of_zero() {
    let comparison = compared(audit_repetition(&evidence("failing")));
    let failures: u64 = comparison.stages.counts.iter().sum();
    assert_eq!(failures, 123);
    // Counting failures as 0 s would make every minimum 0, which the documents contradict.
    let copy = Copy::of("failing");
    copy.edit(
        "stage_2_lifecycle_metrics.json",
        "\"failures\": {\n    \"count\": 2",
        "\"failures\": {\n    \"count\": 1",
    );
    assert!(!copy.audit().agrees());
}

#[test]
fn records_cut_short_are_an_error_that_says_where() {
    let mut copy = Copy::of("streamed");
    copy.records.truncate(copy.records.len() / 2);
    let error = unreadable(copy.audit());
    assert!(error.contains("the file is cut short"), "{error}");
    assert!(error.contains("at byte 87675"), "{error}");
}

#[test]
fn a_truncated_gzip_file_is_an_error_and_not_fewer_records() {
    let copy = Copy::of("streamed");
    let packed = fs::read(evidence("streamed").join("per_request_lifecycle_metrics.json.gz")).unwrap();
    fs::write(copy.file("per_request_lifecycle_metrics.json.gz"), &packed[..packed.len() - 5000]).unwrap();
    let error = unreadable(audit_repetition(copy.dir.path()));
    assert!(error.contains("cut short"), "{error}");
    fs::write(copy.file("per_request_lifecycle_metrics.json.gz"), &packed[..packed.len() - 4]).unwrap();
    let error = unreadable(audit_repetition(copy.dir.path()));
    assert!(error.contains("cut short"), "{error}");
}

#[test]
fn gzip_members_that_were_concatenated_are_one_text() {
    let copy = Copy::of("concurrent");
    let mut packed = Vec::new();
    for half in [&copy.records[..20_000], &copy.records[20_000..]] {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(half.as_bytes()).unwrap();
        packed.extend(encoder.finish().unwrap());
    }
    fs::write(copy.file("per_request_lifecycle_metrics.json.gz"), packed).unwrap();
    assert!(audit_repetition(copy.dir.path()).agrees());
}

#[test]
fn an_empty_file_is_not_an_empty_run() {
    let mut copy = Copy::of("streamed");
    copy.records.clear();
    assert!(unreadable(copy.audit()).ends_with("is empty"));
    copy.records = "[]".into();
    assert!(matches!(copy.audit(), Outcome::NotSeparable { records: 0, stages: 3, .. }));
}

#[test]
fn what_is_no_array_of_records_is_refused() {
    let mut copy = Copy::of("streamed");
    for text in ["{}", "[1]", "[{}] trailing", "null", "[{\"start_time\": 1,}]", "[{\"error\" null}]", "\u{feff}[]"] {
        copy.records = text.into();
        let error = unreadable(copy.audit());
        assert!(error.contains("is not valid at byte"), "{text}: {error}");
    }
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let copy = Copy::of("streamed");
    let mut bytes = copy.records.clone().into_bytes();
    let hole = bytes.len() / 3;
    bytes[hole..hole + 300].fill(0);
    fs::write(copy.file(native::PER_REQUEST_FILE), bytes).unwrap();
    let error = unreadable(audit_repetition(copy.dir.path()));
    assert!(error.contains("is not valid at byte"), "{error}");
}

#[test]
fn a_record_without_clocks_shows_as_a_missing_request() {
    let mut copy = Copy::of("streamed");
    copy.records = copy.records.replacen("\"end_time\"", "\"ended\"", 1);
    let comparison = compared(copy.audit());
    assert_eq!(comparison.stages.unusable_records, 1);
    assert_eq!(comparison.records, 123);
    let found = differences(&comparison);
    let (document, fields) = found.iter().find(|(document, _)| document.starts_with("stage_0")).unwrap();
    assert_eq!((document.as_str(), fields[0].as_str()), ("stage_0_lifecycle_metrics.json", "requests.total"));
}

#[test]
fn records_without_response_metadata_leave_token_latencies_unjudged() {
    let mut copy = Copy::of("streamed");
    copy.records = copy.records.replace("\"response_metrics\"", "\"left_out\"");
    let comparison = compared(copy.audit());
    let fields: Vec<String> = differences(&comparison).into_iter().flat_map(|(_, fields)| fields).collect();
    assert!(!fields.iter().any(|field| field.contains("ttft") || field.contains("itl")), "{fields:?}");
    assert!(fields.iter().any(|field| field == "throughput.output_tokens"), "{fields:?}");
}

#[test]
fn metrics_that_the_harness_computed_stand_in_for_metadata_that_was_left_out() {
    let mut copy = Copy::of("failing");
    copy.edit("config.yaml", "use_server_output_tokens: true", "use_server_output_tokens: false");
    copy.records = copy.records.replace("\"info\"", "\"left_out\"");
    let comparison = compared(copy.audit());
    let fields: Vec<String> = differences(&comparison).into_iter().flat_map(|(_, fields)| fields).collect();
    assert!(fields.iter().all(|field| !field.contains("ttft") && !field.contains("itl")), "{fields:?}");
}

#[test]
fn prompts_of_any_length_are_passed_over() {
    let mut copy = Copy::of("concurrent");
    let prompt = format!("{{\"request\": \"{}\", ", "a \\\"long\\\" prompt é ".repeat(100_000));
    copy.records = copy.records.replacen('{', &prompt, 1);
    assert!(copy.audit().agrees());
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_to_records_is_refused() {
    let copy = Copy::of("streamed");
    let target = evidence("streamed").join("per_request_lifecycle_metrics.json.gz");
    std::os::unix::fs::symlink(target, copy.file("per_request_lifecycle_metrics.json.gz")).unwrap();
    assert!(unreadable(audit_repetition(copy.dir.path())).contains("not a regular file"));
}

#[test]
fn a_folder_with_nothing_to_audit_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(audit(dir.path()), Err(Error::NothingThere(_))));
    fs::write(
        dir.path().join(manifest::FILE_NAME),
        "schema_version: 1\ncampaign_id: c\nsuite: llm-d-benchmark\ntreatments: {service: {repetitions: {'1': {}}}}\n",
    )
    .unwrap();
    assert!(matches!(audit(dir.path()), Err(Error::NoRecords(_))));
}

#[test]
fn every_complete_repetition_of_a_campaign_is_audited() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join(manifest::FILE_NAME),
        "schema_version: 1\ncampaign_id: c\nsuite: llm-d-benchmark\ntreatments:\n  service:\n    repetitions: {'1': {}, '2': \
         {status: failed, reason: x}, '3': {}}\n",
    )
    .unwrap();
    let folder = dir.path().join("runs/service/repetition-1");
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(evidence("concurrent")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let audit = audit(dir.path()).unwrap();
    let numbers: Vec<_> = audit.repetitions.iter().map(|repetition| repetition.repetition).collect();
    assert_eq!(numbers, [Some(1), Some(3)]);
    assert!(audit.agrees());
    assert_eq!(audit.repetitions[1].outcome, Outcome::NoRecords);
}
