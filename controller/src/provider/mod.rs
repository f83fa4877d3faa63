//! Where treatments run: local, kind, kube, gke.

use std::path::Path;

use serde_yaml::Mapping;

use crate::campaign::Cell;
use crate::failure::Result;
use crate::lifecycle::Observer;

/// One cell on its way through a provider.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Which treatment and repetition.
    pub cell: &'a Cell,
    /// The cell's work folder: everything left in it by a run that ends well is published as the repetition's
    /// evidence, except what [`crate::evidence::publish`] documents as left out.
    pub work: &'a Path,
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
    fn collect(&mut self, run: Run<'_>) -> Result<Mapping>;

    /// Removes what `standup` started; called also when it started only half of it, or nothing.
    ///
    /// # Errors
    /// When something may still be running.
    fn teardown(&mut self, run: Run<'_>) -> Result<()>;
}
