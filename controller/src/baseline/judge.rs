//! One gate run: find the baseline, compare, and put everything a reader needs in one document.

use jiff::Timestamp;
use jiff::tz::Offset;
use reports::campaign::Campaign;
use reports::gate::baseline::Freshness;
use reports::gate::decide::{Inputs, decide};
use reports::gate::document::{BaselineRef, Creep, CreepRow, Document, Ending, LimitsRef, SCHEMA_VERSION, exit_code};
use reports::gate::identity::{Identity, digest};
use reports::gate::limits::{Limits, Problem, unmatched};
use reports::gate::outcome::{GateVerdict, Outcome};
use reports::gate::rows::Verdict;
use reports::gate::summary::{Index, Summary};
use reports::manifest;

use super::proposal::member;
use super::store::{Channel, Error as StoreError, Found, Store};

/// What is judged, by what.
#[derive(Debug)]
pub struct Request<'a> {
    /// The campaign under test.
    pub campaign: &'a Campaign,
    /// Where baselines are.
    pub store: &'a Store,
    /// A channel or a digest.
    pub reference: &'a str,
    /// Identity fields that may differ.
    pub allowed: &'a [String],
    /// What is tolerated.
    pub limits: &'a Limits,
    /// Where that is written.
    pub limits_ref: LimitsRef,
    /// The time, for ages and waivers.
    pub now: Timestamp,
}

/// Why there is no verdict at all.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// Lines of the limits file match nothing.
    #[error("the limits do not fit the campaign")]
    Limits(Vec<Problem>),
    /// The campaign's manifest is gone.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The store could not be asked: not the same as having nothing.
    #[error(transparent)]
    Store(StoreError),
}

/// Judges a campaign. A baseline that is missing, corrupted, stale or of another identity is a result, not an error: its
/// document says so and has its own exit code.
///
/// # Errors
/// The limits do not fit, or the store cannot be reached.
pub fn judge(request: &Request<'_>) -> Result<Document, JudgeError> {
    let (identity, observation) = member(request.campaign);
    let mut warnings = observation.warnings;
    let found = match request.store.find(&identity, request.reference, request.allowed) {
        Ok(found) => Ok(found),
        Err(error @ StoreError::Place(_)) => return Err(JudgeError::Store(error)),
        Err(error) => Err(error),
    };
    let empty = Summary::default();
    let baseline = found.as_ref().ok().map(|found| &found.stored.baseline);
    let (new, old) =
        (Index::new(&observation.summary), Index::new(baseline.map_or(&empty, |baseline| &baseline.summary)));
    // Without a baseline a relative line may well match nothing; that is not the line's fault.
    if baseline.is_some() && !observation.summary.runs.is_empty() {
        let problems = unmatched(request.limits, &new, &old);
        if !problems.is_empty() {
            return Err(JudgeError::Limits(problems));
        }
    }
    let today = Offset::UTC.to_datetime(request.now).date();
    let inputs = Inputs {
        limits: request.limits,
        new: &observation.summary,
        baseline: baseline.map(|baseline| &baseline.summary),
        calibration: baseline.and_then(|baseline| baseline.calibration.as_ref()),
        today,
    };
    let mut outcome = decide(&inputs);
    let ending = match &found {
        Ok(found) => age(found, request, &mut outcome, &mut warnings),
        Err(error) => {
            warnings.insert(0, error.to_string());
            if matches!(error, StoreError::OtherIdentity { .. }) {
                outcome.verdict = GateVerdict::OtherIdentity;
                Ending::OtherIdentity
            } else {
                Ending::NoBaseline
            }
        }
    };
    let creep = match &found {
        Ok(found) => creep(request, &identity, found, &inputs, &mut warnings),
        Err(_) => None,
    };
    let manifest = fs_err::read(request.campaign.dir.join(manifest::FILE_NAME))?;
    let found = found.ok();
    Ok(Document {
        schema_version: SCHEMA_VERSION,
        headline: outcome.headline(),
        exit_code: exit_code(&outcome, ending, request.limits.gate.on_inconclusive),
        time: request.now,
        campaign: request.campaign.manifest.campaign_id.clone(),
        campaign_sha256: digest(&manifest),
        baseline: found.as_ref().map(|found| reference(found, request)),
        limits: request.limits_ref.clone(),
        allowed_differences: found.as_ref().map(|found| found.allowed.clone()).unwrap_or_default(),
        calibration: found.and_then(|found| found.stored.baseline.calibration),
        creep,
        warnings,
        outcome,
    })
}

/// What the baseline's age does to the verdict.
fn age(found: &Found, request: &Request<'_>, outcome: &mut Outcome, warnings: &mut Vec<String>) -> Ending {
    let baseline = &found.stored.baseline;
    let days = baseline.age_days(request.now);
    match baseline.freshness(request.now) {
        Freshness::Fresh => Ending::Compared,
        Freshness::Old => {
            warnings.push(format!("the baseline is {days} days old: time to promote a new one"));
            Ending::Compared
        }
        Freshness::Stale => {
            warnings.insert(0, format!("the baseline is {days} days old, too old to decide: promote a new one"));
            if matches!(outcome.verdict, GateVerdict::Pass | GateVerdict::Regression) {
                outcome.verdict = GateVerdict::Inconclusive;
            }
            Ending::Stale
        }
    }
}

fn reference(found: &Found, request: &Request<'_>) -> BaselineRef {
    let baseline = &found.stored.baseline;
    BaselineRef {
        reference: request.reference.to_owned(),
        sha256: found.stored.digest.clone(),
        age_days: baseline.age_days(request.now),
        freshness: baseline.freshness(request.now),
        members: baseline.members.iter().map(|member| member.campaign.clone()).collect(),
    }
}

/// Rows that regressed since the oldest baseline of the channel that still compares, although they did not against the
/// current one: many small steps that each passed. A warning, never a verdict.
fn creep(
    request: &Request<'_>,
    identity: &Identity,
    found: &Found,
    inputs: &Inputs<'_>,
    warnings: &mut Vec<String>,
) -> Option<Creep> {
    let channel = Channel::new(request.reference).ok()?;
    let history = request.store.history(&identity.key(), &channel);
    let history = history.map_err(|error| warnings.push(format!("no check for slow creep: {error}"))).ok()?;
    let oldest = history
        .iter()
        .filter(|record| record.digest != found.stored.digest)
        .filter_map(|record| request.store.load(&record.digest).ok())
        .find(|stored| stored.baseline.has_current_definitions())?;
    let since = decide(&Inputs {
        baseline: Some(&oldest.baseline.summary),
        calibration: inputs.calibration.or(oldest.baseline.calibration.as_ref()),
        ..*inputs
    });
    let rows: Vec<CreepRow> = since
        .rows
        .iter()
        .filter(|row| row.verdict == Verdict::Regression && row.limit.is_none())
        .map(|row| CreepRow { name: row.name(), change: row.change.unwrap_or_default() })
        .collect();
    let age_days = oldest.baseline.age_days(request.now);
    if !rows.is_empty() {
        warnings.push(format!("{} rows are worse than in the baseline of {age_days} days ago: slow creep", rows.len()));
    }
    Some(Creep { sha256: oldest.digest, age_days, rows })
}
