//! Verdicts and exit codes.

use reports::gate::outcome::GateVerdict;
use reports::gate::rows::{Note, Verdict};

use super::*;

fn messages(document: &Document) -> String {
    let problems = document.outcome.problems.iter().map(|problem| problem.what.clone());
    problems.chain(document.warnings.clone()).collect::<Vec<_>>().join("\n")
}

#[test]
fn unchanged_code_passes() {
    let document = Scene::with_baseline().judge(same());
    assert_eq!((document.verdict(), document.exit_code), (GateVerdict::Pass, 0), "{}", document.headline);
    assert!(document.outcome.compared > 20, "{}", document.headline);
    assert_eq!(document.baseline.unwrap().members, ["aa-1", "aa-22", "aa-333"]);
}

#[test]
fn a_slower_first_token_is_a_regression() {
    let document = Scene::with_baseline().judge(Spec { ttft: 1.25, ..same() });
    assert_eq!((document.verdict(), document.exit_code), (GateVerdict::Regression, 3));
    let worst = &document.outcome.rows[0];
    assert_eq!(worst.treatment, "agentgateway-standalone");
    assert!((worst.change.unwrap() - 0.25).abs() < 0.05, "{worst:?}");
    assert!(document.outcome.rows.iter().all(|row| row.treatment != "service" || row.verdict != Verdict::Regression));
}

#[test]
fn verdicts_are_the_same_bytes_every_time() {
    let scene = Scene::with_baseline();
    let spec = Spec { ttft: 1.2, ..same() };
    assert_eq!(scene.judge(spec.clone()).to_json().unwrap(), scene.judge(spec).to_json().unwrap());
}

#[test]
fn what_the_cluster_does_to_all_treatments_is_taken_out() {
    let scene = Scene::with_baseline();
    let slower = Spec { cluster: 1.15, ..same() };
    assert_eq!(scene.judge(slower.clone()).exit_code, 3, "without normalising");
    let normalised = LIMITS.replace("normalise_by: none", "normalise_by: service");
    let document = scene.judge_by(slower, &normalised, "2026-10-10", &[]).unwrap();
    assert_eq!(document.exit_code, 0, "{}", document.headline);
    let row = document.outcome.rows.iter().find(|row| row.notes.contains(&Note::Normalised)).unwrap();
    assert!(row.raw_change.unwrap() > 0.1 && row.change.unwrap().abs() < 0.03, "{row:?}");
}

#[test]
fn no_baseline_at_all_has_its_own_exit_code() {
    let document = Scene::empty().judge(same());
    assert_eq!((document.verdict(), document.exit_code), (GateVerdict::NoBaseline, 5));
    assert!(messages(&document).contains("has no baseline in channel `main`"), "{}", messages(&document));
    assert!(document.headline.starts_with("compared 0 of 0 rows"), "{}", document.headline);
}

#[test]
fn a_hard_limit_is_judged_without_a_baseline() {
    let text = format!("{LIMITS}  \"ttft{{treatment:agentgateway-standalone}}\": [p90 < 100ms absolute]\n");
    let document = Scene::empty().judge_by(same(), &text, "2026-10-10", &[]).unwrap();
    assert_eq!(document.exit_code, 3, "{}", document.headline);
    assert!(document.headline.starts_with("compared 3 of 3 rows"), "{}", document.headline);
}

#[test]
fn an_evicted_object_is_a_missing_baseline_and_says_which() {
    let scene = Scene::with_baseline();
    fs_err::remove_dir_all(scene.folder.path().join("baselines/objects")).unwrap();
    let document = scene.judge(same());
    assert_eq!(document.exit_code, 5);
    assert!(messages(&document).contains("is gone; the store is incomplete"), "{}", messages(&document));
}

#[test]
fn a_corrupted_object_is_not_believed() {
    let scene = Scene::with_baseline();
    let digest = scene.store.pointers().unwrap()[0].2.clone();
    let path = scene.folder.path().join("baselines").join(super::super::store::object(&digest));
    let text = fs_err::read_to_string(&path).unwrap();
    fs_err::write(&path, text.replacen("\"seconds\":0.1", "\"seconds\":0.2", 1)).unwrap();
    let document = scene.judge(same());
    assert_eq!(document.exit_code, 5);
    assert!(messages(&document).contains("is corrupted"), "{}", messages(&document));
}

#[test]
fn a_renamed_stage_is_another_identity_and_missing_when_that_is_allowed() {
    let scene = Scene::with_baseline();
    let spec = Spec { rates: vec![3.0, 21.0, 60.0], ..same() };
    let document = scene.judge(spec.clone());
    assert_eq!((document.verdict(), document.exit_code), (GateVerdict::OtherIdentity, 6));
    assert!(
        messages(&document).contains("stages: [\"rate=3\",\"rate=21\",\"rate=60\"] here"),
        "{}",
        messages(&document)
    );
    let document = scene.judge_by(spec, LIMITS, "2026-10-10", &["stages"]).unwrap();
    assert_eq!(document.exit_code, 7, "{}", document.headline);
    let missing = document.outcome.rows.iter().find(|row| row.verdict == Verdict::Missing).unwrap();
    assert_eq!(missing.stage.as_deref(), Some("rate=20"));
    assert_eq!(document.allowed_differences[0].field, "stages");
}

#[test]
fn a_selector_that_matches_nothing_is_an_error_with_its_line() {
    let text = format!("{LIMITS}  \"ttft{{stage:rate=21}}\": [p90 < +9%]\n");
    let Err(JudgeError::Limits(problems)) = Scene::with_baseline().judge_by(same(), &text, "2026-10-10", &[]) else {
        panic!("the selector was accepted");
    };
    assert_eq!(problems[0].line, 8);
    assert_eq!(problems[0].message, "matches nothing: there is no stage `rate=21`; there is rate=20, rate=3, rate=60");
}

#[test]
fn a_metric_that_no_stage_has_and_a_waiver_for_nothing_are_errors() {
    let scene = Scene::with_baseline();
    for (text, expected) in [
        (LIMITS.replace("normalise_by: none", "normalise_by: envoy"), "the campaign has no treatment `envoy`"),
        (
            format!("{LIMITS}waivers: [{{match: \"ttft{{treatment:gone}}\", until: 2027-01-31, reason: x}}]\n"),
            "there is no treatment `gone`",
        ),
    ] {
        let Err(JudgeError::Limits(problems)) = scene.judge_by(same(), &text, "2026-10-10", &[]) else {
            panic!("accepted: {text}");
        };
        assert!(problems[0].message.contains(expected), "{}", problems[0].message);
    }
}

#[test]
fn a_number_that_is_none_makes_the_campaign_invalid() {
    let document = Scene::with_baseline().judge(Spec { itl: f64::NAN, ..same() });
    assert_eq!((document.verdict(), document.exit_code), (GateVerdict::Invalid, 7));
    assert!(messages(&document).contains("itl p50 is NaN"), "{}", messages(&document));
}

#[test]
fn half_the_output_tokens_make_the_campaign_invalid() {
    let document = Scene::with_baseline().judge(Spec { output_tokens: 25.0, ..same() });
    assert_eq!(document.exit_code, 7);
    assert!(messages(&document).contains("25.0 output tokens a request, the baseline has 50.0: 50% of it"));
}

#[test]
fn requests_sent_late_make_the_campaign_invalid() {
    let document = Scene::with_baseline().judge(Spec { schedule_delay: 0.4, ..same() });
    assert_eq!(document.exit_code, 7);
    assert!(messages(&document).contains("sent more than 400 ms late"), "{}", messages(&document));
}

#[test]
fn an_improvement_of_97_percent_is_suspect() {
    let document = Scene::with_baseline().judge(Spec { ttft: 0.03, ..same() });
    assert_eq!((document.verdict(), document.exit_code), (GateVerdict::Invalid, 7));
    assert_eq!(document.outcome.rows[0].verdict, Verdict::Suspect);
}

#[test]
fn a_real_improvement_passes() {
    let document = Scene::with_baseline().judge(Spec { ttft: 0.8, ..same() });
    assert_eq!(document.exit_code, 0, "{}", document.headline);
    assert!(document.outcome.count(Verdict::Improvement) > 0);
}

#[test]
fn another_identity_is_refused_and_can_be_allowed_by_name() {
    let scene = Scene::with_baseline();
    let spec = Spec { model: "facebook/opt-125m", ..same() };
    let document = scene.judge(spec.clone());
    assert_eq!((document.verdict(), document.exit_code), (GateVerdict::OtherIdentity, 6));
    assert!(messages(&document).contains("campaign.model: facebook/opt-125m here, Qwen/Qwen3-32B in the baseline"));
    assert_eq!(scene.judge_by(spec.clone(), LIMITS, "2026-10-10", &["campaign.replicas"]).unwrap().exit_code, 6);
    assert_eq!(scene.judge_by(spec, LIMITS, "2026-10-10", &["campaign.model"]).unwrap().exit_code, 0);
}

#[test]
fn another_major_version_of_the_harness_is_another_identity() {
    let document = Scene::with_baseline().judge(Spec { harness: "0.6.0", ..same() });
    assert_eq!(document.exit_code, 6);
    assert!(messages(&document).contains("harness.compatible_versions: 0.6 here, 0.7 in the baseline"));
    assert_eq!(Scene::with_baseline().judge(Spec { harness: "0.7.3", ..same() }).exit_code, 0);
}

#[test]
fn an_old_baseline_warns_and_a_stale_one_decides_nothing() {
    let scene = Scene::with_baseline();
    let old = scene.judge_by(same(), LIMITS, "2026-10-25", &[]).unwrap();
    assert_eq!(old.exit_code, 0);
    assert!(messages(&old).contains("24 days old: time to promote"), "{}", messages(&old));
    let stale = scene.judge_by(Spec { ttft: 1.3, ..same() }, LIMITS, "2026-12-20", &[]).unwrap();
    assert_eq!((stale.verdict(), stale.exit_code), (GateVerdict::Inconclusive, 5));
    assert!(messages(&stale).contains("80 days old, too old to decide"), "{}", messages(&stale));
}

#[test]
fn too_few_samples_are_reported_and_never_pass() {
    let scene = Scene::with_baseline();
    let text = "version: 1\nnoise: {tau: 3%}\nthresholds:\n  ttft: [p99 < +10%]\n";
    let document = scene.judge_by(Spec { requests: 50, ..same() }, text, "2026-10-10", &[]).unwrap();
    assert_eq!((document.verdict(), document.exit_code), (GateVerdict::Inconclusive, 4), "{}", document.headline);
    assert!(document.headline.starts_with("compared 0 of 8 rows"), "{}", document.headline);
    let reason = document.outcome.rows.iter().find_map(|row| row.reason.clone().filter(|why| why.contains("samples")));
    assert_eq!(reason.unwrap(), "150 samples are too few for p99: ten must lie beyond it");
}

#[test]
fn a_moved_failure_rate_is_a_regression_and_voids_the_survivors_latencies() {
    let document = Scene::with_baseline().judge(Spec { failed_share: 0.05, ttft: 0.7, ..same() });
    assert_eq!((document.verdict(), document.exit_code), (GateVerdict::Regression, 3));
    assert!(document.outcome.count(Verdict::Void) > 0);
    assert_eq!(document.outcome.count(Verdict::Improvement), 0, "latencies of survivors are no improvement");
}

#[test]
fn unknown_noise_is_inconclusive_and_fails_only_where_asked_to() {
    let scene = Scene::empty();
    let one = Spec { repetitions: 1, ..Spec::default() }.write(scene.folder.path());
    let stored = scene.propose(&[one], "2026-10-01");
    assert!(stored.baseline.calibration.is_none());
    let mut record = promotion(&stored, None, "2026-10-01");
    record.few_repetitions = Some("a test".into());
    scene.store.promote(&stored, &Channel::new("main").unwrap(), &record).unwrap();
    let document = scene.judge(same());
    assert_eq!((document.verdict(), document.exit_code), (GateVerdict::Inconclusive, 0), "{}", document.headline);
    let failing = LIMITS.replace("noise:", "gate: {on_inconclusive: fail}\nnoise:");
    assert_eq!(scene.judge_by(same(), &failing, "2026-10-10", &[]).unwrap().exit_code, 4);
    let named = LIMITS.replace("tau: auto", "tau: 2%");
    assert_ne!(scene.judge_by(same(), &named, "2026-10-10", &[]).unwrap().outcome.count(Verdict::Pass), 0);
}

#[test]
fn a_waiver_holds_until_its_day_and_is_named() {
    let scene = Scene::with_baseline();
    let text = format!("{LIMITS}waivers: [{{match: ttft, until: 2026-10-15, reason: known, issue: 12}}]\n");
    let spec = Spec { ttft: 1.25, ..same() };
    let waived = scene.judge_by(spec.clone(), &text, "2026-10-15", &[]).unwrap();
    assert_eq!(waived.exit_code, 0, "{}", waived.headline);
    assert!(waived.outcome.rows.iter().any(|row| row.waived.as_deref() == Some("until 2026-10-15: known (#12)")));
    let ended = scene.judge_by(spec, &text, "2026-10-16", &[]).unwrap();
    assert_eq!(ended.exit_code, 3);
    let reason = ended.outcome.rows.iter().find_map(|row| row.reason.clone()).unwrap();
    assert_eq!(reason, "its waiver ended on 2026-10-15: known (#12)");
}

#[test]
fn a_treatment_that_is_gone_makes_the_campaign_invalid() {
    let document = Scene::with_baseline().judge(Spec { treatments: vec!["service"], ..same() });
    assert_eq!(document.exit_code, 7);
    assert!(messages(&document).contains("the baseline has treatment agentgateway-standalone"));
}

#[test]
fn damaged_records_fall_back_on_percentiles_and_say_so() {
    let scene = Scene::with_baseline();
    let campaign = same().write(scene.folder.path());
    let records = campaign.dir.join("runs/service/repetition-1/per_request_lifecycle_metrics.json.gz");
    let bytes = fs_err::read(&records).unwrap();
    fs_err::write(&records, &bytes[..bytes.len() / 2]).unwrap();
    let observation = reports::gate::observe::observe(&campaign);
    assert!(observation.warnings[0].starts_with("service repetition 1: "), "{:?}", observation.warnings);
    assert!(observation.warnings[0].ends_with("errors are approximate"), "{:?}", observation.warnings);
}

#[test]
fn steps_that_each_pass_are_seen_against_the_oldest_baseline() {
    let scene = Scene::with_baseline();
    let first = scene.store.pointers().unwrap()[0].2.clone();
    let members: Vec<_> = ["bb-1", "bb-22", "bb-333"]
        .into_iter()
        .map(|name| Spec { name, ttft: 1.15, ..Spec::default() }.write(scene.folder.path()))
        .collect();
    let second = scene.propose(&members, "2026-10-08");
    scene.promote(&second, Some(&first), "2026-10-08").unwrap();
    let document = scene.judge(Spec { ttft: 1.16, ..same() });
    assert_eq!(document.exit_code, 0, "{}", document.headline);
    let creep = document.creep.unwrap();
    assert_eq!(creep.sha256, first);
    assert!(creep.rows.iter().any(|row| row.name.starts_with("ttft")), "{creep:?}");
}
