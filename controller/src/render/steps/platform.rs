//! What stands below a treatment: the Kind cluster and its images, agentgateway's control plane.

use std::path::Path;

use super::Step;
use crate::settings::Settings;

/// Creates the Kind cluster; its kubeconfig goes to `kubeconfig` and nowhere else.
pub fn create_kind(name: &str, kubeconfig: &Path) -> Step {
    let kubeconfig = kubeconfig.display().to_string();
    Step::new("kind", ["kind", "create", "cluster", "--name", name, "--kubeconfig", &kubeconfig, "--wait", "300s"])
}

pub(super) fn load_image(cluster: &str, image: &str, archive: &Path) -> [Step; 2] {
    let architecture = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        "x86_64" => "amd64",
        other => other,
    };
    let archive = archive.display().to_string();
    let copy = ["skopeo", "copy", "--override-os", "linux", "--override-arch", architecture];
    let ends = [format!("docker://{image}"), format!("docker-archive:{archive}:{image}")];
    [
        Step::new("image", copy).and(ends),
        Step::new("load-image", ["kind", "load", "image-archive", &archive, "--name", cluster]),
    ]
}

pub(super) fn controller(settings: &Settings) -> Vec<Step> {
    let release = |name: &'static str, chart: &str, rest: &[&str]| {
        let url = format!("oci://cr.agentgateway.dev/charts/{chart}");
        let mut step = Step::new(name, ["helm", "upgrade", "--install", chart, &url]);
        step = step.and(["--version", &settings.pins.agentgateway, "--namespace", &settings.agentgateway.namespace]);
        if let Some(context) = &settings.cluster.context {
            step = step.and(["--kube-context", context]);
        }
        step.and(rest)
    };
    vec![
        release("controller-crds", "agentgateway-crds", &["--create-namespace"]),
        release("controller", "agentgateway", &["--set", "inferenceExtension.enabled=true", "--wait"]),
    ]
}
