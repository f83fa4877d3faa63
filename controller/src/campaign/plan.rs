//! What a campaign will do, before any of it is done.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::order::schedule;
use super::{CampaignId, Cell, Identity};
use crate::failure::{Failure, Kind, Result};
use crate::provider;
use crate::settings::{Origin, Resolved};

/// A campaign that could be run: every name found, every value checked, nothing written yet.
#[derive(Debug)]
pub struct Plan {
    /// The workspace, where `config/` is.
    pub root: PathBuf,
    /// The campaign's id, given or generated.
    pub id: CampaignId,
    /// The folder that holds campaigns.
    pub results: PathBuf,
    /// The cells in the order in which they run.
    pub cells: Vec<Cell>,
    /// What must match for repetitions to be comparable.
    pub identity: Identity,
    /// All settings, with their origins.
    pub resolved: Resolved,
    /// What it will take.
    pub estimate: Estimate,
    /// Whether each run takes its GPU nodes itself; otherwise they are somebody else's to take.
    pub take_gpus: bool,
}

/// What a campaign will take, roughly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Wall time in seconds.
    pub seconds: f64,
    /// Disk in bytes, while it runs and afterwards.
    pub bytes: u64,
    /// Requests.
    pub requests: u64,
}

impl Plan {
    /// Plans the campaign that `resolved` describes, to be started at `now`.
    ///
    /// # Errors
    /// Usage failures: whatever can be known to be wrong before anything is started.
    pub fn new(root: &Path, resolved: Resolved, now: Timestamp) -> Result<Self> {
        let resolved = provider::complete(resolved)?;
        let settings = &resolved.settings;
        let results = results(root, &resolved)?;
        let id = match &settings.campaign {
            Some(id) => id.parse()?,
            None if settings.resume => {
                return Err(Failure::usage("--resume does not say which campaign").hint("name it with --campaign"));
            }
            None => CampaignId::generate(&resolved.profile.name, now, &results),
        };
        let mut cells = schedule(&settings.treatments, settings.repetitions, settings.order);
        if let Some(only) = settings.repetition {
            cells.retain(|cell| cell.repetition == only);
        }
        if cells.is_empty() {
            return Err(Failure::usage("there is nothing to run: no treatment, or no such repetition")
                .hint("repetition must be at most repetitions"));
        }
        let identity = provider::identity(root, &resolved)?;
        let estimate = estimate(&resolved, cells.len());
        Ok(Self { root: root.to_path_buf(), id, results, cells, identity, resolved, estimate, take_gpus: false })
    }

    /// The campaign's folder.
    pub fn folder(&self) -> PathBuf {
        self.results.join(self.id.as_str())
    }

    /// Checks what can be checked about this machine without starting or leaving anything.
    ///
    /// # Errors
    /// A usage failure when the results folder cannot be written or its disk is too full.
    pub fn preflight(&self) -> Result<()> {
        let existing = self.results.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
        // Asking the permission bits is not enough: root may write what a read-only file system refuses.
        tempfile::tempfile_in(existing).map_err(|error| {
            Failure::usage(format!("{} cannot be written: {error}", self.results.display()))
                .hint("name a folder that can be written with --results-dir")
        })?;
        let space = nix::sys::statvfs::statvfs(existing).map_err(|error| Failure::new(Kind::Internal, error))?;
        let free = space.blocks_available() as u64 * space.fragment_size() as u64;
        if free < self.estimate.bytes {
            return Err(Failure::usage(format!(
                "{} has {} MB left, and this campaign takes about {} MB",
                existing.display(),
                free >> 20,
                self.estimate.bytes >> 20
            ))
            .hint("free some space (`cargo xtask clean` removes what earlier runs left), or use --results-dir"));
        }
        Ok(())
    }
}

/// The folder that holds campaigns.
///
/// # Errors
/// When the current folder is gone.
pub fn results(root: &Path, resolved: &Resolved) -> Result<PathBuf> {
    let folder = &resolved.settings.results_dir;
    Ok(match resolved.origin("results_dir") {
        // The default is the workspace's own folder, wherever the command is run.
        Some(Origin::Default) => root.join(folder),
        _ => std::path::absolute(folder)?,
    })
}

/// The harness's own time for a campaign of one stage: start-up, its report, its exit.
const HARNESS: Duration = Duration::from_secs(6);
/// What it adds to the pause after each stage.
const HARNESS_STAGE: Duration = Duration::from_millis(2500);
/// What a treatment needs to start, to be proven and to end.
const AROUND: Duration = Duration::from_secs(2);
/// A request's record without texts, as the harness writes it and again compressed.
const REQUEST_BYTES: u64 = 4000;
/// A stage's documents, the harness's and ours.
const STAGE_BYTES: u64 = 60_000;
/// Logs, metrics and the report.
const FIXED_BYTES: u64 = 4 << 20;

/// Seconds from the harness's start to its end for a run of `stages` stages whose load, drains and pauses take `seconds`.
pub(crate) fn schedule_seconds(stages: usize, seconds: f64) -> f64 {
    let between = HARNESS_STAGE * u32::try_from(stages.saturating_sub(1)).unwrap_or(u32::MAX);
    seconds + HARNESS.as_secs_f64() + between.as_secs_f64()
}

fn estimate(resolved: &Resolved, cells: usize) -> Estimate {
    let workload = &resolved.settings.workload;
    let stages = workload.stages.len();
    let requests = workload.planned_requests();
    let seconds = schedule_seconds(stages, workload.seconds()) + AROUND.as_secs_f64();
    let bytes = requests * REQUEST_BYTES + stages as u64 * STAGE_BYTES;
    let cells = cells as u64;
    Estimate {
        seconds: (seconds * cells as f64).round(),
        bytes: bytes * cells + FIXED_BYTES,
        requests: requests * cells,
    }
}
