//! Whether the project can have the cluster: every problem at once, each with its fix. Nothing is changed.

use std::fmt;

use serde_json::Value;

use super::gcloud::{Gcloud, line};
use super::state::{self, Family};
use super::words::{self, ROLES, SERVICES, Words};
use crate::cluster::Error;
use crate::cluster::object::{items, text};
use crate::doctor::{Finding, Level};
use crate::failure::{Failure, Kind, Result};

/// What a look at the project and the cluster found.
#[derive(Debug)]
pub struct Examined {
    /// Check by check.
    pub findings: Vec<Finding>,
    /// What `provision` would do, in order.
    pub actions: Vec<Action>,
    /// The cluster as it is.
    pub cluster: Option<Value>,
}

/// A change that `provision` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The cluster with its system pool.
    CreateCluster,
    /// A part of it.
    Enable(Family),
    /// The harness's pool.
    CreateHarnessPool,
    /// The GPU pool, without nodes.
    CreateGpuPool,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateCluster => f.write_str("create the cluster"),
            Self::Enable(family) => write!(f, "enable {family}"),
            Self::CreateHarnessPool => f.write_str("create the harness's pool"),
            Self::CreateGpuPool => f.write_str("create the GPU pool without nodes"),
        }
    }
}

impl Action {
    /// The gcloud call as it can be pasted into a shell.
    pub fn line(self, gcloud: &Gcloud) -> String {
        line(gcloud.target(), &self.words(gcloud))
    }

    /// The gcloud call.
    pub(super) fn words(self, gcloud: &Gcloud) -> Words {
        let target = gcloud.target();
        match self {
            Self::CreateCluster => words::create_cluster(target),
            Self::Enable(family) => words::update(target, family),
            Self::CreateHarnessPool => words::create_harness_pool(target),
            Self::CreateGpuPool => words::create_gpu_pool(target),
        }
    }
}

impl Examined {
    /// Whether something keeps the cluster from being made or used.
    pub fn problems(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.level == Level::Problem)
    }

    /// # Errors
    /// A usage failure that names every problem.
    pub fn accept(&self) -> Result<()> {
        let problems: Vec<&Finding> = self.problems().collect();
        if problems.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = problems.iter().map(|it| format!("{}: {}", it.check, it.detail)).collect();
        let failure = Failure::usage(format!("the project is not ready\n  {}", lines.join("\n  ")));
        Err(problems.iter().flat_map(|it| it.fixes.clone()).fold(failure, Failure::hint))
    }
}

/// Looks at everything.
///
/// # Errors
/// When gcloud is missing or the user asks to stop; everything else is a finding.
pub fn examine(gcloud: &Gcloud) -> Result<Examined> {
    let mut looks = Looks { gcloud, findings: Vec::new() };
    if !looks.account()? {
        return Ok(Examined { findings: looks.findings, actions: Vec::new(), cluster: None });
    }
    looks.project()?;
    looks.services()?;
    looks.zone()?;
    looks.machines()?;
    looks.service_account()?;
    let (cluster, actions) = looks.cluster()?;
    Ok(Examined { findings: looks.findings, actions, cluster })
}

struct Looks<'a> {
    gcloud: &'a Gcloud,
    findings: Vec<Finding>,
}

impl Looks<'_> {
    fn good(&mut self, check: &str, detail: impl Into<String>) {
        self.findings.push(Finding::good(check, detail));
    }

    fn problem(&mut self, check: &str, detail: impl Into<String>, fix: impl Into<String>) {
        self.findings.push(Finding::problem(check, detail, fix));
    }

    /// The answer of a look; a refusal becomes a problem with this fix.
    fn answer<T>(&mut self, check: &str, answer: Result<T, Error>, fix: &str) -> Result<Option<T>> {
        let error = match answer {
            Ok(answer) => return Ok(Some(answer)),
            Err(error) => error,
        };
        let ends = error.is_missing() || matches!(error, Error::Interrupted(_));
        let failure = error.failure(Kind::Usage);
        if ends || matches!(failure.kind, Kind::Interrupted(_)) {
            return Err(failure);
        }
        self.problem(check, failure.to_string(), fix);
        Ok(None)
    }

    fn account(&mut self) -> Result<bool> {
        let answer = self.gcloud.list(&words::account());
        let fix = "log in: gcloud auth login (on a machine: workload identity federation)";
        let Some(accounts) = self.answer("account", answer, fix)? else { return Ok(false) };
        let active = accounts.iter().find(|account| account["status"] == "ACTIVE");
        match active.map(|account| text(account, "/account")) {
            Some(account) => self.good("account", account),
            None => self.problem("account", "gcloud has no active account", fix),
        }
        Ok(active.is_some())
    }

    fn project(&mut self) -> Result<()> {
        let target = self.gcloud.target().clone();
        let answer = self.gcloud.object(&words::project(&target));
        let fix = "name a project that the account may see: BENCHMARK_GKE_PROJECT";
        if let Some(project) = self.answer("project", answer, fix)? {
            match text(&project, "/lifecycleState") {
                "ACTIVE" => self.good("project", target.project),
                other => self.problem("project", format!("{} is {other}", target.project), fix),
            }
        }
        Ok(())
    }

    fn services(&mut self) -> Result<()> {
        let answer = self.gcloud.list(&words::services());
        let project = &self.gcloud.target().project;
        let enable = format!("gcloud services enable {} --project={project}", SERVICES.join(" "));
        let Some(enabled) = self.answer("APIs", answer, &enable)? else { return Ok(()) };
        let missing: Vec<&str> =
            SERVICES.into_iter().filter(|name| !enabled.iter().any(|it| text(it, "/config/name") == *name)).collect();
        match missing.is_empty() {
            true => self.good("APIs", "all five are enabled"),
            false => {
                let fix = format!("gcloud services enable {} --project={project}", missing.join(" "));
                self.problem("APIs", format!("not enabled: {}", missing.join(", ")), fix);
            }
        }
        Ok(())
    }

    fn zone(&mut self) -> Result<()> {
        let target = self.gcloud.target().clone();
        let answer = self.gcloud.object(&words::zone(&target));
        if let Some(zone) = self.answer("zone", answer, "choose another zone with gke.location")? {
            match text(&zone, "/status") {
                "UP" => self.good("zone", target.zone.clone()),
                other => {
                    self.problem("zone", format!("{} is {other}", target.zone), "choose another zone with gke.location")
                }
            }
        }
        let answer = self.gcloud.object(&words::subnetwork(&target));
        if self.answer("network", answer, "set gke.subnetwork to one of the region")?.is_some() {
            self.good("network", format!("{}/{}", target.network, target.subnetwork));
        }
        Ok(())
    }

    fn machines(&mut self) -> Result<()> {
        let target = self.gcloud.target().clone();
        let elsewhere = "choose a zone or a machine type that fit each other";
        for machine in [&target.system.machine_type, &target.harness.machine_type, &target.gpu.machine_type] {
            let answer = self.gcloud.object(&words::machine_type(&target, machine));
            let Some(found) = self.answer("machines", answer, elsewhere)? else { continue };
            let bundled = items(&found, "/accelerators");
            let wanted = u64::from(target.gpu.accelerators_per_node);
            // A machine type that brings its accelerators brings a fixed number of them.
            let fits = machine != &target.gpu.machine_type
                || bundled.is_empty()
                || bundled.iter().any(|it| {
                    it["guestAcceleratorType"] == target.gpu.accelerator_type.as_str()
                        && it["guestAcceleratorCount"] == wanted
                });
            match fits {
                true => self.good("machines", machine.clone()),
                false => self.problem(
                    "machines",
                    format!("{machine} does not have {wanted} x {}", target.gpu.accelerator_type),
                    "set gke.gpu.accelerator_type and gke.gpu.accelerators_per_node to what the machine type has",
                ),
            }
        }
        let answer = self.gcloud.object(&words::accelerator_type(&target));
        if self.answer("accelerators", answer, elsewhere)?.is_some() {
            self.good("accelerators", format!("{} in {}", target.gpu.accelerator_type, target.zone));
        }
        Ok(())
    }

    fn service_account(&mut self) -> Result<()> {
        let target = self.gcloud.target().clone();
        let account = target.service_account.clone();
        let name = account.split('@').next().unwrap_or_default();
        let create = format!("gcloud iam service-accounts create {name} --project={}", target.project);
        let answer = self.gcloud.object(&words::service_account(&target));
        if self.answer("node account", answer, &create)?.is_some() {
            self.good("node account", account.clone());
        }
        let answer = self.gcloud.object(&words::policy(&target));
        let Some(policy) = self.answer("node roles", answer, "ask for the right to read the project's IAM policy")?
        else {
            return Ok(());
        };
        let member = format!("serviceAccount:{account}");
        for role in ROLES {
            let bound = items(&policy, "/bindings").iter().any(|binding| {
                // A conditional binding may not hold when a node needs it.
                binding["role"] == role
                    && binding["condition"].is_null()
                    && items(binding, "/members").iter().any(|it| it == member.as_str())
            });
            match bound {
                true => self.good("node roles", role),
                false => self.problem(
                    "node roles",
                    format!("{account} does not have {role}"),
                    format!(
                        "gcloud projects add-iam-policy-binding {} --member={member} --role={role}",
                        target.project
                    ),
                ),
            }
        }
        Ok(())
    }

    fn cluster(&mut self) -> Result<(Option<Value>, Vec<Action>)> {
        let target = self.gcloud.target().clone();
        let answer = self.gcloud.cluster();
        let Some(found) = self.answer("cluster", answer, "ask for the right to list clusters")? else {
            return Ok((None, Vec::new()));
        };
        let Some(cluster) = found else {
            // The first pool of a new cluster bears this name and no other.
            if target.system.nodepool != "default-pool" {
                self.problem(
                    "cluster",
                    format!("a new cluster's first pool cannot be called {}", target.system.nodepool),
                    "set gke.system.nodepool=default-pool",
                );
            }
            self.good("cluster", format!("{} is not there yet", target.cluster));
            return Ok((None, vec![Action::CreateCluster, Action::CreateHarnessPool, Action::CreateGpuPool]));
        };
        if !state::is_ours(&target, &cluster) {
            self.problem(
                "cluster",
                format!(
                    "{} in {} was not made by this program: it lacks the labels {}",
                    target.cluster,
                    target.zone,
                    target.labels().map(|(name, value)| format!("{name}={value}")).join(" and ")
                ),
                "name another cluster with gke.cluster; a foreign one is never adopted",
            );
            return Ok((Some(cluster), Vec::new()));
        }
        let wrong = state::incompatible(&target, &cluster);
        for (problem, fix) in &wrong {
            self.problem("cluster", problem, fix);
        }
        if wrong.is_empty() {
            let version = text(&cluster, "/currentMasterVersion");
            self.good("cluster", format!("{} is ours, {version}", target.cluster));
        }
        let mut actions: Vec<Action> = state::missing(&target, &cluster).into_iter().map(Action::Enable).collect();
        if state::pool(&cluster, &target.harness.nodepool).is_none() {
            actions.push(Action::CreateHarnessPool);
        }
        if state::pool(&cluster, &target.gpu.nodepool).is_none() {
            actions.push(Action::CreateGpuPool);
        }
        if state::pool(&cluster, &target.system.nodepool).is_none() {
            self.problem(
                "cluster",
                format!("it has no pool {}", target.system.nodepool),
                "set gke.system.nodepool to the pool that runs its system pods",
            );
        }
        Ok((Some(cluster), actions))
    }
}
