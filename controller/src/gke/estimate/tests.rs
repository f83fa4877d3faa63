//! The estimate against a campaign that was measured and paid for.

use super::*;
use crate::settings::test_tree::copy;
use crate::settings::{Request, resolve};

fn h100(sets: &[&str]) -> Result<Estimate> {
    let (_folder, tree) = copy();
    let environment = [("BENCHMARK_GKE_PROJECT", "a-project")].into_iter().collect();
    let request = Request::new(environment)
        .profile(Some("optimized-baseline-qwen3-32b-h100".to_owned()))
        .sets(sets.iter().map(|set| (*set).to_owned()));
    let resolved = resolve(&tree, &request)?;
    estimate(&resolved.settings, &prices(&tree, &resolved)?)
}

fn policy<'a>(estimate: &'a Estimate, name: &str) -> &'a Policy {
    estimate.policies.iter().find(|policy| policy.policy == name).unwrap()
}

/// The GPU-pool minutes of the three runs of the measured campaign, and what all of it cost.
const MEASURED_MINUTES: f64 = 82.5 + 92.4 + 60.0;
const MEASURED_USD: (f64, f64) = (400.0, 425.0);

#[test]
fn the_measured_campaign_is_estimated_within_15_percent_in_time_and_money() {
    let estimate = h100(&[]).unwrap();
    let restarted = policy(&estimate, "after-load");
    assert!((restarted.pool_minutes / MEASURED_MINUTES - 1.0).abs() < 0.15, "{restarted:?}");
    assert!(restarted.cost > MEASURED_USD.0 * 0.85 && restarted.cost < MEASURED_USD.1 * 1.15, "{restarted:?}");
    assert!((restarted.campaign_minutes / 355.0 - 1.0).abs() < 0.15, "{restarted:?}");
}

#[test]
fn each_load_is_estimated_within_15_percent_of_its_measured_stages() {
    let estimate = h100(&[]).unwrap();
    // Requests over completed requests a second of every published stage, plus 8 minutes of pauses and the warm-up.
    for (load, measured) in estimate.loads.iter().zip([42.7 + 8.0 + 2.0, 19.4 + 8.0 + 1.0, 21.6 + 8.0 + 1.1]) {
        assert!((load.minutes / measured - 1.0).abs() < 0.15, "{load:?} measured {measured}");
    }
}

#[test]
fn shared_servers_leave_less_than_half_of_the_minutes_in_which_gpus_wait() {
    let estimate = h100(&[]).unwrap();
    let (restarted, shared) = (policy(&estimate, "after-load"), policy(&estimate, "shared"));
    assert!(shared.idle_minutes <= 0.5 * restarted.idle_minutes, "{shared:?} {restarted:?}");
    // The loads alone are 0.48 of the measured minutes: no policy can come below that.
    assert!(shared.pool_minutes <= 0.72 * MEASURED_MINUTES && shared.cost < 0.75 * MEASURED_USD.0, "{shared:?}");
}

#[test]
fn policies_that_hold_nodes_longer_cost_more_and_repetitions_add_up() {
    let estimate = h100(&[]).unwrap();
    let minutes: Vec<f64> = estimate.policies.iter().map(|policy| policy.pool_minutes).collect();
    assert!(minutes.windows(2).all(|pair| pair[0] > pair[1]), "{minutes:?}");
    let thrice = h100(&["repetitions=3"]).unwrap();
    for name in ["after-run", "after-load", "shared"] {
        let (one, three) = (policy(&estimate, name), policy(&thrice, name));
        assert!((three.pool_minutes / one.pool_minutes - 3.0).abs() < 1e-9, "{name}");
    }
    insta::assert_snapshot!(estimate.text());
}

#[test]
fn a_node_without_a_price_is_refused() {
    let failure = h100(&["gke.gpu.spot=false"]).unwrap_err();
    assert!(failure.to_string().contains("no price of a3-highgpu-2g"), "{failure}");
}
