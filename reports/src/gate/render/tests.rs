use super::super::baseline::Freshness;
use super::super::document::{BaselineRef, Document, LimitsRef, SCHEMA_VERSION};
use super::super::metric::{Metric, Statistic};
use super::super::outcome::Outcome;
use super::super::rows::{ErrorParts, Note, Row, Sides, Tier, Verdict};
use super::super::validity::{Check, Problem};
use super::*;

fn row(stage: Option<&str>, change: f64, verdict: Verdict) -> Row {
    let tier = if stage.is_some() { Tier::Stage } else { Tier::Mean };
    let mut row = Row::new("agentgateway-standalone", Metric::Ttft, Statistic::P90, stage, tier);
    row.samples = Sides { new: 2280, baseline: 6840 };
    row.repetitions = Sides { new: 3, baseline: 9 };
    row.values = Sides { new: Some(0.2 * (1.0 + change)), baseline: Some(0.2) };
    row.raw_change = Some(change);
    row.change = Some(change);
    row.interval = Some([change - 0.04, change + 0.04]);
    row.error = Some(ErrorParts { sampling: 0.01, between_runs: 0.015, normaliser: 0.0, total: 0.018 });
    row.df = Some(24.0);
    row.p = Some(if verdict == Verdict::Regression { 1e-6 } else { 0.3 });
    row.p_adjusted = Some(if verdict == Verdict::Regression { 2e-5 } else { 1.0 });
    row.mde95 = Some(0.11);
    row.tolerance = Some(0.05);
    row.floor = Some(0.005);
    row.verdict = verdict;
    row
}

fn document(rows: Vec<Row>, problems: Vec<Problem>) -> Document {
    let outcome = Outcome::new(rows, problems, true);
    Document {
        schema_version: SCHEMA_VERSION,
        headline: outcome.headline(),
        exit_code: 3,
        time: "2026-11-30T12:00:00Z".parse().unwrap(),
        campaign: "nightly-20261130".into(),
        campaign_sha256: "c0ffee".into(),
        baseline: Some(BaselineRef {
            reference: "main".into(),
            sha256: "0123456789abcdef".into(),
            age_days: 12,
            freshness: Freshness::Fresh,
            members: vec!["aa-1".into(), "aa-2".into(), "aa-3".into()],
        }),
        limits: LimitsRef { path: "config/regression.yaml".into(), sha256: "feed".into() },
        allowed_differences: Vec::new(),
        calibration: None,
        creep: None,
        warnings: vec!["service repetition 2 has no per-request records: errors are approximate".into()],
        outcome,
    }
}

fn example() -> Document {
    let mut blind = row(Some("rate=3"), 0.01, Verdict::Pass);
    blind.notes = vec![Note::Blind, Note::Normalised];
    let mut unknown = row(Some("rate=60"), 0.2, Verdict::Inconclusive);
    unknown.reason = Some("only changes from 62% on would be found, the limit is 50%".into());
    let mut missing = Row::new("service", Metric::Itl, Statistic::P90, Some("rate=3"), Tier::Stage);
    missing.conclude(Verdict::NotGated, "neither side has a usable value");
    let mut limit = Row::new("service", Metric::Failed, Statistic::Rate, Some("rate=3"), Tier::Limit);
    limit.values.new = Some(0.002);
    limit.limit = Some(0.05);
    limit.verdict = Verdict::Pass;
    document(
        vec![
            blind,
            missing,
            unknown,
            row(Some("rate=20"), 0.21, Verdict::Regression),
            row(None, 0.02, Verdict::Pass),
            limit,
        ],
        Vec::new(),
    )
}

#[test]
fn the_json_document_is_whole() {
    insta::assert_snapshot!(example().to_json().unwrap());
}

#[test]
fn the_step_summary_starts_with_what_was_compared_and_lists_the_worst_first() {
    insta::assert_snapshot!(step_summary(&example()));
}

#[test]
fn junit_has_a_test_case_a_row() {
    let text = junit(&example()).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn annotations_name_what_failed_with_its_numbers() {
    insta::assert_snapshot!(annotations(&example()).join("\n"));
}

#[test]
fn a_json_document_reads_back() {
    let document = example();
    let read: Document = serde_json::from_str(&document.to_json().unwrap()).unwrap();
    let rows = |document: &Document| -> Vec<String> { document.outcome.rows.iter().map(describe).collect() };
    assert_eq!((read.verdict(), rows(&read)), (document.verdict(), rows(&document)));
    assert_eq!((read.baseline, read.limits), (document.baseline, document.limits));
}

#[test]
fn long_results_fit_a_comment_and_a_step_summary_and_say_what_is_left_out() {
    let rows = (0..20_000).map(|k| row(Some(&format!("rate={k}")), 0.01, Verdict::Pass)).collect();
    let problem =
        |k: usize| Problem { check: Check::OutputTokens, what: format!("stage {k}: half of it | `code` @all") };
    let document = document(rows, (0..2000).map(problem).collect());
    let (comment, summary) = (comment(&document), step_summary(&document));
    assert!(comment.len() < 64_000 && comment.contains("rows are left out for length"), "{}", comment.len());
    assert!(summary.len() < 1 << 20 && summary.contains("rows are left out for length"), "{}", summary.len());
    assert!(comment.ends_with(&format!("{COMMENT_MARKER}\n")));
    assert!(comment.starts_with("compared 20000 of 20000 rows: invalid campaign\n"));
    assert_eq!(annotations(&document).iter().filter(|line| line.starts_with("::error")).count(), 10);
}

#[test]
fn an_invalid_campaign_or_one_without_rows_is_never_all_green_in_junit() {
    let what = "service, rate=3: 50% of the output tokens".to_owned();
    let problem = Problem { check: Check::OutputTokens, what };
    let text = junit(&document(vec![row(None, 0.0, Verdict::Pass)], vec![problem])).unwrap();
    assert!(text.contains("errors=\"1\"") && text.contains("50% of the output tokens"), "{text}");
    let text = junit(&document(Vec::new(), Vec::new())).unwrap();
    assert!(text.contains("compared 0 of 0 rows"), "{text}");
}
