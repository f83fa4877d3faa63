//! From campaigns to a baseline that can be looked at before anybody promotes it.

use jiff::Timestamp;
use reports::campaign::Campaign;
use reports::gate::baseline::{self, Baseline, Member, SCHEMA_VERSION, SamplesRef};
use reports::gate::calibration::Calibration;
use reports::gate::identity::{Difference, Identity, digest};
use reports::gate::observe::{Observation, observe};
use reports::gate::summary::Summary;
use reports::manifest;
use serde_json::Value;

use super::samples;
use super::store::{Error as StoreError, Store, StoredBaseline};

/// Why no baseline can be made of these campaigns.
#[derive(Debug, thiserror::Error)]
pub enum ProposalError {
    /// No campaign was given.
    #[error("a baseline needs at least one campaign")]
    Empty,
    /// The campaigns did not measure the same thing.
    #[error("{campaign} has another identity than {first}: {}", fields(differences))]
    Mixed {
        /// The first campaign.
        first: String,
        /// The one that differs.
        campaign: String,
        /// In what.
        differences: Vec<Difference>,
    },
    /// The same campaign twice.
    #[error("campaign {0} is given twice")]
    Twice(String),
    /// Its numbers are not usable.
    #[error("campaign {campaign} is not a valid measurement: {what}")]
    Invalid {
        /// The campaign.
        campaign: String,
        /// The first thing that is wrong with it.
        what: String,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The baseline cannot be written as text.
    #[error(transparent)]
    Text(#[from] baseline::Error),
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn fields(differences: &[Difference]) -> String {
    differences.iter().map(|difference| difference.field.as_str()).collect::<Vec<_>>().join(", ")
}

/// A baseline that was stored and nothing points at yet.
#[derive(Debug)]
pub struct Proposal {
    /// The baseline.
    pub stored: StoredBaseline,
    /// What makes its numbers less than they could be.
    pub warnings: Vec<String>,
}

/// A campaign's identity and what the gate sees of it.
#[must_use]
pub fn member(campaign: &Campaign) -> (Identity, Observation) {
    let observation = observe(campaign);
    (Identity::of(campaign, &observation.summary), observation)
}

/// Puts a baseline together and stores it: summary with identity and provenance as one object, each run's samples as
/// another, in `samples` when that is given. Unless a calibration is given, the noise is learned from the campaigns.
///
/// # Errors
/// The campaigns differ in identity or are not valid, or the store cannot be written.
pub fn propose(
    campaigns: &[Campaign],
    calibration: Option<Calibration>,
    store: &Store,
    samples_store: Option<&Store>,
    validity: &reports::gate::limits::Validity,
    now: Timestamp,
) -> Result<Proposal, ProposalError> {
    let mut identity: Option<(String, Identity)> = None;
    let mut members: Vec<Member> = Vec::new();
    let mut summaries: Vec<Summary> = Vec::new();
    let mut references = Vec::new();
    let mut warnings = Vec::new();
    for campaign in campaigns {
        let name = campaign.manifest.campaign_id.clone();
        if members.iter().any(|member| member.campaign == name) {
            return Err(ProposalError::Twice(name));
        }
        let (own, observation) = member(campaign);
        if let Some(problem) = reports::gate::validity::of_campaign(&observation.summary, validity).into_iter().next() {
            return Err(ProposalError::Invalid { campaign: name, what: problem.what });
        }
        match &identity {
            None => identity = Some((name.clone(), own)),
            Some((first, expected)) => {
                let differences = own.differences(expected);
                if !differences.is_empty() {
                    return Err(ProposalError::Mixed { first: first.clone(), campaign: name, differences });
                }
            }
        }
        for run in &observation.samples {
            let object = samples::encode(run)?;
            let sha256 = samples_store.unwrap_or(store).put(&object)?;
            references.push(SamplesRef {
                campaign: name.clone(),
                treatment: run.treatment.clone(),
                repetition: run.repetition,
                sha256,
                bytes: object.len() as u64,
            });
        }
        let manifest = fs_err::read(campaign.dir.join(manifest::FILE_NAME))?;
        let provenance = serde_json::to_value(&campaign.manifest.provenance).unwrap_or(Value::Null);
        members.push(Member { campaign: name, manifest_sha256: digest(&manifest), provenance });
        summaries.push(observation.summary);
        warnings.extend(observation.warnings);
    }
    let (_, identity) = identity.ok_or(ProposalError::Empty)?;
    let learned = || Some(Calibration::learn(&summaries)).filter(|calibration| !calibration.noise.is_empty());
    let calibration = calibration.or_else(learned);
    let summary = Summary { runs: summaries.into_iter().flat_map(|summary| summary.runs).collect() };
    let baseline = Baseline {
        schema_version: SCHEMA_VERSION,
        created: now,
        identity,
        members,
        summary,
        calibration,
        samples: references,
    };
    let digest = store.put(baseline.to_text()?.as_bytes())?;
    Ok(Proposal { stored: StoredBaseline { digest, baseline }, warnings })
}
