use super::{Beside, page as markdown};
use crate::campaign::Campaign;
use crate::compare::Comparison;
use crate::model::{Metric, Stage};
use crate::render::fixture::{self, compare, series};
use crate::render::page::{Place, Report};

fn place() -> Place {
    Place { folder: "/evidence/report".into(), link_evidence: true }
}

fn comparison_page(campaign: &Campaign, candidate: &str) -> String {
    let comparisons = [compare(campaign, &campaign.treatments[0].name, candidate)];
    let report = Report::new(campaign, &comparisons, &[]);
    let charts = report.comparison_charts(&comparisons[0]);
    let page = report.comparison_page(&comparisons[0], &charts, &place());
    let files = ["metrics.csv", "comparison.json"];
    markdown(&page, Beside { charts_folder: "", extension: "svg", files: &files }).unwrap()
}

/// The campaign's page; without candidates, a report on the first treatment alone.
fn campaign_page(campaign: &Campaign, candidates: &[&str]) -> String {
    let comparisons: Vec<Comparison> =
        candidates.iter().map(|candidate| compare(campaign, "service", candidate)).collect();
    let alone = if candidates.is_empty() { vec![series(campaign, &campaign.treatments[0].name)] } else { Vec::new() };
    let report = Report::new(campaign, &comparisons, &alone);
    let charts = report.charts();
    let page = report.campaign_page(&charts, &place());
    markdown(&page, Beside { charts_folder: "charts/", extension: "svg", files: &[] }).unwrap()
}

fn pair(stages: impl Fn(f64) -> Vec<Stage>) -> Campaign {
    let treatments =
        vec![fixture::treatment("service", &[(1, stages(1.0))]), fixture::treatment("routed", &[(1, stages(0.1))])];
    fixture::campaign("small-20261130", treatments)
}

#[test]
fn the_published_campaign_reads_as_it_was_published() {
    let page = campaign_page(&fixture::published(), &["agentgateway-standalone", "agentgateway-gateway"]);
    let row = |label: &str| page.lines().find(|line| line.starts_with(&format!("| {label}"))).unwrap().to_owned();
    let expect = [
        ("Peak output tokens/s", ["6,910", "16,178 (+134.1%)", "14,241 (+106.1%)"]),
        ("Completed requests/s at 60", ["6.70", "16.52 (+146.5%)", "13.96 (+108.3%)"]),
        ("TTFT p50 at 60", ["62.9 s", "0.1 s (-99.8%)", "0.2 s (-99.7%)"]),
        ("TTFT p90 at 60", ["135.6 s", "0.2 s (-99.8%)", "0.2 s (-99.8%)"]),
        ("ITL p50 at 60", ["30.3 ms", "52.7 ms", "49.6 ms"]),
    ];
    for (label, cells) in expect {
        let row = row(label);
        let shown: Vec<&str> = row.split('|').map(str::trim).skip(2).collect();
        for (cell, expected) in shown.iter().zip(cells) {
            assert!(cell.starts_with(expected), "{label}: {cell} instead of {expected}");
        }
    }
    assert!(page.contains("| 3 | service | 1.60 | 1,570 | 0.486 s |"));
    assert!(page.contains("| 3 | agentgateway-standalone | 1.74 (+8.7%) | 1,694 (+7.9%) | 82.4 ms (-83.0%) |"));
    insta::assert_snapshot!(page);
}

#[test]
fn a_comparison_of_the_published_campaign() {
    insta::assert_snapshot!(comparison_page(&fixture::published(), "agentgateway-standalone"));
}

#[test]
fn a_campaign_of_one_stage() {
    let campaign = fixture::simulated(pair(|ttft| vec![fixture::stage(0, 8.0, ttft)]));
    let page = campaign_page(&campaign, &["routed"]);
    assert!(page.lines().nth(2).unwrap().contains("Simulated"), "the first lines say that it is simulated");
    insta::assert_snapshot!(page);
}

#[test]
fn model_servers_that_are_simulated_in_a_cluster_are_called_so_by_their_own_name() {
    let mut campaign = fixture::simulated(pair(|ttft| vec![fixture::stage(0, 8.0, ttft)]));
    for treatment in &mut campaign.treatments {
        treatment.stack.components[0].tool = "llm-d-inference-sim".into();
    }
    assert!(campaign.is_simulated());
    let page = campaign_page(&campaign, &["routed"]);
    assert!(
        page.contains("> **Simulated.** The model servers behind these numbers are llm-d-inference-sim's, not GPUs.")
    );
}

#[test]
fn a_stage_in_which_every_request_failed_reads_na() {
    let stages = |ttft| vec![fixture::stage(0, 4.0, ttft), fixture::failed_stage(1, 8.0)];
    let page = campaign_page(&pair(stages), &["routed"]);
    assert!(page.contains("| TTFT p50 at 8 requests/s | n/a | n/a"));
    insta::assert_snapshot!(page);
}

#[test]
fn a_treatment_alone_has_no_changes_and_no_verdicts() {
    let stages = vec![fixture::stage(0, 4.0, 0.2), fixture::stage(1, 8.0, 0.4)];
    let campaign = fixture::campaign("alone-20261130", vec![fixture::treatment("service", &[(1, stages)])]);
    let page = campaign_page(&campaign, &[]);
    assert!(!page.contains("Changes are against"));
    insta::assert_snapshot!(page);
}

#[test]
fn a_failed_repetition_is_named_and_its_reason_told() {
    let mut campaign = fixture::with_failed_repetition(fixture::published(), "service", 2);
    campaign = fixture::with_failed_repetition(campaign, "agentgateway-standalone", 2);
    let page = campaign_page(&campaign, &["agentgateway-standalone"]);
    assert!(page.contains("- service, repetition 2 failed and is in no number: the harness sent 3 of 40 requests."));
}

#[test]
fn hostile_and_long_names_render_as_text() {
    let hostile = "<script>alert(1)</script> | `x` [a](b) _em_ *b*\n# heading";
    let long = "t".repeat(200);
    let ladder = |ttft| vec![fixture::stage(0, 4.0, ttft), fixture::stage(1, 8.0, ttft)];
    let treatments = vec![
        fixture::treatment("service", &[(1, ladder(1.0))]),
        fixture::treatment(hostile, &[(1, ladder(0.1))]),
        fixture::treatment(&long, &[(1, ladder(0.2))]),
    ];
    let page = campaign_page(&fixture::campaign("hostile-20261130", treatments), &[hostile, &long]);
    assert!(!page.contains("<script") && !page.contains("\n# heading") && page.contains(&long));
    let columns = |line: &str| line.matches('|').count();
    let table: Vec<usize> = page.lines().skip_while(|line| !line.starts_with("| |")).map(columns).take(7).collect();
    assert!(table.iter().all(|count| *count == table[0]), "every row of the summary has the same columns: {table:?}");
    assert!(page.contains("\\_em\\_ \\*b\\*"));
}

#[test]
fn every_metric_of_the_table_has_a_number_or_na() {
    let page = comparison_page(&pair(|ttft| vec![fixture::stage(0, 4.0, ttft)]), "routed");
    assert!(!page.contains("|  |  |") && !page.contains("NaN"), "{page}");
    assert!(page.contains(&Metric::RequestRate.to_string()));
}
