//! The commands that one treatment of one repetition takes in a cluster, as they are typed.

use std::path::Path;

use serde::Serialize;

use super::treatment::Places;
use crate::settings::{Endpoint, EndpointPath, Mode, Place, Resolved, Treatment};

/// Value of the label `app.kubernetes.io/managed-by` on everything that belongs to us.
pub const MANAGED_BY: &str = "agentgateway-benchmark";
/// Annotation that names the campaign.
pub const CAMPAIGN_ANNOTATION: &str = "benchmark.agentgateway.dev/campaign";
/// Label that names the treatment.
pub const TREATMENT_LABEL: &str = "benchmark.agentgateway.dev/treatment";

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What it does: `standup`, `run`, …
    pub name: &'static str,
    /// Program and arguments; a part in angle brackets is only known while the campaign runs.
    pub argv: Vec<String>,
}

impl Step {
    fn new(name: &'static str, argv: &[&str]) -> Self {
        Self { name, argv: argv.iter().map(|&word| word.to_owned()).collect() }
    }
}

/// Whose commands are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The campaign's id.
    pub campaign: &'a str,
    /// The treatment.
    pub treatment: &'a Treatment,
    /// Its namespace.
    pub namespace: &'a str,
}

/// The commands in order. Those of llm-d-benchmark run in the checkout's folder.
pub fn steps(resolved: &Resolved, subject: Subject<'_>, places: Places<'_>) -> Vec<Step> {
    let mut steps = Vec::from(ownership(resolved, subject));
    steps.extend(controller(resolved, subject.treatment));
    steps.extend(before_load(resolved, subject, places));
    let endpoint = endpoint(resolved, subject);
    steps.extend(endpoint.lookup);
    steps.push(run(resolved, subject, places, endpoint.url.as_deref()));
    steps.push(teardown(subject, places));
    steps.push(kubectl(
        resolved,
        "verify-teardown",
        &["get", "namespace", subject.namespace, "--ignore-not-found", "--output=name"],
    ));
    steps
}

/// llm-d-benchmark's own words: `llmdbenchmark --spec S --workspace W VERB -p NAMESPACE …`.
fn llmdbenchmark(name: &'static str, subject: Subject<'_>, places: Places<'_>, dry_run: bool) -> Step {
    let text = |path: &Path| path.display().to_string();
    let mut argv = vec![
        "llmdbenchmark".to_owned(),
        "--spec".to_owned(),
        text(&places.folder.join("spec.yaml")),
        "--workspace".to_owned(),
        text(&places.folder.join("workspace")),
    ];
    if dry_run {
        argv.push("--dry-run".to_owned());
    }
    argv.extend([name.to_owned(), "-p".to_owned(), subject.namespace.to_owned()]);
    Step { name, argv }
}

fn before_load(resolved: &Resolved, subject: Subject<'_>, places: Places<'_>) -> [Step; 3] {
    let timeouts = &resolved.settings.timeouts;
    let plan = llmdbenchmark("plan", subject, places, true);
    let mut standup = llmdbenchmark("standup", subject, places, false);
    standup.argv.extend([
        "--skip-smoketest".to_owned(),
        "--data-access-timeout".to_owned(),
        timeouts.data_access.to_string(),
        "--modelservice-deploy-timeout".to_owned(),
        timeouts.modelservice_deploy.to_string(),
    ]);
    // On GKE managed Prometheus reads PodMonitoring resources; the operator's are not there.
    if resolved.provider.place == Place::Gke {
        standup.argv.push("--no-monitoring".to_owned());
    }
    [plan, standup, llmdbenchmark("smoketest", subject, places, false)]
}

fn run(resolved: &Resolved, subject: Subject<'_>, places: Places<'_>, url: Option<&str>) -> Step {
    let mut step = llmdbenchmark("run", subject, places, false);
    let workload = places.folder.join("workload.yaml").display().to_string();
    for word in ["-l", &resolved.settings.harness.name, "-w", "workload.yaml", "--workload-file-path", &workload] {
        step.argv.push(word.to_owned());
    }
    if let Some(url) = url {
        step.argv.extend(["--endpoint-url".to_owned(), url.to_owned()]);
    }
    if resolved.settings.metrics.fast_collect {
        step.argv.push("--fast-collect".to_owned());
    }
    step
}

fn teardown(subject: Subject<'_>, places: Places<'_>) -> Step {
    llmdbenchmark("teardown", subject, places, false)
}

fn kubectl(resolved: &Resolved, name: &'static str, words: &[&str]) -> Step {
    let mut step = Step::new(name, &["kubectl"]);
    if let Some(context) = &resolved.settings.cluster.context {
        step.argv.push(format!("--context={context}"));
    }
    step.argv.extend(words.iter().map(|&word| word.to_owned()));
    step
}

/// The namespace is made and marked as ours before anything is put into it.
fn ownership(resolved: &Resolved, subject: Subject<'_>) -> [Step; 3] {
    let namespace = subject.namespace;
    let managed = format!("app.kubernetes.io/managed-by={MANAGED_BY}");
    let treatment = format!("{TREATMENT_LABEL}={}", subject.treatment.name);
    let campaign = format!("{CAMPAIGN_ANNOTATION}={}", subject.campaign);
    [
        kubectl(resolved, "namespace", &["create", "namespace", namespace]),
        kubectl(resolved, "label", &["label", "namespace", namespace, &managed, &treatment]),
        kubectl(resolved, "annotate", &["annotate", "namespace", namespace, &campaign]),
    ]
}

/// agentgateway's control plane, for the treatments that use it as a Gateway.
fn controller(resolved: &Resolved, treatment: &Treatment) -> Vec<Step> {
    if treatment.implementation != "agentgateway" || treatment.mode != Mode::Gateway {
        return Vec::new();
    }
    let settings = &resolved.settings;
    let release = |name: &'static str, chart: &str, rest: &[&str]| {
        let url = format!("oci://cr.agentgateway.dev/charts/{chart}");
        let mut step = Step::new(name, &["helm", "upgrade", "--install", chart, &url]);
        for word in ["--version", &settings.pins.agentgateway, "--namespace", &settings.agentgateway.namespace] {
            step.argv.push(word.to_owned());
        }
        if let Some(context) = &settings.cluster.context {
            step.argv.extend(["--kube-context".to_owned(), context.clone()]);
        }
        step.argv.extend(rest.iter().map(|&word| word.to_owned()));
        step
    };
    vec![
        release("controller-crds", "agentgateway-crds", &["--create-namespace"]),
        release("controller", "agentgateway", &["--set", "inferenceExtension.enabled=true", "--wait"]),
    ]
}

/// How the endpoint is found, and what is known of its URL beforehand.
struct Found {
    lookup: Option<Step>,
    url: Option<String>,
}

fn endpoint(resolved: &Resolved, subject: Subject<'_>) -> Found {
    let namespace = format!("--namespace={}", subject.namespace);
    if resolved.settings.cluster.endpoint_path == EndpointPath::External {
        // llm-d-benchmark finds the load balancer's address by itself.
        return Found { lookup: None, url: None };
    }
    let get = |words: &[&str]| {
        let mut all = vec!["get", &namespace];
        all.extend(words);
        all.push("--output=json");
        Some(kubectl(resolved, "endpoint", &all))
    };
    match &subject.treatment.endpoint {
        None => Found { lookup: None, url: None },
        Some(Endpoint::ServiceSuffix { suffix }) => Found {
            lookup: get(&["services"]),
            url: Some(format!("http://<ClusterIP of the Service ending in {suffix}>:<port named http or 80>")),
        },
        Some(Endpoint::GatewayLabel { label }) => Found {
            lookup: get(&["gateways.gateway.networking.k8s.io,services"]),
            url: Some(format!("http://<ClusterIP of the Service with {label}=<the Gateway>>:<port named http or 80>")),
        },
        Some(Endpoint::GatewayAddress) => Found {
            lookup: get(&["gateways.gateway.networking.k8s.io"]),
            url: Some("http://<address in the Gateway's status>:<its listener's port>".to_owned()),
        },
    }
}
