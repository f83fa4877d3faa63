//! What really runs: the images of each component's pods, the nodes and accelerators under them.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;
use serde_yaml::Mapping;

use super::cell::Up;
use crate::cluster::{Kubectl, object};
use crate::failure::{Failure, Result};
use crate::render::names::Image;

/// Labels in which nodes name their accelerator, the most telling first.
const ACCELERATOR_LABELS: [&str; 3] =
    ["nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "amd.com/gpu.product-name"];

/// What runs in a cell's namespace.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Inventory {
    /// The accelerator that nodes name; `None` without one.
    pub(super) hardware: Option<String>,
    /// Pods of model servers.
    pub(super) servers: usize,
    /// Distinct images by component: `model-server`, `epp`, `proxy`, `controller`.
    pub(super) images: IndexMap<&'static str, Vec<String>>,
    /// The digests under which nodes run them, by image.
    pub(super) digests: IndexMap<String, String>,
}

/// Looks at the pods of the cell and of the controller.
///
/// # Errors
/// When the cluster cannot be asked.
pub(super) fn take(up: &Up<'_>) -> Result<Inventory> {
    let namespace = format!("--namespace={}", up.namespace);
    let pods = up.kubectl.list("pods", &[&namespace])?;
    let mut inventory = Inventory { hardware: hardware(&up.kubectl, &pods)?, ..Inventory::default() };
    let epp = up.rendered.images.get("epp").map(|image| Image::of(image));
    for pod in &pods {
        inventory.note(pod, epp.as_ref());
    }
    if up.steps().subject.is_agentgateway_gateway() {
        let namespace = format!("--namespace={}", up.resolved.settings.agentgateway.namespace);
        for pod in up.kubectl.list("pods", &[&namespace, "--selector=app.kubernetes.io/name=agentgateway"])? {
            for (_, image) in object::pod_images(&pod) {
                inventory.add("controller", image);
            }
            inventory.digests_of(&pod);
        }
    }
    Ok(inventory)
}

impl Inventory {
    /// Sorts a pod's containers into components, by the labels that llm-d's charts give pods.
    fn note(&mut self, pod: &Value, epp: Option<&Image>) {
        let server = object::label(pod, "llm-d.ai/inferenceServing") == Some("true");
        let picker = object::label(pod, "inferencepool").is_some() || object::name(pod).contains("-epp");
        let gateway = object::label(pod, "gateway.networking.k8s.io/gateway-name").is_some();
        self.servers += usize::from(server);
        for (container, image) in object::pod_images(pod) {
            if server && matches!(container, "vllm" | "modelserver" | "decode") {
                self.add("model-server", image);
            } else if picker {
                let same = epp.is_some_and(|epp| Image::of(image).repository == epp.repository);
                self.add(if same || container == "epp" { "epp" } else { "proxy" }, image);
            } else if gateway {
                self.add("proxy", image);
            }
        }
        if server || picker || gateway {
            self.digests_of(pod);
        }
    }

    fn add(&mut self, component: &'static str, image: &str) {
        let images = self.images.entry(component).or_default();
        if !images.iter().any(|known| known == image) {
            images.push(image.to_owned());
        }
    }

    fn digests_of(&mut self, pod: &Value) {
        for statuses in ["/status/containerStatuses", "/status/initContainerStatuses"] {
            for status in object::items(pod, statuses) {
                let (image, id) = (object::text(status, "/image"), object::text(status, "/imageID"));
                if let (false, Some((_, digest))) = (image.is_empty(), id.split_once('@')) {
                    self.digests.insert(image.to_owned(), digest.to_owned());
                }
            }
        }
    }

    /// Holds what runs against what should.
    ///
    /// # Errors
    /// A measurement failure with every component that runs something else.
    pub(super) fn require(&self, expected: &IndexMap<String, String>) -> Result<()> {
        let wrong: Vec<String> = expected
            .iter()
            .filter_map(|(component, image)| {
                let wanted = Image::of(image);
                let seen = self.images.get(component.as_str()).map(Vec::as_slice).unwrap_or_default();
                let right = !seen.is_empty() && seen.iter().all(|image| Image::of(image).is_same(&wanted));
                let shown = if seen.is_empty() { "nothing".to_owned() } else { seen.join(", ") };
                (!right).then(|| format!("{component} runs {shown}, not {image}"))
            })
            .collect();
        if wrong.is_empty() {
            return Ok(());
        }
        Err(Failure::measurement(format!("other images run than should be measured: {}", wrong.join("; ")))
            .hint("`cargo xtask plan` prints the images a treatment expects; pins.* and agentgateway.image set them"))
    }

    /// As a document for the evidence.
    ///
    /// # Errors
    /// When it cannot be written as YAML.
    pub(super) fn to_yaml(&self) -> Result<String> {
        let value = serde_yaml::to_value(self).map_err(Failure::internal)?;
        reports::yaml::to_string(&value).map_err(Failure::internal)
    }
}

/// The accelerator of the nodes that the model servers run on.
fn hardware(kubectl: &Kubectl, pods: &[Value]) -> Result<Option<String>> {
    let server = |pod: &&Value| object::label(pod, "llm-d.ai/inferenceServing") == Some("true");
    let mut nodes: Vec<&str> = pods.iter().filter(server).map(|pod| object::text(pod, "/spec/nodeName")).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let mut models = Vec::new();
    for node in kubectl.list("nodes", &[])?.iter().filter(|node| nodes.contains(&object::name(node))) {
        let model = ACCELERATOR_LABELS.iter().find_map(|label| object::label(node, label)).map(str::to_owned);
        if let Some(model) = model.filter(|model| !models.contains(model)) {
            models.push(model);
        }
    }
    Ok((!models.is_empty()).then(|| models.join(", ")))
}

/// What the manifest says of the cluster: its version and its nodes' kinds.
///
/// # Errors
/// When it cannot be asked.
pub(super) fn cluster(kubectl: &Kubectl) -> Result<Mapping> {
    let nodes = kubectl.list("nodes", &[])?;
    let mut machines: IndexMap<String, u64> = IndexMap::new();
    for node in &nodes {
        let machine = object::label(node, "node.kubernetes.io/instance-type").unwrap_or("unknown");
        *machines.entry(machine.to_owned()).or_default() += 1;
    }
    let version = nodes.first().map(|node| object::text(node, "/status/nodeInfo/kubeletVersion")).unwrap_or_default();
    let mut facts = Mapping::new();
    facts.insert("context".into(), kubectl.context().into());
    if !version.is_empty() {
        facts.insert("kubernetes".into(), version.into());
    }
    facts.insert("nodes".into(), serde_yaml::to_value(machines).map_err(Failure::internal)?);
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(labels: Value, containers: Value) -> Value {
        json!({"metadata": {"name": "p", "labels": labels}, "spec": {"containers": containers}})
    }

    fn observed() -> Inventory {
        let epp = Image::of("ghcr.io/llm-d/epp:v0.9.0");
        let mut inventory = Inventory::default();
        let server = json!([{"name": "vllm", "image": "docker.io/vllm/vllm-openai:v0.23.0"}]);
        inventory.note(&pod(json!({"llm-d.ai/inferenceServing": "true"}), server), Some(&epp));
        let both = json!([{"name": "epp", "image": "ghcr.io/llm-d/epp:v0.9.0"}, {"name": "proxy", "image": "a.b/agentgateway:v1"}]);
        inventory.note(&pod(json!({"inferencepool": "x"}), both), Some(&epp));
        inventory
    }

    fn expected(pairs: &[(&str, &str)]) -> IndexMap<String, String> {
        pairs.iter().map(|(component, image)| ((*component).to_owned(), (*image).to_owned())).collect()
    }

    #[test]
    fn images_are_sorted_into_components() {
        let inventory = observed();
        assert_eq!(inventory.servers, 1);
        assert_eq!(inventory.images["epp"], ["ghcr.io/llm-d/epp:v0.9.0"]);
        assert_eq!(inventory.images["proxy"], ["a.b/agentgateway:v1"]);
    }

    #[test]
    fn every_component_that_runs_something_else_is_told_at_once() {
        let inventory = observed();
        inventory
            .require(&expected(&[("model-server", "vllm/vllm-openai:v0.23.0"), ("proxy", "a.b/agentgateway:v1")]))
            .unwrap();
        let wrong = expected(&[
            ("model-server", "vllm/vllm-openai:v0.27.1"),
            ("epp", "ghcr.io/llm-d/epp:v0.9.0"),
            ("controller", "c:1"),
        ]);
        let message = inventory.require(&wrong).unwrap_err().to_string();
        assert!(message.contains("model-server runs docker.io/vllm/vllm-openai:v0.23.0, not"), "{message}");
        assert!(message.contains("controller runs nothing, not c:1") && !message.contains("epp runs"), "{message}");
    }
}
