//! llm-d-benchmark's own words: `llmdbenchmark --spec S --workspace W VERB -p NAMESPACE …`, in the checkout's folder.

use super::{Step, Steps};
use crate::evidence::SCRATCH;
use crate::settings::Place;

impl Steps<'_> {
    /// Renders all manifests; touches no cluster.
    pub fn plan(&self) -> Step {
        self.llmdbenchmark("plan", true)
    }

    /// Deploys the treatment and waits for its model servers.
    pub fn standup(&self) -> Step {
        let timeouts = &self.resolved.settings.timeouts;
        // Whole seconds are all it takes.
        let step = self.llmdbenchmark("standup", false).and([
            "--skip-smoketest".to_owned(),
            "--data-access-timeout".to_owned(),
            timeouts.data_access.ceil().to_string(),
            "--modelservice-deploy-timeout".to_owned(),
            timeouts.modelservice_deploy.ceil().to_string(),
        ]);
        // On GKE managed Prometheus reads PodMonitoring resources; the operator's are not there.
        if self.resolved.provider.place == Place::Gke { step.and(["--no-monitoring"]) } else { step }
    }

    /// Sends one small request through the treatment.
    pub fn smoketest(&self) -> Step {
        self.llmdbenchmark("smoketest", false)
    }

    /// Runs the harness in the cluster and collects what it leaves.
    pub fn run(&self, url: Option<&str>) -> Step {
        let settings = &self.resolved.settings;
        let workload = self.places.folder.join("workload.yaml").display().to_string();
        let mut step = self.llmdbenchmark("run", false).and([
            "-l",
            &settings.harness.name,
            "-w",
            "workload.yaml",
            "--workload-file-path",
            &workload,
        ]);
        if let Some(url) = url {
            step = step.and(["--endpoint-url", url]);
        }
        if settings.metrics.fast_collect { step.and(["--fast-collect"]) } else { step }
    }

    /// Removes the treatment.
    pub fn teardown(&self) -> Step {
        self.llmdbenchmark("teardown", false)
    }

    fn llmdbenchmark(&self, name: &'static str, dry_run: bool) -> Step {
        let spec = self.places.folder.join("spec.yaml").display().to_string();
        let workspace = self.places.folder.join(SCRATCH).join("workspace").display().to_string();
        let step = Step::new(name, ["llmdbenchmark", "--spec", &spec, "--workspace", &workspace]);
        let step = if dry_run { step.and(["--dry-run"]) } else { step };
        step.and([name, "-p", self.subject.namespace])
    }
}
