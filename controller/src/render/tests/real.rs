//! Through the real llm-d-benchmark, when `LLM_D_BENCHMARK_DIR` names a checkout and `llmdbenchmark` is on PATH.

use std::path::PathBuf;
use std::process::Command;

use super::*;

/// Plans every treatment of every cluster profile with the real program and looks at the manifests it renders.
#[test]
fn the_real_llm_d_benchmark_plans_every_treatment_of_every_profile() {
    let Some(checkout) = std::env::var_os("LLM_D_BENCHMARK_DIR").map(PathBuf::from) else {
        eprintln!("SKIPPED: LLM_D_BENCHMARK_DIR names no checkout of llm-d-benchmark");
        return;
    };
    for profile in PROFILES {
        let resolved = resolved(profile, &[]);
        for name in treatments(&resolved) {
            let folder = TempDir::new().unwrap();
            let chosen = tree().treatment(&name, "test").unwrap();
            let places = Places { folder: folder.path(), checkout: &checkout };
            let rendered = treatment(&tree(), &resolved, subject(&chosen), places, WORKLOAD).unwrap();
            rendered.write(folder.path()).unwrap();
            let plan = plan(&checkout, folder.path());
            assert_manifests(&plan, profile, &name);
            println!("planned {profile} {name}");
        }
    }
}

/// Runs the real `llmdbenchmark --dry-run plan` and returns the folder of rendered manifests.
fn plan(checkout: &Path, folder: &Path) -> PathBuf {
    let output = Command::new("llmdbenchmark")
        .current_dir(checkout)
        .arg("--spec")
        .arg(folder.join("spec.yaml"))
        .arg("--workspace")
        .arg(folder.join("workspace"))
        .args(["--dry-run", "plan", "-p", "bench-test"])
        .output()
        .expect("llmdbenchmark on PATH, installed from LLM_D_BENCHMARK_DIR");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("Errors: 0"), "{text}");
    let run = fs_err::canonicalize(folder.join("workspace/latest")).unwrap().join("plan");
    let mut stacks: Vec<_> = fs_err::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("config.yaml").is_file())
        .collect();
    assert_eq!(stacks.len(), 1, "{text}");
    stacks.remove(0)
}

fn manifest(plan: &Path, name: &str) -> Value {
    let text = fs_err::read_to_string(plan.join(name)).unwrap();
    serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"))
}

fn assert_manifests(plan: &Path, profile: &str, treatment: &str) {
    let direct = manifest(plan, "13a_modelservice-direct-service.yaml");
    let route = manifest(plan, "08_httproute.yaml");
    let router = &manifest(plan, "12_router-values.yaml")["router"];
    let servers = manifest(plan, "13_ms-values.yaml");
    let helmfile = fs_err::read_to_string(plan.join("10_helmfile-main.yaml")).unwrap();
    let infra = manifest(plan, "11_infra.yaml");
    let context = format!("{profile} {treatment}");
    match treatment {
        "service" => {
            assert!(direct["metadata"]["name"].as_str().unwrap().ends_with("-direct"), "{context}");
            assert!(!helmfile.contains("llm-d-router"), "{context}: {helmfile}");
            assert!(route.is_null() && infra.is_null(), "{context}");
        }
        "agentgateway-standalone" | "envoy-standalone" => {
            assert!(direct.is_null() && route.is_null() && infra.is_null(), "{context}");
            assert!(helmfile.contains("charts/llm-d-router-standalone"), "{context}: {helmfile}");
            assert!(helmfile.contains("version: v0.9.0"), "{context}: {helmfile}");
            assert_eq!(router["inferencePool"]["create"], Value::from(false), "{context}");
            let (kind, _) = treatment.split_once('-').unwrap();
            assert_eq!(router["proxy"]["proxyType"], Value::from(kind), "{context}");
            if kind == "agentgateway" {
                assert_eq!(
                    router["proxy"]["image"],
                    Value::from("cr.agentgateway.dev/agentgateway:v1.4.1"),
                    "{context}"
                );
            }
            assert_eq!(router["epp"]["image"]["tag"], Value::from("v0.9.0"), "{context}");
        }
        gateway => {
            assert!(direct.is_null(), "{context}");
            assert!(helmfile.contains("charts/llm-d-router-gateway"), "{context}: {helmfile}");
            assert_eq!(router["inferencePool"]["create"], Value::from(true), "{context}");
            assert_eq!(route["kind"], Value::from("HTTPRoute"), "{context}");
            let class = infra["gateway"]["gatewayClassName"].as_str().unwrap();
            assert!(class.starts_with(gateway.strip_suffix("-gateway").unwrap()), "{context}: {class}");
            assert_eq!(router["epp"]["image"]["tag"], Value::from("v0.9.0"), "{context}");
        }
    }
    assert_servers(&servers, profile, &context);
}

fn assert_servers(servers: &Value, profile: &str, context: &str) {
    let decode = &servers["decode"];
    let container = &decode["containers"][0];
    let image = container["image"].as_str().unwrap();
    let (replicas, parallelism, expected) = match profile {
        "kind-smoke" | "kind-sim" | "gke-sim" => (3, 0, "ghcr.io/llm-d/llm-d-inference-sim:v0.8.2"),
        "optimized-baseline-qwen3-32b-h100-v0.9" => (8, 2, "docker.io/vllm/vllm-openai:v0.23.0"),
        _ => (8, 2, "docker.io/vllm/vllm-openai:v0.27.1"),
    };
    assert_eq!(image, expected, "{context}");
    assert_eq!(decode["replicas"], Value::from(replicas), "{context}");
    assert_eq!(decode["parallelism"]["tensor"], Value::from(parallelism), "{context}");
    assert_ne!(servers["prefill"]["create"], Value::from(true), "{context}");
    let limits = &container["resources"]["limits"];
    match profile {
        "kind-smoke" | "kind-sim" | "gke-sim" => {
            assert_eq!(limits["memory"], Value::from("100Mi"), "{context}");
            assert!(limits.get("nvidia.com/gpu").is_none(), "{context}: {limits:?}");
        }
        _ => {
            let memory = if profile.contains("v0.9") { "128Gi" } else { "100Gi" };
            assert_eq!(limits["memory"], Value::from(memory), "{context}");
            assert_eq!(limits["nvidia.com/gpu"], Value::from("2"), "{context}: {limits:?}");
        }
    }
}
