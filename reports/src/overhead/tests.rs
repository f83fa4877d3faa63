//! The comparison over rounds, on campaigns whose true differences are known.

use std::path::Path;

use serde_json::{Value, json};

use super::build::{Measure, difference};
use super::{FILE, build, charts, markdown};

/// A client's results at two rates: latencies in microseconds.
fn client(ttft: f64, reached: bool) -> Value {
    let times = |value: f64| json!({"mean": value, "p50": value, "p90": value * 2.0, "p99": value * 3.0, "p999": null});
    let stage = |rate: f64, reached: bool| {
        json!({
            "offered_rate": rate, "achieved_rate": rate, "completed_rate": if reached { rate } else { rate / 2.0 },
            "target_met": reached, "succeeded": 500, "unsent": 0, "failed": {},
            "ttft": times(ttft), "latency": times(ttft + 1000.0), "chunk_interval": times(100.0 + ttft / 100.0),
            "lateness": times(20.0),
            "usage": [{"name": "proxy", "cpu_seconds": 0.25, "resident_bytes": 52_428_800}],
        })
    };
    json!({
        "schema_version": 1, "client": "testbed-open-loop 0.1.0",
        "qualification": {"json_with_usage": true, "stream_ends": true, "stream_spread_ms": 14.0, "upstream_429": true},
        "stages": [stage(20.0, true), stage(1000.0, reached)],
    })
}

/// A campaign of two treatments whose rounds have these TTFTs in microseconds.
fn campaign(folder: &Path, rounds: &[(f64, f64)]) -> crate::campaign::Campaign {
    let treatment = |name: &str| crate::campaign::Treatment {
        name: name.into(),
        display_name: format!("The {name}"),
        repetitions: Vec::new(),
        failed: Vec::new(),
        stack: crate::model::Stack::default(),
    };
    let mut treatments = [treatment("direct"), treatment("proxy")];
    for (number, (direct, proxy)) in (1..).zip(rounds) {
        for (treatment, ttft) in treatments.iter_mut().zip([*direct, *proxy]) {
            let dir = folder.join(&treatment.name).join(number.to_string());
            fs_err::create_dir_all(&dir).unwrap();
            fs_err::write(dir.join(FILE), client(ttft, treatment.name == "direct").to_string()).unwrap();
            treatment.repetitions.push(crate::campaign::Repetition { number, dir, stages: Vec::new() });
        }
    }
    let mut campaign = crate::render::fixture::published();
    campaign.treatments = treatments.into();
    campaign
}

#[test]
fn a_known_difference_is_found_within_rounds_although_the_machine_drifts() {
    let folder = tempfile::tempdir().unwrap();
    // The machine gets slower by half each round; the proxy always adds 200 us, give or take 1.
    let rounds = [(1000.0, 1200.0), (1500.0, 1701.0), (2250.0, 2449.0), (3375.0, 3575.0)];
    let overhead = build(&campaign(folder.path(), &rounds)).unwrap().unwrap();
    assert_eq!((overhead.rounds, overhead.baseline.as_str()), (4, "direct"));
    assert!(overhead.treatments[0].stages[0].costs.iter().all(|cost| cost.added.is_none()), "not against itself");
    let proxy = &overhead.treatments[1];
    let ttft = &proxy.stages[0].costs[0];
    assert_eq!((ttft.measure, ttft.statistic, ttft.value_ms), (Measure::Ttft, "p50", Some(2.075)));
    let added = ttft.added.unwrap();
    let (low, high) = added.interval_ms.unwrap();
    assert!((added.mean_ms - 0.2).abs() < 1e-9 && low > 0.198 && high < 0.202, "{added:?}");
    assert_eq!(proxy.stages[0].costs[3].added, None, "a percentile that is absent has no difference");
    assert_eq!((proxy.limit.highest_met, proxy.limit.found), (Some(20.0), true));
    assert_eq!((overhead.treatments[0].limit.highest_met, overhead.treatments[0].limit.found), (Some(1000.0), false));
    assert_eq!(proxy.stages[0].components[0].cpu_seconds_per_1000, Some(0.5));
    assert_eq!(proxy.stages[0].components[0].resident_mib, Some(50.0));
    let drawn = charts(&overhead);
    assert_eq!(drawn.len(), 3);
    insta::assert_snapshot!(markdown(&overhead, &drawn));
}

#[test]
fn one_round_has_no_interval_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let overhead = build(&campaign(folder.path(), &[(1000.0, 1200.0)])).unwrap().unwrap();
    assert_eq!(overhead.treatments[1].stages[0].costs[0].added.unwrap().interval_ms, None);
    assert!(markdown(&overhead, &[]).contains("One round has no confidence interval"));
}

#[test]
fn the_interval_is_student_s() {
    let added = difference(&[1.0, 2.0, 3.0]).unwrap();
    let (low, high) = added.interval_ms.unwrap();
    // t(0.975, 2) = 4.302653, s = 1: half a width of 4.302653 / sqrt 3.
    assert!((added.mean_ms - 2.0).abs() < 1e-12);
    assert!((high - low - 2.0 * 4.302_652_73 / 3_f64.sqrt()).abs() < 1e-6, "{low} {high}");
    assert_eq!(difference(&[]), None);
}

#[test]
fn rounds_that_lack_a_treatment_and_campaigns_of_another_client_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = campaign(folder.path(), &[(1000.0, 1200.0), (1000.0, 1300.0)]);
    campaign.treatments[1].repetitions.pop();
    assert_eq!(build(&campaign).unwrap().unwrap().rounds, 1);
    assert_eq!(build(&crate::render::fixture::published()).unwrap(), None);
}

#[test]
fn results_that_cannot_be_meant_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let campaign = campaign(folder.path(), &[(1000.0, 1200.0)]);
    let file = campaign.treatments[0].repetitions[0].dir.join(FILE);
    for (change, reason) in
        [(("schema_version", json!(2)), "newer than this program reads"), (("stages", json!("none")), "invalid type")]
    {
        let mut text = client(1.0, true);
        text[change.0] = change.1;
        fs_err::write(&file, text.to_string()).unwrap();
        let error = build(&campaign).unwrap_err().to_string();
        assert!(error.contains(FILE) && error.contains(reason), "{error}");
    }
    let mut text = client(1.0, true);
    text["stages"][0]["offered_rate"] = json!(-5);
    fs_err::write(&file, text.to_string()).unwrap();
    assert!(build(&campaign).unwrap_err().to_string().contains("are not rates"));
}
