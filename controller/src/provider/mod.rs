//! Where treatments run: local, kind, kube, gke.

mod backend;
mod cluster;
mod http;
mod inference_perf;
mod local;
mod open_loop;

use std::path::Path;

use serde_yaml::Mapping;

use crate::campaign::{Cell, Identity, Plan};
use crate::failure::Result;
use crate::lifecycle::Observer;
use crate::process::Session;
use crate::settings::{Place, Resolved};

pub(crate) use cluster::kind;
pub use cluster::{Campaign as ClusterCampaign, Cluster, Keep, Release, Told};
pub use inference_perf::InferencePerf;
pub(crate) use inference_perf::unplaced;
pub use local::Local;
pub use open_loop::OpenLoop;

/// The setting's word for the open-loop client.
pub const OPEN_LOOP: &str = "open-loop";

/// One cell on its way through a provider.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Which treatment and repetition.
    pub cell: &'a Cell,
    /// The cell's work folder: everything left in it by a run that ends well is published as the repetition's
    /// evidence, except what [`crate::evidence::publish`] documents as left out.
    pub work: &'a Path,
}

/// What is known of a cell once its evidence is collected.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What the manifest records of the treatment: its name for people, its request path.
    pub treatment: Mapping,
    /// What the manifest records of this repetition.
    pub repetition: Mapping,
}

/// One run of the harness.
#[derive(Clone, Copy)]
pub struct Load<'a> {
    /// Where its programs are recorded.
    pub session: &'a Session,
    /// Where requests are sent, such as `http://127.0.0.1:8000`.
    pub endpoint: &'a str,
    /// The cell's work folder, which the native files are written to.
    pub work: &'a Path,
    /// Who is told about progress.
    pub observer: &'a dyn Observer,
    /// Processes whose CPU time and memory belong to the measurement: name and id.
    pub processes: &'a [(String, u32)],
    /// The cores that the load may use, as `taskset -c` reads them; all when absent.
    pub cores: Option<&'a str>,
    /// Whether the servers answer with an error when a request asks for it.
    pub upstream_errors: bool,
}

/// The program that sends load and measures, for providers that run it on this machine.
pub trait Harness {
    /// Makes it ready, once; returns what the manifest records of it as provenance.
    ///
    /// # Errors
    /// When it cannot be had.
    fn prepare(&mut self, session: &Session, observer: &dyn Observer) -> Result<Mapping>;

    /// Runs it to its end; returns what the manifest records of this run.
    ///
    /// # Errors
    /// When it fails, or what it left is not a valid measurement.
    fn run(&mut self, load: Load<'_>) -> Result<Mapping>;
}

/// What must match for campaigns of these settings to be comparable.
///
/// # Errors
/// Usage failures: whatever the provider can know to be wrong before anything is started.
pub fn identity(root: &Path, resolved: &Resolved) -> Result<Identity> {
    match resolved.provider.place {
        Place::Local => local::identity(root, resolved),
        Place::Kind | Place::Kube | Place::Gke => cluster::identity(root, resolved),
    }
}

/// Looks for everything that would keep the campaign from running in its place, and changes nothing.
///
/// # Errors
/// A usage failure with every problem and its fix.
pub fn preflight(plan: &Plan, session: &Session) -> Result<()> {
    match plan.resolved.provider.place {
        Place::Local => Ok(()),
        Place::Kind | Place::Kube | Place::Gke => {
            cluster::preflight(&plan.root, &plan.resolved, &plan.id, &plan.cells, session)
        }
    }
}

/// Fills in what only the place can tell, such as the model of servers that run already.
///
/// # Errors
/// Usage failures: what was asked for is not there.
pub fn complete(resolved: Resolved) -> Result<Resolved> {
    match resolved.provider.place {
        Place::Local => local::complete(resolved),
        Place::Kind | Place::Kube | Place::Gke => Ok(resolved),
    }
}

/// A place where treatments run.
///
/// For each cell the lifecycle calls `standup`, `smoketest`, `load`, `collect` in this order, stops at the first that
/// fails, and always ends with `teardown`, exactly once, also after a panic or an interruption.
pub trait Provider {
    /// The provider's name, as in `--provider`.
    fn name(&self) -> &'static str;

    /// Brings what all cells share (tools, environments), once, before the first cell, and returns what the manifest
    /// records of it as provenance.
    ///
    /// # Errors
    /// Whatever keeps every cell from running.
    fn prepare(&mut self, observer: &dyn Observer) -> Result<Mapping>;

    /// Starts the cell's treatment with cold caches.
    ///
    /// # Errors
    /// When it does not become ready. What was started by then is `teardown`'s to remove.
    fn standup(&mut self, run: Run<'_>, observer: &dyn Observer) -> Result<()>;

    /// Proves with one small request that the treatment answers on the path that will be loaded.
    ///
    /// # Errors
    /// When it does not.
    fn smoketest(&mut self, run: Run<'_>) -> Result<()>;

    /// Runs the harness and leaves its native files in the work folder.
    ///
    /// # Errors
    /// When the load did not run to its end, or its evidence is not valid.
    fn load(&mut self, run: Run<'_>, observer: &dyn Observer) -> Result<()>;

    /// Brings everything else that belongs to the evidence into the work folder, and returns what the manifest records
    /// of this repetition.
    ///
    /// # Errors
    /// When evidence is missing or cannot be read.
    fn collect(&mut self, run: Run<'_>) -> Result<Facts>;

    /// Removes what `standup` started; called also when it started only half of it, or nothing.
    ///
    /// # Errors
    /// When something may still be running.
    fn teardown(&mut self, run: Run<'_>) -> Result<()>;
}
