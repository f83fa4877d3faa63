//! The commands that one treatment of one repetition takes in a cluster, as they are typed.
//!
//! A plan prints them and a run executes them, so that what is printed is what happens. What a run only asks in order to
//! wait or to check (`kubectl get …`) is printed once, without its repetitions.

mod benchmark;
mod platform;

use std::path::Path;

use serde::Serialize;

use super::treatment::Places;
use crate::settings::{Endpoint, EndpointPath, Mode, Place, Resolved, Treatment};

/// Value of the label `app.kubernetes.io/managed-by` on everything that belongs to us.
pub const MANAGED_BY: &str = "agentgateway-benchmark";
/// Annotation that names the campaign.
pub const CAMPAIGN_ANNOTATION: &str = "benchmark.agentgateway.dev/campaign";
/// Annotation that tells a deployment by the hash of what it was made from.
pub const CONFIGURATION_ANNOTATION: &str = "benchmark.agentgateway.dev/configuration";
/// Annotation of a deployment that became ready: only such a one is used again.
pub const READY_ANNOTATION: &str = "benchmark.agentgateway.dev/ready";
/// Label that names the treatment.
pub const TREATMENT_LABEL: &str = "benchmark.agentgateway.dev/treatment";
/// The object that gives a Gateway of agentgateway its image.
pub const PARAMETERS: &str = "benchmark-data-plane";
/// The pod that samples metrics, and everything that belongs to it.
pub const COLLECTOR: &str = "benchmark-collector";

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What it does: `standup`, `run`, …
    pub name: &'static str,
    /// Program and arguments; a part in angle brackets is only known while the campaign runs.
    pub argv: Vec<String>,
}

impl Step {
    pub(super) fn new<W: AsRef<str>>(name: &'static str, argv: impl IntoIterator<Item = W>) -> Self {
        Self { name, argv: argv.into_iter().map(|word| word.as_ref().to_owned()).collect() }
    }

    /// The same step with more words.
    #[must_use]
    pub(super) fn and<W: AsRef<str>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.argv.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
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

impl Subject<'_> {
    /// Whether the treatment's proxy is an agentgateway that its controller deploys.
    pub fn is_agentgateway_gateway(&self) -> bool {
        self.treatment.implementation == "agentgateway" && self.treatment.mode == Mode::Gateway
    }
}

/// The commands of one treatment; each method gives those of one purpose.
#[derive(Clone, Copy, Debug)]
pub struct Steps<'a> {
    /// The settings.
    pub resolved: &'a Resolved,
    /// Whose commands.
    pub subject: Subject<'a>,
    /// Where its files are.
    pub places: Places<'a>,
}

impl Steps<'_> {
    /// All commands in order; `images` are those that a Kind cluster is given beforehand.
    pub fn all<'i>(&self, images: impl IntoIterator<Item = &'i str>) -> Vec<Step> {
        let metrics = self.resolved.settings.metrics.runtime;
        let mut steps = Vec::new();
        if self.resolved.provider.place == Place::Kind {
            steps.push(platform::create_kind(&self.resolved.settings.cluster.name, Path::new("<private kubeconfig>")));
            for image in images {
                steps.extend(self.load_image(image, Path::new("<archive>")));
            }
        }
        steps.push(self.namespace());
        steps.extend(self.controller());
        steps.push(self.plan());
        steps.push(self.standup());
        steps.extend(self.data_plane("<the Gateway>"));
        steps.push(self.mark_ready());
        steps.push(self.smoketest());
        let endpoint = self.endpoint();
        steps.extend(endpoint.lookup);
        if metrics {
            steps.push(self.collector());
        }
        steps.push(self.run(endpoint.url.as_deref()));
        if metrics {
            steps.push(self.fetch_samples());
        }
        steps.push(self.teardown());
        steps.push(self.delete_namespace());
        steps.push(self.verify_teardown());
        steps
    }

    /// Puts the image into the Kind cluster as an archive of one platform: nodes cannot take an index of several.
    pub fn load_image(&self, image: &str, archive: &Path) -> [Step; 2] {
        platform::load_image(&self.resolved.settings.cluster.name, image, archive)
    }

    /// Makes the namespace, marked as ours, and fails when it is there already.
    pub fn namespace(&self) -> Step {
        let file = self.places.folder.join(super::treatment::NAMESPACE_FILE);
        self.kubectl("namespace", ["create", &format!("--filename={}", file.display())])
    }

    /// agentgateway's control plane, for the treatments that use it as a Gateway.
    pub fn controller(&self) -> Vec<Step> {
        if !self.subject.is_agentgateway_gateway() {
            return Vec::new();
        }
        platform::controller(&self.resolved.settings)
    }

    /// Gives the Gateway the data-plane image, for the treatments that use agentgateway as one.
    pub fn data_plane(&self, gateway: &str) -> Vec<Step> {
        if !self.subject.is_agentgateway_gateway() {
            return Vec::new();
        }
        let namespace = format!("--namespace={}", self.subject.namespace);
        let file = self.places.folder.join(super::treatment::PARAMETERS_FILE);
        let filename = format!("--filename={}", file.display());
        let patch = format!(
            r#"{{"spec":{{"infrastructure":{{"parametersRef":{{"group":"agentgateway.dev","kind":"AgentgatewayParameters","name":"{PARAMETERS}"}}}}}}}}"#
        );
        vec![
            self.kubectl("data-plane-parameters", ["apply", "--server-side", &namespace, &filename]),
            self.kubectl(
                "data-plane",
                [
                    "patch",
                    "gateways.gateway.networking.k8s.io",
                    gateway,
                    &namespace,
                    "--type=merge",
                    &format!("--patch={patch}"),
                ],
            ),
        ]
    }

    /// Notes on the namespace that its deployment is ready, so that a resumed run may use it.
    pub fn mark_ready(&self) -> Step {
        let annotation = format!("{READY_ANNOTATION}=true");
        self.kubectl("ready", ["annotate", "namespace", self.subject.namespace, &annotation, "--overwrite"])
    }

    /// Starts the pod that samples metrics.
    pub fn collector(&self) -> Step {
        let file = self.places.folder.join(super::treatment::COLLECTOR_FILE);
        let namespace = format!("--namespace={}", self.subject.namespace);
        self.kubectl("collector", ["apply", "--server-side", &namespace, &format!("--filename={}", file.display())])
    }

    /// Prints what was sampled as an archive.
    pub fn fetch_samples(&self) -> Step {
        let namespace = format!("--namespace={}", self.subject.namespace);
        let words = ["exec", COLLECTOR, &namespace, "--", "python3", "/collector/collect.py", "archive"];
        self.kubectl("metrics", words)
    }

    /// Removes the namespace with all that is in it.
    pub fn delete_namespace(&self) -> Step {
        let words = ["delete", "namespace", self.subject.namespace, "--ignore-not-found", "--wait=false"];
        self.kubectl("delete-namespace", words)
    }

    /// Asks whether anything is left; an empty answer says no.
    pub fn verify_teardown(&self) -> Step {
        let words = ["get", "namespace", self.subject.namespace, "--ignore-not-found", "--output=json"];
        self.kubectl("verify-teardown", words)
    }

    fn kubectl<W: AsRef<str>>(&self, name: &'static str, words: impl IntoIterator<Item = W>) -> Step {
        let step = Step::new(name, ["kubectl"]);
        let step = match &self.resolved.settings.cluster.context {
            Some(context) => step.and([format!("--context={context}")]),
            None => step,
        };
        step.and(words)
    }

    /// How the endpoint is found, and what is known of its URL beforehand.
    pub fn endpoint(&self) -> Found {
        let namespace = format!("--namespace={}", self.subject.namespace);
        if self.resolved.settings.cluster.endpoint_path == EndpointPath::External {
            // llm-d-benchmark finds the load balancer's address by itself.
            return Found { lookup: None, url: None };
        }
        let get = |kinds: &str| Some(self.kubectl("endpoint", ["get", kinds, &namespace, "--output=json"]));
        match &self.subject.treatment.endpoint {
            None => Found { lookup: None, url: None },
            Some(Endpoint::ServiceSuffix { suffix }) => Found {
                lookup: get("services"),
                url: Some(format!("http://<ClusterIP of the Service ending in {suffix}>:<port named http or 80>")),
            },
            Some(Endpoint::GatewayLabel { label }) => Found {
                lookup: get("gateways.gateway.networking.k8s.io,services"),
                url: Some(format!(
                    "http://<ClusterIP of the Service with {label}=<the Gateway>>:<port named http or 80>"
                )),
            },
            Some(Endpoint::GatewayAddress) => Found {
                lookup: get("gateways.gateway.networking.k8s.io"),
                url: Some("http://<address in the Gateway's status>:<its listener's port>".to_owned()),
            },
        }
    }
}

/// How the endpoint is found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The question; `None` when llm-d-benchmark finds it.
    pub lookup: Option<Step>,
    /// The URL, with what is not known yet in angle brackets.
    pub url: Option<String>,
}

pub use platform::create_kind;
