use std::fs;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use tempfile::TempDir;

use super::policy::{Kind, PrefixCacheAffinity};
use super::*;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(repository().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

fn filter(policy: &Policy) -> &PrefixCacheAffinity {
    let filter = policy.plugins.iter().find_map(|plugin| match &plugin.kind {
        Kind::PrefixCacheAffinityFilter(filter) => Some(filter),
        _ => None,
    });
    filter.unwrap()
}

#[test]
fn every_hardware_model_of_the_repository_is_valid() {
    let files = files("config/hardware");
    assert!(files.len() >= 4);
    for file in files {
        Hardware::read(&file).unwrap();
    }
}

#[test]
fn every_routing_policy_of_the_repository_can_be_carried_out_on_every_hardware_model() {
    let policies = files("config/routing");
    assert!(policies.len() >= 4);
    for hardware in files("config/hardware") {
        let hardware = Hardware::read(&hardware).unwrap();
        for policy in &policies {
            Policy::read(policy, &hardware.plugin_defaults).unwrap();
        }
    }
}

#[test]
fn a_hardware_model_fills_in_what_a_policy_leaves_out_and_never_what_it_says() {
    let hardware = Hardware::read(&repository().join("config/hardware/laptop-4-fast.yaml")).unwrap();
    let none = IndexMap::new();
    let read = |name: &str, defaults| Policy::read(&repository().join("config/routing").join(name), defaults).unwrap();

    let scaled = read("optimized-baseline.yaml", &hardware.plugin_defaults);
    assert_eq!(filter(&scaled).max_ttft_penalty_ms, 3350.0);
    assert_eq!(filter(&scaled).peak_prefill_throughput, 20_833.0);
    let plain = read("optimized-baseline.yaml", &none);
    assert_eq!(filter(&plain).max_ttft_penalty_ms, 18_000.0);
    let always = read("cache-only.yaml", &hardware.plugin_defaults);
    assert_eq!(filter(&always).max_ttft_penalty_ms, 0.0);
}

#[test]
fn a_negative_coefficient_is_refused_with_its_name_and_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(repository().join("config/hardware/laptop-4.yaml")).unwrap();
    let path = write(&folder, "odd.yaml", &text.replace("per_sequence_seconds: 0.001", "per_sequence_seconds: -0.001"));
    let error = Hardware::read(&path).unwrap_err().to_string();
    assert!(error.contains("odd.yaml"), "{error}");
    assert!(error.contains("`step.per_sequence_seconds` is -0.001"), "{error}");
}

#[test]
fn an_unknown_plugin_type_is_refused_with_the_known_ones() {
    let folder = tempfile::tempdir().unwrap();
    let text = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nplugins:\n- type: clairvoyant-scorer\n";
    let path = write(&folder, "policy.yaml", text);
    let error = Policy::read(&path, &IndexMap::new()).unwrap_err().to_string();
    assert!(error.contains("policy.yaml"), "{error}");
    assert!(error.contains("clairvoyant-scorer"), "{error}");
    assert!(error.contains("token-load-scorer"), "{error}");
}

#[test]
fn an_unknown_parameter_is_refused_with_the_plugin_and_the_known_ones() {
    let folder = tempfile::tempdir().unwrap();
    let text = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nplugins:\n\
                - type: prefix-cache-affinity-filter\n  parameters: {maxTtftPenaltyMs: 3}\n";
    let path = write(&folder, "policy.yaml", text);
    let error = Policy::read(&path, &IndexMap::new()).unwrap_err().to_string();
    assert!(error.contains("`prefix-cache-affinity-filter`"), "{error}");
    assert!(error.contains("maxTtftPenaltyMs"), "{error}");
    assert!(error.contains("maxTTFTPenaltyMs"), "{error}");
}

#[test]
fn a_profile_that_refers_to_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nplugins:\n- type: queue-scorer\n\
                schedulingProfiles:\n- name: default\n  plugins:\n  - pluginRef: queue-score\n";
    let path = write(&folder, "policy.yaml", text);
    let error = Policy::read(&path, &IndexMap::new()).unwrap_err().to_string();
    assert!(error.contains("`queue-score`, which is not declared; declared are queue-scorer"), "{error}");
}

#[test]
fn producers_that_a_policy_needs_but_does_not_declare_are_created() {
    let policy = Policy::read(&repository().join("config/routing/default.yaml"), &IndexMap::new()).unwrap();
    assert_eq!(policy.prefix_producer().unwrap().block_tokens(), 64);
    assert!(policy.load_producer().is_none());
}

#[test]
fn a_serve_configuration_takes_paths_from_its_own_folder() {
    let folder = tempfile::tempdir().unwrap();
    let text = "hardware: h.yaml\nservers: 2\nmodel: m\nrouter: {kind: picker, policy: p.yaml}\n";
    let config = Config::read(&write(&folder, "serve.yaml", text)).unwrap();
    assert_eq!(config.hardware, folder.path().join("h.yaml"));
    assert_eq!(config.router.policy, Some(folder.path().join("p.yaml")));
}

#[test]
fn a_serve_configuration_that_asks_for_the_impossible_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str| Config::read(&write(&folder, "serve.yaml", text)).unwrap_err().to_string();
    assert!(refused("hardware: h\nservers: 0\nmodel: m\nrouter: {kind: service}\n").contains("`servers` is 0"));
    assert!(refused("hardware: h\nservers: 1\nmodel: m\nrouter: {kind: picker}\n").contains("needs `router.policy`"));
    assert!(refused("hardware: h\nservers: 1\nmodel: m\nrouter: {kind: magic}\n").contains("magic"));
    assert!(refused("hardware: h\nservers: 1\nmodel: m\nrouter: {kind: service}\nextra: 1\n").contains("extra"));
}
