//! The commands of a verb as they can be pasted into a shell, for a project in which nothing is there yet or, where
//! something is to be removed, everything is.

use super::cleanup::Scope;
use super::gcloud::line;
use super::state::Family;
use super::target::Target;
use super::{lock, words};
use crate::render::MANAGED_BY;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Look whether the cluster can be had.
    Plan,
    /// Make it.
    Provision,
    /// See that it is complete.
    Verify,
    /// Take GPU nodes.
    GpuUp,
    /// Give them back.
    GpuDown,
    /// Remove what a campaign left.
    Cleanup,
    /// Remove the cluster.
    Destroy,
}

/// One line: a command, or a remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// To be pasted.
    Command(String),
    /// To be read.
    Remark(String),
}

impl Line {
    /// As it is printed.
    pub fn text(&self) -> String {
        match self {
            Self::Command(command) => command.clone(),
            Self::Remark(remark) => format!("# {remark}"),
        }
    }
}

/// The commands of `verb`, in order. `scope` is needed by cleanup only.
pub fn script(target: &Target, verb: Verb, scope: Option<&Scope>) -> Vec<Line> {
    let mut script = Script { target, lines: Vec::new() };
    match verb {
        Verb::Plan | Verb::Verify => script.examine(),
        Verb::Provision => script.provision(),
        Verb::GpuUp => script.gpu_up(),
        Verb::GpuDown => script.gpu_down(),
        Verb::Cleanup => script.cleanup(scope),
        Verb::Destroy => script.destroy(),
    }
    script.lines
}

struct Script<'a> {
    target: &'a Target,
    lines: Vec<Line>,
}

impl Script<'_> {
    fn remark(&mut self, remark: impl Into<String>) {
        self.lines.push(Line::Remark(remark.into()));
    }

    fn gcloud(&mut self, words: &words::Words) {
        self.lines.push(Line::Command(line(self.target, words)));
    }

    fn kubectl(&mut self, words: &str) {
        self.lines.push(Line::Command(format!("kubectl {words}")));
    }

    fn credentials(&mut self) {
        self.remark("a kubeconfig of its own; the current context is never changed");
        self.lines.push(Line::Command("export KUBECONFIG=\"$(mktemp)\"".to_owned()));
        self.gcloud(&words::credentials(self.target));
    }

    fn examine(&mut self) {
        let target = self.target;
        self.remark("account, project, APIs, zone, network");
        for words in [
            words::account(),
            words::project(target),
            words::services(),
            words::zone(target),
            words::subnetwork(target),
        ] {
            self.gcloud(&words);
        }
        self.remark("machines and accelerators of the zone");
        for machine in [&target.system.machine_type, &target.harness.machine_type, &target.gpu.machine_type] {
            self.gcloud(&words::machine_type(target, machine));
        }
        self.gcloud(&words::accelerator_type(target));
        self.remark("the nodes' service account and its roles; neither is ever made or changed");
        self.gcloud(&words::service_account(target));
        self.gcloud(&words::policy(target));
        self.remark("the cluster, if it is there");
        self.gcloud(&words::clusters(target));
    }

    fn provision(&mut self) {
        let target = self.target;
        self.examine();
        self.remark("where there is no cluster yet");
        self.gcloud(&words::create_cluster(target));
        self.remark("where our cluster lacks a part, one call each");
        for family in [
            Family::PersistentDisk,
            Family::Filestore,
            Family::LocalDns,
            Family::ManagedPrometheus,
            Family::Monitoring,
            Family::WorkloadIdentity,
        ] {
            self.gcloud(&words::update(target, family));
        }
        self.remark("where a pool is missing; the GPU pool begins without nodes");
        self.gcloud(&words::create_harness_pool(target));
        self.gcloud(&words::create_gpu_pool(target));
        self.remark("then everything is looked at again");
    }

    fn nodes(&mut self) {
        let pool = &self.target.gpu.nodepool;
        self.kubectl(&format!("get nodes --selector=cloud.google.com/gke-nodepool={pool} --output=json"));
    }

    fn gpu_up(&mut self) {
        let target = self.target;
        self.gcloud(&words::resize_gpus(target, target.gpu.target_nodes));
        self.credentials();
        self.remark(format!(
            "until {} nodes are ready with {} GPUs, for {} s at most; then back to zero",
            target.gpu.target_nodes,
            target.gpus(),
            target.deadlines.ready.as_secs_f64()
        ));
        self.nodes();
    }

    fn gpu_down(&mut self) {
        let target = self.target;
        self.gcloud(&words::clusters(target));
        self.gcloud(&words::resize_gpus(target, 0));
        self.remark(
            "until the groups behind the pool want no instance and have none; GROUP is named in instanceGroupUrls",
        );
        self.gcloud(&words::group(target, "GROUP"));
        self.gcloud(&words::instances(target, "GROUP"));
        self.credentials();
        self.nodes();
    }

    fn cleanup(&mut self, scope: Option<&Scope>) {
        let campaign = scope.map_or("CAMPAIGN", |scope| scope.campaign.as_str());
        self.remark("GPU nodes first: they cost most");
        self.gpu_down();
        self.remark(format!("namespaces that bear the campaign's annotation, {campaign}; NAMESPACE below"));
        self.kubectl(&format!("get namespaces --selector=app.kubernetes.io/managed-by={MANAGED_BY} --output=json"));
        self.remark("volumes whose claim is in one of them and whose driver is Google's; VOLUME below");
        self.kubectl("get persistentvolumes --output=json");
        self.remark("pods that hold claims, then claims and volumes; each is looked at until it is gone");
        self.kubectl("get pods --namespace=NAMESPACE --output=json");
        self.kubectl("delete pods POD --namespace=NAMESPACE --grace-period=30 --ignore-not-found --wait=false");
        self.kubectl("patch persistentvolume VOLUME --type=merge --patch '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Delete\"}}'");
        self.kubectl("get persistentvolumeclaims --namespace=NAMESPACE --output=json");
        self.kubectl("delete persistentvolumeclaims --all --namespace=NAMESPACE --ignore-not-found --wait=false");
        self.kubectl("delete persistentvolumes VOLUME --ignore-not-found --wait=false");
        self.remark("Filestore instances that outlived their volumes, known by the driver's labels; INSTANCE below");
        self.gcloud(&words::filestores(self.target));
        self.gcloud(&words::delete_filestore(self.target, "INSTANCE"));
        self.remark(
            "only when all of this is seen to be gone: the namespaces, which are the proof of ownership, and the lock",
        );
        self.kubectl("delete namespace NAMESPACE --ignore-not-found --wait=false");
        self.kubectl(&format!(
            "get configmap {} --namespace={} --ignore-not-found --output=json",
            lock::NAME,
            lock::NAMESPACE
        ));
        self.kubectl(&format!(
            "delete --raw /api/v1/namespaces/{}/configmaps/{} --filename=-",
            lock::NAMESPACE,
            lock::NAME
        ));
    }

    fn destroy(&mut self) {
        let target = self.target;
        self.gcloud(&words::clusters(target));
        self.remark("refused while any of these is there");
        self.credentials();
        self.kubectl(&format!("get namespaces --selector=app.kubernetes.io/managed-by={MANAGED_BY} --output=json"));
        self.kubectl("get persistentvolumes --output=json");
        self.kubectl("get services --all-namespaces --output=json");
        self.kubectl(&format!(
            "get configmap {} --namespace={} --ignore-not-found --output=json",
            lock::NAME,
            lock::NAMESPACE
        ));
        self.gcloud(&words::filestores(target));
        self.gcloud(&words::delete_cluster(target));
        self.remark("until it is not listed any more");
        self.gcloud(&words::clusters(target));
    }
}
