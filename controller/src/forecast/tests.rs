use std::path::PathBuf;

use super::*;
use crate::settings::{ConfigTree, Environment, Request, resolve};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn resolved(profile: &str, sets: &[&str]) -> Resolved {
    let sets = sets.iter().map(|set| (*set).to_owned());
    let project = profile.contains("h100").then(|| "gke.project=none".to_owned());
    let request = Request::new(Environment::default()).profile(Some(profile.to_owned())).sets(sets.chain(project));
    resolve(&ConfigTree::open(root()), &request).unwrap()
}

fn asked(seeds: u32) -> Asked {
    Asked { seeds, hardware: None, differences: vec![0.1], standup_seconds: 0.0 }
}

fn refused(profile: &str, sets: &[&str], asked: Asked) -> Failure {
    let resolved = resolved(profile, sets);
    let failure = Plan::new(&root(), &resolved, asked).unwrap_err();
    assert_eq!(failure.kind, crate::failure::Kind::Usage, "{failure}");
    failure
}

#[test]
fn every_profile_of_a_described_machine_can_be_forecast() {
    for (profile, accelerators) in [("smoke", 0), ("quick", 0), ("optimized-baseline-qwen3-32b-h100", 16)] {
        let resolved = resolved(profile, &["workload.stages=15x4w,3x4,6x4"]);
        let plan = Plan::new(&root(), &resolved, asked(3)).unwrap();
        let computed = plan.compute("forecast-test").unwrap();
        assert_eq!(computed.requests, 96 * 3 * resolved.treatments.len(), "{profile}");
        let forecast = &computed.forecast;
        assert_eq!(forecast.treatments.len(), resolved.treatments.len());
        for treatment in &forecast.treatments {
            assert_eq!(treatment.levels.iter().map(|level| level.requested_qps).collect::<Vec<_>>(), [3.0, 6.0]);
            assert_eq!(treatment.cost.accelerators, accelerators);
            assert!(treatment.cost.load_seconds.p50 > 12.0);
            let metrics = &treatment.levels[0].metrics;
            for key in ["requests_per_second", "ttft_p90_seconds", "itl_p50_seconds", "ntpot_p50_seconds"] {
                assert!(metrics[key].p5 <= metrics[key].p50 && metrics[key].p50 <= metrics[key].p95, "{key}");
            }
        }
        assert!(computed.campaign.is_simulated());
    }
}

#[test]
fn the_same_settings_give_the_same_forecast_and_treatments_draw_their_own_arrivals() {
    let resolved = resolved("smoke", &["treatments=agentgateway-standalone,agentgateway-gateway"]);
    let compute = || Plan::new(&root(), &resolved, asked(2)).unwrap().compute("twice").unwrap();
    let (one, two) = (compute(), compute());
    assert_eq!(one.forecast, two.forecast);
    let stages = |place: usize| &one.campaign.treatments[place].repetitions[0].stages;
    assert_ne!(stages(0), stages(1), "two treatments that route alike are two repetitions, not one");
}

#[test]
fn the_canary_s_delay_is_forecast_too() {
    let resolved = resolved("smoke", &["treatments=agentgateway-standalone,canary-delay"]);
    let forecast = Plan::new(&root(), &resolved, asked(5)).unwrap().compute("canary").unwrap().forecast;
    let ttft = |name: &str| forecast.treatment(name).unwrap().levels[0].metrics["ttft_p50_seconds"].p50;
    let added = ttft("canary-delay") - ttft("agentgateway-standalone");
    assert!((added - 0.25).abs() < 0.02, "{added}");
}

#[test]
fn a_workload_that_could_never_run_is_refused_by_forecast_and_benchmark_alike() {
    let sets = ["workload.data.prefix_tokens=17900"];
    let failure = refused("smoke", &sets, asked(2));
    assert!(failure.to_string().contains("18092") && failure.to_string().contains("18000"), "{failure}");
    let failure = crate::provider::identity(&root(), &resolved("smoke", &sets)).unwrap_err();
    assert_eq!(failure.kind, crate::failure::Kind::Usage);
    assert!(failure.to_string().contains("could never be admitted"), "{failure}");
}

#[test]
fn what_cannot_be_computed_says_so() {
    let home = tempfile::tempdir().unwrap();
    let broken = home.path().join("broken.yaml");
    let good = fs_err::read_to_string(root().join("config/hardware/laptop-4.yaml")).unwrap();
    fs_err::write(&broken, good.replace("per_unique_token_seconds: 1.25e-6", "per_unique_token_seconds: -1.25e-6"))
        .unwrap();
    let named = |name: &str| Asked { hardware: Some(name.to_owned()), ..asked(2) };
    let failure = refused("smoke", &[], named(&broken.display().to_string()));
    assert!(failure.to_string().contains("per_unique_token_seconds"), "{failure}");
    let failure = refused("smoke", &[], named("tpu-v9"));
    assert!(failure.hints[0].contains("laptop-4-fast"), "{:?}", failure.hints);
    let another_model = ["cluster.model=some/other-model", "routing.policy=default"];
    let failure = refused("optimized-baseline-qwen3-32b-h100", &another_model, asked(2));
    assert!(failure.hints.iter().any(|hint| hint.contains("--calibrate")), "{:?}", failure.hints);
    assert!(refused("smoke", &[], asked(1)).to_string().contains("at least 2"));
    let file = home.path().join("concurrent.yaml");
    fs_err::write(
        &file,
        "load: {type: concurrent, num_workers: 2, stages: [{num_requests: 10, concurrency_level: 2}]}\ndata: {type: random}\n",
    )
    .unwrap();
    let failure = refused("smoke", &[&format!("workload.file={}", file.display())], asked(2));
    assert!(failure.to_string().contains("concurrent"), "{failure}");
}

#[test]
fn random_data_is_computed_with_the_lengths_of_its_configuration() {
    let sets = [
        "workload.template=random",
        "workload.data.prompts=500",
        "workload.data.input_tokens=400",
        "workload.data.input_tokens_min=200",
        "workload.data.input_tokens_max=700",
        "workload.data.output_tokens=20",
        "workload.stages=20x5",
        "treatments=service",
    ];
    let resolved = resolved("smoke", &sets);
    let computed = Plan::new(&root(), &resolved, asked(2)).unwrap().compute("random").unwrap();
    let stage = &computed.campaign.treatments[0].repetitions[0].stages[0];
    assert_eq!(stage.workload.input.as_ref().unwrap().distribution, "gaussian");
    let mean = stage.requests.input_length.unwrap().mean.unwrap();
    assert!((mean - 400.0).abs() < 40.0, "{mean}");
}

/// A campaign that a model with known coefficients computed; the fit begins from another.
#[test]
fn calibration_recovers_the_curves_of_a_campaign_with_known_coefficients() {
    let resolved = resolved(
        "quick",
        &["treatments=service,agentgateway-standalone", "workload.stages=96x1w,4x5,8x5,16x5,24x5,32x5,40x5,50x5,60x5"],
    );
    let start = Model::find(&root(), &resolved, None).unwrap();
    let mut truth = start.clone();
    truth.hardware.step.base_seconds *= 1.35;
    truth.hardware.step.per_prefill_token_seconds *= 0.7;
    truth.hardware.step.per_unique_token_seconds *= 1.3;
    truth.hardware.overhead.request_seconds *= 2.0;
    let measured = Plan::with_model(&root(), &resolved, asked(5), truth).unwrap().compute("known").unwrap().campaign;
    let fitted = calibrate(&root(), &resolved, &measured, &start, &mut |_, _| {}).unwrap();
    assert!(fitted.cost.1 < 0.2 * fitted.cost.0, "{:?}", fitted.cost);
    let bound = |metric: &str| match metric {
        "requests_per_second" => 0.05,
        "itl_p50_seconds" => 0.05,
        // A tail of a few dozen requests of a saturated Service: runs differ by as much among themselves.
        _ => 0.15,
    };
    for errors in fitted.errors.iter().filter(|errors| errors.held_out) {
        assert!(errors.median <= bound(&errors.metric), "{errors:?}");
    }
    assert_eq!(fitted.errors.iter().filter(|errors| errors.held_out).count(), 8, "four metrics of two treatments");
    let few = campaign_with_few_rates(&measured);
    assert!(
        calibrate(&root(), &resolved, &few, &start, &mut |_, _| {}).unwrap_err().to_string().contains("at least 4")
    );
}

fn campaign_with_few_rates(measured: &Campaign) -> Campaign {
    let mut few = measured.clone();
    for treatment in &mut few.treatments {
        treatment.repetitions.iter_mut().for_each(|repetition| repetition.stages.truncate(3));
    }
    few
}
