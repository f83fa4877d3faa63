//! What is read of a campaign's folder, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up must fail")]

mod support;

use std::os::unix::fs::symlink;
use std::path::Path;

use reports::campaign::{self, Campaign, Error};
use reports::compare::{self, Options, Word, compare};
use reports::manifest::Manifest;
use reports::model::{Level, Metric, Quantity, Statistic};

struct Folder(tempfile::TempDir);

impl Folder {
    fn published() -> Self {
        let folder = tempfile::tempdir().unwrap();
        support::published(folder.path());
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read(&self) -> Result<Campaign, Error> {
        campaign::read(self.path())
    }

    fn refusal(&self) -> String {
        self.read().unwrap_err().to_string().replace(&self.path().display().to_string(), "CAMPAIGN")
    }

    fn manifest(&self, change: impl FnOnce(&mut Manifest)) {
        let path = self.path().join("campaign-manifest.yaml");
        let mut manifest = Manifest::read(&path).unwrap();
        change(&mut manifest);
        fs_err::write(path, manifest.to_yaml().unwrap()).unwrap();
    }

    /// Adds repetitions 2 and 3 with the same figures to two treatments.
    fn three_repetitions(self) -> Self {
        for (treatment, table) in [("service", support::GATEWAY), ("agentgateway-gateway", support::GATEWAY)] {
            for number in [3, 2] {
                support::repetition(self.path(), treatment, number, table);
                self.manifest(|manifest| manifest.repetition_mut(treatment, number).set("config_sha256", "0"));
            }
        }
        self
    }

    fn stage_file(&self, treatment: &str, repetition: u32, stage: u32) -> std::path::PathBuf {
        support::dir(self.path(), treatment, repetition).join(support::Stage::number(stage).file(treatment))
    }

    fn edit(&self, treatment: &str, repetition: u32, stage: u32, from: &str, to: &str) {
        let path = self.stage_file(treatment, repetition, stage);
        let text = fs_err::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from} in {text}");
        fs_err::write(path, text.replace(from, to)).unwrap();
    }

    fn edit_all(&self, treatment: &str, repetition: u32, from: &str, to: &str) {
        (0..17).for_each(|stage| self.edit(treatment, repetition, stage, from, to));
    }
}

#[test]
fn stages_come_in_numeric_order() {
    let campaign = Folder::published().read().unwrap();
    let numbers: Vec<_> = campaign.treatments[0].repetitions[0].stages.iter().map(|stage| stage.number).collect();
    assert_eq!(numbers, (0..17).collect::<Vec<_>>());
}

#[test]
fn a_stage_in_both_versions_is_one_stage() {
    let folder = Folder::published();
    let row = &support::rows(support::GATEWAY, "service")[4];
    let newer = support::Stage { version: "0.2.1", ..support::Stage::number(5) };
    support::write(&support::dir(folder.path(), "service", 1), "service", &newer, row);
    assert_eq!(folder.read().unwrap().treatments[0].repetitions[0].stages.len(), 17);

    let mut other = row.clone();
    other[13] += 1.0;
    support::write(&support::dir(folder.path(), "service", 1), "service", &newer, &other);
    assert!(folder.refusal().ends_with("stage 5: its v0.2 and v0.2.1 documents count different requests"));
}

#[test]
fn what_a_run_has_just_put_in_its_place_and_not_registered_yet_is_not_read() {
    let folder = Folder::published();
    support::repetition(folder.path(), "service", 2, support::GATEWAY);
    fs_err::write(folder.path().join("campaign.lock"), "").unwrap();
    assert_eq!(folder.read().unwrap().treatments[0].repetitions.len(), 1);
    fs_err::remove_file(folder.path().join("campaign.lock")).unwrap();
    assert!(folder.refusal().ends_with("the manifest does not register it"));
}

#[test]
fn a_registered_repetition_without_evidence_is_refused_and_the_other_way_round() {
    let folder = Folder::published();
    fs_err::rename(support::dir(folder.path(), "service", 1), support::dir(folder.path(), "service", 2)).unwrap();
    assert_eq!(
        folder.refusal(),
        "CAMPAIGN/runs/service/repetition-2: holds evidence, but the manifest does not register it"
    );
    fs_err::remove_dir_all(support::dir(folder.path(), "service", 2)).unwrap();
    let missing = "treatment service: repetition 1 is registered in the manifest, but CAMPAIGN/runs/service/repetition-1 holds \
                   no evidence";
    assert_eq!(folder.refusal(), missing);
    fs_err::create_dir(support::dir(folder.path(), "service", 1)).unwrap();
    assert_eq!(folder.refusal(), missing, "an empty folder is no evidence");
}

#[test]
fn links_are_refused_wherever_evidence_should_be() {
    for place in ["runs", "runs/service", "runs/service/repetition-1"] {
        let folder = Folder::published();
        let path = folder.path().join(place);
        let elsewhere = tempfile::tempdir().unwrap();
        fs_err::rename(&path, elsewhere.path().join("moved")).unwrap();
        symlink(elsewhere.path().join("moved"), &path).unwrap();
        assert_eq!(folder.refusal(), format!("CAMPAIGN/{place}: expected a folder, found a symbolic link"));
    }
    let folder = Folder::published();
    let file = folder.stage_file("service", 1, 3);
    fs_err::rename(&file, folder.path().join("moved")).unwrap();
    symlink(folder.path().join("moved"), &file).unwrap();
    assert!(folder.refusal().ends_with("expected a regular file, found a symbolic link"));
}

#[test]
fn an_empty_or_corrupt_document_is_a_named_error() {
    let folder = Folder::published();
    fs_err::write(folder.stage_file("service", 1, 3), "").unwrap();
    assert!(folder.refusal().ends_with("stage_3_lifecycle_metrics.json.yaml: the file is empty"));
    fs_err::write(folder.stage_file("service", 1, 3), b"version: '0.2'\n\xff").unwrap();
    assert!(folder.refusal().contains("not UTF-8 text at byte 15"));
    fs_err::write(folder.stage_file("service", 1, 3), "version: ['0.2'\n").unwrap();
    assert!(folder.refusal().contains("stage_3_lifecycle_metrics.json.yaml: "));
}

#[test]
fn unknown_keys_are_warnings() {
    let folder = Folder::published();
    folder.edit("service", 1, 2, "requests: {total", "requests: {extra: 1, total");
    folder.manifest(|manifest| {
        manifest.unknown.insert("later".into(), "x".into());
    });
    assert_eq!(
        folder.read().unwrap().warnings,
        [
            "campaign-manifest.yaml: unknown key \"later\" kept",
            "service, repetition 1, stage 2: unknown key results.request_performance.aggregate.requests.extra ignored",
        ]
    );
}

#[test]
fn a_folder_under_construction_is_not_read() {
    let folder = Folder::published();
    fs_err::create_dir(folder.path().join("runs/service/.repetition-2.partial")).unwrap();
    assert_eq!(folder.read().unwrap().treatments[0].repetitions.len(), 1);
}

#[test]
fn an_unfinished_repetition_is_named_and_not_averaged_in() {
    let folder = Folder::published().three_repetitions();
    fs_err::create_dir_all(folder.path().join("work/service/repetition-4")).unwrap();
    folder.manifest(|manifest| {
        let entry = manifest.repetition_mut("agentgateway-gateway", 4);
        entry.set("status", "failed");
        entry.set("reason", "the load stopped");
    });
    let campaign = folder.read().unwrap();
    let comparison = compare(&campaign, "service", "agentgateway-gateway", &Options::default()).unwrap();
    assert_eq!(comparison.baseline.repetitions, [1, 2, 3]);
    assert_eq!(comparison.baseline.failed[0].number, 4);
    assert_eq!(comparison.candidate.failed[0].reason.as_deref(), Some("the load stopped"));
    assert!(comparison.notes.iter().any(|note| note == "service: repetition 4 failed and is in no number here."));
}

#[test]
fn a_ladder_shorter_than_planned_is_refused() {
    let folder = Folder::published();
    let stages = vec!["{rate: 1, duration: 1}"; 18].join(", ");
    let config = format!("load: {{type: poisson, stages: [{stages}]}}\n");
    fs_err::write(support::dir(folder.path(), "service", 1).join("config.yaml"), config).unwrap();
    assert!(folder.refusal().ends_with("17 of 18 planned stages have a document"));
}

#[test]
fn repetitions_that_measured_something_else_are_refused_by_field() {
    let folder = Folder::published().three_repetitions();
    folder.edit("service", 3, 16, "rate_qps: 60", "rate_qps: 61");
    let error = folder.refusal();
    assert!(
        error.starts_with("treatment service: repetitions 1 and 3 cannot be put together: ladder (0:15 1:3 "),
        "{error}"
    );

    let folder = Folder::published().three_repetitions();
    folder.edit_all("service", 2, "replicas: 8", "replicas: 4");
    let error = folder.refusal();
    assert!(error.ends_with("vllm-svc-0 replicas (8 v 4)"), "{error}");

    let folder = Folder::published();
    folder.edit("service", 1, 7, "replicas: 8", "replicas: 4");
    assert!(folder.refusal().ends_with("stage 7 names another stack: vllm-svc-0 replicas (8 v 4)"));
}

#[test]
fn treatments_that_were_not_measured_alike_are_refused_with_every_field() {
    let folder = Folder::published();
    folder.edit_all("agentgateway-gateway", 1, "tp: 2,", "tp: 4,");
    folder.edit_all("agentgateway-gateway", 1, "tool_version: 0.6.1", "tool_version: 0.7.0");
    fs_err::remove_file(folder.stage_file("agentgateway-gateway", 1, 16)).unwrap();
    let campaign = folder.read().unwrap();
    let error = compare(&campaign, "service", "agentgateway-gateway", &Options::default()).unwrap_err().to_string();
    for field in [
        "service and agentgateway-gateway cannot be compared: ladder (",
        "harness version (0.6.1 v 0.7.0)",
        "vllm-svc-0 parallelism (tp=2 dp=1 dp_local=1 workers=1 ep=1 pp=1 v tp=4 dp=1",
    ] {
        assert!(error.contains(field), "{field} in {error}");
    }
}

#[test]
fn different_numbers_of_repetitions_are_refused() {
    let campaign = Folder::published().three_repetitions().read().unwrap();
    let error = compare(&campaign, "service", "agentgateway-standalone", &Options::default()).unwrap_err().to_string();
    assert_eq!(error, "service and agentgateway-standalone cannot be compared: repetitions (3 v 1)");
}

#[test]
fn unknown_and_equal_treatments_are_refused() {
    let campaign = Folder::published().read().unwrap();
    let of = |a, b| compare(&campaign, a, b, &Options::default()).unwrap_err().to_string();
    assert_eq!(
        of("service", "envoy"),
        "the campaign has no treatment \"envoy\"; it has service, agentgateway-standalone, agentgateway-gateway"
    );
    assert_eq!(of("service", "service"), "treatment service would be compared with itself");
}

#[test]
fn three_repetitions_tell_and_their_order_does_not_matter() {
    let folder = Folder::published().three_repetitions();
    let mut campaign = folder.read().unwrap();
    let top = |campaign: &Campaign| {
        let comparison = compare(campaign, "service", "agentgateway-gateway", &Options::default()).unwrap();
        comparison.headline.into_iter().map(|row| row.delta).collect::<Vec<_>>()
    };
    let deltas = top(&campaign);
    let words: Vec<_> = deltas.iter().map(|delta| delta.verdict.word).collect();
    assert_eq!(words, [Word::Better, Word::Better, Word::Better, Word::Better, Word::Worse]);
    campaign.treatments[0].repetitions.reverse();
    assert_eq!(top(&campaign), deltas);
}

#[test]
fn the_highest_rate_within_limits_is_named() {
    let campaign = Folder::published().read().unwrap();
    let options = Options { slo: Some("ttft_p90=1s".parse().unwrap()) };
    let comparison = compare(&campaign, "service", "agentgateway-gateway", &options).unwrap();
    let highest = |series: &compare::Series| series.slo.as_ref().unwrap().highest_met;
    assert_eq!(highest(&comparison.baseline), Some(Level::Rate(10.0)));
    assert_eq!(highest(&comparison.candidate), Some(Level::Rate(60.0)));
}

#[test]
fn numbers_that_the_document_cannot_hold_come_from_the_native_file_beside_it() {
    let folder = Folder::published();
    let native = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/native/0.7-streaming");
    let text = fs_err::read_to_string(native.join("stage_1_lifecycle_metrics.json")).unwrap();
    let sixty = text.replacen("\"count\": 8", "\"count\": 60", 2);
    let path = support::dir(folder.path(), "service", 1).join("stage_1_lifecycle_metrics.json");
    fs_err::write(&path, sixty).unwrap();
    let campaign = folder.read().unwrap();
    let stage = &campaign.treatments[0].repetitions[0].stages[1];
    assert!(stage.load.achieved_rate.is_some() && stage.load.schedule_delay.is_some());
    assert_eq!(Metric::RequestRate.of(stage), Some(1.5977216973053003), "the document's own numbers stay");
    fs_err::write(&path, text).unwrap();
    assert!(folder.refusal().ends_with("stage 1: the document counts 60 requests, the native file 8"));
}

#[test]
fn bare_result_folders_become_treatments() {
    let native = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/native").join(name);
    let folders = [("a".to_owned(), native("0.7-unary")), ("b".to_owned(), native("0.7-chunked"))];
    let campaign = campaign::from_native(&folders).unwrap();
    let comparison = compare(&campaign, "a", "b", &Options::default()).unwrap();
    let ttft = comparison.levels[0].delta(Metric::Latency(Quantity::Ttft, Statistic::P50)).unwrap();
    assert_eq!(ttft.verdict.reason, "the baseline does not have this number");
    assert!(comparison.notes.iter().any(|note| note.starts_with("b: several tokens arrive in one chunk")));

    let error = campaign::from_native(&[("../x".to_owned(), native("0.7-unary"))]).unwrap_err().to_string();
    assert_eq!(error, "../x: the name contains a path separator");
}

#[test]
fn a_concurrent_ladder_is_keyed_by_concurrency() {
    let native = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/native/0.7-concurrent");
    let folders = [("a".to_owned(), native.clone()), ("b".to_owned(), native)];
    let campaign = campaign::from_native(&folders).unwrap();
    let comparison = compare(&campaign, "a", "b", &Options::default()).unwrap();
    let levels: Vec<_> = comparison.levels.iter().map(|row| row.level).collect();
    assert_eq!(levels, [Level::Concurrency(2), Level::Concurrency(4)]);
    assert!(comparison.headline[1].label.ends_with("at 4 requests in flight"));
}

#[test]
fn a_published_table_that_cannot_be_meant_is_refused_by_line() {
    let of = |text: &str| {
        let error = campaign::from_metrics("x".as_ref(), Manifest::default(), text).unwrap_err();
        error.to_string()
    };
    assert_eq!(of(""), "metrics.csv, line 1: the table is empty");
    assert_eq!(of("treatment,requests,x\n"), "metrics.csv, line 1: column \"x\" is not known");
    let head = "treatment,requested_qps,requests,failures\n";
    assert_eq!(of(&format!("{head}a,1,2\n")), "metrics.csv, line 2: 3 cells under 4 columns");
    assert_eq!(of(&format!("{head}a,1,nan,0\n")), "metrics.csv, line 2: requests: \"nan\" is no number");
    assert_eq!(of(&format!("{head}a,1,2.5,0\n")), "metrics.csv, line 2: requests: 2.5 is no count");
    assert_eq!(of(&format!("{head}a,,2,0\n")), "metrics.csv, line 2: neither a requested rate nor a concurrency");
}
