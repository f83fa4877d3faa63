use super::*;
use crate::campaign;
use crate::model::{Harness, Stage};
use crate::render::{Content, fixture};

/// A run whose stages a forecast computed.
fn computed(ttft: f64) -> Vec<Stage> {
    let harness = || Harness { tool: Harness::FORECAST_TOOL.into(), version: Some("0.1.0".into()) };
    let stage = |(number, rate): (u32, f64)| Stage { harness: harness(), ..fixture::stage(number, rate, ttft) };
    [(0, 4.0), (1, 60.0)].map(stage).to_vec()
}

fn forecast_campaign() -> campaign::Campaign {
    let runs = |ttft: f64| -> Vec<(u32, Vec<Stage>)> {
        (1..=21).map(|run| (run, computed(ttft * (1.0 + 0.01 * f64::from(run))))).collect()
    };
    let treatments =
        vec![fixture::treatment("service", &runs(2.0)), fixture::treatment("agentgateway-standalone", &runs(0.2))];
    fixture::simulated(fixture::campaign("forecast-quick", treatments))
}

fn forecast() -> Forecast {
    let load_seconds = Band { p5: 50.0, p50: 60.0, p95: 240.0, deviation: None };
    let cost = Cost { load_seconds, standup_seconds: 600.0, accelerators: 16 };
    let costs = ["service", "agentgateway-standalone"].map(|name| (name.to_owned(), cost)).into_iter().collect();
    Forecast::of(&forecast_campaign(), "4 laptops", &costs, &[0.05, 0.1]).unwrap()
}

const TTFT: Metric = Metric::Latency(Quantity::Ttft, Statistic::P50);

#[test]
fn a_band_reaches_from_the_5th_to_the_95th_percentile_of_runs() {
    let forecast = forecast();
    let band = forecast.treatment("service").unwrap().band(60.0, TTFT).unwrap();
    for (seen, exact) in [(band.p5, 2.04), (band.p50, 2.22), (band.p95, 2.40)] {
        assert!((seen - exact).abs() < 1e-9, "{band:?}");
    }
    assert!(band.holds(2.1) && !band.holds(2.41) && !band.holds(2.0));
    assert!((band.deviation.unwrap() - 0.056).abs() < 0.002, "{band:?}");
    assert_eq!(forecast.treatment("service").unwrap().band(61.0, TTFT), None);
}

#[test]
fn a_forecast_is_read_as_it_was_written_and_a_newer_one_is_refused() {
    let (forecast, home) = (forecast(), tempfile::tempdir().unwrap());
    let path = home.path().join(FILE_NAME);
    fs_err::write(&path, forecast.to_json()).unwrap();
    assert_eq!(Forecast::read(home.path()).unwrap(), forecast);
    fs_err::write(&path, "{\"schema_version\": 2, \"bands\": []}").unwrap();
    assert!(matches!(Forecast::read(home.path()), Err(Error::Version { found: 2, .. })));
    fs_err::write(&path, "{\"schema_version\": 1}").unwrap();
    assert!(Forecast::read(home.path()).unwrap_err().to_string().contains("missing field"));
    assert!(matches!(Forecast::read(&home.path().join("nowhere")), Err(Error::File(_))));
}

#[test]
fn repetitions_needed_agree_with_the_formula_worked_by_hand() {
    // Normal quantiles: (2.576 + 0.842)^2 x 2 x 0.1^2 / ln(1.1)^2 = 25.7; t quantiles ask for a little more.
    assert_eq!(repetitions_needed([0.1, 0.1], 0.1), Some(28));
    assert_eq!(repetitions_needed([0.1, 0.1], -0.1 / 1.1), Some(28), "up and down are the same on logarithms");
    assert_eq!(repetitions_needed([0.0, 0.0], 1.0), Some(3), "never fewer than a verdict needs");
    assert_eq!(repetitions_needed([0.3, 0.3], 0.001), None);
    assert_eq!(repetitions_needed([0.1, 0.1], 0.0), None);
    assert_eq!(repetitions_needed([0.1, 0.1], -1.0), None);
}

#[test]
fn accelerators_are_paid_while_servers_start_too() {
    let cost = forecast().treatments[0].cost;
    assert!((cost.accelerator_minutes(|band| band.p50) - 16.0 * 11.0).abs() < 1e-9);
}

#[test]
fn a_measured_campaign_is_told_where_it_left_the_band() {
    let measured = |ttft: f64| vec![(1, vec![fixture::stage(0, 4.0, ttft), fixture::stage(1, 60.0, ttft)])];
    let treatments = vec![
        fixture::treatment("service", &measured(2.2)),
        fixture::treatment("agentgateway-standalone", &measured(0.5)),
        fixture::treatment("envoy-standalone", &measured(0.2)),
    ];
    let campaign = fixture::campaign("measured", treatments);
    let content = Content::of(&campaign, &[], &Options::default()).unwrap();
    let forecast = forecast();
    let report = content.report(&campaign).with_forecast(&forecast);
    let series: Vec<&Series> = report.treatments.iter().map(|drawn| drawn.treatment).collect();
    let left = forecast.hold(&series);
    assert_eq!(left.unknown.len(), 1, "{left:?}");
    assert!(left.outside.iter().all(|outside| outside.treatment.contains("standalone")), "{left:?}");
    let ttft: Vec<_> = left.outside.iter().filter(|outside| outside.metric == TTFT).collect();
    assert_eq!(ttft.iter().map(|outside| outside.rate).collect::<Vec<_>>(), [4.0, 60.0]);
    let charts = report.charts();
    let chart = charts.iter().find(|chart| chart.id == "ttft-p50").unwrap();
    assert_eq!(chart.series.len(), 5, "three lines and two bands");
    let place = crate::render::page::Place { folder: "/report".into(), link_evidence: false };
    insta::assert_debug_snapshot!(report.campaign_page(&charts, &place).sections);
}

#[test]
fn a_forecast_s_own_page_says_so_first_and_what_repetitions_take() {
    let campaign = forecast_campaign();
    let content = Content::of(&campaign, &[], &Options::default()).unwrap();
    let forecast = forecast();
    let report = content.report(&campaign).with_forecast(&forecast);
    let charts = report.charts();
    assert!(charts.iter().all(|chart| chart.stamp == Some("FORECAST")));
    assert_eq!(charts[0].series.len(), 2, "its own bands are drawn once");
    let home = tempfile::tempdir().unwrap();
    let plan = crate::render::Plan {
        formats: vec![crate::render::Format::Markdown],
        output: home.path().join("report"),
        link_evidence: false,
    };
    crate::render::write(&report, &plan).unwrap();
    let page = fs_err::read_to_string(plan.output.join("README.md")).unwrap();
    assert!(page.lines().nth(2).unwrap().contains("**Forecast.** Nothing was measured"), "{page}");
    let from = page.find("## What a repetition takes").unwrap();
    let to = page.find("## Charts").unwrap();
    insta::assert_snapshot!(&page[from..to]);
}
