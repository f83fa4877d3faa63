use std::path::PathBuf;

use super::history::Entry;
use super::*;
use crate::campaign::{Campaign, Repetition, Treatment};
use crate::compare::Totals;
use crate::manifest::Manifest;
use crate::model::{Distribution, Latency, Load, Requests, Stack, Stage, Throughput};

fn stage(level: Level, ttft: f64) -> Stage {
    let (requested_rate, concurrency) = match level {
        Level::Rate(rate) => (Some(rate), None),
        Level::Concurrency(concurrency) => (None, Some(concurrency)),
    };
    Stage {
        load: Load { requested_rate, concurrency, ..Load::default() },
        requests: Requests { total: 40, failures: Some(1), ..Requests::default() },
        latency: Latency {
            ttft: Some(Distribution { p50: Some(ttft), p90: Some(2.0 * ttft), ..Distribution::default() }),
            ..Latency::default()
        },
        throughput: Throughput { output_tokens: Some(10.0 / ttft), requests: Some(1.5), ..Throughput::default() },
        ..Stage::default()
    }
}

fn series(name: &str, points: &[(Level, &[f64])]) -> Series {
    let point = |(number, (level, ttfts)): (usize, &(Level, &[f64]))| Point {
        level: *level,
        stage: number as u32,
        repetitions: (1..).zip(ttfts.iter().map(|ttft| stage(*level, *ttft))).collect(),
    };
    Series {
        name: name.into(),
        display_name: name.into(),
        repetitions: vec![1],
        failed: Vec::new(),
        stack: Stack::default(),
        points: points.iter().enumerate().map(point).collect(),
        warm_up: Vec::new(),
        totals: Totals::default(),
        peak: None,
        knee: None,
        saturation: None,
        slo: None,
    }
}

fn curves() -> Vec<Series> {
    vec![
        series("service", &[(Level::Rate(3.0), &[0.5, 0.25, 0.375]), (Level::Rate(10.5), &[1.0, 2.0])]),
        series("agentgateway-standalone", &[(Level::Concurrency(4), &[0.125])]),
    ]
}

#[test]
fn github_action_benchmark_gets_a_file_for_each_direction() {
    let [smaller, bigger] = github_action_benchmark::files("smoke-1", &curves()).unwrap();
    assert_eq!((smaller.name.as_str(), bigger.name.as_str()), ("smaller-is-better.json", "bigger-is-better.json"));
    insta::assert_snapshot!("smaller_is_better", smaller.text);
    insta::assert_snapshot!("bigger_is_better", bigger.text);
}

#[test]
fn bencher_gets_bounds_where_there_are_repetitions() {
    insta::assert_snapshot!("bencher", bencher::document(&curves()).unwrap());
}

fn entry(campaign: &str) -> Entry {
    Entry { time: "2026-11-30T22:00:00Z".into(), commit: "0123abc".into(), campaign: campaign.into() }
}

#[test]
fn a_history_grows_by_a_line_a_campaign_and_by_columns_when_the_ladder_grows() {
    let one = history::append(None, &entry("smoke-1"), &curves()[..1]).unwrap();
    let two = history::append(Some(&one), &entry("smoke-2"), &curves()).unwrap();
    insta::assert_snapshot!("history", two);
    let again = history::append(Some(&two), &entry("smoke-1"), &curves()).unwrap();
    assert_eq!(again, two);
}

#[test]
fn names_in_a_history_are_never_formulas_and_survive_being_read_back() {
    let odd = [series("=cmd|' /C calc'!A0,\"x\"", &[(Level::Rate(1.0), &[0.5])])];
    let once = history::append(None, &entry("=1+1"), &odd).unwrap();
    assert!(
        once.lines().all(|line| !line.starts_with('=') && !line.contains(",=") && !line.contains(",\"=")),
        "{once}"
    );
    assert_eq!(history::append(Some(&once), &entry("=1+1"), &odd).unwrap(), once);
    let twice = history::append(Some(&once), &entry("b"), &odd).unwrap();
    assert_eq!(twice.lines().next(), once.lines().next());
    assert_eq!(twice.lines().count(), 3);
}

#[test]
fn what_is_no_history_is_refused_and_not_overwritten() {
    for (text, line) in [
        ("treatment,requested_qps\n", 1),
        ("time,commit,campaign\n2026,abc\n", 2),
        ("time,commit,campaign\n2026,abc,x", 2),
        ("time,commit,campaign,a,a\n", 1),
        ("time,commit,campaign\n\"open", 2),
    ] {
        let error = history::append(Some(text), &entry("c"), &curves()).unwrap_err();
        assert!(error.to_string().starts_with(&format!("line {line}: ")), "{text:?}: {error}");
    }
}

/// A campaign whose only repetition lies in a folder with these files.
fn campaign(files: &[(&str, &str)]) -> (tempfile::TempDir, Campaign) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let repetition = Repetition { number: 2, dir: dir.path().into(), stages: Vec::new() };
    let treatment = Treatment {
        name: "service".into(),
        display_name: "Service".into(),
        repetitions: vec![repetition],
        failed: Vec::new(),
        stack: Stack::default(),
    };
    let manifest = Manifest::new("smoke-1", serde_yaml::Mapping::new());
    let campaign =
        Campaign { dir: PathBuf::from("unused"), manifest, treatments: vec![treatment], warnings: Vec::new() };
    (dir, campaign)
}

#[test]
fn a_prism_bundle_holds_one_document_a_stage_and_the_sidecars_and_nothing_that_prism_would_count_as_a_stage() {
    let (_evidence, campaign) = campaign(&[
        ("benchmark_report_v0.2,_service_stage_0_lifecycle_metrics.json.yaml", "version: '0.2'"),
        ("benchmark_report_v0.2.1,_service_stage_0_lifecycle_metrics.json.yaml", "version: 0.2.1"),
        ("benchmark_report_v0.2.1,_service_stage_1_lifecycle_metrics.json.yaml", "version: 0.2.1"),
        ("config.yaml", "load: {}"),
        ("run_metadata.yaml", "model: m"),
        ("summary_lifecycle_metrics.json", "{}"),
        ("summary_prometheus_metrics.json", "{}"),
        ("stage_0_lifecycle_metrics.json", "{}"),
        ("validation.json", "{}"),
        ("scenario.yaml", "a: b"),
        ("stdout.log", "text"),
    ]);
    let output = tempfile::tempdir().unwrap();
    let folders = prism::bundle(&campaign, &output.path().join("bundle")).unwrap();
    assert_eq!(folders, [output.path().join("bundle/smoke-1-service-repetition-2")]);
    let mut names: Vec<_> = std::fs::read_dir(&folders[0])
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "benchmark_report_v0.2,_service_stage_0_lifecycle_metrics.json.yaml",
            "benchmark_report_v0.2.1,_service_stage_1_lifecycle_metrics.json.yaml",
            "config.yaml",
            "run_metadata.yaml",
            "summary_lifecycle_metrics.json",
            "summary_prometheus_metrics.json",
        ]
    );
    let again = prism::bundle(&campaign, &output.path().join("bundle")).unwrap_err();
    assert!(matches!(again, prism::Error::Exists(_)));
}

#[test]
fn a_prism_bundle_with_a_token_or_without_documents_is_not_written() {
    let output = tempfile::tempdir().unwrap();
    let target = output.path().join("bundle");
    let document = ("benchmark_report_v0.2,_service_stage_0_lifecycle_metrics.json.yaml", "version: '0.2'");
    let (_evidence, leaky) = campaign(&[document, ("config.yaml", "api_key: abcdefghijklmnop")]);
    let refusal = prism::bundle(&leaky, &target).unwrap_err().to_string();
    assert!(refusal.contains("config.yaml:1: "), "{refusal}");
    let (_evidence, bare) = campaign(&[("config.yaml", "load: {}")]);
    assert!(matches!(prism::bundle(&bare, &target), Err(prism::Error::NoDocuments(_))));
    assert!(!target.exists());
}
