//! What a verb works with: the target, a session that records, a place for the kubeconfig.

use std::path::PathBuf;

use super::cleanup::Scope;
use super::site::Site;
use super::target::Target;
use crate::campaign::CampaignId;
use crate::failure::{Failure, Result};
use crate::process::{Interruption, Places, Redactor, Session};
use crate::render::names::namespace;
use crate::settings::{Resolved, Settings};

/// The folder beside the campaigns for what belongs to none of them; no campaign can be called so.
pub const FOLDER: &str = "_gke";

/// A cluster that a verb works on, with everything that must live as long.
#[derive(Debug)]
pub struct Opened {
    /// The cluster.
    pub site: Site,
    /// Where observed records, logs and the journal are.
    pub results: PathBuf,
    /// Holds the private kubeconfig; removed at the end.
    _private: tempfile::TempDir,
}

/// Checks the settings and prepares to work; nothing is asked of Google yet. `results` is the folder of campaigns.
///
/// # Errors
/// Usage failures of [`Target::new`]; when a folder cannot be made.
pub fn open(resolved: &Resolved, results: PathBuf) -> Result<Opened> {
    let target = Target::new(resolved)?;
    let redactor = Redactor::new();
    redactor.add_environment(
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
    );
    if let Some(token) = &resolved.settings.secrets.hf_token {
        redactor.add(token);
    }
    let folder = results.join(FOLDER);
    fs_err::create_dir_all(&folder)?;
    let places =
        Places { logs: Some(folder.join("logs")), journal: Some(folder.join("commands.jsonl")), running: None };
    let session = Session::new(places, redactor, Interruption::install()?);
    let private = tempfile::Builder::new().prefix("inference-benchmark-").tempdir()?;
    Ok(Opened { site: Site::new(&session, &target, private.path()), results, _private: private })
}

impl Scope {
    /// What the campaign of these settings would own.
    ///
    /// # Errors
    /// A usage failure when no campaign is named, or its id cannot be one.
    pub fn of(settings: &Settings) -> Result<Self> {
        let Some(id) = &settings.campaign else {
            return Err(Failure::usage("it does not say which campaign").hint("name it with --campaign"));
        };
        let campaign: CampaignId = id.parse()?;
        Ok(Self::planned(settings, campaign))
    }

    /// What a campaign of these settings and this id owns.
    pub fn planned(settings: &Settings, campaign: CampaignId) -> Self {
        let repetitions = 1..=settings.repetitions.max(settings.repetition.unwrap_or(1));
        let cells = settings.treatments.iter().flat_map(|treatment| {
            repetitions.clone().map(|repetition| namespace(campaign.as_str(), treatment, repetition))
        });
        Self { namespaces: cells.collect(), campaign }
    }
}
