//! One cell on its way: deployed, loaded.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_yaml::Mapping;

use super::inventory::Inventory;
use super::{Cluster, agentgateway, both, collector, endpoint, inventory, kind, namespace, results, traffic};
use crate::cluster::Kubectl;
use crate::failure::{Failure, Kind, Result};
use crate::lifecycle::{Event, Observer};
use crate::process::{Command, Finished};
use crate::provider::Run;
use crate::render::{self, Places, Rendered, Step, Steps, Subject};
use crate::settings::{Place, Resolved, Treatment};

/// A treatment that is being deployed or is up.
pub(super) struct Up<'a> {
    /// The workspace.
    pub(super) root: PathBuf,
    pub(super) campaign: String,
    pub(super) resolved: &'a Resolved,
    pub(super) treatment: &'a Treatment,
    pub(super) namespace: String,
    pub(super) work: PathBuf,
    pub(super) checkout: PathBuf,
    pub(super) rendered: Rendered,
    /// The cluster, in the session of this cell.
    pub(super) kubectl: Kubectl,
    /// How the namespace came to be ours; `None` while it is not.
    pub(super) claim: Option<namespace::Claim>,
    pub(super) inventory: Inventory,
    pub(super) endpoint: Option<String>,
    /// What the manifest records of the load.
    pub(super) load: Mapping,
}

impl Up<'_> {
    /// The commands of this cell.
    pub(super) fn steps(&self) -> Steps<'_> {
        Steps {
            resolved: self.resolved,
            subject: Subject { campaign: &self.campaign, treatment: self.treatment, namespace: &self.namespace },
            places: Places { folder: &self.work, checkout: &self.checkout },
        }
    }

    /// Whether there is something in the cluster that we made.
    pub(super) fn is_ours(&self) -> bool {
        self.claim.is_some()
    }

    /// A step's command, which sees this cluster and no other.
    pub(super) fn command(&self, step: &Step, limit: Duration) -> Command {
        let (program, arguments) =
            step.argv.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        self.kubectl.program(step.name, program).args(arguments).timeout(limit)
    }

    /// Runs a step to its end.
    pub(super) fn execute(&self, step: &Step, limit: Duration) -> Result<Finished> {
        self.command(step, limit).run(self.kubectl.session()).map_err(|error| error.failure(Kind::Measurement))
    }
}

impl<'a> Cluster<'a> {
    /// Renders, claims the namespace, deploys, and looks at what was deployed.
    pub(super) fn stand_up(&mut self, run: Run<'_>, observer: &dyn Observer) -> Result<()> {
        let treatment = self.treatment(run)?;
        let up = self.rendered(run, treatment)?;
        self.same_as_others(&up.rendered)?;
        let up = self.up.insert(up);
        let ready = self.ready.as_mut().ok_or_else(|| Failure::internal("nothing was prepared"))?;
        let claim = namespace::claim(up, up.resolved.settings.resume)?;
        up.claim = Some(claim);
        if self.campaign.resolved.provider.place == Place::Kind {
            kind::load_images(up, &mut ready.loaded, &self.campaign.private, observer)?;
        }
        ready.bench.find_token(&up.kubectl, &self.campaign)?;
        agentgateway::controller(up)?;
        ready.bench.plan(up)?;
        if claim == namespace::Claim::Made {
            ready.bench.standup(up)?;
        } else {
            observer.notify(Event::Warning {
                text: format!("namespace {} holds a matching deployment, which is used again", up.namespace),
                remedy: "its caches are not cold; remove the namespace first for a run that begins cold".to_owned(),
            });
        }
        agentgateway::data_plane(up)?;
        namespace::mark_ready(up)?;
        up.inventory = inventory::take(up)?;
        fs_err::write(up.work.join("inventory.yaml"), up.inventory.to_yaml()?)?;
        up.inventory.require(&up.rendered.images)
    }

    fn rendered(&mut self, run: Run<'_>, treatment: &'a Treatment) -> Result<Up<'a>> {
        let ready = self.ready.as_ref().ok_or_else(|| Failure::internal("nothing was prepared"))?;
        let campaign = self.campaign.id.to_string();
        let namespace = render::names::namespace(&campaign, &treatment.name, run.cell.repetition);
        let checkout = ready.bench.checkout().to_owned();
        let subject = Subject { campaign: &campaign, treatment, namespace: &namespace };
        let places = Places { folder: run.work, checkout: &checkout };
        let rendered = render::treatment(&ready.tree, self.campaign.resolved, subject, places, &ready.workload)?;
        rendered.write(run.work)?;
        let session = self.campaign.session.logging_to(run.work.join("logs"));
        Ok(Up {
            root: self.campaign.root.clone(),
            kubectl: ready.kubectl.within(&session),
            resolved: self.campaign.resolved,
            treatment,
            work: run.work.to_owned(),
            rendered,
            claim: None,
            inventory: Inventory::default(),
            endpoint: None,
            load: Mapping::new(),
            checkout,
            namespace,
            campaign,
        })
    }

    /// Treatments are only comparable when everything but the way to the model servers is the same.
    fn same_as_others(&mut self, rendered: &Rendered) -> Result<()> {
        let first = self.invariant.get_or_insert_with(|| rendered.invariant_sha256.clone());
        if *first == rendered.invariant_sha256 {
            return Ok(());
        }
        Err(Failure::usage("this treatment changes more than the way to the model servers: its invariant.yaml differs")
            .hint("compare the treatments' invariant.yaml (`cargo xtask plan` writes them), and mend the overlay"))
    }

    /// Loads the treatment and brings home what the load left.
    pub(super) fn load_up(&mut self, run: Run<'_>, observer: &dyn Observer) -> Result<()> {
        let (ready, up) = both(&mut self.ready, &mut self.up)?;
        up.endpoint = endpoint::resolve(up)?;
        let collector = collector::start(up, observer);
        let finished = AtomicBool::new(false);
        let watch = traffic::Watch::new(up, ready.workload.as_str(), &*self.release, observer);
        let (ran, released) = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| watch.follow(&finished));
            let ran = ready.bench.run(up);
            finished.store(true, Ordering::Relaxed);
            let released = watcher.join().unwrap_or_else(|_| Err(Failure::internal("watching the load panicked")));
            (ran, released)
        });
        // Whatever became of the load, what was sampled may explain it.
        let sampled = collector.and_then(|collector| collector.finish(up));
        let warn = |text: String, remedy: &str| observer.notify(Event::Warning { text, remedy: remedy.to_owned() });
        if let Err(reason) = &sampled {
            warn(
                format!("there are no runtime metrics: {reason}"),
                "latencies do not depend on them; see logs/ for why",
            );
        }
        up.load.insert("runtime_metrics".into(), collector::record(up.resolved, sampled.is_ok()));
        ran?;
        let load = results::gather(up, run, &scratch(run.work), observer)?;
        up.load.extend(load);
        released
    }
}

fn scratch(work: &Path) -> PathBuf {
    work.join(crate::evidence::SCRATCH).join("workspace")
}
