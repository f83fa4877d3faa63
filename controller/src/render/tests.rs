//! Rendered treatments, by themselves and through the real llm-d-benchmark.

mod real;

use std::path::Path;

use serde_yaml::Value;
use tempfile::TempDir;

use super::{Places, Rendered, Subject, treatment};
use crate::failure::{Failure, Kind};
use crate::settings::test_tree::{copy, workspace};
use crate::settings::{ConfigTree, Environment, Request, Resolved, Treatment, resolve};

const WORKLOAD: &str = "load: {type: constant}\n";
/// Every profile of a cluster; each is rendered with every treatment that its provider can run.
const PROFILES: [&str; 7] = [
    "kind-smoke",
    "kind-sim",
    "gke-sim",
    "load-only-qwen3-32b-h100",
    "optimized-baseline-qwen3-32b-h100",
    "optimized-baseline-qwen3-32b-h100-v0.9",
    "optimized-baseline-qwen3-32b-h100-v0.9-vllm-v0.27.1",
];

fn tree() -> ConfigTree {
    ConfigTree::open(workspace())
}

fn resolved(profile: &str, sets: &[&str]) -> Resolved {
    let environment: Environment = [("BENCHMARK_GKE_PROJECT", "a-project")].into_iter().collect();
    let request =
        Request::new(environment).profile(Some(profile.to_owned())).sets(sets.iter().map(|set| (*set).to_owned()));
    let (_folder, tree) = copy();
    resolve(&tree, &request).unwrap()
}

/// A checkout that has only one guide, as small as one can be.
fn checkout() -> TempDir {
    let folder = TempDir::new().unwrap();
    let guides = folder.path().join("config/scenarios/guides");
    fs_err::create_dir_all(&guides).unwrap();
    let guide = "scenario:\n- name: a-guide\n  common: {model: {blockSize: 64}}\n  kustomize: {enabled: true}\n  \
                 modelservice: {decode: {replicas: 2}, router: {modelServers: {protocol: http}}}\n";
    fs_err::write(guides.join("optimized-baseline.yaml"), guide).unwrap();
    folder
}

fn render(resolved: &Resolved, name: &str, checkout: &Path) -> Rendered {
    let chosen = tree().treatment(name, "test").unwrap();
    let places = Places { folder: Path::new("/campaign/work"), checkout };
    treatment(&tree(), resolved, subject(&chosen), places, WORKLOAD).unwrap()
}

fn subject(treatment: &Treatment) -> Subject<'_> {
    Subject { campaign: "nightly", treatment, namespace: "bench-nightly" }
}

fn scenario(profile: &str, sets: &[&str], name: &str) -> Value {
    let checkout = checkout();
    let rendered = render(&resolved(profile, sets), name, checkout.path());
    serde_yaml::from_str::<Value>(&rendered.scenario).unwrap()["scenario"][0].clone()
}

#[test]
fn a_plain_service_on_kind() {
    insta::assert_snapshot!(render(&resolved("kind-sim", &[]), "service", Path::new("/checkout")).scenario);
}

#[test]
fn agentgateway_beside_the_picker_on_h100() {
    let checkout = checkout();
    let resolved = resolved("optimized-baseline-qwen3-32b-h100-v0.9", &[]);
    insta::assert_snapshot!(render(&resolved, "agentgateway-standalone", checkout.path()).scenario);
}

#[test]
fn the_specification_names_the_checkout_and_the_scenario() {
    insta::assert_snapshot!(render(&resolved("kind-sim", &[]), "service", Path::new("/checkout")).spec);
}

#[test]
fn what_must_be_the_same_is_the_same_for_every_treatment_of_a_profile() {
    let checkout = checkout();
    for profile in PROFILES {
        let resolved = resolved(profile, &[]);
        let hashes: Vec<_> = treatments(&resolved)
            .iter()
            .map(|name| render(&resolved, name, checkout.path()).invariant_sha256)
            .collect();
        assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{profile}: {hashes:?}");
    }
}

#[test]
fn what_must_be_the_same_notices_another_model_server_or_load() {
    let hash = |sets: &[&str]| render(&resolved("kind-sim", sets), "service", Path::new("/checkout")).invariant_sha256;
    assert_ne!(hash(&[]), hash(&["cluster.replicas=4"]));
    assert_ne!(hash(&[]), hash(&["pins.llm_d_inference_sim=v0.8.3"]));
    assert_eq!(hash(&[]), hash(&["agentgateway.image=registry.test/agentgateway:dev"]));
}

#[test]
fn a_reference_profile_expects_its_images_and_only_those_a_treatment_has() {
    let checkout = checkout();
    let resolved = resolved("optimized-baseline-qwen3-32b-h100-v0.9", &[]);
    let images = |name: &str| render(&resolved, name, checkout.path()).images;
    let service: Vec<_> = images("service").into_values().collect();
    assert_eq!(service, ["docker.io/vllm/vllm-openai:v0.23.0"]);
    let gateway = images("agentgateway-gateway");
    assert_eq!(gateway["proxy"], "cr.agentgateway.dev/agentgateway:v1.4.1");
    assert_eq!(gateway["controller"], "cr.agentgateway.dev/controller:v1.4.1");
    assert_eq!(gateway["epp"], "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.9.0");
}

#[test]
fn an_image_of_the_users_own_reaches_the_sidecar() {
    let sets = ["agentgateway.image=registry.test:5000/agentgateway:dev"];
    let scenario = scenario("kind-sim", &sets, "agentgateway-standalone");
    let image = &scenario["modelservice"]["router"]["proxy"]["image"];
    assert_eq!(*image, Value::from("registry.test:5000/agentgateway:dev"));
}

#[test]
fn the_picker_carries_out_the_same_policy_file_as_the_testbed() {
    let scenario = scenario("optimized-baseline-qwen3-32b-h100", &[], "agentgateway-standalone");
    let epp = &scenario["modelservice"]["router"]["epp"];
    assert_eq!(epp["pluginsConfigFile"], Value::from("optimized-baseline.yaml"));
    let file = fs_err::read_to_string(tree().path("routing/optimized-baseline.yaml")).unwrap();
    assert_eq!(epp["pluginsCustomConfig"]["optimized-baseline.yaml"], Value::from(file));
}

#[test]
fn a_guide_that_is_not_there_is_a_usage_error_that_says_how_to_get_it() {
    let resolved = resolved("optimized-baseline-qwen3-32b-h100", &[]);
    let places = Places { folder: Path::new("/campaign/work"), checkout: Path::new("/no/checkout") };
    let error = treatment(&tree(), &resolved, subject(&resolved.treatments[0]), places, WORKLOAD).unwrap_err();
    let failure = Failure::from(error);
    assert_eq!(failure.kind, Kind::Usage);
    assert!(failure.hints.join(" ").contains("cargo xtask upstream sync"), "{:?}", failure.hints);
}

/// The treatments that a profile's provider can run.
fn treatments(resolved: &Resolved) -> Vec<String> {
    let all = tree().treatments().unwrap();
    all.into_iter().filter(|t| t.providers.contains(&resolved.provider.name)).map(|t| t.name).collect()
}

fn planned(profile: &str, sets: &[&str]) -> (TempDir, super::Plan) {
    let folder = TempDir::new().unwrap();
    let checkout = checkout();
    let plan = super::plan(&tree(), &resolved(profile, sets), "nightly", folder.path(), checkout.path()).unwrap();
    (folder, plan)
}

/// The commands with the temporary folder taken out.
fn commands(folder: &TempDir, plan: &super::Plan, treatment: &str) -> String {
    let cell = plan.cells.iter().find(|cell| cell.treatment == treatment).unwrap();
    let lines: Vec<_> = cell.steps.iter().map(|step| format!("{}: {}", step.name, step.argv.join(" "))).collect();
    lines.join("\n").replace(&folder.path().display().to_string(), "DIR")
}

#[test]
fn the_commands_of_each_way_to_the_model_servers() {
    let (folder, plan) = planned("kind-smoke", &[]);
    let (gke_folder, gke) = planned("gke-sim", &["treatments=service,gke-gateway"]);
    insta::assert_snapshot!(
        [
            commands(&folder, &plan, "service"),
            commands(&folder, &plan, "agentgateway-standalone"),
            commands(&folder, &plan, "agentgateway-gateway"),
            commands(&gke_folder, &gke, "gke-gateway"),
        ]
        .join("\n\n")
    );
}

#[test]
fn a_plan_holds_every_repetition_in_its_order_and_writes_its_files() {
    let (_folder, plan) = planned("kind-smoke", &["repetitions=2", "order=rotated"]);
    let cells: Vec<_> = plan.cells.iter().map(|cell| format!("{} {}", cell.treatment, cell.repetition)).collect();
    assert_eq!(
        cells,
        [
            "service 1",
            "agentgateway-standalone 1",
            "agentgateway-gateway 1",
            "agentgateway-standalone 2",
            "agentgateway-gateway 2",
            "service 2"
        ]
    );
    for cell in &plan.cells {
        for name in ["scenario.yaml", "spec.yaml", "workload.yaml", "invariant.yaml"] {
            assert!(cell.folder.join(name).is_file(), "{name}");
        }
    }
}

#[test]
fn the_published_ladder_is_scaled_by_the_replicas_and_leaves_endpoint_and_model_to_llm_d_benchmark() {
    let (_folder, plan) = planned("optimized-baseline-qwen3-32b-h100", &["cluster.replicas=2"]);
    let text = fs_err::read_to_string(plan.cells[0].folder.join("workload.yaml")).unwrap();
    let workload: Value = serde_yaml::from_str(&text).unwrap();
    let stages = workload["load"]["stages"].as_sequence().unwrap();
    assert_eq!(stages.len(), 17);
    let rates: Vec<_> = stages.iter().map(|stage| stage["rate"].as_f64().unwrap()).collect();
    assert_eq!(rates[..3], [3.75, 0.75, 2.5]);
    assert_eq!(rates[16], 15.0);
    assert_eq!(workload["load"]["type"], Value::from("poisson"));
    assert_eq!(workload["load"]["request_timeout"].as_f64(), Some(300.0));
    assert_eq!(workload["server"]["base_url"], Value::from("REPLACE_ENV_LLMDBENCH_HARNESS_STACK_ENDPOINT_URL"));
    assert_eq!(workload["server"]["model_name"], Value::from("REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_MODEL"));
}

#[test]
fn the_deterministic_variant_has_constant_arrivals_and_a_shorter_timeout() {
    let (_folder, plan) = planned("load-only-qwen3-32b-h100", &["workload.variant=deterministic"]);
    let text = fs_err::read_to_string(plan.cells[0].folder.join("workload.yaml")).unwrap();
    let workload: Value = serde_yaml::from_str(&text).unwrap();
    assert_eq!(workload["load"]["type"], Value::from("constant"));
    assert_eq!(workload["load"]["request_timeout"].as_f64(), Some(120.0));
    assert_eq!(workload["load"]["base_seed"].as_u64(), Some(42));
    assert_eq!(workload["data"]["input_distribution"]["mean"].as_u64(), Some(7200));
    assert_eq!(workload["data"]["input_distribution"]["total_count"].as_u64(), Some(20000));
}

#[test]
fn a_local_campaign_has_no_plan_for_a_cluster() {
    let folder = TempDir::new().unwrap();
    let failure = super::plan(&tree(), &resolved("quick", &[]), "x", folder.path(), folder.path()).unwrap_err();
    assert_eq!(failure.kind, Kind::Usage);
    assert!(failure.hints.join(" ").contains("--profile kind-smoke"));
}

#[test]
fn combinations_that_cannot_run_are_refused_with_what_to_change() {
    for (profile, sets, reason, change) in [
        ("kind-sim", &["cluster.accelerator.type=gpu"][..], "accelerator type gpu is unknown here on kind", "sim, cpu"),
        ("gke-sim", &["cluster.accelerator.type=tpu/v6"], "not implemented", "sim, cpu, gpu"),
        ("gke-sim", &["cluster.accelerator.type=gpu", "cluster.backend=inference-sim"], "inference-sim", "use vllm"),
        ("gke-sim", &["cluster.backend=sglang"], "sglang is not implemented", "use inference-sim"),
        (
            "kind-sim",
            &["routing.policy=load-only"],
            "needs scenario optimized-baseline",
            "set scenario=optimized-baseline",
        ),
        ("kind-sim", &["treatments=gke-gateway"], "cannot run on the provider kind", "it runs on gke"),
        (
            "kind-sim",
            &["scenario=pd-disaggregation"],
            "needs a router, which the treatment service",
            "agentgateway-comparison",
        ),
        ("kind-sim", &["scenario=optimised-baseline"], "unknown scenario", "did you mean optimized-baseline"),
        ("kind-sim", &["provider=kube"], "needs a context", "BENCHMARK_KUBE_CONTEXT"),
        ("kind-sim", &["pins.llm_d_router_chart=main"], "is not an immutable release", "vX.Y.Z"),
        (
            "optimized-baseline-qwen3-32b-h100-v0.9",
            &["pins.vllm=v0.30.0"],
            "is reproduced with `v0.23.0`",
            "leave pins.vllm out",
        ),
    ] {
        let environment: Environment = [("BENCHMARK_GKE_PROJECT", "a-project")].into_iter().collect();
        let request =
            Request::new(environment).profile(Some(profile.to_owned())).sets(sets.iter().map(|set| (*set).to_owned()));
        let failure = Failure::from(resolve(&tree(), &request).map(|resolved| resolved.profile).unwrap_err());
        assert_eq!(failure.kind, Kind::Usage, "{sets:?}");
        assert!(failure.to_string().contains(reason), "{sets:?}: {failure}");
        assert!(failure.hints.join("\n").contains(change), "{sets:?}: {:?}", failure.hints);
    }
}

#[test]
fn rendered_files_read_back_identically_in_pyyaml() {
    let checkout = checkout();
    let resolved = resolved("optimized-baseline-qwen3-32b-h100", &[]);
    let rendered = render(&resolved, "agentgateway-standalone", checkout.path());
    let script = "import json, sys, yaml\nprint(json.dumps(yaml.safe_load(sys.stdin.buffer.read())))";
    for text in [&rendered.scenario, &rendered.spec, &rendered.invariant] {
        let Some(printed) = super::emit::python(script, text) else {
            eprintln!("SKIPPED: no python3 with PyYAML on PATH");
            return;
        };
        let ours: Value = serde_yaml::from_str(text).unwrap();
        let theirs: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(theirs, serde_json::to_value(ours).unwrap());
    }
}
