use super::*;
use crate::campaign::Campaign;
use crate::render::fixture::{self, failed_stage, stage, treatment};

fn drawn_charts(campaign: &Campaign) -> Vec<Chart> {
    let series: Vec<_> =
        campaign.treatments.iter().map(|treatment| fixture::series(campaign, &treatment.name)).collect();
    let drawn: Vec<Drawn> = series.iter().enumerate().map(|(slot, treatment)| Drawn { treatment, slot }).collect();
    charts(&drawn, "charts-20261130", campaign.is_simulated())
}

fn ids(charts: &[Chart]) -> Vec<&str> {
    charts.iter().map(|chart| chart.id.as_str()).collect()
}

fn chart<'a>(charts: &'a [Chart], id: &str) -> &'a Chart {
    charts.iter().find(|chart| chart.id == id).unwrap()
}

#[test]
fn the_published_campaign_has_a_logarithmic_ttft_and_a_linear_throughput() {
    let charts = drawn_charts(&fixture::published());
    assert_eq!(
        ids(&charts),
        ["throughput", "request-rate", "ttft-p50", "ttft-p90", "itl-p50", "ntpot-p50", "latency-throughput"]
    );
    assert_eq!(chart(&charts, "ttft-p50").y.scale, Scale::Log);
    assert_eq!(chart(&charts, "throughput").y.scale, Scale::Linear);
    let itl = chart(&charts, "itl-p50").series[0].points.last().unwrap().y.unwrap();
    assert!((itl - 30.317).abs() < 0.001, "inter-token latency is drawn in milliseconds: {itl}");
}

#[test]
fn a_missing_point_is_named_and_failures_are_drawn_only_where_there_are_any() {
    let stages = vec![stage(0, 4.0, 0.2), failed_stage(1, 8.0), stage(2, 12.0, 0.5)];
    let charts = drawn_charts(&fixture::campaign("gap", vec![treatment("service", &[(1, stages)])]));
    let ttft = chart(&charts, "ttft-p50");
    assert_eq!(ttft.series[0].points[1].y, None);
    assert!(ttft.footer.contains(&"n/a for service at 8.".to_owned()));
    assert_eq!(chart(&charts, "failures").series[0].points[1].y, Some(100.0));
}

#[test]
fn one_stage_is_enough_for_a_chart_but_not_for_a_path() {
    let charts = drawn_charts(&fixture::campaign("one", vec![treatment("service", &[(1, vec![stage(0, 4.0, 0.2)])])]));
    assert!(ids(&charts).contains(&"throughput"));
    assert!(!ids(&charts).contains(&"latency-throughput"));
}

#[test]
fn repetitions_are_drawn_as_their_median_and_range() {
    let ladder = |ttft| vec![stage(0, 4.0, ttft)];
    let repetitions = [(1, ladder(0.3)), (2, ladder(0.1)), (3, ladder(0.2))];
    let charts = drawn_charts(&fixture::campaign("three", vec![treatment("service", &repetitions)]));
    let point = chart(&charts, "ttft-p50").series[0].points[0];
    assert_eq!((point.y, point.spread), (Some(0.2), Some((0.1, 0.3))));
    assert!(chart(&charts, "ttft-p50").footer.iter().any(|line| line.contains("median of 3 repetitions")));
}

#[test]
fn a_distribution_is_drawn_only_through_stored_percentiles() {
    let charts = drawn_charts(&fixture::large());
    let distribution = chart(&charts, "ttft-distribution");
    assert_eq!(distribution.series[0].points.len(), 13);
    assert_eq!(distribution.series[0].points[12].y, Some(100.0));
    assert!(distribution.title.ends_with("at 59 requests/s"));
}

#[test]
fn records_draw_every_percent_only_where_all_treatments_have_them() {
    let sampled = |ttft| vec![fixture::with_records(stage(0, 4.0, ttft), 400)];
    let treatments = vec![treatment("service", &[(1, sampled(1.0))]), treatment("routed", &[(1, sampled(0.1))])];
    let charts = drawn_charts(&fixture::campaign("sampled", treatments));
    let ttft = chart(&charts, "ttft-distribution");
    assert_eq!(ttft.series[1].points.len(), 103);
    assert_eq!((ttft.series[1].points[51].x, ttft.series[1].points[51].y), (Some(0.1), Some(50.0)));
    assert!(ids(&charts).contains(&"latency-distribution"));
    let treatments =
        vec![treatment("service", &[(1, sampled(1.0))]), treatment("routed", &[(1, vec![stage(0, 4.0, 0.1)])])];
    let charts = drawn_charts(&fixture::campaign("partly", treatments));
    assert_eq!(chart(&charts, "ttft-distribution").series[0].points.len(), 13);
    assert!(!ids(&charts).contains(&"latency-distribution"));
}

#[test]
fn simulated_numbers_are_stamped_on_every_chart() {
    let charts = drawn_charts(&fixture::simulated(fixture::published()));
    assert!(charts.iter().all(|chart| chart.stamp == Some("SIMULATED") && chart.footer.iter().any(|line| line.contains("simulated"))));
}
