//! `gate.json`: everything a verdict rests on, versioned.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::baseline::Freshness;
use super::calibration::Calibration;
use super::identity::Difference;
use super::limits::OnInconclusive;
use super::outcome::{GateVerdict, Outcome};

/// The document's version; it grows when a field changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 1;

/// A gate's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Version of this format.
    pub schema_version: u32,
    /// `compared N of M rows: verdict`.
    pub headline: String,
    /// The process's exit code.
    pub exit_code: u8,
    /// When the gate ran.
    pub time: Timestamp,
    /// The campaign's name.
    pub campaign: String,
    /// SHA-256 of the campaign's manifest.
    pub campaign_sha256: String,
    /// The baseline, when there was one.
    pub baseline: Option<BaselineRef>,
    /// The limits file and its SHA-256.
    pub limits: LimitsRef,
    /// Identity fields that were allowed to differ.
    pub allowed_differences: Vec<Difference>,
    /// The noise that was tested with, where it was learned.
    pub calibration: Option<Calibration>,
    /// Rows that are worse than in the oldest baseline that still compares, although each step passed.
    pub creep: Option<Creep>,
    /// What a reader should know.
    pub warnings: Vec<String>,
    /// Verdict, problems and rows, worst first.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Which baseline a campaign was held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineRef {
    /// How it was asked for.
    pub reference: String,
    /// Its digest.
    pub sha256: String,
    /// Its age in days.
    pub age_days: i64,
    /// What that means.
    pub freshness: Freshness,
    /// Its member campaigns.
    pub members: Vec<String>,
}

/// The limits that were used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitsRef {
    /// Path as given.
    pub path: String,
    /// SHA-256 of its text.
    pub sha256: String,
}

/// A comparison with an older baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Creep {
    /// The older baseline's digest.
    pub sha256: String,
    /// Its age in days.
    pub age_days: i64,
    /// Names and changes of the rows that regressed since.
    pub rows: Vec<CreepRow>,
}

/// A row that became worse in small steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CreepRow {
    /// The row's name.
    pub name: String,
    /// Its change since the older baseline.
    pub change: f64,
}

/// How the search for a baseline ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// There was one to compare with.
    Compared,
    /// There is none, or it is gone or corrupted.
    NoBaseline,
    /// It is too old to decide.
    Stale,
    /// It measured something else.
    OtherIdentity,
}

/// The exit code of a gate: 0 pass, 3 regression, 4 inconclusive, 5 baseline missing or stale, 6 another identity, 7
/// invalid campaign. A gate that compared nothing never has 0.
#[must_use]
pub fn exit_code(outcome: &Outcome, ending: Ending, on_inconclusive: OnInconclusive) -> u8 {
    match (outcome.verdict, ending) {
        (GateVerdict::Invalid, _) => 7,
        (_, Ending::OtherIdentity) => 6,
        // A hard limit needs no baseline.
        (GateVerdict::Regression, Ending::NoBaseline) => 3,
        (_, Ending::NoBaseline | Ending::Stale) => 5,
        (GateVerdict::Regression, _) => 3,
        (GateVerdict::OtherIdentity, _) => 6,
        (GateVerdict::NoBaseline, _) => 5,
        (GateVerdict::Inconclusive, _) if on_inconclusive == OnInconclusive::Fail || outcome.compared == 0 => 4,
        (GateVerdict::Inconclusive, _) => 0,
        (GateVerdict::Pass, _) if outcome.compared == 0 => 4,
        (GateVerdict::Pass, _) => 0,
    }
}

impl Document {
    /// The verdict.
    #[must_use]
    pub fn verdict(&self) -> GateVerdict {
        self.outcome.verdict
    }

    /// JSON text, ending in a newline.
    ///
    /// # Errors
    ///
    /// A number has no JSON form; rows never hold such numbers, since a campaign with them is invalid.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
