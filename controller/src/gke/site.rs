//! One cluster and its surroundings: gcloud, and kubectl once it is needed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::gcloud::Gcloud;
use super::target::Target;
use crate::cluster::{Error, Kubectl};
use crate::process::Session;

/// The cluster of a target. Credentials are fetched when the cluster is first asked something, since whether there is one
/// is gcloud's to say, and nodes must be given back also when the cluster does not answer.
#[derive(Debug)]
pub struct Site {
    gcloud: Gcloud,
    folder: PathBuf,
    /// Shared with all that were made from this one, so that the kubeconfig lives as long as any of them.
    kubectl: Arc<OnceLock<Kubectl>>,
}

impl Site {
    /// The cluster of this target; its private kubeconfig goes into `folder`.
    pub fn new(session: &Session, target: &Target, folder: &Path) -> Self {
        Self { gcloud: Gcloud::new(session, target), folder: folder.to_owned(), kubectl: Arc::default() }
    }

    /// The same in another session: of one cell, or for cleanup.
    #[must_use]
    pub fn within(&self, session: &Session) -> Self {
        let kubectl = Arc::clone(&self.kubectl);
        Self { gcloud: self.gcloud.within(session), folder: self.folder.clone(), kubectl }
    }

    /// The same for cleaning up: goes on through two signals.
    #[must_use]
    pub fn for_cleanup(&self) -> Self {
        self.within(&self.session().for_cleanup())
    }

    /// What is meant.
    pub fn target(&self) -> &Target {
        self.gcloud.target()
    }

    /// The session that programs are recorded in.
    pub fn session(&self) -> &Session {
        self.gcloud.session()
    }

    /// `gcloud` for its project.
    pub fn gcloud(&self) -> &Gcloud {
        &self.gcloud
    }

    /// `kubectl` for it.
    ///
    /// # Errors
    /// When its credentials cannot be had.
    pub fn kubectl(&self) -> Result<Kubectl, Error> {
        if let Some(known) = self.kubectl.get() {
            return Ok(known.within(self.session()));
        }
        let fresh = self.gcloud.kubectl(&self.folder)?;
        Ok(self.kubectl.get_or_init(|| fresh).within(self.session()))
    }
}
