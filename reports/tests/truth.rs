//! The published figures, built into stage documents, come out as the headline table that was published from them.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up must fail")]

mod support;

use reports::campaign;
use reports::compare::{Comparison, Options, Word, compare};
use reports::manifest::Manifest;
use reports::model::{Level, Metric, Quantity, Statistic};
use reports::render::{csv, json};

const TTFT_P50: Metric = Metric::Latency(Quantity::Ttft, Statistic::P50);
const TTFT_P90: Metric = Metric::Latency(Quantity::Ttft, Statistic::P90);
const ITL_P50: Metric = Metric::Latency(Quantity::Itl, Statistic::P50);

fn comparison(candidate: &str) -> Comparison {
    let folder = tempfile::tempdir().unwrap();
    support::published(folder.path());
    let campaign = campaign::read(folder.path()).unwrap();
    assert_eq!(campaign.warnings, Vec::<String>::new());
    compare(&campaign, "service", candidate, &Options::default()).unwrap()
}

/// Baseline, candidate and difference of the headline table, rounded as they were published.
fn published(comparison: &Comparison) -> Vec<(String, String, String, String)> {
    let rows = comparison.headline.iter().map(|row| {
        let (metric, scale, digits) = match row.delta.metric {
            Metric::OutputTokenRate => ("peak output tokens/s", 1.0, 0),
            Metric::RequestRate => ("requests/s", 1.0, 2),
            TTFT_P50 => ("TTFT p50 s", 1.0, 1),
            TTFT_P90 => ("TTFT p90 s", 1.0, 1),
            ITL_P50 => ("ITL p50 ms", 1000.0, 1),
            other => panic!("{other} is no published row"),
        };
        let show = |value: f64| format!("{:.digits$}", value * scale);
        let side = |side: &Option<reports::statistics::Spread>| show(side.as_ref().unwrap().median);
        let relative = format!("{:+.1}%", row.delta.relative.unwrap() * 100.0);
        (metric.to_owned(), side(&row.delta.baseline), side(&row.delta.candidate), relative)
    });
    rows.collect()
}

fn row(metric: &str, baseline: &str, candidate: &str, relative: &str) -> (String, String, String, String) {
    (metric.into(), baseline.into(), candidate.into(), relative.into())
}

#[test]
fn the_published_headline_table_is_reproduced_for_standalone() {
    assert_eq!(
        published(&comparison("agentgateway-standalone")),
        [
            row("peak output tokens/s", "6910", "16178", "+134.1%"),
            row("requests/s", "6.70", "16.52", "+146.5%"),
            row("TTFT p50 s", "62.9", "0.1", "-99.8%"),
            row("TTFT p90 s", "135.6", "0.2", "-99.8%"),
            row("ITL p50 ms", "30.3", "52.7", "+73.7%"),
        ]
    );
}

#[test]
fn the_published_headline_table_is_reproduced_for_the_gateway() {
    assert_eq!(
        published(&comparison("agentgateway-gateway")),
        [
            row("peak output tokens/s", "6910", "14241", "+106.1%"),
            row("requests/s", "6.70", "13.96", "+108.3%"),
            row("TTFT p50 s", "62.9", "0.2", "-99.7%"),
            row("TTFT p90 s", "135.6", "0.2", "-99.8%"),
            row("ITL p50 ms", "30.3", "49.6", "+63.7%"),
        ]
    );
}

#[test]
fn at_light_load_the_published_ttft_is_reproduced() {
    let comparison = comparison("agentgateway-standalone");
    let lowest = &comparison.levels[0];
    assert_eq!(lowest.level, Level::Rate(3.0));
    let ttft = lowest.delta(TTFT_P50).unwrap();
    assert_eq!(format!("{:.3}", ttft.baseline.as_ref().unwrap().median), "0.486");
    assert_eq!(format!("{:.3}", ttft.candidate.as_ref().unwrap().median), "0.082");
}

#[test]
fn the_warm_up_is_on_no_curve_and_in_the_request_count() {
    let comparison = comparison("agentgateway-gateway");
    for side in [&comparison.baseline, &comparison.candidate] {
        assert_eq!(side.points.len(), 16);
        assert_eq!(side.warm_up.iter().map(|point| point.stage).collect::<Vec<_>>(), [0]);
        assert_eq!(side.at(Level::Rate(15.0)).unwrap().stage, 3);
        let published: u64 = side.points.iter().map(|point| point.repetitions[0].1.requests.total).sum();
        assert_eq!(side.totals.requests, published + 300);
        assert_eq!(side.totals.failures, Some(0));
    }
}

#[test]
fn peak_knee_and_saturation_are_named() {
    let comparison = comparison("agentgateway-gateway");
    let level = |turn: Option<reports::compare::Turn>| turn.map(|turn| turn.level.value());
    let service = &comparison.baseline;
    assert_eq!(
        (level(service.peak), level(service.knee), level(service.saturation)),
        (Some(40.0), Some(20.0), Some(22.0))
    );
    let gateway = &comparison.candidate;
    assert_eq!((level(gateway.peak), level(gateway.knee), level(gateway.saturation)), (Some(40.0), None, Some(40.0)));
}

#[test]
fn one_repetition_is_never_called_better() {
    let comparison = comparison("agentgateway-standalone");
    let rows = comparison.levels.iter().flat_map(|row| &row.deltas);
    let mut words = rows.chain(comparison.headline.iter().map(|row| &row.delta)).map(|delta| delta.verdict.word);
    assert!(words.all(|word| word == Word::NotEnoughData));
    assert!(comparison.notes[0].starts_with("One repetition shows what happened once."));
}

#[test]
fn the_input_rate_is_total_minus_output() {
    let comparison = comparison("agentgateway-standalone");
    let row = &support::rows(support::STANDALONE, "service")[0];
    let found = comparison.levels[0].delta(Metric::InputTokenRate).unwrap().baseline.as_ref().unwrap().median;
    assert!((found - row[1]).abs() < 1e-9 * found);
}

#[test]
fn milliseconds_and_seconds_give_the_same_table() {
    let folder = tempfile::tempdir().unwrap();
    support::published(folder.path());
    for (number, row) in support::rows(support::GATEWAY, "agentgateway-gateway").iter().enumerate() {
        let stage = support::Stage { unit: "ms", ..support::Stage::number(number as u32 + 1) };
        support::write(&support::dir(folder.path(), "agentgateway-gateway", 1), "agentgateway-gateway", &stage, row);
    }
    let campaign = campaign::read(folder.path()).unwrap();
    let mixed = compare(&campaign, "service", "agentgateway-gateway", &Options::default()).unwrap();
    assert_eq!(published(&mixed), published(&comparison("agentgateway-gateway")));
}

#[test]
fn the_tables_that_were_published_and_ours_become_the_same_comparison() {
    let from_documents = comparison("agentgateway-standalone");
    let manifest = || -> Manifest { serde_yaml::from_str(support::MANIFEST).unwrap() };
    let earlier = campaign::from_metrics("published".as_ref(), manifest(), support::STANDALONE).unwrap();
    let ours = csv::metrics(&[&from_documents.baseline, &from_documents.candidate]);
    let ours = campaign::from_metrics("published".as_ref(), manifest(), &ours).unwrap();
    for campaign in [earlier, ours] {
        let again = compare(&campaign, "service", "agentgateway-standalone", &Options::default()).unwrap();
        assert_eq!(published(&again), published(&from_documents));
        assert_eq!(again.levels.len(), 16);
    }
}

#[test]
fn the_csv_has_the_published_numbers_and_empty_cells_for_what_is_not_known() {
    let comparison = comparison("agentgateway-gateway");
    let table = csv::metrics(&[&comparison.baseline, &comparison.candidate]);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 1 + 32);
    let p99 = lines[0].iter().position(|head| *head == "ttft_p99_seconds").unwrap();
    for (ours, theirs) in lines.iter().zip(support::GATEWAY.lines()).skip(1) {
        assert_eq!(ours[p99], "");
        for (ours, theirs) in ours.iter().zip(theirs.split(',')).skip(1) {
            let (ours, theirs): (f64, f64) = (ours.parse().unwrap(), theirs.parse().unwrap());
            assert!((ours - theirs).abs() <= 1e-12 * theirs.abs(), "{ours} {theirs}");
        }
    }
}

#[test]
fn the_json_says_the_same_and_its_version() {
    let document: serde_json::Value =
        serde_json::from_str(&json::comparison(&comparison("agentgateway-gateway"))).unwrap();
    assert_eq!(document["schema"], "comparison");
    assert_eq!(document["schema_version"], 2);
    assert_eq!(document["axis"]["kind"], "rate");
    assert_eq!(document["headline"][0]["baseline"]["median"], 6910.212671808169);
    assert_eq!(document["headline"][0]["verdict"]["word"], "not_enough_data");
    assert_eq!(document["levels"].as_array().unwrap().len(), 16);
    assert_eq!(document["baseline"]["knee"]["level"], 20.0);
    assert_eq!(document["baseline"]["warm_up_stages"][0]["stage"], 0);
}
